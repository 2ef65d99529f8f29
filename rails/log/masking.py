"""Secrets are masked once, before the bytes of a record exist.

Two kinds are found: exact values that were registered (the environment's keys always are), in plain, JSON, URL
and Base64 form; and shapes so specific that nothing else has them: prefixes of providers' keys, private
key blocks, authorization headers, passwords in URLs. Not found: a secret without such a shape that
nobody registered.

A mask reads ``«secret:kind:fingerprint»``. The fingerprint is a keyed hash: the same secret shows as the
same mark all over a project, and nobody without the project's key can test a guess against it.

Shapes: the key formats that the providers document for secret scanners.
"""

from __future__ import annotations

import base64
import hmac
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final
from urllib.parse import quote

from rails.core import limits
from rails.core.lazy_pattern import lazy
from rails.core.tool_request import Json

# Kind, texts of which one must occur (a quick test), and the shape. A group "secret" is the part to mask.
_SHAPES: Final[Sequence[tuple[str, tuple[str, ...], re.Pattern[str]]]] = [
    ("anthropic", ("sk-ant-",), lazy(r"sk-ant-[A-Za-z0-9_-]{20,}")),
    ("openai", ("sk-",), lazy(r"\bsk-(?:proj-|svcacct-|admin-)[A-Za-z0-9_-]{20,}|\bsk-[A-Za-z0-9]{40,}")),
    ("openrouter", ("sk-or-",), lazy(r"sk-or-v1-[0-9a-f]{32,}")),
    (
        "github",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        lazy(r"\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_[A-Za-z0-9_]{22,}"),
    ),
    ("gitlab", ("glpat-",), lazy(r"\bglpat-[A-Za-z0-9_-]{20,}")),
    ("aws", ("AKIA", "ASIA"), lazy(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("google", ("AIza",), lazy(r"\bAIza[0-9A-Za-z_-]{35}")),
    ("slack", ("xox",), lazy(r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}")),
    ("stripe", ("k_live_",), lazy(r"\b[rs]k_live_[A-Za-z0-9]{16,}")),
    ("npm", ("npm_",), lazy(r"\bnpm_[A-Za-z0-9]{36}\b")),
    ("pypi", ("pypi-",), lazy(r"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{40,}")),
    ("huggingface", ("hf_",), lazy(r"\bhf_[A-Za-z0-9]{30,}\b")),
    ("jwt", ("eyJ",), lazy(r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}")),
    (
        "private-key",
        ("PRIVATE KEY",),
        lazy(
            r"-----BEGIN (?P<type>[A-Z ]{0,30})PRIVATE KEY-----"
            r"(?:(?:(?!-----)[\s\S]){0,20000}-----END (?P=type)PRIVATE KEY-----|[A-Za-z0-9+/=\s\\]{0,20000})"
        ),
    ),
    (
        "header",
        ("uthorization", "UTHORIZATION"),
        lazy(
            r"(?i:authorization)[\"'\\]*\s*[:=,]\s*[\"'\\]*(?:(?i:bearer|basic|token)\s+)?"
            r"(?P<secret>[A-Za-z0-9._~+/=-]{8,})"
        ),
    ),
    (
        "header",
        ("-key", "-Key", "-KEY"),
        lazy(r"(?i:x-api-key|api-key)[\"'\\]*\s*[:=,]\s*[\"'\\]*(?P<secret>[A-Za-z0-9._~+/=-]{12,})"),
    ),
    ("password", ("://",), lazy(r"://[^/\s:@\"']{1,256}:(?P<secret>[^/\s:@\"'«]{3,256})@")),
]


#: What a masked secret looks like. Text that holds one is not what was said and must not be carried out.
MARK: Final = lazy(r"«secret:[a-z-]+:[0-9a-f]{8}»")
_SECRET_NAME: Final = lazy(r"(?i)(?:^|_)(?:key|token|secret|password|passwd|passphrase|pat|credentials?)$")


def of_environment(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of the variables whose names say that they are secret; paths and numbers are none."""
    return tuple(
        value
        for name, value in environment.items()
        if _SECRET_NAME.search(name) and len(value) >= limits.SECRET_CHARS and not value.startswith(("/", "~"))
        if not value.isdecimal()
    )


#: What a value in an ``.env`` file may be that is no secret: words, a version, a host, an address, a place.
_PLAIN: Final = lazy(
    r"[A-Za-z]+(?:[ _.-][A-Za-z]+)*\d{0,2}|v?\d[\w.+-]{0,20}|(?:[\w-]+\.)*[\w-]+:\d{1,5}"
    r"|[\w.+-]+@[\w.-]+|[a-z+]+://[^\s:@/]*(?::\d+)?(?:/[\w./-]*)?"
)
_ENV_LINE: Final = lazy(r"^\s*(?:export\s+)?([A-Za-z_][\w.]*)\s*=\s*(\"(?:\\.|[^\"\\])*\"|'[^']*'|[^\n#]*)", re.M)
_LIKELY_CHARS: Final = 12


def env_values(text: str) -> dict[str, str]:
    """Return the variables of an ``.env`` file."""
    return {name: raw.strip().strip("\"'").strip() for name, raw in _ENV_LINE.findall(text)}


def of_env_file(text: str) -> tuple[str, ...]:
    """Return the values of an ``.env`` file that are secret by their name, or that look like nothing else."""
    values = env_values(text)
    likely = (
        value
        for value in values.values()
        if len(value) >= _LIKELY_CHARS and not _PLAIN.fullmatch(value) and not value.startswith(("/", "~", "."))
        if any(sign.isdigit() for sign in value)
    )
    return tuple(dict.fromkeys((*of_environment(values), *likely)))


_TRIGGERS: Final = tuple(dict.fromkeys(trigger for _, triggers, _ in _SHAPES for trigger in triggers))


_NAME_OR_FILLED_IN: Final = lazy(r"^[A-Za-z_]+\d?(?:[._-][A-Za-z_]+\d?)*$|[${}<>%*]")


class Masker:
    """Replaces secrets in texts and JSON values. ``key`` keys the fingerprints; ``values`` are exact secrets."""

    def __init__(self, key: bytes, values: Iterable[str] = ()) -> None:
        self._key = key
        forms = {form for value in values if len(value) >= limits.SECRET_CHARS for form in _forms(value)}
        self._forms: dict[str, str] = dict(sorted(forms, key=lambda form: -len(form[0])))
        self._exact = re.compile("|".join(map(re.escape, self._forms))) if self._forms else None

    def may_touch(self, text: str) -> bool:
        """Whether there could be a secret in ``text``, which may be JSON: a quick test, wrong only towards yes."""
        for trigger in _TRIGGERS:
            if trigger in text:
                return True
        return self._exact is not None and self._exact.search(text) is not None

    def text(self, text: str, *, certain: bool = False) -> str:
        """Return ``text`` with every secret in it replaced by its mark.

        ``certain`` leaves out what code often has in the place of one: a header's value, a password in a URL that is
        a name or is filled in.
        """
        if not self.may_touch(text):
            return text
        if self._exact is not None:
            text = self._exact.sub(lambda found: self._mark("registered", self._forms[found[0]]), text)
        for kind, triggers, shape in _SHAPES:
            if any(trigger in text for trigger in triggers):
                replaced = partial(self._replace, kind, certain)
                text = shape.sub(replaced, text)
        return text

    def value(self, value: Json) -> Json:
        """Return a JSON value with every string in it masked, the names of members included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(name): self.value(member) for name, member in value.items()}
        if isinstance(value, Sequence):
            return [self.value(item) for item in value]
        return value

    def data(self, data: bytes) -> bytes:
        """Return ``data`` masked; bytes that are not UTF-8 keep their places and are masked around."""
        text = data.decode("utf-8", "surrogateescape")
        masked = self.text(text)
        return data if masked == text else masked.encode("utf-8", "surrogateescape")

    def _replace(self, kind: str, certain: bool, found: re.Match[str]) -> str:
        if "secret" not in found.re.groupindex:
            return self._mark(kind, found[0])
        if certain and _NAME_OR_FILLED_IN.search(found["secret"]):
            return found[0]
        start, end = found.start("secret") - found.start(), found.end("secret") - found.start()
        return found[0][:start] + self._mark(kind, found["secret"]) + found[0][end:]

    def _mark(self, kind: str, secret: str) -> str:
        fingerprint = hmac.digest(self._key, secret.encode("utf-8", "surrogatepass"), "sha256").hex()[:8]
        return f"«secret:{kind}:{fingerprint}»"


def _forms(value: str) -> Iterable[tuple[str, str]]:
    """Yield the ways in which a secret may be written, each with the plain value."""
    data = value.encode("utf-8", "replace")
    for form in (
        value,
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        quote(value, safe=""),
        base64.b64encode(data).decode().rstrip("="),
        base64.urlsafe_b64encode(data).decode().rstrip("="),
    ):
        yield form, value
