"""Literal secrets in parameters: they belong in credentials. Only unmistakable forms; no expressions, placeholders."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rails.n8n.facts import FACTS
from rails.n8n.model import Issue, JsonPath, Node, issue
from rails.n8n.rules.expressions import parameter_texts
from rails.n8n.values import at_parts

#: Name of the secret, and its form. Prefixes are those that the issuers document.
_FORMS: Final = [(name, re.compile(form)) for name, form in FACTS["secret_forms"]]
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
    """Yield a warning for each literal secret."""
    for path, text in parameter_texts(node):
        name = path[-1]
        if name == "value":  # of a row with a name: a header, a field of a form
            name = at_parts(node.raw, map(str, (*path[2:-1], "name")))
        yield from _text(node, path, text, name if isinstance(name, str) else "")


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
    return issue("N8N090", path, start=start, end=end, node=node, what=what)
