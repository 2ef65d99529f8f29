"""A reader of damaged JSON: one pass, no recursion, every departure noted or refused.

Tiers A to C of ``rails.parsing.repairs``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from rails.core import limits
from rails.core.lazy_pattern import lazy
from rails.core.tool_request import Json
from rails.data_formats.strict_json import JsonFault, ParsedJson, read_prefix
from rails.parsing.lenient_tokens import CLOSERS, DoubtfulText, Stop, Tokens

_BARE_KEY: Final = lazy(r"[A-Za-z_$][\w$-]*(?=[ \t\n\r]*(?::|=>))")
#: More data behind a block: how it begins, or what no remark contains (brackets, a quotation mark next to a colon).
_MORE_DATA: Final = lazy(r"\A[,:\"'“”]|[{}\[\]]|[\"'“”‘’]\s*:|:\s*[\"“]")
_SCALARS: Final = lazy(r"(?:(?:-?\d[\d.eE+-]*|true|false|null)(?:\s+|\Z))+\Z")
_COMPLETE_KEY: Final = lazy(r"(?:\"([^\"\\\n]{1,80})\"|'([^'\\\n]{1,80})'|([A-Za-z_$][\w$-]*))[ \t\n\r]*:")
#: The first member of a block whose outer braces were lost, and the one that makes it a call.
_NO_BRACE: Final = lazy(r"(?:([\"'“]))?([A-Za-z_][\w-]{0,80})(?(1)[\"'”])[ \t]*:\s*(?:[\"'“{\[\d]|true|false|null)")
_NAMES_TOOL: Final = lazy(
    r"(?:(?:\A|,)\s*|\n[^\S\n]*)[\"'“]?tool(?:_name)?[\"'”]?\s*:\s*[\"'“][\w.-]{1,100}[\"'”](?:\s*(?:,|\Z)|[ \t\r]*\n)"
)
#: A label, or a fence, before the block.
_LEADING: Final = lazy(
    r"(?:(?:[^{}\[\]\"'=(`“”:\n]*+[:\n]\s*+)++|json\s*+|(?:`{3,}|~{3,})[ \t]*+(?:json[5c]?[ \t]*+)?\r?\n\s*+)(?=[{\[])",
    re.IGNORECASE,
)
#: A key that lost its first quotation mark, or has no or another one at its end.
_LOST: Final = lazy(
    r"([A-Za-z_][\w-]{0,80})[\"'](?=[ \t]*:)|[\"']([A-Za-z_][\w-]{0,80})[\"'”’]?(?=[ \t]*:[ \t]*[\"'“{\[\dtfn])"
)
#: What a value can begin with that stands behind its key without a colon.
_VALUE_BEGINS: Final = lazy(r"[\"{\[]|-?\d|(?:true|false|null)\b")
#: The beginning of a string between three quotation marks; a fourth one is content that nobody escaped.
_LONG: Final = lazy(r"\"{3}(?!\")|'{3}(?!')")
#: Tokens of a chat template, and closing tags of other call formats, behind a block.
_TOKENS_BEHIND: Final = lazy(
    r"(?:\s|`{3,}|~{3,}|\[/?TOOL_CALLS\]|<\|[\w/]{1,40}\|>|</?(?:s|tool_calls?|function_calls?)>)*", re.IGNORECASE
)
_CLOSERS_BEHIND: Final = lazy(r"[\s}\]]*")
#: How prose or a comment behind a block begins, which can hold no JSON.
_REMARK_BEGINS: Final = lazy(r"[^\W\d_]|[(*;#>-]|[^\x00-\x7f“”‘’«»„＂]|=>|//|/\*|<!--|\d{1,3}[.)]\s")

#: Returns property names; called only when a repair depends on them.
KnownNames: TypeAlias = Callable[[], frozenset[str]]
#: A step reads one thing and returns the next step, or nothing at the end.
ReadStep: TypeAlias = "Callable[[], ReadStep | None]"


class LenientReader(Tokens):
    """One pass over a text: ``stack`` holds the open containers, ``keys`` the pending key of each."""

    def __init__(self, text: str, known: KnownNames, closers: bool, doubts: bool = False) -> None:
        super().__init__(text, doubts)
        self.known, self.closers = known, closers
        self.keys: list[str] = []
        self.result: Json = None

    def read(self) -> ParsedJson:
        """Read the value and what follows it."""
        self._lead()
        fault = None if self.stack else read_prefix(self.text, self.pos)
        if isinstance(fault, JsonFault):
            raise Stop(fault.code, fault.message, fault.offset)
        step: ReadStep | None = self._member if self.stack else self._value
        while step is not None:
            step = step()
        return ParsedJson(self.result, tuple(self.repairs))

    def _lead(self) -> None:
        self.space()
        start = self.pos
        if self.text.startswith(("{", "["), start):
            return
        member = _NO_BRACE.match(self.text, start) if self.closers else None
        if member and _NAMES_TOOL.search(self.text[start:]):
            self.note("missing_braces", start, "", "{")
            self.stack.append({})
            self.keys.append("")
            return
        found = _LEADING.match(self.text, start)
        if not found:
            raise Stop("syntax", "the block does not start with a JSON object", start)
        self.note("leading_text", start, found[0], "")
        self.pos = found.end()

    # -- steps: each reads one thing and returns the next step --------------------------------------

    def _value(self) -> ReadStep | None:
        self.space()
        char = self.text[self.pos : self.pos + 1]
        if char in ("{", "["):
            if len(self.stack) >= limits.JSON_DEPTH:
                raise Stop("depth", f"values are nested more than {limits.JSON_DEPTH} deep", self.pos)
            self.stack.append({} if char == "{" else [])
            self.keys.append("")
            self.pos += 1
            return self._member if char == "{" else self._value
        if char == "]" and self.stack and self.stack[-1] == []:
            self.pos += 1
            return self._close()
        if char == "`" or _LONG.match(self.text, self.pos):
            return self._put(self.long_string())
        if char in CLOSERS:
            return self._put(self.string())
        return self._put(self.scalar())

    def _put(self, value: Json) -> ReadStep | None:
        if not self.stack:
            self.result = value
            return self._tail
        container = self.stack[-1]
        if isinstance(container, dict):
            container[self.keys[-1]] = value
        else:
            container.append(value)
        return self._after

    def _close(self) -> ReadStep | None:
        self.keys.pop()
        return self._put(self.stack.pop())

    def _member(self) -> ReadStep | None:
        self.space()
        char = self.text[self.pos : self.pos + 1]
        if char == "}":
            self.pos += 1
            return self._close()
        if char == ",":
            self.note("extra_comma", self.pos, ",", "")
            self.pos += 1
            return self._member
        start = self.pos
        key = self._key(char)
        key_end = self.pos
        self.space()
        self._colon(key, char, key_end)
        container = self.stack[-1]
        if key in container:
            raise Stop("duplicate_key", f'the key "{key[:80]}" occurs twice in one object', start)
        self.keys[-1] = key
        return self._value

    def _colon(self, key: str, char: str, key_end: int) -> None:
        text, pos = self.text, self.pos
        if text[pos : pos + 1] == ":":
            self.pos += 1
        elif text.startswith("=>", pos):
            self.note("colon_style", pos, "=>", ":")
            self.pos += 2
        elif pos > key_end and _VALUE_BEGINS.match(text, pos) and key in self.known():
            self.note("missing_colon", key_end, "", ":")
        else:
            code = "inner_quotes" if char in ('"', "'") else "syntax"
            raise Stop(code, "expecting ':' after a key", pos)

    def _key(self, char: str) -> str:
        complete = _COMPLETE_KEY.match(self.text, self.pos)
        lost = None if complete else _LOST.match(self.text, self.pos)
        name = lost[1] or lost[2] if lost else ""
        if lost and name in self.known():
            self.note("key_quote", self.pos, lost[0], f'"{name}"')
            self.pos = lost.end()
            return name
        if char in CLOSERS:
            start, name = self.pos, self.string()
            if isinstance(name, DoubtfulText):
                raise Stop("mixed_escapes", "the backslashes of a key can be read in two ways", start)
            return name
        bare = _BARE_KEY.match(self.text, self.pos)
        if not bare:
            raise Stop("syntax" if char else "cut", "expecting a key in quotes", self.pos)
        self.note("bare_key", self.pos, bare[0], f'"{bare[0]}"')
        self.pos = bare.end()
        return bare[0]

    def _after(self) -> ReadStep | None:
        value_end = self.pos
        new_line = self.space(after_value=True)
        char = self.text[self.pos : self.pos + 1]
        in_object = isinstance(self.stack[-1], dict)
        if char == ",":
            return self._comma
        if char == ("}" if in_object else "]"):
            self.pos += 1
            return self._close()
        if char in ("}", "]", ""):
            return self._missing_closer(char, value_end)
        sure = (new_line or self.text[value_end - 1] in "}]") and char not in "/#"
        key = _COMPLETE_KEY.match(self.text, self.pos) if in_object else None
        if key is not None and not sure:
            # On one line, a string could also go on here: only a quoted, known key that stands apart ends it.
            sure = key[3] is None and self.pos > value_end and (key[1] or key[2]) in self.known()
        if sure and (key is not None or not in_object):
            if self.text[value_end - 2] == ",":
                raise Stop("syntax", "a comma seems to have slipped into a string", value_end - 2)
            self.note("missing_comma", value_end, "", ",")
            return self._member if in_object else self._value
        code = "inner_quotes" if self.text[value_end - 1] in "\"'”’" or char == '"' else "syntax"
        raise Stop(code, "expecting ',' or a closing bracket after a value", self.pos)

    def _comma(self) -> ReadStep | None:
        start = self.pos
        self.pos += 1
        self.space()
        if self.text.startswith(("}", "]"), self.pos):
            self.note("trailing_comma", start, ",", "")
            return self._after
        return self._member if isinstance(self.stack[-1], dict) else self._value

    def _missing_closer(self, char: str, value_end: int) -> ReadStep | None:
        if not self.closers:
            raise Stop("cut", "a closing bracket is missing", self.pos)
        if not char and value_end == len(self.text) and self.text[-1:].isdigit():
            raise Stop("cut", "the text ends inside a number", self.pos)
        mate = "}" if isinstance(self.stack[-1], dict) else "]"
        if char and not any(isinstance(one, dict) == (char == "}") for one in self.stack[:-1]):
            raise Stop("syntax", f"expecting '{mate}', found '{char}'", self.pos)
        self.note("missing_closers", self.pos, "", mate)
        return self._close()

    def _tail(self) -> None:
        self.space(after_value=True)
        closers = _CLOSERS_BEHIND.match(self.text, self.pos)[0]  # type: ignore[index]
        if closers.strip():
            self.note("extra_closers", self.pos, closers.strip(), "")
        self.pos += len(closers)
        self.space(after_value=True)
        behind = self.text[self.pos :]
        rest = behind[_TOKENS_BEHIND.match(behind).end() :]  # type: ignore[union-attr]
        paired = all(rest.count(opening) == rest.count(closing) for opening, closing in ("{}", "[]"))
        is_remark = paired and '"' not in rest and not closers.strip() and _REMARK_BEGINS.match(rest)
        if _SCALARS.match(rest) or (not is_remark and _MORE_DATA.search(rest)):
            raise Stop("extra_data", "there is more data after the value", len(self.text) - len(rest))
        if behind:
            self.note("trailing_text", self.pos, behind, "")
