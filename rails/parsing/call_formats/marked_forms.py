"""Other models' wire formats, from one container's text with its marks (``rails.parsing.quoted``).

    elements   <invoke name="tool"><parameter name="key">text</parameter></invoke>  Claude, MiniMax, DeepSeek's DSML
               <function=tool><parameter=key>text</parameter></function>            Qwen
    glm        name<arg_key>key</arg_key><arg_value>text</arg_value>
    kimi, deepseek, harmony   tokens around the tool's name, then JSON
    values     {"name": tool, "arguments": {…}}, or a list of such                       Hermes, Llama, Cohere, Granite
    Python     [tool(key="text")]                                                        Llama, Gemini

One mark may stand around all calls, as ``<tool_call>`` does. JSON may stand in place of an element's parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rails.core.lazy_pattern import lazy
from rails.core.tool_request import Json, Repair
from rails.data_formats.strict_json import JsonFault, ParsedJson, read_prefix
from rails.parsing.call_formats.json_calls import Call, call_of
from rails.parsing.call_formats.reader import NAME, NotInForm, named_in

_BAR: Final = r"[|｜]"


class WireForm(NamedTuple):
    """How a call is written, and patterns of what is around its parts.

    Group 1 of ``call`` is the tool's name, without one the JSON holds it. ``texts``: what is before and behind a named
    text, if there are such. Its group 2 is the name, and a group 1 says that line ends around it do not count.
    """

    shown: str
    call: re.Pattern[str]
    end: re.Pattern[str]
    texts: tuple[re.Pattern[str], re.Pattern[str]] | None = None


def _elements(prefix: str) -> WireForm:
    return WireForm(
        "<invoke name=…> or <function=…> with its parameters",
        lazy(rf"<{prefix}(?:invoke name=|function=)[\"']?{NAME}[\"']?>"),
        lazy(rf"</{prefix}(?:invoke|function)>"),
        (
            lazy(rf"<{prefix}parameter(?:(=)| name=)[\"']?([^\"'<>\n]{{1,100}})(?:[\"'](?:[ \t][^<>\n]{{0,60}})?)?>"),
            lazy(rf"</{prefix}parameter>"),
        ),
    )


_VALUES: Final = WireForm("a call as JSON", lazy(r"(?=\{|\[\s*\{)"), lazy(""))
_COMMON: Final = (*map(_elements, ("", r"[\w-]+:", rf"{_BAR}DSML{_BAR}[ \t]?")), _VALUES)
#: The forms of one dialect alone.
_FORMS: Final = {
    "glm": WireForm(
        "the name of a tool, then <arg_key> and <arg_value>",
        lazy(NAME),
        lazy(r"(?=</tool_call>\s*\Z)"),
        (lazy(r"<arg_key>()\s*+([^<\n]{1,100}?)\s*+</arg_key>\s*<arg_value>"), lazy(r"</arg_value>")),
    ),
    "kimi": WireForm(
        "<|tool_call_begin|>name<|tool_call_argument_begin|>{…}<|tool_call_end|>",
        lazy(rf"<\|tool_call_begin\|>\s*{NAME}(?::\d+)?\s*<\|tool_call_argument_begin\|>"),
        lazy(r"<\|tool_call_end\|>"),
    ),
    "deepseek": WireForm(
        "<｜tool▁call▁begin｜>name<｜tool▁sep｜>{…}<｜tool▁call▁end｜>",
        lazy(
            rf"<{_BAR}tool[_▁ ]call[_▁ ]begin{_BAR}>\s*+(?:function\s*+<{_BAR}tool[_▁ ]sep{_BAR}>\s*+)?{NAME}\s*+"
            rf"(?:<{_BAR}tool[_▁ ]sep{_BAR}>\s*+)?(?:```json)?"
        ),
        lazy(rf"(?:```\s*+)?<{_BAR}tool[_▁ ]call[_▁ ]end{_BAR}>"),
    ),
    "harmony": WireForm(
        "a channel to a function, and <|message|>{…}<|call|>",
        lazy(
            rf"(?:<\|start\|>\w*\s*+)?(?:<\|channel\|>\s*+\w*\s*+)?to={NAME}\s*+(?:<\|channel\|>\s*+\w+\s*+)?"
            r"(?:(?:<\|constrain\|>\s*+)?json\s*+)?<\|message\|>"
        ),
        lazy(r"(?:<\|(?:call|end|return)\|>\s*)?\Z"),
    ),
}
_OPENING: Final = lazy(r"\s*<[^<>\n=]{1,40}>\s*")
_LAST: Final = lazy(r"<[^<>\n]{1,40}>\s*\Z")
_CLOSING: Final = lazy(rf"(?:{_LAST.pattern})?\Z")
_SPACE: Final = lazy(r"\s*")
_BETWEEN: Final = lazy(r";?")
_BARE: Final = lazy(r"\s*(?:\{\s*\"(?:name|type|function)\"|\[\s*(?:\{\s*\"(?:name|type)\"|[A-Za-z_]\w*\())")


def is_bare(text: str) -> bool:
    """Return whether a whole answer looks like Llama's calls."""
    return _BARE.match(text) is not None


def read(dialect: str, text: str) -> Sequence[Call]:
    """Return all calls of a container's text, in order. Raises NotInForm."""
    forms = (_FORMS[dialect], *_COMMON) if dialect in _FORMS else _COMMON
    opening = _OPENING.match(text)
    places = {0, opening.end() if opening else 0}
    for form in forms:
        for place in sorted(places):
            cursor = _Cursor(text, place)
            if form.call.match(text, cursor.pos):
                return _calls(cursor, form)
    if dialect in ("llama", "gemini"):
        from rails.parsing.call_formats import pythonic

        return pythonic.read(_CLOSING.sub("", text[max(places) :]))
    raise NotInForm(f"expecting {forms[0].shown}", max(places))


class _Cursor:
    """A text and a position behind blanks."""

    def __init__(self, text: str, pos: int) -> None:
        self.text = text
        self.move(pos)

    def move(self, pos: int) -> None:
        self.pos = _SPACE.match(self.text, pos).end()  # type: ignore[union-attr]

    def skip(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.pos)
        if found:
            self.move(found.end())
        return found

    def take(self, pattern: re.Pattern[str], wanted: str) -> re.Match[str]:
        found = self.skip(pattern)
        if found is None:
            raise NotInForm(f"expecting {wanted}", self.pos)
        return found

    def json(self, end: re.Pattern[str]) -> tuple[Json, tuple[Repair, ...]]:
        """Take one JSON value: strict, or damaged up to the only ``end``."""
        found = read_prefix(self.text, self.pos)
        if found is not None and not isinstance(found, JsonFault):
            self.move(found[1])
            return found[0], ()
        ends = [one.start() for one in end.finditer(self.text, self.pos)]
        if len(ends) > 1:
            raise NotInForm("the arguments are not JSON, and could end in several places", self.pos)
        from rails.parsing.repairs import repair

        stop = ends[0] if ends else len(self.text)
        repaired = repair(self.text[self.pos : stop])
        if not isinstance(repaired, ParsedJson):
            raise NotInForm(f"the arguments are not JSON: {repaired.message}", self.pos + repaired.offset)
        self.move(stop)
        return repaired.value, repaired.repairs

    def texts(self, before: re.Pattern[str], behind: re.Pattern[str], end: re.Pattern[str]) -> dict[str, Json]:
        """Take named texts. One that holds its own tags is refused: it could end in several places."""
        texts: dict[str, Json] = {}
        while not self.skip(end):
            found = before.match(self.text, self.pos)
            if found is None:
                raise NotInForm("expecting a parameter", self.pos)
            name, stop = found[2], behind.search(self.text, found.end())
            text = self.text[found.end() : stop.start()] if stop else ""
            if stop is None or name in texts or before.search(text):
                raise NotInForm(f"the parameter '{name[:60]}' does not end, or comes twice", self.pos)
            if found[1] and text.startswith("\n"):
                text = text[1:].removesuffix("\n")
            texts[name] = text
            self.move(stop.end())
        return texts


def _calls(cursor: _Cursor, form: WireForm) -> Sequence[Call]:
    calls = list[Call]()
    while not (calls and cursor.skip(_CLOSING)):
        start, found = cursor.pos, cursor.take(form.call, form.shown)
        if form.texts is None or cursor.text.startswith("{", cursor.pos):
            value, repairs = cursor.json(form.end if form.end.pattern else _LAST)
            cursor.take(form.end, "the end of the call")
        else:
            value, repairs = cursor.texts(*form.texts, form.end), ()
        calls += _named(value if not found.lastindex else {"name": found[1], "arguments": value}, start, repairs)
        cursor.skip(_BETWEEN)
    return calls


def _named(value: Json, offset: int, repairs: tuple[Repair, ...]) -> Iterator[Call]:
    """Yield the calls of an object with name and arguments, or of a list."""
    for one in value if isinstance(value, list) else [value]:
        inner = one.get("function") if isinstance(one, dict) else None
        item = inner if isinstance(inner, dict) else one
        named = named_in(item) if isinstance(item, dict) else None
        if named is None or not named.name or len(named.keys) > 1:
            raise NotInForm("a call must be an object with a name and arguments", offset)
        key = next(iter(named.keys), "arguments")
        name = re.sub(r"^(?:functions|tools|default_api|api)\.", "", named.name)
        call = call_of(name, item.get(key, {}), key)
        if isinstance(call, JsonFault):
            raise NotInForm(call.message, offset)
        yield call._replace(repairs=(*repairs, *call.repairs))
