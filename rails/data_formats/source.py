"""Does a text parse in a language? Used to choose between two readings of one text, never to judge quality."""

from __future__ import annotations

import ast
import importlib
import re
import warnings
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Final

from rails.data_formats.strict_json import JsonFault, parse_strict

if TYPE_CHECKING:
    from tree_sitter import Parser

#: Longer texts are not parsed.
_CHARS: Final = 400_000
#: Brackets deeper than this are not given to a parser.
_DEPTH: Final = 150
_SUFFIXES: Final = {
    **dict.fromkeys(("py", "pyi"), "python"),
    **dict.fromkeys(("js", "mjs", "cjs", "jsx"), "javascript"),
    **dict.fromkeys(("ts", "mts", "cts"), "typescript"),
    "tsx": "tsx",
    **dict.fromkeys(("json", "ipynb", "webmanifest"), "json"),
    "toml": "toml",
    **dict.fromkeys(("yaml", "yml"), "yaml"),
}


def language_of(path: str) -> str:
    """Return the language of a file by its name; "" for one that is not parsed here."""
    return _SUFFIXES.get(path.rpartition(".")[2].lower(), "") if "." in path else ""


def parses(text: str, language: str) -> bool | None:
    """Return whether ``text`` is a whole, valid text of ``language``; None where that cannot be told."""
    reader = _READERS.get(language)
    if reader is None or len(text) > _CHARS or _depth(text) > _DEPTH:
        return None
    try:
        return reader(text)
    except (ImportError, MemoryError, RecursionError):
        return None


def _depth(text: str) -> int:
    """Return how deep brackets could be nested at most, strings and comments not told apart."""
    depth = most = 0
    for bracket in re.findall(r"[(\[{}\])]", text):
        depth = depth + 1 if bracket in "([{" else max(depth - 1, 0)
        most = max(most, depth)
    return most


def _python(text: str) -> bool | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            return False
    return True if any(_says_something(one) for one in tree.body) or not tree.body else None


def _says_something(node: ast.stmt) -> bool:
    """Return whether a statement is more than words that happen to be names: ``C: temp`` is valid Python."""
    if isinstance(node, ast.AnnAssign):
        return node.value is not None
    return not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Name | ast.Constant | ast.Tuple | ast.BinOp))


def _json(text: str) -> bool:
    return not isinstance(parse_strict(text), JsonFault)


def _toml(text: str) -> bool:
    import tomllib

    try:
        tomllib.loads(text)
    except ValueError:
        return False
    return True


def _yaml(text: str) -> bool:
    import yaml

    try:
        for _ in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            pass
    except (yaml.YAMLError, ValueError):
        return False
    return True


#: Package and grammar of each language that tree-sitter reads.
_GRAMMARS: Final = {
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
}


@cache
def _parser(language: str) -> Parser:
    """Return the tree-sitter parser of a language. Raises ImportError where its grammar is not installed."""
    from tree_sitter import Language
    from tree_sitter import Parser as TreeParser

    package, grammar = _GRAMMARS[language]
    return TreeParser(Language(getattr(importlib.import_module(package), grammar)()))


def _tree(language: str) -> Callable[[str], bool]:
    def read(text: str) -> bool:
        return not _parser(language).parse(text.encode(errors="replace")).root_node.has_error

    return read


_READERS: Final[dict[str, Callable[[str], bool | None]]] = {
    "python": _python,
    "json": _json,
    "toml": _toml,
    "yaml": _yaml,
    **{name: _tree(name) for name in ("javascript", "typescript", "tsx")},
}
