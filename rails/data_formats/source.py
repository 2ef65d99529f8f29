"""Whether a text parses in a language, and what it defines; never to judge quality."""

from __future__ import annotations

import ast
import importlib
import itertools
import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from rails.core.lazy_pattern import lazy
from rails.data_formats.python_code import parse_tree
from rails.data_formats.strict_json import JsonFault, parse_strict

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

#: Longer texts are not parsed.
_CHARS: Final = 400_000
#: Brackets deeper than this are not given to a parser.
_DEPTH: Final = 150
_SUFFIXES: Final = {
    ".py": "python",
    ".pyi": "python",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".jsx": "javascript",
    ".ts": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
    ".tsx": "tsx",
    ".json": "json",
    ".ipynb": "json",
    ".webmanifest": "json",
    ".toml": "toml",
    ".yaml": "yaml",
    ".yml": "yaml",
}
#: Languages that tree-sitter reads.
_TREES: Final = ("javascript", "typescript", "tsx")


def language_of(path: str) -> str:
    """Return a file's language by its name, or ""."""
    return _SUFFIXES.get(os.path.splitext(path)[1].lower(), "")  # noqa: PTH122 - PurePath is ten times as slow


@lru_cache(maxsize=8)  # the same text is asked about as a string, as a call, and as a whole
def parses(text: str, language: str) -> bool | None:
    """Return whether ``text`` is valid ``language``; None if unknown."""
    reader = _tree if language in _TREES else _READERS.get(language)
    if reader is None or not _is_bounded(text):
        return None
    try:
        return reader(text, language)
    except (ImportError, MemoryError, RecursionError):
        return None


def _is_bounded(text: str) -> bool:
    if len(text) > _CHARS:
        return False
    depth = 0
    for bracket in re.findall(r"[(\[{}\])]", text):
        depth = depth + 1 if bracket in "([{" else max(depth - 1, 0)
        if depth > _DEPTH:
            return False
    return True


def pairs_up(text: str, language: str) -> bool | None:
    """Return whether a fragment's quotes pair up, line by line; None if unknown."""
    line_pattern = _LINES.get(language)
    if line_pattern is None or len(text) > _CHARS:
        return None
    marked = [line for line in text.split("\n") if _MARKED.search(line)]
    found = [_line_pairs_up(line, line_pattern) for line in marked]
    return None if None in found else all(found)


def _line_pairs_up(line: str, pattern: re.Pattern[str]) -> bool | None:
    match = pattern.match(line)
    rest = line[match.end() :] if match else line
    if match and match[1] and rest:
        return None  # marks in a comment need no partners
    return None if rest[:1] in ("/", "`", "#") or '"""' in rest or "'''" in rest else not rest


class Symbol(Struct, frozen=True):
    """A definition: its name (``Class.method``), its lines, and the first line."""

    name: str
    first: int
    last: int
    head: str

    @property
    def depth(self) -> int:
        """Return how many symbols enclose it."""
        return self.name.count(".")


def symbols(text: str, language: str) -> tuple[Symbol, ...]:
    """Return the classes and functions in order; none if unreadable."""
    finder = _tree_symbols if language in _TREES else {"python": _python_symbols}.get(language)
    if finder is None or not _is_bounded(text):
        return ()
    lines = text.split("\n")
    try:
        found = [*finder(text, language)]
    except (ImportError, MemoryError, RecursionError, SyntaxError, ValueError):
        return ()
    return tuple(Symbol(name, first, last, lines[first - 1].strip()) for name, first, last in found)


def _python_symbols(text: str, _language: str) -> Iterator[tuple[str, int, int]]:
    waiting: list[tuple[str, ast.stmt]] = [("", one) for one in reversed(parse_tree(text).body)]
    while waiting:
        inside, node = waiting.pop()
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{inside}{node.name}", node.lineno, node.end_lineno or node.lineno
        if isinstance(node, ast.ClassDef):
            waiting += [(f"{inside}{node.name}.", one) for one in reversed(node.body)]


def _tree_symbols(text: str, language: str) -> Iterator[tuple[str, int, int]]:
    waiting = [("", _root(text, language))]
    while waiting:
        inside, node = waiting.pop()
        value = node.child_by_field_name("value")
        named = node.child_by_field_name("name") or node.child_by_field_name("property")
        if named is None or not named.text or not _defines(node.type, value.type if value else ""):
            waiting += [(inside, child) for child in reversed(node.named_children)]
            continue
        name = f"{inside}{named.text.decode(errors='replace')}"
        yield name, node.start_point.row + 1, node.end_point.row + 1
        if "class" in node.type or "interface" in node.type:
            waiting += [(f"{name}.", child) for child in reversed(node.named_children)]


def _defines(kind: str, value: str) -> bool:
    if kind in ("variable_declarator", "public_field_definition", "field_definition"):
        return value in ("arrow_function", "function_expression", "function", "class")
    return kind.endswith(("_declaration", "method_definition", "method_signature")) and not kind.startswith("lexical")


def within_strings(text: str, language: str, places: Sequence[int], *, layout: bool = False) -> bool:
    """Return whether a line end or tab at one of ``places`` is in a string or comment, or unknown.

    ``layout``: not if the next line is empty, or indented at least as far as the string's first.
    """
    if language == "json":
        return False  # no text of JSON runs over a line end
    if language != "python" and language not in _TREES:
        return True
    if language == "python":
        spans = [match.span() for match in _PYTHON_STRING.finditer(text)]
    else:
        spans = _tree_strings(text, language)
    starts = [start for start, _ in spans]
    for place in places:
        at = bisect_right(starts, place) - 1
        if at >= 0 and place < spans[at][1] and not (layout and _is_layout(text, starts[at], place)):
            return True
    return False


def _is_layout(text: str, start: int, place: int) -> bool:
    after = text[place + 1 : place + 200].partition("\n")[0]
    if not after.strip() or (text.startswith("/*", start) and after.lstrip().startswith("*")):
        return True
    line = text[text.rfind("\n", 0, start) + 1 : start]
    if indent := len(line) - len(line.lstrip()):
        return len(after) - len(after.lstrip()) >= indent
    if not line and text[start:place] in ('"""', "'''"):
        return True
    return bool(_LINE_BEGINS.match(after)) and text[place - 1] not in "/([{'\"`"


def _tree_strings(text: str, language: str) -> list[tuple[int, int]]:
    data = text.encode(errors="replace")
    chars = [0, *itertools.accumulate(((byte & 0xC0) != 0x80 for byte in data), int.__add__)]
    nodes = _nodes(_root(text, language), lambda node: not _STRING_NODE.search(node.type))
    return sorted((chars[node.start_byte], chars[node.end_byte]) for node in nodes if _STRING_NODE.search(node.type))


def _python(text: str, _language: str) -> bool | None:
    try:
        tree = parse_tree(text)
    except (SyntaxError, ValueError):
        return False
    return True if any(_says_something(one) for one in tree.body) or not text.strip() else None


def _says_something(node: ast.stmt) -> bool:
    """Return whether a statement is more than names: ``C: temp`` is valid Python."""
    match node:
        case ast.AnnAssign():
            return node.value is not None
        case ast.Expr(value=ast.Constant()):
            return node.end_lineno != node.lineno  # a docstring of several lines
        case ast.Expr(value=ast.Name() | ast.Tuple() | ast.BinOp()):
            return False
    return True


def _json(text: str, _language: str) -> bool:
    return not isinstance(parse_strict(text), JsonFault)


def _toml(text: str, _language: str) -> bool:
    import tomllib

    try:
        tomllib.loads(text)
    except ValueError:
        return False
    return True


def _yaml(text: str, _language: str) -> bool:
    import yaml

    try:
        for _ in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            pass
    except (yaml.YAMLError, ValueError):
        return False
    return True


#: Package and grammar of each language that tree-sitter reads.
_GRAMMARS: Final = {"typescript": "language_typescript", "tsx": "language_tsx"}


@cache
def _parser(language: str) -> Parser:
    """Raise ImportError if the grammar is not installed."""
    from tree_sitter import Language
    from tree_sitter import Parser as TreeParser

    package = importlib.import_module(f"tree_sitter_{language.replace('tsx', 'typescript')}")
    return TreeParser(Language(getattr(package, _GRAMMARS.get(language, "language"))()))


def _root(text: str, language: str) -> Node:
    return _parser(language).parse(text.encode(errors="replace")).root_node


def _nodes(root: Node, enters: Callable[[Node], bool]) -> Iterator[Node]:
    """Yield ``root`` and, in order, what is inside of the nodes that ``enters`` names."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        if enters(node):
            waiting += reversed(node.children)


def first_error(text: str, language: str) -> tuple[int, int] | None:
    """Return tree-sitter's first error (line, column, from 1), or None."""
    for node in _nodes(_root(text, language), lambda node: node.has_error):
        if node.is_error or node.is_missing:
            return node.start_point.row + 1, node.start_point.column + 1
    return None


def _tree(text: str, language: str) -> bool | None:
    root = _root(text, language)
    if root.has_error or any(map(_is_torn, _nodes(root, _has_lines))):
        return False
    return True if not root.named_children or any(map(_does_something, root.named_children)) else None


def _does_something(node: Node) -> bool:
    if node.type == "expression_statement":
        return any(child.type not in ("identifier", "member_expression") for child in node.named_children)
    return node.type not in ("labeled_statement", "comment", "empty_statement")


def _has_lines(node: Node) -> bool:
    return node.start_point.row != node.end_point.row


def _is_torn(node: Node) -> bool:
    """Return whether a string runs over a line end, which the grammars accept."""
    return node.type == "string" and re.search(rb"(?<!\\)\r?\n", node.text or b"") is not None


#: A line with marks that begins and ends outside of strings; words and strings stand apart.
_PLAIN_STRINGS: Final = r"\"(?:[^\"\\]|\\.)*+\"(?![\w\"'])|'(?:[^'\\]|\\.)*+'(?![\w\"'])"
_PYTHON_LINE: Final = lazy(
    rf"(?:[rRbBuUfF]{{0,2}}(?:{_PLAIN_STRINGS})|\w++(?![\"'])|[^\w\"'\\`#])*+(#[^\"'\\]*|\\(?=\Z))?", re.S
)
_JAVASCRIPT_LINE: Final = lazy(
    rf"(?:{_PLAIN_STRINGS}|\w++(?![\"'])|[^\w\"'\\`/]|(?<=[\w)\].])/(?![/*]))*+(//[^\"'\\`]*)?", re.S
)
_LINES: Final = {
    "python": _PYTHON_LINE,
    "toml": _PYTHON_LINE,
    "json": lazy(r"(?:\"(?:[^\"\\]|\\.)*+\"(?=\s*(?:[:,}\]]|\Z))|[\w\s{}\[\]:,.+-])*+()"),
    **dict.fromkeys(_TREES, _JAVASCRIPT_LINE),
}
#: How lines of a long text begin that is not indented; other marks may be the end of what is quoted in it.
_LINE_BEGINS: Final = lazy(r"\s\s|\w|[*#.-]|\"\"\"|'''")
#: A comment or string of a text that is valid Python.
_PYTHON_STRING: Final = lazy(
    r"#[^\n]*+|(\"\"\"|''')(?:\\.|(?!\1).)*+(?:\1)?|\"(?:\\.|[^\"\\\n])*+\"?|'(?:\\.|[^'\\\n])*+'?", re.S
)
_MARKED: Final = lazy(r"[\"'\\`]")
#: Nodes whose line ends are part of a text.
_STRING_NODE: Final = lazy(r"string|template|comment|regex|jsx_text")
_READERS: Final = {"python": _python, "json": _json, "toml": _toml, "yaml": _yaml}
