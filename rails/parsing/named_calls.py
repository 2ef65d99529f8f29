"""Calls in no form that is known: the name of a tool, and behind it at once one of its parameters with a value.

Models write calls in ever new forms: as YAML, under a heading, as Python in a JSON fence, with quotes of another kind.
What they have in common is the order of three things, and that nothing but marks and a few words stands between them.
Text that is about tools has other words there, or no value. Nothing is read here; that a call was wanted is all that
is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.json_schema import quick_check
from rails.parsing import foreign_calls
from rails.parsing.results import ToolSchemas

#: What stands for a quotation mark in a text that was escaped once more, or came from another template.
_QUOTE: Final = lazy(r"\\u0022|\\x22|&quot;|&#34;|&#x22;|<\|\"\|>|<escape>|\\\"")
#: Words that may stand before a tool's name, and between it and its first parameter.
_LABELS: Final = (
    "action|actions|api|args|arguments|as|await|begin|call|calling|calls|code|const|default_api|eof|file|following|for"
    "|function|functions|i|input|invoke|invoking|json|kwargs|let|ll|me|name|now|parameter|parameters|params|post|print"
    "|py|python|request|result|return|run|running|s|sep|start|step|text|the|this|to|tool|toolcall|tools|toml|type|u|use"
    "|using|will|with|yaml|yml"
)
_BEFORE: Final = lazy(
    rf"(?:(?:const|let|var)[ \t]+\w{{1,30}}(?=[ \t]*=)|<[^<>\n]{{1,40}}>|[^\w\n]|_|\d{{1,3}}(?=\W)"
    rf"|(?<![^\W_])(?:{_LABELS})(?![^\W_])|(?<=[{{\[\"'(])\w{{1,4}}(?=[\"':])|(?<=[\"'])\w{{1,4}}){{0,60}}+",
    re.I,
)
#: What defines a function, or opens a table of settings.
_DEFINED: Final = lazy(r"(?:.*\bfunction\s+|\s*\[+\w+\.)", re.I)
#: A table of settings in TOML that is none of a call.
_TABLE: Final = lazy(
    r"^\[+(?!tool|call|function|action)[\w.-]+\]+[ \t]*(?:#.*)?\n(?:[ \t]*[\w#].*\n)*[ \t]*\w+ *= *[\"']\Z", re.M
)
#: The key that names a tool below its parameters.
_KEY: Final = lazy(r"[\"']?(?:tool|tool_?name|function|action|name)[\"']?[ \t]*[:=][ \t]*[\"']?", re.I)
_SURE: Final = lazy(r"tool|function|action|call|invoke", re.I)
_BETWEEN: Final = rf"(?:[^\w—–→]|[\d_]|(?<![^\W_])(?i:{_LABELS})(?![^\W_])){{0,80}}?"
#: A value that somebody meant: quoted, a number, a path or a file, a list, a command with an option, or the mark of a
#: block that follows.
_VALUE: Final = (
    r"(?:[\"'“”`]{1,3}(?!\.{3}|…|<|path[/_]to|string\b|str\b|the |a |an |your |[\"'“”`])[^\n]"
    r"|\d|[|>][-+]?[ \t]*(?:\n|\Z)|\[[ \t]*[\"'{]"
    r"|(?!path/to|\.{3}|https?:)[\w.@-]*(?:[/\\]|\.[A-Za-z]\w{0,5}\b)[\w.@/\\-]*(?=[\s\"',;)}\]<]|\Z)"
    r"|(?!(?i:any|array|boo|dict|float|int|list|number|object|optional|path|required|str|the)\w*\b)[\w-]+[ \t]*"
    r"(?=\n|\Z)|[a-z][\w.-]*[ \t]+(?:\w+[ \t]+){0,3}[-./]\S)"
)
#: A call between back-ticks with nothing else on its line.
_ALONE: Final = lazy(r"[ \t]*`\w+\([^`\n]*\)`[ \t]*\r?$", re.M)
#: What stands before a tool in a log: how many it is, or when.
_NUMBERED: Final = lazy(r"[\d:T.-]*\d[ \t]+")
_TRIES: Final = 200
#: How far behind a name its first parameter may stand.
_REACH: Final = 300


def named_calls(text: str, tools: ToolSchemas) -> Iterator[foreign_calls.ForeignCall]:
    """Yield where ``text`` names a tool and gives it a parameter. At most some names are looked at."""
    names = sorted((name for name in tools if quick_check.properties(tools[name])), key=len, reverse=True)
    if not names:
        return
    plain = _QUOTE.sub(lambda found: '"'.ljust(len(found[0])), text)
    pattern = re.compile(rf"(?<![\w-])(?<!\S/)(?:{'|'.join(map(re.escape, names))})(?![\w/-])")
    for found in islice(pattern.finditer(plain), _TRIES):
        name, line = found[0], plain.rfind("\n", 0, found.start()) + 1
        head = plain[line : found.start()].lstrip()
        shown = head.endswith("`") and not head.endswith("``") and plain[found.end() : found.end() + 1] != "`"
        shown = shown and not _ALONE.match(plain, line)
        quoted = head.startswith(">") and not head.startswith(">>>")
        if (
            shown
            or quoted
            or _NUMBERED.fullmatch(head)
            or not _BEFORE.fullmatch(head)
            or foreign_calls.in_traceback(text, line)
        ):
            continue
        if plain[found.end() : found.end() + 1] in "(]" and _DEFINED.fullmatch(head):
            continue
        if _TABLE.search(plain, max(0, line - _REACH), found.start()):
            continue
        if not foreign_calls.FUNCTION_NAME.fullmatch(name) and not _SURE.search(head):
            continue
        keys = "|".join(re.escape(key) for key in quick_check.properties(tools[name]))
        given = re.compile(
            rf"{_BETWEEN}(?:\b(?i:{keys})[\"'“”’*`|]{{0,3}}[ \t]*(?::|=>?|<\|)|(?<=--)(?:{keys})[= ]|(?<=:)(?:{keys}) )"
            rf"[ \t*]*(?:\n[ \t]*(?=[`\"']))?{_VALUE}"
        )
        above = _KEY.fullmatch(head) and re.compile(rf"^[ \t]*[\"']?(?:{keys})[\"']?[ \t]*[:=][ \t]*{_VALUE}", re.M)
        if given.match(plain, found.end(), found.end() + _REACH) or (
            above
            and above.search(plain, plain.rfind("\n\n", max(0, line - _REACH), line) + 1 or max(0, line - _REACH), line)
        ):
            end = plain.find("\n", found.end())
            yield foreign_calls.ForeignCall(found.start() - len(head), len(text) if end < 0 else end, name, "")
