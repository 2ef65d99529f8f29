"""Secrets are masked before a record's bytes exist.

Found in plain, JSON, URL and Base64 form: registered values, the environment's keys, and shapes that providers document
for scanners: key prefixes, private key blocks, authorization headers, URL passwords; nothing else.
``«secret:kind:fingerprint»``: a keyed hash, equal within a project, untestable without its key.
"""

from __future__ import annotations

import html
import json
import re
from base64 import urlsafe_b64decode
from binascii import b2a_base64
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final
from urllib.parse import quote_plus, unquote

from rails.core import limits
from rails.core.lazy_pattern import lazy
from rails.core.tool_request import Json

# Kind, what must occur (in RE2's dialect: a quick test), and the shape. A group "secret" is the part to mask.
_SHAPES: Final[Sequence[tuple[str, str, re.Pattern[str]]]] = [
    ("anthropic", "sk-ant-", lazy(r"sk-ant-[A-Za-z0-9_-]{20,}")),
    ("openai", "sk-", lazy(r"sk-(?:proj-|svcacct-|admin-)[A-Za-z0-9_-]{20,}|sk-[A-Za-z0-9]{40,}")),
    ("openrouter", "sk-or-", lazy(r"sk-or-v1-[0-9a-f]{32,}")),
    ("github", "gh[pousr]_|github_pat_", lazy(r"gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}")),
    ("gitlab", "glpat-", lazy(r"glpat-[A-Za-z0-9_-]{20,}")),
    ("aws", "AKIA|ASIA", lazy(r"(?a)(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("google", "AIza", lazy(r"AIza[0-9A-Za-z_-]{35}")),
    ("slack", "xox[abeoprs]-", lazy(r"xox[abeoprs]-[A-Za-z0-9-]{10,}")),
    ("stripe", "[rs]k_live_", lazy(r"[rs]k_live_[A-Za-z0-9]{16,}")),
    ("npm", "npm_", lazy(r"(?a)npm_[A-Za-z0-9]{36}\b")),
    ("pypi", "pypi-", lazy(r"pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{40,}")),
    ("huggingface", "hf_", lazy(r"(?a)hf_[A-Za-z0-9]{30,}\b")),
    (  # DigitalOcean, SendGrid, Shopify, Docker, Vault, Atlassian, Linear, Notion, Grafana, Supabase, Google's sign-in,
        "service",  # Databricks, RubyGems, age, xAI, Groq, Replicate, Perplexity, NVIDIA, Tavily, Azure, Slack
        r"_v1_|SG\.|shp|dckr_pat_|hvs\.|ATATT3|lin_api_|ntn_|glsa_|sbp_|GOCSPX-|ya29\.|dapi|rubygems_|AGE-SECRET-KEY-1"
        r"|xai-|gsk_|r8_|pplx-|nvapi-|tvly-|AccountKey=|hooks\.slack\.com/services/",
        lazy(
            r"(?a)do[opr]_v1_[0-9a-f]{64}\b|SG\.[\w-]{16,32}\.[\w-]{32,64}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b"
            r"|dckr_pat_[\w-]{20,}|hvs\.[\w-]{24,}|ATATT3[\w=-]{40,}|lin_api_[A-Za-z0-9]{32,}"
            r"|ntn_[A-Za-z0-9]{40,}|glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}\b|sbp_[0-9a-f]{40}\b|GOCSPX-[\w-]{24,}"
            r"|ya29\.[\w-]{40,}|dapi[0-9a-f]{32}|rubygems_[0-9a-f]{48}\b|AGE-SECRET-KEY-1[0-9A-Z]{58}\b"
            r"|xai-[A-Za-z0-9]{60,}|gsk_[A-Za-z0-9]{40,}|r8_[A-Za-z0-9]{36,}|pplx-[A-Za-z0-9]{40,}"
            r"|nvapi-[\w-]{40,}|tvly-[A-Za-z0-9-]{32,}|(?<=AccountKey=)[A-Za-z0-9+/]{80,}={0,2}"
            r"|(?<=hooks\.slack\.com/services/)T\w{8,}/B\w{8,}/\w{20,}"
        ),
    ),
    (  # More services whose tokens are a prefix of their own and a long rest, and four that have a form of their own.
        "service",
        r"gldt-|glrt-|glcbt-|glptt-|xapp-|whsec_|HRKU-|pscale_|dp\.(?:pt|st|ct|sa)\.|pul-|ops_eyJ|figd_|PMAK-|NRAK-"
        r"|glc_eyJ|sntry[su]_|sq0(?:atp|csp)-|CFPAT-|AKCp|ATBB|CCIPAT_|bkua_|pat-(?:na|eu)1-|lsv2_|sk-lf-|pcsk_|tskey-"
        r"|sq[pu]_|dt0c01\.|access-production-|access_token\$|:AA|/api/webhooks/|Q~|sig=",
        lazy(
            r"(?a)(?:gl(?:dt|rt|cbt|ptt)-|xapp-|whsec_|HRKU-|pscale_(?:tkn|pw|oauth)_|dp\.(?:pt|st|ct|sa)\.|pul-|ops_eyJ|figd_"
            r"|PMAK-|NRAK-|glc_eyJ|sntry[su]_|sq0(?:atp|csp)-|CFPAT-|AKCp|ATBB|CCIPAT_|bkua_|pat-(?:na|eu)1-"
            r"|lsv2_(?:pt|sk)_|sk-lf-|pcsk_|tskey-[a-z]{3,10}-|sq[pu]_|dt0c01\.|access-production-"
            r"|access_token\$)(?=\S{0,20}\d)(?=\S{0,40}?[A-Za-z0-9]{12})[\w$+/=.-]{20,}"
            r"|\d{8,10}:AA[\w-]{33}(?![\w-])|(?<=/api/webhooks/)\d{17,20}/[\w-]{60,}"
            r"|(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}(?![\w~.-])|(?<=[?&]sig=)[\w%+/]{43,}"
        ),
    ),
    (
        "jwt",
        r"eyJ[\w-]+\.eyJ",
        lazy(
            r"(?a)eyJ(?:(?<!\weyJ)|(?<=[\\%]\weyJ)|(?<=[\\%]\w\weyJ)|(?<=\\\w{3}eyJ)|(?<=\\\w{5}eyJ))"
            r"(?=[\w-]{8})(?:\w|-(?!eyJ))*+\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
        ),
    ),
    (
        "private-key",
        "PRIVATE KEY",
        lazy(
            r"-----BEGIN (?P<type>[A-Z ]{0,30})PRIVATE KEY(?: BLOCK)?-----"
            r"(?:(?:(?!-----)[\s\S]){0,20000}-----END (?P=type)PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s\\]{0,20000})"
        ),
    ),
    (
        "header",
        "(?i)authorization",
        lazy(
            r"(?i:authorization)[\"'\\]*\s*[:=,]\s*[\"'\\]*(?:(?i:bearer|basic|token)\s+)?"
            r"(?P<secret>[A-Za-z0-9._~+/=-]{8,})"
        ),
    ),
    (
        "header",
        "(?i)api-key",
        lazy(r"(?i:x-api-key|api-key)[\"'\\]*\s*[:=,]\s*[\"'\\]*(?P<secret>[A-Za-z0-9._~+/=-]{12,})"),
    ),
    ("password", "://", lazy(r"://[^/\s:@\"']{0,256}:(?P<secret>[^/\s:@\"'«]{3,256})@")),
]


#: Kinds that count wherever they stand. Any other begins at a word's edge, which is also the end of an escape.
_ANYWHERE: Final = ("anthropic", "openrouter", "private-key", "header", "password")
_EDGE: Final = lazy(
    r"(?<!\w)|(?<=\\[abefnrtv0])|(?<=\\[0-7]{3})|(?<=\\x[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4})|(?<=%[0-9A-Fa-f]{2})",
    re.ASCII,
)
#: What a masked secret looks like. Text that holds one is not what was said and must not be carried out.
MARK: Final = lazy(r"«secret:[a-z-]+:[0-9a-f]{8}»")
#: How names of secrets end: with one of these as a word of its own, or as the end of a word.
_SECRET_WORDS: Final = ("key", "pat", "pass", "pwd", "credential", "credentials")
_SECRET_ENDS: Final = ("apikey", "token", "secret", "password", "passwd", "passphrase")


def of_environment(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of variables named as secrets, without paths, numbers and switches."""
    return tuple(
        value
        for name, value in environment.items()
        if _names_secret(name.lower()) and len(value) >= limits.SECRET_CHARS and not _ORDINARY.fullmatch(value)
        if not value.startswith(("/", "~")) or _is_token(value)
    )


def named_secret(text: str) -> str:
    """Return the first name like a secret's that is set to a token; or ""."""
    for found in _ASSIGNED.finditer(text):
        name = _HUMP.sub("_", found["name"]).lower().replace("-", "_").replace(".", "_")
        if _names_secret(name) and len(found["value"]) >= _LIKELY_CHARS and _is_token(found["value"]):
            return found["name"]
    return ""


def _names_secret(name: str) -> bool:
    name = _WHICH.sub("", name)
    return name.rpartition("_")[2] in _SECRET_WORDS or name.endswith(_SECRET_ENDS)


_HUMP: Final = lazy(r"(?<=[a-z0-9])(?=[A-Z])")
#: A name and its value: between quotation marks, or without any up to the end of the line.
_ASSIGNED: Final = lazy(
    r"(?<![\w.-])[\d.-]*+(?P<name>[A-Za-z_][\w.-]{2,60})[\"']?\]?[ \t]{0,9}(?:=>|:=|=|:|>)[ \t]{0,9}"
    r"(?:(?P<mark>[\"'`])(?=[^\"'`\n]{12,400}(?P=mark))|(?=[^\s\"'`(){};,<>\[\]]{12,400}[ \t]*(?:$|</)))"
    r"(?P<value>(?=\D{0,99}\d)[^\s\"'`(){};,<>\[\]]{12,400})",
    re.MULTILINE,
)
#: What says which of several secrets it is.
_WHICH: Final = lazy(
    r"(?:_?\d{1,20}+|_(?:prod|production|live|staging|stage|test|dev|local|old|new|backup|primary|secondary)){1,8}+$"
)
_ORDINARY: Final = lazy(r"(?i)\d+|enabled|disabled")
#: Signs of numbers, versions, dates, names, hosts, places, and lists of them.
_PLAIN: Final = lazy(r"[\w\s.,:;/\\@+*()%~'\"\[\]-]*")
_USER: Final = lazy(r":[^/\s:@]+@")
#: What is read as a whole, whatever letters and digits it mixes: a name in the DNS, an address of IPv6.
_WHOLE: Final = lazy(
    r"(?<![^\s,;@/\"'(\[])(?:(?:[a-z0-9_-]{1,63}\.){1,9}[a-z]{2,18}|(?:[A-Z0-9_-]{1,63}\.){1,9}[A-Z]{2,18})"
    r"(?![^\s,;:/\"')\]])|(?<![\w:])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:])"
)
_PIECE: Final = lazy(r"[^\W_]+")
#: Two characters that names hardly ever have side by side.
_ODD: Final = lazy(
    r"(?=\d[A-Za-z]|[A-Za-z]\d|[a-z][A-Z]"
    r"|(?i:[jvz][b-df-hj-np-tv-xz]|q[a-tv-z]|[b-df-hj-np-tv-z][jqxz]|[bfhmw][kvw]|[iu][hjwy]))"
)
_HEXADECIMAL: Final = lazy(r"(?!\d+[a-f]{1,3}$)(?=.*[a-f])(?=.*\d)[0-9a-f]{10,}")
_UUID: Final = lazy(r"(?i)\b(?=[\d-]{0,35}[a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_NUMBER: Final = lazy(r"\d+(?:[eE]\d{1,3})?")
_RANDOM_CHARS = 8
_DIGITS = 20
_ODD_PAIRS = 5
_ENV_LINE: Final = lazy(
    r"^[ \t]*+(?:export\s+)?([A-Za-z_][\w.]*)[ \t]*+=[ \t]*+(\"(?:\\.|[^\"\\])*\"|'[^']*'|(?:[^\n#]|(?<=\S)#)*)", re.M
)
_LIKELY_CHARS: Final = 12
_ALONE: Final = lazy(r"(?!-)[^\s\"'`;,{}()<>\[\]$=:@&?#\\]{12,}")
_IN_ADDRESS: Final = lazy(r"://[^/\s:@]*:([^/\s:@\"'${}]{6,})@")


def env_values(text: str) -> dict[str, str]:
    """Return the variables of an ``.env`` file."""
    return {name: raw.strip().strip("\"'").strip() for name, raw in _ENV_LINE.findall(text)}


def of_env_file(text: str) -> tuple[str, ...]:
    """Return an ``.env`` file's secrets, by name or look; tokens inside values, too: a program may print one alone."""
    text = text.removeprefix("\ufeff").replace("\r", "\n")
    values = env_values(text)
    alone = _ALONE.findall(text.replace("\\n", "\n"))
    likely = (value for value in (*values.values(), *alone) if len(value) >= _LIKELY_CHARS and _is_token(value))
    lines = (line.strip() for value in of_environment(values) if "\n" in value for line in value.split("\n"))
    passwords = (word for word in _IN_ADDRESS.findall(text) if any(map(str.isdigit, word)))
    return tuple(dict.fromkeys((*of_environment(values), *likely, *lines, *passwords)))


def _is_token(value: str) -> bool:
    """Return whether a value has what no number, version, date, name, host or path has."""
    if _USER.search(value) or not _PLAIN.fullmatch(value):
        return any(sign.isdigit() for sign in value)
    place = value.startswith(("/", "~/", "./", "../"))
    pieces = [one for one in _PIECE.findall(_WHOLE.sub(" ", value)) if not (place and one.islower())]
    mixed = [piece for piece in pieces if not piece.isalpha() and not piece.isdigit()]
    if _UUID.search(value) or (
        len(pieces) > 2 and len(mixed) * 2 > len(pieces) and len({len(piece) for piece in pieces}) == 1
    ):
        return True  # groups of a code
    if any(_is_random(piece) for piece in pieces):
        return True
    return sum(len(_ODD.findall(piece)) for piece in mixed if len(piece) < _RANDOM_CHARS) > _ODD_PAIRS


def _is_random(piece: str) -> bool:
    if _NUMBER.fullmatch(piece):
        return len(piece) > _DIGITS
    odd = len(_ODD.findall(piece)) * 4 >= len(piece)
    return len(piece) >= _RANDOM_CHARS and (odd or _HEXADECIMAL.fullmatch(piece) is not None)


def _possible(text: str) -> list[int]:
    """Return the numbers of the shapes that ``text`` may have, found in one pass over it."""
    return sorted(_signs().Match(text.encode("utf-8", "surrogatepass")) or ())


def _is_encoded(text: str) -> bool:
    found = _long_words().search(text.encode("utf-8", "surrogatepass"))
    return bool(found and _ENCODED.search(text))


@cache
def _signs() -> Any:  # noqa: ANN401 - RE2's package has no types
    import re2  # type: ignore[import-untyped]

    signs = re2.Set.SearchSet()
    for _, sign, _ in _SHAPES:
        signs.Add(sign)
    signs.Compile()
    return signs


@cache
def _long_words() -> Any:  # noqa: ANN401
    """Return a pattern that is in whatever :data:`_ENCODED` is in, thirty times as fast."""
    import re2

    return re2.compile(rb"%[0-9A-Fa-f]{2}|\\[ux][0-9A-Fa-f]|[\w+/-]{27}")


_NAME_OR_FILLED_IN: Final = lazy(r"^[A-Za-z_]++\d?(?:[._-][A-Za-z_]++\d?)*+$|[${}<>%*]")


#: A sign of an encoded text, and a word that may be one: with its escapes, or in Base64 on several lines.
_ENCODED: Final = lazy(
    r"%[0-9A-Fa-f]{2}|\\[ux][0-9A-Fa-f]|(?=[a-z\d+/_-]{0,26}[A-Z])(?=[A-Za-z+/_-]{0,26}\d)[\w+/-]{27}", re.ASCII
)
_LETTER: Final = r"[^\s\"'`<>(){},;:=]"
_WORD: Final = lazy(rf"{_LETTER}{{11,}}+(?:(?<=[\w+/]{{60}})\r?\n(?=[\w+/]{{4}}){_LETTER}++)*+", re.ASCII)
_ESCAPE: Final = lazy(r"(?<!\\)\\++(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2}))")


def _unescaped(text: str) -> str:
    for _ in range(3):
        if "%" not in text and "\\" not in text:
            return text
        text = unquote(_ESCAPE.sub(lambda found: chr(int(found[1] or found[2], 16)), text))
    return text


def _from_base64(text: str) -> str:
    try:
        return urlsafe_b64decode(text.replace("\\n", "") + "===").decode("latin-1")
    except ValueError:
        return ""


class Masker:
    """Replaces secrets in texts and JSON. ``key`` keys the fingerprints; ``values`` are exact secrets."""

    def __init__(self, key: bytes, values: Iterable[str] = ()) -> None:
        self._key = key
        forms = {form: value for value in values if len(value) >= limits.SECRET_CHARS for form in _forms(value)}
        self._forms = {form: forms[form] for form in sorted(forms, key=len, reverse=True)}
        self._exact = re.compile("|".join(map(re.escape, self._forms))) if self._forms else None

    def may_touch(self, text: str) -> bool:
        """Return whether ``text`` may hold a secret: quick, wrong only towards yes."""
        known = self._exact is not None and self._exact.search(text)
        return bool(known or _possible(text) or _is_encoded(text))

    def text(self, text: str, *, certain: bool = False) -> str:
        """Return ``text`` masked. ``certain`` skips what code often has instead: header values, URL passwords that are
        names or placeholders.
        """
        text = self._plain(text, certain=certain)
        return _WORD.sub(self._decoded, text) if _is_encoded(text) else text

    def _decoded(self, found: re.Match[str]) -> str:
        for decoded in (_unescaped(found[0]), _from_base64(found[0])):
            if decoded != found[0] and (mark := MARK.search(self._plain(decoded))):
                return mark[0]
        return found[0]

    def _plain(self, text: str, *, certain: bool = False) -> str:
        if self._exact is not None:
            text = self._exact.sub(lambda found: self._mark("registered", self._forms[found[0]]), text)
        for number in _possible(text):
            kind, _, shape = _SHAPES[number]
            text = shape.sub(partial(self._replace, kind, certain), text)
        return text

    def value(self, value: Json) -> Json:
        """Return a JSON value with every string masked, also member names."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(name): self.value(member) for name, member in value.items()}
        if isinstance(value, Sequence):
            return [self.value(item) for item in value]
        return value

    def data(self, data: bytes) -> bytes:
        """Return ``data`` masked; bytes that are not UTF-8 keep their places."""
        return self.text(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def _replace(self, kind: str, certain: bool, found: re.Match[str]) -> str:
        if kind not in _ANYWHERE and not _EDGE.match(found.string, found.start()):
            return found[0]
        if "secret" not in found.re.groupindex:
            return self._mark(kind, found[0])
        if certain and _NAME_OR_FILLED_IN.search(found["secret"]):
            return found[0]
        return found[0].replace(found["secret"], self._mark(kind, found["secret"]))

    def _mark(self, kind: str, secret: str) -> str:
        import hmac  # which loads OpenSSL

        fingerprint = hmac.digest(self._key, secret.encode("utf-8", "surrogatepass"), "sha256").hex()[:8]
        return f"«secret:{kind}:{fingerprint}»"


def _forms(value: str) -> Iterable[str]:
    data = value.encode("utf-8", "replace")
    escaped = json.dumps(value)[1:-1]
    base64 = b2a_base64(data, newline=False).decode().rstrip("=")
    return (
        value,
        escaped,
        escaped.replace("/", r"\/"),
        json.dumps(value, ensure_ascii=False)[1:-1],
        html.escape(value, quote=False),
        html.escape(value),
        quote_plus(value),
        base64,
        base64.replace("+", "-").replace("/", "_"),
    )
