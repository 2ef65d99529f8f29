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
_THOUGHT_NAME: Final = rf"(?:analysis|antthinking|(?:{_AROUND}[_-]){{0,3}}{_THINKS}(?:[_-]{_AROUND}){{0,3}})(?![\w-])"
_CALL_NAME: Final = (
    r"(?:arg_(?:key|value)|function(?:_calls?)?|invoke|parameter|tool_?calls?|tool_(?:code|request|use)|use_mcp_tool)"
)
_QUOTE_NAME: Final = r"(?:examples?|function_(?:response|results?)|observation|tool_(?:output|response|result)s?)"
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
_WORD_NAME: Final = (
    r"(?:context|conversation|documents?|file(?:_contents?)?|history|log|plan(?:ning)?|samples?|stdout|system"
    rf"|system-reminder|transcript|user|human|assistant|{'|'.join(SHOWN)})(?![\w-])"
)
#: Names that are containers only with the name of a function behind them.
_WITH_NAME: Final = frozenset({"function", "parameter"})
_NAMES: Final = rf"(?:{_THOUGHT_NAME}|(?:{_CALL_NAME}|{_QUOTE_NAME})(?![\w-])|{_WORD_NAME})"
#: The angle brackets of tags, also as a renderer of HTML, Markdown or JSON had to escape them.
_LT: Final = r"(?:<|&lt;|&#60;|&#x3c;|\\<|\\u003c|[＜〈])"
_GT: Final = r"(?=[>&\\＞〉])(?:>|&gt;|&#62;|&#x3e;|\\>|\\u003e|[＞〉])"
_TAG: Final = (
    rf"(?P<lt>{_LT})[ \t]{{0,8}}(?P<shut>/?)[ \t]{{0,8}}(?:[A-Za-z][\w-]{{0,20}}:)?(?P<name>{_NAMES})"
    rf"(?P<rest>(?:[^\S\n][^<>\n]{{0,500}}?|[=/][^<>\n]{{0,500}}?)?)(?:{_GT}|(?<![ \t])(?=[ \t]*+\r?(?:\n|\Z)))"
)
_IS_THOUGHT: Final = lazy(_THOUGHT_NAME)
_IS_CALL: Final = lazy(_CALL_NAME)
_IS_WORD: Final = lazy(_WORD_NAME)
_BAR: Final = r"[|｜]"
_WORD: Final = r"(?:thought|thoughts|thinking|think|reasoning)"
_THOUGHT_END: Final = (
    rf"<{_BAR}?end(?:[_▁ ]?of)?[_▁ ]?{_WORD}{_BAR}?>|<{_BAR}/?{_WORD}[_▁ ]end{_BAR}>|<{_BAR}/{_WORD}{_BAR}>"
    rf"|<{_WORD}_end>"
)
_HARMONY_END: Final = r"<\|(?:end|return|call)\|>|(?=<\|(?:start|channel)\|>)|assistantfinal"


COMMENT: Final = "a comment"
#: Who else speaks in a conversation: a model that goes on for them makes up what they say.
_OTHERS: Final = r"(?:user|human|system|developer|tool|observation|functions)"


class _Token(NamedTuple):
    kind: ContainerKind
    label: str
    opening: str
    closing: str


_TOKENS: Final = (
    _Token(
        "thought",
        "[THINK]",
        r"\[(?:THINK|THINKING|THOUGHTS?|REASONING)\]",
        r"\[/(?:THINK|THINKING|THOUGHTS?|REASONING)\]",
    ),
    _Token("thought", "◁think▷", r"◁[ \t]?think[ \t]?▷", r"◁[ \t]?/[ \t]?think[ \t]?▷"),
    _Token(
        "thought",
        "<|begin_of_thought|>",
        rf"<{_BAR}?(?:begin|start)(?:[_▁ ]?of)?[_▁ ]?{_WORD}{_BAR}?>|<{_BAR}{_WORD}(?:[_▁ ](?:begin|start))?{_BAR}>"
        rf"|<{_WORD}_(?:begin|start)>",
        _THOUGHT_END,
    ),
    _Token("thought", "<|im_start|>think", rf"<\|im_start\|>[ \t]*{_WORD}\b", r"<\|im_end\|>|(?=<\|im_start\|>)"),
    _Token("thought", "<unused94>thought", rf"<unused94>[ \t]*{_WORD}\b", r"<unused95>"),
    _Token("thought", "<|channel>thought", rf"<\|channel>[ \t]*{_WORD}\b", r"<channel\|>"),
    _Token(
        "call",
        "a channel to a function",
        r"(?:<\|start\|>\w*[ \t]*)?<\|channel\|>[ \t]*\w+[ \t]+to=[^<\n]{1,200}"
        r"|<\|start\|>\w*[ \t]+to=[^<\n]{1,200}<\|channel\|>|assistantcommentary[ \t]+to=[\w.]{1,100}",
        _HARMONY_END,
    ),
    _Token("thought", "the analysis channel", r"<\|channel\|>[ \t]*analysis\b", _HARMONY_END),
    _Token(
        "call",
        "tool calls begin",
        rf"<{_BAR}tool[_▁ ]calls(?:[_▁ ]section)?[_▁ ]begin{_BAR}>",
        rf"<{_BAR}tool[_▁ ]calls(?:[_▁ ]section)?[_▁ ]end{_BAR}>",
    ),
    _Token(
        "call", "tool call begin", rf"<{_BAR}tool[_▁ ]call[_▁ ]begin{_BAR}>", rf"<{_BAR}tool[_▁ ]call[_▁ ]end{_BAR}>"
    ),
    _Token(
        "quote",
        "tool outputs begin",
        rf"<{_BAR}tool[_▁ ]outputs?[_▁ ]begin{_BAR}>",
        rf"<{_BAR}tool[_▁ ]outputs?[_▁ ]end{_BAR}>",
    ),
    _Token(
        "call",
        "DSML",
        rf"<{_BAR}DSML{_BAR}[ \t]?(?:function_calls|tool_calls|invoke)\b[^<>\n]{{0,200}}>",
        rf"</{_BAR}DSML{_BAR}[ \t]?(?:function_calls|tool_calls|invoke)>",
    ),
    _Token("call", "<|python_tag|>", r"<\|python_tag\|>", r"<\|(?:eom_id|eot_id|end_of_text)\|>"),
    _Token(
        "call",
        "<|tool_call|>",
        r"<\|tool_calls?\|?>",
        r"<\|/tool_calls?\|>|</tool_calls?\|>|<tool_calls?\|>|</?\|(?:end|end_of_text)\|>",
    ),
    _Token("call", "<|START_ACTION|>", r"<\|START_ACTION\|>", r"<\|END_ACTION\|>"),
    _Token("thought", "<|START_THINKING|>", r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),
    _Token("quote", "<|START_TOOL_RESULT|>", r"<\|START_TOOL_RESULTS?\|>", r"<\|END_TOOL_RESULTS?\|>"),
    _Token("call", "<start_function_call>", r"<start_function_call>", r"<end_function_call>"),
    _Token(
        "quote",
        "another's turn",
        rf"<\|(?:im_start|start_of_role|start|start_header_id)\|>[ \t]*{_OTHERS}\b|<start_of_turn>[ \t]*{_OTHERS}\b"
        rf"|<\|(?:{_OTHERS}|tool_response)\|>",
        r"<\|(?:im_end|eot_id|eom_id|end|end_of_turn|end_of_text)\|>|<end_of_turn>|<\|assistant\|>"
        r"|(?=<\|(?:im_start|start_of_role|start|start_header_id)\|>|<start_of_turn>)|<\|/tool_response\|>",
    ),
    _Token("quote", COMMENT, r"<!--", r"-->"),
    _Token("quote", "CDATA", r"<!\[CDATA\[", r"\]\]>"),
    _Token("patch", "a patch", r"\*\*\* Begin Patch\b", r"\*\*\* End Patch\b[^\n]*"),
)
#: Closing tokens that stand for themselves: what stands before them was thought.
_SHUT_TOKENS: Final = (
    r"\[/(?:THINK|THINKING|THOUGHTS?|REASONING)\]",
    r"◁[ \t]?/[ \t]?think[ \t]?▷",
    _THOUGHT_END,
    r"<\|END_THINKING\|>",
    r"<unused95>",
    r"<channel\|>",
    r"<\|end\|>[ \t]*(?=<\|start\|>)",
    r"assistantfinal(?![a-z])",
)
#: Behind a token there is no letter case to vary, but a few models do all the same.
_MARK: Final = lazy(
    r"(?<!`)`++[^`\n]*+`++|"
    + "|".join(f"(?P<t{number}>{token.opening})" for number, token in enumerate(_TOKENS))
    + f"|(?P<done>{'|'.join(_SHUT_TOKENS)})|{_TAG}",
    re.IGNORECASE,
)


#: A quick look: is there anything that could be a mark? No false negatives.
_HINT: Final = lazy(
    rf"<(?:[|｜!]|(?i:start_f|start_of_turn|unused9|channel\|)"
    rf"|[ \t]{{0,8}}/?[ \t]{{0,8}}(?:[A-Za-z][\w-]{{0,20}}+:)?"
    rf"(?i:{_NAMES})|<[-~<]?[ \t]?[\"'\\\\]?[A-Za-z_])"
    rf"|\[/?(?i:think|thought|reasoning)|◁|\*\*\* Begin Patch"
    r"|&(?:lt|#60|#[xX]3[cC]);|\\(?:<|u003[cC])|＜|〈|\"\"\"|'''"
)
#: What a mark begins with: most answers hold none of these, and the pattern above takes long to compile.
_FIRST: Final = lazy(r"<|\[|◁|&|\\|＜|〈|\*\*\*|\"\"\"|'''")
_CLOSINGS: Final = tuple(lazy(token.closing, re.IGNORECASE) for token in _TOKENS)

_ITEM: Final = r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+){0,4}"
#: The first line of a patch, and what its last one looks like. Conflict marks may stand in an item of a list.
_PATCHES: Final = (
    (lazy(r"\*\*\* Begin Patch\b", re.IGNORECASE), lazy(r"\*\*\* End Patch\b[^\n]*", re.IGNORECASE)),
    (lazy(rf"{_ITEM}<{{5,9}}(?:[ \t]+[^\n]{{0,200}})?\r?(?:\n|\Z)"), lazy(r"^[ \t]*>{5,9}(?![>\w])[^\n]*", re.M)),
    (lazy(r"-{5,9} SEARCH\b", re.IGNORECASE), lazy(r"^\+{5,9} REPLACE[^\n]*", re.M | re.IGNORECASE)),
)
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
        return self.kind in ("quote", "call", "element")


class Closed(NamedTuple):
    """A closing mark without an opening one."""

    kind: ContainerKind
    label: str
    start: int
    end: int


def has_mark(text: str, start: int = 0, end: int | None = None) -> int:
    """Return the first offset of a possible mark, -1 for none; may be a false alarm."""
    stop = len(text) if end is None else end
    first = _FIRST.search(text, start, stop)
    hint = _HINT.search(text, first.start(), stop) if first else None
    word = text.find("assistant", start, stop)  # harmony's tokens, their bars lost
    return hint.start() if hint and (word < 0 or hint.start() < word) else word


def find_mark(line: str, ours: Collection[str] = ()) -> Container | Closed | None:
    """Return a line's first mark that is no mention. ``ours``: tags that are read."""
    for found in _MARK.finditer(line):
        if found["name"]:
            mark = _tag(found, line, ours)
        elif found["done"]:
            mark = Closed("thought", found["done"].lower(), found.start(), found.end())
        else:
            mark = _token(found) if found.lastgroup else None
        if mark is not None:
            return mark
    return None


def _tag(found: re.Match[str], line: str, ours: Collection[str]) -> Container | Closed | None:
    name, rest = found["name"].lower(), found["rest"]
    kind = kind_of(name)
    lead = line[: found.start()]
    alone = not lead.strip(" \t\ufeff") or not line[found.end() :].strip()
    escaped = found["lt"] != "<"
    if (
        name in ours
        or (_IS_WORD.fullmatch(name) and not alone)
        or (escaped and kind != "thought" and lead.strip(" \t\ufeff"))
    ):
        return None
    if kind != "thought" and (lead[-1:].isalnum() or lead[-1:] in ("_", "\\")):
        return None  # Array<function>
    if found["shut"]:
        return Closed(kind, name, found.start(), found.end())
    if rest.endswith("/") or (name in _WITH_NAME and not re.match(r"[=/][ \t]*\S|[ \t]+name[ \t]*=", rest)):
        return None
    any_form = escaped or kind == "thought"
    return Container(kind, name, found.start(), found.end(), _either_tag(name, any_form=any_form))


def _either_tag(name: str, *, any_form: bool = False) -> re.Pattern[str]:
    left, right = (_LT, _GT) if any_form else ("<", ">")
    space = r"[ \t]{0,8}"
    return re.compile(
        rf"{left}{space}(/?){space}(?:[A-Za-z][\w-]{{0,20}}:)?{re.escape(name)}(?:(?:[^\S\n]|=)[^<>\n]*?)?{right}", re.I
    )


#: Elements around an answer or a part of it: a call in one of them is meant.
OPEN: Final = frozenset(
    {"action", "actions", "answer", "assistant_response", "b", "body", "calls", "commands", "div", "final"}
    | {"final_answer", "final_response", "html", "main", "message", "p", "reply", "request", "requests", "response"}
    | {"section", "solution", "step", "steps", "task", "tools", "turn"}
)
#: A name whose closing mark has another one: <example_start> … <example_end>.
_BEGINS: Final = lazy(r"(?:\b|_)(?:begin|start)(?:_|\b)")
#: Attributes by which an element around an answer is somebody else's.
_OTHERS_NAME: Final = lazy(rf"[ \t](?:name|from|author|sender)[ \t]*=|[ \t]role[ \t]*=[ \t]*[\"']?{_OTHERS}\b", re.I)
_ELEMENT: Final = lazy(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?<([A-Za-z_][\w.:-]{0,60})((?:[ \t][^<>\n]{0,500})?)>")


def find_element(line: str, ours: Collection[str]) -> Container | None:
    """Return the other element that this line opens; it counts only if closed."""
    found = _ELEMENT.match(line)
    name = found[1].lower() if found else ""
    if found is None or found[2].endswith("/") or f"</{name}" in line.lower() or name in ours:
        return None
    if (
        _BEGINS.search(name)
        or (name in OPEN and not _OTHERS_NAME.search(found[2]))
        or _MARK.match(line, found.start(1) - 1)
    ):
        return None
    return Container("element", name, 0, found.end(), _either_tag(name))


def _token(found: re.Match[str]) -> Container:
    number = int(str(found.lastgroup)[1:])
    token = _TOKENS[number]
    return Container(token.kind, token.label, found.start(), found.end(), _CLOSINGS[number])


def kind_of(name: str) -> ContainerKind:
    """Return the kind of container that a tag's name opens."""
    if _IS_THOUGHT.fullmatch(name):
        return "thought"
    return "call" if _IS_CALL.fullmatch(name) else "quote"


def find_patch(line: str) -> Container | None:
    """Return the patch that begins here."""
    for opening, closing in _PATCHES:
        found = opening.match(line)
        if found:
            return Container("patch", "a patch", 0, len(line), closing)
    return Container("patch", "a patch", 0, len(line), lines=_DIFF_LINE) if _DIFF.match(line) else None


INDENTED: Final = "an indented code block"
_INDENTED_LINE: Final = lazy(r"(?: {4}| {0,3}\t)|[ \t]*\r?\n")
_LIST_ITEM: Final = lazy(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")


def find_indented(line: str, before: str) -> Container | None:
    """Return the indented code block (CommonMark, 4.4) that begins with this line.

    None unless the prose ``before`` excludes a list, whose item would own the text.
    """
    if not _INDENTED_LINE.match(line):
        return None
    lines = before.splitlines()
    for number in reversed(range(len(lines))):
        if _LIST_ITEM.match(lines[number]):
            return None
        if lines[number][:1].strip() and (not number or not lines[number - 1].strip()):
            return Container("quote", INDENTED, 0, len(line), lines=_INDENTED_LINE)
    return None


class Withdrawn(NamedTuple):
    """A stretch that turned out to be quoted: offsets, and what closed it."""

    start: int
    end: int
    kind: ContainerKind
    label: str


#: How many separate stretches are kept; beyond, they are taken as one.
_WITHDRAWN: Final = 1_000


class Strays:
    """Closing marks without opening ones.

    Behind a container of the same name, one shows that it ended too early: what is between is part of it.
    """

    __slots__ = ("_opened", "withdrawn")

    def __init__(self) -> None:
        self._opened: dict[str, int] = {}
        self.withdrawn: list[Withdrawn] = []

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
        self.withdrawn.append(Withdrawn(start, offset, mark.kind, mark.label))

    def around(self, offset: int) -> Withdrawn | None:
        """Return the stretch that makes ``offset`` part of a container."""
        return next((one for one in reversed(self.withdrawn) if one.start <= offset < one.end), None)
