"""Containers: what of an answer is thought, quoted, or for somebody else, and so is never run.

    thoughts   ``<think>``, ``[THINK]``, ``◁think▷``, ``<|begin_of_thought|>``, harmony's analysis channel. A closing
               mark without an opening one (the chat template took it) makes everything before it a thought
    quotes     ``<example>``, ``<tool_result>``, ``<file>``, comments …
    calls      other models' call formats
    patches    ``*** Begin Patch``, unified diffs outside of fences, SEARCH/REPLACE blocks
    elements   of other names, from a line's start to their closing tag, but for those around answers

Names match in any case, with namespace and attributes; marks between back-ticks are mentions. A container ends at its
first closing mark; an unclosed one hides the rest, which is reported; an unclosed element is none.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from sys import maxsize
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from rails.core.lazy_pattern import lazy

ContainerKind = Literal["thought", "quote", "call", "patch", "element"]

#: Words that make a name a thought's, whatever is joined to them: ``<inner_voice_thoughts>``, ``<thought-process>``.
_THINKS: Final = (
    r"(?:cot|think(?:ing)?|thoughts?|reason(?:ing|s)?|reflections?|monologue|scratch[_-]?pad|deliberation|contemplation"
    r"|rationale|brainstorm(?:ing)?|ponder(?:ing)?|critique)"
)
_AROUND: Final = r"[a-z]{1,20}"
_THOUGHT: Final = rf"(?:analysis|antthinking|(?:{_AROUND}[_-]){{0,3}}{_THINKS}(?:[_-]{_AROUND}){{0,3}})(?![\w-])"
#: The names of calls; two of them are calls' only with the name of a function behind them.
_CALL: Final = (
    r"(?:arg_(?:key|value)|function_calls?|invoke|tool_?calls?|tool_(?:code|request|use)|use_mcp_tool"
    r"|(?:function|parameter)(?(shut)|(?=[=/][ \t]*[^\s>]|[ \t]+name[ \t]*=)))(?![\w-])"
)
_QUOTE: Final = r"(?:examples?|function_(?:response|results?)|observation|tool_(?:output|response|result)s?)(?![\w-])"
#: What shows a text, or folds it away: a call in it may have been meant, and its author is told that it is not read.
SHOWN: Final = frozenset(
    {
        "antartifact",
        "artifact",
        "blockquote",
        "code",
        "codeblock",
        "details",
        "figure",
        "iframe",
        "kbd",
        "noscript",
        "output",
        "pre",
    }
    | {
        "quote",
        "samp",
        "script",
        "source",
        "sourcecode",
        "style",
        "summary",
        "svg",
        "table",
        "template",
        "textarea",
        "xmp",
    }
)
#: Tags that stand for a fence where a file holds fences itself, as aider asks for them.
TAG_FENCES: Final = frozenset({"code", "codeblock", "pre", "source", "sourcecode"})
#: Names that are also words of HTML or of prose: containers only where a line begins or ends with them.
_WORD: Final = (
    r"(?:context|conversation|documents?|file(?:_contents?)?|history|log|plan(?:ning)?|samples?|stdout|system"
    rf"|system-reminder|transcript|user|human|assistant|{'|'.join(SHOWN)})(?![\w-])"
)
#: A tag's name, by its kind.
_NAME: Final = rf"(?:(?P<thought>{_THOUGHT})|(?P<call>{_CALL})|(?P<quote>{_QUOTE})|(?P<word>{_WORD}))"
#: The angle brackets of tags, also as a renderer of HTML, Markdown or JSON had to escape them.
_LT: Final = r"(?:<|&lt;|&#60;|&#x3c;|\\<|\\u003c|[＜〈])"
_GT: Final = r"(?=[>&\\＞〉])(?:>|&gt;|&#62;|&#x3e;|\\>|\\u003e|[＞〉])"
_TAG: Final = (
    rf"(?P<lt>{_LT})[ \t]{{0,8}}(?P<shut>/)?[ \t]{{0,8}}(?:[A-Za-z][\w-]{{0,20}}:)?{_NAME}"
    rf"(?P<rest>(?:[^\S\n][^<>\n]{{0,500}}?|[=/][^<>\n]{{0,500}}?)?)(?:{_GT}|(?<![ \t])(?=[ \t]*+\r?(?:\n|\Z)))"
)
_BAR: Final = r"[|｜]"
_THINK: Final = r"(?:thought|thoughts|thinking|think|reasoning)"
_HARMONY_END: Final = r"<\|(?:end|return|call)\|>|(?=<\|(?:start|channel)\|>)|assistantfinal"
#: The tokens of thoughts: what begins one, and what ends one, or all that stands before it.
_THOUGHT_BEGINS: Final = (
    r"\[(?:THINK|THINKING|THOUGHTS?|REASONING)\]|◁[ \t]?think[ \t]?▷|<\|START_THINKING\|>|<\|channel\|>[ \t]*analysis\b"
    rf"|(?:<\|im_start\|>|<unused94>|<\|channel>)[ \t]*{_THINK}\b|<{_THINK}_(?:begin|start)>"
    rf"|<{_BAR}?(?:begin|start)(?:[_▁ ]?of)?[_▁ ]?{_THINK}{_BAR}?>|<{_BAR}{_THINK}(?:[_▁ ](?:begin|start))?{_BAR}>"
)
_THOUGHT_ENDS: Final = (
    r"\[/(?:THINK|THINKING|THOUGHTS?|REASONING)\]|◁[ \t]?/[ \t]?think[ \t]?▷|<\|END_THINKING\|>|<unused95>|<channel\|>"
    rf"|<{_BAR}?end(?:[_▁ ]?of)?[_▁ ]?{_THINK}{_BAR}?>|<{_BAR}/?{_THINK}[_▁ ]end{_BAR}>|<{_BAR}/{_THINK}{_BAR}>"
    rf"|<{_THINK}_end>|<\|end\|>[ \t]*(?=<\|start\|>)|assistantfinal(?![a-z])"
)


COMMENT: Final = "a comment"
#: Who else speaks in a conversation: a model that goes on for them makes up what they say.
_OTHERS: Final = r"(?:user|human|system|developer|tool|observation|functions)"


#: Tokens of chat templates, and what is written like them: kind, label, beginning and end.
_TOKENS: Final[tuple[tuple[ContainerKind, str, str, str], ...]] = (
    (
        "thought",
        "a thought",
        _THOUGHT_BEGINS,
        rf"{_THOUGHT_ENDS}|{_HARMONY_END}|<\|im_end\|>|(?=<\|im_start\|>)",
    ),
    (
        "call",
        "a channel to a function",
        r"(?:<\|start\|>\w*[ \t]*)?<\|channel\|>[ \t]*\w+[ \t]+to=[^<\n]{1,200}"
        r"|<\|start\|>\w*[ \t]+to=[^<\n]{1,200}<\|channel\|>|assistantcommentary[ \t]+to=[\w.]{1,100}",
        _HARMONY_END,
    ),
    (
        "call",
        "tool calls begin",
        rf"<{_BAR}tool[_▁ ]calls(?:[_▁ ]section)?[_▁ ]begin{_BAR}>",
        rf"<{_BAR}tool[_▁ ]calls(?:[_▁ ]section)?[_▁ ]end{_BAR}>",
    ),
    ("call", "tool call begin", rf"<{_BAR}tool[_▁ ]call[_▁ ]begin{_BAR}>", rf"<{_BAR}tool[_▁ ]call[_▁ ]end{_BAR}>"),
    (
        "quote",
        "a tool's output",
        rf"<{_BAR}tool[_▁ ]outputs?[_▁ ]begin{_BAR}>|<\|START_TOOL_RESULTS?\|>",
        rf"<{_BAR}tool[_▁ ]outputs?[_▁ ]end{_BAR}>|<\|END_TOOL_RESULTS?\|>",
    ),
    (
        "call",
        "DSML",
        rf"<{_BAR}DSML{_BAR}[ \t]?(?:function_calls|tool_calls|invoke)\b[^<>\n]{{0,200}}>",
        rf"</{_BAR}DSML{_BAR}[ \t]?(?:function_calls|tool_calls|invoke)>",
    ),
    ("call", "<|python_tag|>", r"<\|python_tag\|>", r"<\|(?:eom_id|eot_id|end_of_text)\|>"),
    (
        "call",
        "<|tool_call|>",
        r"<\|tool_calls?\|?>",
        r"<\|/tool_calls?\|>|</tool_calls?\|>|<tool_calls?\|>|</?\|(?:end|end_of_text)\|>",
    ),
    ("call", "<|START_ACTION|>", r"<\|START_ACTION\|>", r"<\|END_ACTION\|>"),
    ("call", "<start_function_call>", r"<start_function_call>", r"<end_function_call>"),
    (
        "quote",
        "another's turn",
        rf"<\|(?:im_start|start_of_role|start|start_header_id)\|>[ \t]*{_OTHERS}\b|<start_of_turn>[ \t]*{_OTHERS}\b"
        rf"|<\|(?:{_OTHERS}|tool_response)\|>",
        r"<\|(?:im_end|eot_id|eom_id|end|end_of_turn|end_of_text)\|>|<end_of_turn>|<\|assistant\|>"
        r"|(?=<\|(?:im_start|start_of_role|start|start_header_id)\|>|<start_of_turn>)|<\|/tool_response\|>",
    ),
    ("quote", COMMENT, r"<!--", r"-->"),
    ("quote", "CDATA", r"<!\[CDATA\[", r"\]\]>"),
    ("patch", "a patch", r"\*\*\* Begin Patch\b", r"\*\*\* End Patch\b[^\n]*"),
)
#: Behind a token there is no letter case to vary, but a few models do all the same.
_MARK: Final = lazy(
    r"(?<!`)`++[^`\n]*+`++|"
    + "|".join(f"(?P<t{number}>{opening})" for number, (_, _, opening, _) in enumerate(_TOKENS))
    + f"|(?P<done>{_THOUGHT_ENDS})|{_TAG}",
    re.IGNORECASE,
)
#: A quick look for what a mark begins with: most answers hold none, and the pattern above takes long to compile.
_FIRST: Final = lazy(
    r"<[ \t/]{0,17}[a-z|｜!]|\[/?[TR]|◁|&(?:lt|#)|\\[<u]|＜|〈|\*\*\* B|assistant(?:final|commentary)", re.IGNORECASE
)
_CLOSINGS: Final = tuple(lazy(token[-1], re.IGNORECASE) for token in _TOKENS)

_ITEM: Final = r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+){0,4}"
#: The first line of a block with conflict marks, also in an item of a list, and its last one.
_CONFLICT: Final = lazy(rf"{_ITEM}<{{5,9}}(?:[ \t]+[^\n]{{0,200}})?\r?(?:\n|\Z)|-{{5,9}} SEARCH\b", re.IGNORECASE)
_CONFLICT_END: Final = lazy(r"^[ \t]*>{5,9}(?![>\w])[^\n]*|^\+{5,9} REPLACE[^\n]*", re.M | re.IGNORECASE)
_DIFF: Final = lazy(r"@@(?:[ \t\r\n]|\Z)|diff --git |\*\*\* (?:Update|Add|Delete) File: ")
#: A line that can be part of a unified diff. An empty one is a line of context that lost its blank.
_DIFF_LINE: Final = lazy(
    r"[ +\-\\]|@@|\*\*\* |\r?\n|diff |index |new file|deleted file|rename |similarity |old mode|new mode|Binary "
)
PATCH_START: Final = r"\*\*\* |<<<<<|-----|@@(?:[ \t\r\n]|\Z)|diff --git "


class Container(Struct, frozen=True):
    """A container that begins: its name, end, and the opening mark's place in its line.

    ``closing`` finds its closing mark; if it has a group, also its opening one, without that group. ``lines``: all of
    its lines begin with this, and it ends where they do.
    """

    kind: ContainerKind
    label: str
    start: int
    end: int
    closing: re.Pattern[str] | None = None
    lines: re.Pattern[str] | None = None

    @property
    def nests(self) -> bool:
        """Return whether containers of the same name in it count (not in a thought)."""
        return self.kind != "thought"


class Closed(NamedTuple):
    """A closing mark without an opening one, or the stretch that it turns into a container."""

    kind: ContainerKind
    label: str
    start: int
    end: int


def has_mark(text: str, start: int = 0, end: int = maxsize) -> int:
    """Return the first offset of a possible mark, -1 for none; may be a false alarm."""
    found = _FIRST.search(text, start, end)
    return found.start() if found else -1


def find_mark(line: str, ours: Collection[str] = ()) -> Container | Closed | None:
    """Return a line's first mark that is no mention. ``ours``: tags that are read."""
    for found in _MARK.finditer(line):
        mark: Container | Closed | None = None
        if found["lt"]:
            mark = _tag(found, line, ours)
        elif found["done"]:
            mark = Closed("thought", found["done"].lower(), found.start(), found.end())
        elif found.lastgroup:
            number = int(found.lastgroup[1:])
            kind, label, _, _ = _TOKENS[number]
            mark = Container(kind, label, found.start(), found.end(), _CLOSINGS[number])
        if mark is not None:
            return mark
    return None


def _tag(found: re.Match[str], line: str, ours: Collection[str]) -> Container | Closed | None:
    kind: ContainerKind = "thought" if found["thought"] else "call" if found["call"] else "quote"
    name = (found["word"] or found[kind]).lower()
    lead, start, end = line[: found.start()], found.start(), found.end()
    begins = not lead.strip(" \t\ufeff")
    escaped = found["lt"] != "<"
    if name in ours or (found["word"] and not begins and line[end:].strip()):
        return None
    glued = lead[-1:].isalnum() or lead[-1:] in ("_", "\\")  # Array<function>
    if kind != "thought" and (glued or (escaped and not begins)):
        return None
    if found["shut"]:
        return Closed(kind, name, start, end)
    if found["rest"].endswith("/"):
        return None
    return Container(kind, name, start, end, _either_tag(name))


def _either_tag(name: str) -> re.Pattern[str]:
    space = r"[ \t]{0,8}"
    return re.compile(
        rf"{_LT}{space}(/?){space}(?:[A-Za-z][\w-]{{0,20}}:)?{re.escape(name)}(?:(?:[^\S\n]|=)[^<>\n]*?)?{_GT}", re.I
    )


#: Elements around an answer or a part of it: a call in one of them is meant.
OPEN: Final = frozenset(
    {"action", "actions", "answer", "assistant_response", "b", "body", "calls", "commands", "div", "final"}
    | {"final_answer", "final_response", "html", "main", "message", "p", "reply", "request", "requests", "response"}
    | {"section", "solution", "step", "steps", "task", "tools", "turn"}
)
#: Attributes by which an element around an answer is somebody else's.
_OTHERS_NAME: Final = lazy(rf"[ \t](?:name|from|author|sender)[ \t]*=|[ \t]role[ \t]*=[ \t]*[\"']?{_OTHERS}\b", re.I)
_ELEMENT: Final = lazy(
    r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?<([A-Za-z_][\w.:-]{0,60})((?:[ \t][^<>\n]{0,500})?)(?<!/)>"
)


def find_element(line: str, ours: Collection[str]) -> Container | None:
    """Return the other element that this line opens; it counts only if closed."""
    found = _ELEMENT.match(line)
    if found is None:
        return None
    name = found[1].lower()
    frames = name in OPEN and not _OTHERS_NAME.search(found[2])
    if frames or name in ours or f"</{name}" in line.lower() or _MARK.match(line, found.start(1) - 1):
        return None
    return Container("element", name, 0, found.end(), _either_tag(name))


def find_patch(line: str) -> Container | None:
    """Return the patch that begins here."""
    if _CONFLICT.match(line):
        return Container("patch", "a patch", 0, len(line), _CONFLICT_END)
    return Container("patch", "a patch", 0, len(line), lines=_DIFF_LINE) if _DIFF.match(line) else None


INDENTED: Final = "an indented code block"
_INDENTED_LINE: Final = lazy(r"(?: {4}| {0,3}\t)|[ \t]*\r?\n")
_LIST_ITEM: Final = r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]"
#: A paragraph from its first line on, with no item of a list up to the end.
_PARAGRAPH: Final = lazy(rf"(?:\A|^[^\S\n]*\n)(?!{_LIST_ITEM})\S[^\n]*+(?:\n(?!{_LIST_ITEM})[^\n]*+)*+\Z", re.M)


def find_indented(line: str, before: str) -> Container | None:
    """Return the indented code block (CommonMark, 4.4) that begins with this line.

    None unless the prose ``before`` excludes a list, whose item would own the text.
    """
    if not _INDENTED_LINE.match(line) or not _PARAGRAPH.search(before):
        return None
    return Container("quote", INDENTED, 0, len(line), lines=_INDENTED_LINE)


#: How many separate stretches are kept; beyond, they are taken as one.
_WITHDRAWN: Final = 1_000


class Strays:
    """Closing marks without opening ones.

    Behind a container of the same name, one shows that it ended too early: what is between is part of it.
    """

    __slots__ = ("_opened", "withdrawn")

    def __init__(self) -> None:
        self._opened: dict[str, int] = {}
        self.withdrawn: list[Closed] = []

    def opened(self, container: Container, offset: int) -> None:
        """Note where a container of this name last began."""
        self._opened[container.label] = offset

    def closed(self, mark: Closed, offset: int) -> None:
        """Note a closing mark that ends at ``offset``."""
        start = self._opened.get(mark.label, 0 if mark.kind in ("thought", "call") else -1)
        if start < 0:
            return
        while self.withdrawn and (self.withdrawn[-1].start >= start or len(self.withdrawn) >= _WITHDRAWN):
            start = min(start, self.withdrawn.pop().start)
        self.withdrawn.append(mark._replace(start=start, end=offset))

    def around(self, offset: int) -> Closed | None:
        """Return the stretch that makes ``offset`` part of a container."""
        return next((one for one in reversed(self.withdrawn) if one.start <= offset < one.end), None)
