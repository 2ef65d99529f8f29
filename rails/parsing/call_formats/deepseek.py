"""DeepSeek: ``<｜tool▁call▁begin｜>name<｜tool▁sep｜>{…}<｜tool▁call▁end｜>``, older with a fence, and DSML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.parsing.call_formats.reader import NAME, CallMarks, Cursor, FormCall, bare_name, marked_calls, tagged_values

_BAR: Final = r"[|｜]"
_MARKS: Final = CallMarks(
    lazy(rf"<{_BAR}tool[_▁ ]calls[_▁ ]begin{_BAR}>\s*"),
    lazy(
        rf"<{_BAR}tool[_▁ ]call[_▁ ]begin{_BAR}>\s*+(?:function\s*+<{_BAR}tool[_▁ ]sep{_BAR}>\s*+)?{NAME}\s*+"
        rf"(?:<{_BAR}tool[_▁ ]sep{_BAR}>\s*+)?(?:```json\s*+)?"
    ),
    lazy(rf"(?:```\s*+)?<{_BAR}tool[_▁ ]call[_▁ ]end{_BAR}>\s*"),
    lazy(rf"(?:<{_BAR}tool[_▁ ]calls[_▁ ]end{_BAR}>\s*)?\Z"),
    ("<｜tool▁call▁begin｜> and the name of a tool", "<｜tool▁call▁end｜>"),
)
_DSML: Final = lazy(rf"<{_BAR}DSML{_BAR}[ \t]?(?:function_calls|tool_calls)>\s*")
_DSML_END: Final = lazy(rf"(?:</{_BAR}DSML{_BAR}[ \t]?(?:function_calls|tool_calls)>\s*)?\Z")
_INVOKE: Final = lazy(rf"\s*<{_BAR}DSML{_BAR}[ \t]?invoke name=\"{NAME}\">\s*")
_INVOKE_END: Final = lazy(rf"</{_BAR}DSML{_BAR}[ \t]?invoke>\s*")
_PARAMETER: Final = lazy(rf"<{_BAR}DSML{_BAR}[ \t]?parameter name=\"([^\"<>\n]{{1,100}})\"[^<>\n]{{0,60}}>")


def read(text: str) -> Sequence[FormCall]:
    """Return the calls of a section or single call."""
    cursor, calls = Cursor(text), list[FormCall]()
    if not (cursor.skip(_DSML) or _INVOKE.match(text)):
        return marked_calls(text, _MARKS)
    while not (calls and cursor.skip(_DSML_END)):
        calls.append(_invoke(cursor))
    return calls


def _invoke(cursor: Cursor) -> FormCall:
    name = cursor.take(_INVOKE, "<｜DSML｜invoke name=…>")[1]
    bar = cursor.text[cursor.text.index("DSML") + 4]
    return FormCall(bare_name(name), tagged_values(cursor, _PARAMETER, f"</{bar}DSML{bar}parameter>", _INVOKE_END))
