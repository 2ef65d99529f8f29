"""n8n expressions: where code in ``={{ … }}`` is, whether it parses, which nodes it names.

n8n cuts at the first ``}}`` (even in a string), takes ``{…}`` as an object, needs a leading expression. Anchors:
``@n8n/tournament`` 1.x, ``ExpressionSplitter``, ``ExpressionBuilder``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from msgspec import Struct

from rails.n8n.facts import FACTS
from rails.n8n.javascript import sandbox, syntax
from rails.n8n.javascript.syntax import JavaScriptFault, ParsedScript

#: Plain reads such as ``$json.a.b[0]`` are most of all expressions and need no parser.
_PLAIN: Final = re.compile(r"\s*(?:\$json|\$input|\$node|\$now|\$today|\$env|\$vars|\$binary|\$workflow|\$execution)"
                           r"(?:\??\.[A-Za-z_]\w*|\[\d+\]|\(\))*\s*")  # fmt: skip
_REFERENCE: Final = re.compile(
    r"""(?<![\w$.])\$(?:(?P<call>items)?\s*\(|node\s*(?P<bracket>\[)|node\s*\.\s*(?P<dot>[A-Za-z_$][\w$]*))"""
    r"""(?(dot)|\s*(?P<quote>['"`])(?P<name>(?:[^'"`\\\n]|\\.|(?!(?P=quote))['"`])*)(?P=quote)\s*[\],)])"""
)
#: Code that gives ``$`` a meaning of its own, as those who read HTML do.
_OWN_DOLLAR: Final = re.compile(r"\b(?:const|let|var|function)\s+\$\s*[=(,;]|\(\s*\$\s*[,)]")
_VARIABLE: Final = re.compile(r"(?<![\w$.])\$[A-Za-z_]\w*")
#: Names that are looked at in one piece of code: each costs a look at the whole piece.
_MOST_NAMES: Final = 1_000
_MOST_UNKNOWN: Final = 10
_SIMPLE_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_ESCAPE: Final = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)

#: Every ``$`` name that n8n defines somewhere (expressions, Code nodes, HTTP pagination, declarative nodes).
VARIABLES: Final = frozenset(FACTS["variables"])


class Segment(Struct, frozen=True):
    """The code between ``{{`` and ``}}``: offsets into the text, and whether it is closed.

    ``code`` is what n8n evaluates, the first ``\\}}`` without its backslash.
    """

    start: int
    end: int
    code: str
    closed: bool


class Reference(Struct, frozen=True):
    """A node that code names, at character offsets.

    ``may_not_fail``: a run can do without (``||``, ``?``, a branch, ``try`` with ``catch``).
    """

    name: str
    start: int
    end: int
    may_not_fail: bool = False


def segments(text: str) -> Iterator[Segment]:
    """Yield an expression's code segments (with its ``=``)."""
    position = 1
    while True:
        opened = _unescaped(text, "{{", position)
        if opened < 0:
            return
        closed = _unescaped(text, "}}", opened + 2)
        end = closed if closed >= 0 else len(text)
        yield Segment(opened + 2, end, text[opened + 2 : end].replace("\\}}", "}}", 1), closed >= 0)
        if closed < 0:
            return
        position = closed + 2


def _unescaped(text: str, mark: str, start: int) -> int:
    found = text.find(mark, start)
    while found >= 0:
        before = found
        while before > start and text[before - 1] == "\\":
            before -= 1
        if (found - before) % 2 == 0:
            return found
        found = text.find(mark, found + 2)
    return -1


def constructor_fault(text: str) -> JavaScriptFault | None:
    """Return ``.constructor``'s fault: refused even outside code."""
    found = sandbox.constructor_access(text)
    return JavaScriptFault(*found, '".constructor" may stand nowhere in it', is_syntax=False) if found else None


def syntax_fault(code: str) -> JavaScriptFault | None:
    """Return why n8n cannot evaluate a segment, or ``None``."""
    if _PLAIN.fullmatch(code) and not sandbox.is_suspicious(code):
        return None
    shift = 1 if code.lstrip().startswith("{") else 0
    parsed = syntax.parse_javascript(f"({code})" if shift else code)
    if parsed is None:
        return None
    if parsed.fault is not None:
        start, end = (min(max(offset - shift, 0), len(code)) for offset in (parsed.fault.start, parsed.fault.end))
        return JavaScriptFault(start, end, parsed.fault.message)
    if parsed.first_statement != "expression_statement":
        what = "there is no expression in it" if not parsed.first_statement else "it is a statement, not an expression"
        return JavaScriptFault(0, len(code), what)
    refused = sandbox.refusal(parsed)
    if refused is None:
        return None
    start, end = (len(parsed.code.encode()[:offset].decode(errors="ignore")) - shift for offset in refused[:2])
    return JavaScriptFault(max(start, 0), min(end, len(code)), refused.message, is_syntax=False)


def node_references(code: str) -> Iterator[Reference]:
    """Yield nodes named by a literal: ``$('A')``, ``$items('A')``, ``$node['A']``, ``$node.A``.

    Not in comments, strings, templates with ``${…}``, nor by the code's own ``$``.
    """
    if "$" not in code:
        return
    owned = _OWN_DOLLAR.search(code) is not None
    parsed: ParsedScript | None = None
    for match in islice(_REFERENCE.finditer(code), _MOST_NAMES):
        if parsed is None:
            parsed = syntax.parse_javascript(code)
        if parsed is not None and not parsed.is_name(match.start(), match.start() + 1):
            continue
        if owned and match.group().startswith(("$(", "$ ")):
            continue
        group = "dot" if match["dot"] else "name"
        raw = match[group]
        if match["quote"] == "`" and "${" in raw:
            continue
        harmless = parsed is not None and parsed.may_not_fail(match.start())
        yield Reference(string_value(raw), match.start(group), match.end(group), harmless)


def string_value(raw: str) -> str:
    """Return a quoted text as JavaScript reads it."""
    if "\\" not in raw:
        return raw
    return _ESCAPE.sub(_character, raw)


def _character(match: re.Match[str]) -> str:
    digits = match[1] or match[2] or match[3]
    if digits:
        number = int(digits, 16)
        return chr(number) if number < 0x110000 else match[0]
    return _SIMPLE_ESCAPES.get(match[4], match[4])


def unknown_variables(code: str) -> Iterator[Reference]:
    """Yield ``$`` names that neither n8n nor the code defines."""
    unknown = (match for match in _VARIABLE.finditer(code) if match.group() not in VARIABLES)
    for match in islice(unknown, _MOST_UNKNOWN):
        name = match.group()
        if re.search(rf"(?:let|const|var|function)\s+{re.escape(name)}\b", code):
            continue
        parsed = syntax.parse_javascript(code)
        if parsed is not None and not parsed.is_code(match.start(), match.end()):
            continue
        yield Reference(name, match.start(), match.end())
