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
_BETWEEN: Final = lazy(r"\s*;?\s*")
_BARE: Final = lazy(r"\s*(?:\{\s*\"(?:name|type|function)\"|\[\s*(?:\{\s*\"(?:name|type)\"|[A-Za-z_]\w*\())")


def is_bare(text: str) -> bool:
    """Return whether a whole answer looks like Llama's calls."""
    return _BARE.match(text) is not None


def read(dialect: str, text: str) -> Sequence[Call]:
    """Return all calls of a container's text, in order. Raises NotInForm."""
    forms = (_FORMS[dialect], *_COMMON) if dialect in _FORMS else _COMMON
    opening = _OPENING.match(text)
    inside = opening.end() if opening else _behind_space(text, 0)
    for form in forms:
        for place in (_behind_space(text, 0), inside):
            if form.call.match(text, place):
                return _calls(text, place, form)
    if dialect in ("llama", "gemini"):
        from rails.parsing.call_formats import pythonic

        return pythonic.read(_CLOSING.sub("", text[inside:]))
    raise NotInForm(f"expecting {forms[0].shown}", inside)


def _behind_space(text: str, pos: int) -> int:
    return _SPACE.match(text, pos).end()  # type: ignore[union-attr]


def _taken(pattern: re.Pattern[str], text: str, pos: int, wanted: str) -> re.Match[str]:
    found = pattern.match(text, pos)
    if found is None:
        raise NotInForm(f"expecting {wanted}", pos)
    return found


def _calls(text: str, pos: int, form: WireForm) -> Sequence[Call]:
    calls = list[Call]()
    while not (calls and _CLOSING.match(text, pos)):
        start, repairs = pos, tuple[Repair, ...]()
        value: Json
        found = _taken(form.call, text, pos, form.shown)
        pos = _behind_space(text, found.end())
        if form.texts is None or text.startswith("{", pos):
            value, repairs, pos = _json(text, pos, form.end if form.end.pattern else _LAST)
        else:
            value, pos = _texts(text, pos, *form.texts, form.end)
        pos = _BETWEEN.match(text, _taken(form.end, text, pos, "the end of the call").end()).end()  # type: ignore[union-attr]
        calls += _named({"name": found[1], "arguments": value} if found.lastindex else value, start, repairs)
    return calls


def _json(text: str, pos: int, end: re.Pattern[str]) -> tuple[Json, tuple[Repair, ...], int]:
    """Return one JSON value, strict, or damaged up to the only ``end``, and where it ends."""
    found = read_prefix(text, pos)
    if isinstance(found, tuple):
        return found[0], (), _behind_space(text, found[1])
    ends = [one.start() for one in end.finditer(text, pos)]
    if len(ends) > 1:
        raise NotInForm("the arguments are not JSON, and could end in several places", pos)
    from rails.parsing.repairs import repair

    stop = ends[0] if ends else len(text)
    repaired = repair(text[pos:stop])
    if not isinstance(repaired, ParsedJson):
        raise NotInForm(f"the arguments are not JSON: {repaired.message}", pos + repaired.offset)
    return repaired.value, repaired.repairs, stop


def _texts(
    text: str, pos: int, before: re.Pattern[str], behind: re.Pattern[str], end: re.Pattern[str]
) -> tuple[dict[str, Json], int]:
    """Return named texts and where they end. One that holds its own tags is refused: it could end in several places."""
    texts: dict[str, Json] = {}
    while not end.match(text, pos):
        found = _taken(before, text, pos, "a parameter")
        name, stop = found[2], behind.search(text, found.end())
        inside = text[found.end() : stop.start()] if stop else ""
        if stop is None or name in texts or before.search(inside):
            raise NotInForm(f"the parameter '{name[:60]}' does not end, or comes twice", pos)
        if found[1] and inside.startswith("\n"):
            inside = inside[1:].removesuffix("\n")
        texts[name] = inside
        pos = _behind_space(text, stop.end())
    return texts, pos


def _named(value: Json, offset: int, repairs: tuple[Repair, ...]) -> Iterator[Call]:
    """Yield the calls of an object with name and arguments, or of a list."""
    for one in value if isinstance(value, list) else [value]:
        inner = one.get("function") if isinstance(one, dict) else None
        item = inner if isinstance(inner, dict) else one
        fields = item if isinstance(item, dict) else {}
        named = named_in(fields)
        if not named.name or len(named.keys) > 1:
            raise NotInForm("a call must be an object with a name and arguments", offset)
        key = next(iter(named.keys), "arguments")
        name = re.sub(r"^(?:functions|tools|default_api|api)\.", "", named.name)
        call = call_of(name, fields.get(key, {}), key)
        if isinstance(call, JsonFault):
            raise NotInForm(call.message, offset)
        yield call._replace(repairs=(*repairs, *call.repairs))
