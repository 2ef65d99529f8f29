"""Literal secrets in parameters. A secret belongs in n8n's credentials, never in the workflow file.

Only values with the unmistakable form of a credential are reported; expressions and placeholders are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rails.core.tool_request import Json
from rails.n8n.model import Issue, JsonPath, Node

#: Name of the secret, and its form. Prefixes are those that the issuers document.
_FORMS: Final = (
    ("bearer token", re.compile(r"\b[Bb]earer\s+(?=[\w.~+/-]*\d)[A-Za-z0-9._~+/-]{16,}")),
    ("basic authorization", re.compile(r"\b[Bb]asic\s+(?=[A-Za-z0-9+/]*\d)[A-Za-z0-9+/]{16,}={0,2}(?![\w+/])")),
    ("Anthropic key", re.compile(r"(?<![\w-])sk-ant-[A-Za-z0-9_-]{20,}")),
    ("OpenAI key", re.compile(r"(?<![\w-])sk-(?:proj-|svcacct-)?(?=[\w-]*\d)[A-Za-z0-9_-]{20,}")),
    ("Stripe key", re.compile(r"\b[rs]k_live_[A-Za-z0-9]{16,}")),
    ("GitHub token", re.compile(r"(?<![\w-])(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})")),
    ("GitLab token", re.compile(r"(?<![\w-])glpat-[A-Za-z0-9_-]{20,}")),
    ("Slack token", re.compile(r"(?<![\w-])xox[abeoprs]-(?=[\w-]*\d)[A-Za-z0-9-]{10,}")),
    ("Google API key", re.compile(r"(?<![\w-])AIza[A-Za-z0-9_-]{35}")),
    ("AWS access key", re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")),
    ("SendGrid key", re.compile(r"(?<![\w-])SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}")),
    ("Telegram bot token", re.compile(r"\b\d{8,10}:AA[A-Za-z0-9_-]{33}")),
    ("private key", re.compile(r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----")),
    ("JSON web token", re.compile(r"(?<![\w-])eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}")),
)
#: A quick look for any of them, so that ordinary text costs one pass.
_ANY: Final = re.compile(
    r"[Bb]earer|[Bb]asic|sk[-_]|rk_|gh[pousr]_|github_pat|glpat|xox|AIza|AKIA|ASIA|SG\.|:AA|BEGIN|eyJ"
)
#: A header or parameter of this name with a long literal value is a secret whatever its form.
_NAMES: Final = re.compile(
    r"(?i)(?:^|[-_ ])(?:api[-_ ]?key|access[-_ ]?token|auth[-_ ]?token|client[-_ ]?secret|password|authorization"
    r"|secret)$"
)
_OPAQUE: Final = re.compile(r"(?=[^\s]*\d)(?=[^\s]*[A-Za-z])[A-Za-z0-9_.~+/=-]{20,}")
_PLACEHOLDER: Final = re.compile(
    r"(?i)your|example|placeholder|change[-_ ]?me|replace|insert|dummy|sample|redacted|xxxx|\*\*\*|\.\.\.|[<>]"
    r"|1234567|abcdef|\{\{|\$\{"
)


def check(node: Node) -> Iterator[Issue]:
    """Yield a warning for each literal secret in the node's parameters."""
    todo: list[tuple[JsonPath, Json, str]] = [((*node.path, "parameters"), dict(node.parameters), "")]
    while todo:
        path, value, name = todo.pop()
        if isinstance(value, str):
            yield from _text(node, path, value, name)
        elif isinstance(value, dict):
            named = value.get("name")
            field = named if isinstance(named, str) else ""
            todo.extend(((*path, key), child, field if key == "value" else key) for key, child in value.items())
        elif isinstance(value, list):
            todo.extend(((*path, index), child, "") for index, child in enumerate(value))


def _text(node: Node, path: JsonPath, value: str, name: str) -> Iterator[Issue]:
    if _ANY.search(value):
        for what, form in _FORMS:
            found = form.search(value)
            if found and not _PLACEHOLDER.search(found.group()):
                yield _issue(node, path, what, found.start(), found.end())
                return
    if name and _NAMES.search(name) and _OPAQUE.fullmatch(value) and not _PLACEHOLDER.search(value):
        yield _issue(node, path, f"value of {name!r}", 0, len(value))


def _issue(node: Node, path: JsonPath, what: str, start: int, end: int) -> Issue:
    message = f"{node.title} holds what looks like a literal secret ({what})"
    remedy = "Store it as an n8n credential and select that in the node, or read it in an expression."
    return Issue("N8N090", path, message, remedy, "warning", start=start, end=end)
