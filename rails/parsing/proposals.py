"""Patches and named blocks in an answer without a tool request.

    unified diffs, ``*** Begin Patch``, SEARCH/REPLACE   alone, or in a fence
    whole files in fences                                with a name

Each becomes a request; quotations do not. If a block is partly unreadable it is refused, with the line, and nothing of
the answer is taken: half a patch is another patch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rails.core.builtin_tools import EDIT_FILE, WRITE_FILE
from rails.core.errors import Refusal
from rails.core.text import line_column
from rails.core.tool_request import PATH_KEYS, Json, RawRequest
from rails.data_formats.file_names import Exists, name_above, name_in_comment, name_in_info, nothing_exists
from rails.data_formats.proposed import NAMED, NotRead, Outcome, Proposed, new_file
from rails.data_formats.search_replace import OPENING, block_changes
from rails.data_formats.strict_json import ParsedJson, parse_strict
from rails.data_formats.unified_diff import diff_changes
from rails.parsing.blocks import FENCE, BlockSpan, find_blocks
from rails.parsing.call_formats.begin_patch import BEGIN, patch_changes
from rails.parsing.call_formats.named_files import is_talk, named_file
from rails.parsing.quoted import SHOWN, TAG_FENCES
from rails.parsing.unread_calls import find_unread_calls
from rails.parsing.values import ToolSchemas, own_names

#: Longer answers, and more pieces of one, are not looked through.
_CHARS: Final = 2_000_000
_PIECES: Final = 1_000
#: Lines above a block in which its file may be named.
_ABOVE: Final = 4
#: Characters of a workflow's name that its file gets.
_NAME: Final = 60
_SEARCH: Final = re.compile(rf"^{OPENING.pattern}$", re.M | re.I)
_DIFF: Final = re.compile(r"^(?:@@ |@@$|diff --git |--- [^\n]+\n\+\+\+ )", re.M)
_GIT_HEAD: Final = r"(?:diff |index |new file|deleted file|old mode|new mode|rename |similarity )[^\n]*\n"
_DIFF_HEAD: Final = re.compile(rf"(?:^|\n)((?:{_GIT_HEAD}){{0,8}}--- [^\n]+\n\+\+\+ [^\n]+\n)\Z")
#: What a here-document is given to that is a patch.
_APPLIES: Final = re.compile(r"(?<![\w./-])(?:apply_patch|git apply|patch)(?:[ \t][^\n]*)?\Z")
#: A here-document up to the word that ends it.
_HERE: Final = re.compile(
    r"\A((?:[^\n]*\n){0,2}[^\n<]{0,200}<<-?[ \t]*['\"]?(\w++)['\"]?[^\n]*\n.*?^)\2(?=[ \t\r]*$)", re.M | re.S
)
#: What a patch starts with.
_START: Final = re.compile(rf"{_SEARCH.pattern}|{_DIFF.pattern}|^{re.escape(BEGIN)}[ \t\r]*$", re.M | re.I)
#: A fence of one of these is a patch or nothing.
_PATCH_FENCES: Final = frozenset({"diff", "patch", "udiff"})
#: Fences without a name that are told.
_TOLD: Final = 5
_CUT: Final = "its fence has no end, so it may be cut off"
_GOES_ON: Final = "this line may end the file, or begin a fence within it"
_LONGER: Final = "Put a file that has fences into a longer fence, of four back-ticks."
_BESIDE: Final = "If you want it, send it as a tool request, or in an answer that holds no tool request."
#: Where a list of what is read is asked for.
FORMS: Final = (
    "a tool request (a JSON object in a ```json fence, or an XML tool call), a unified diff, a *** Begin Patch, "
    "SEARCH/REPLACE blocks below the file's name, a whole file in a fence with its name, or a provider's tool_use or "
    "tool_calls as JSON"
)


class _Block(NamedTuple):
    start: int
    end: int
    form: str
    raw: str
    outcomes: list[Outcome]
    exists: Exists
    first: int = 0


def find_proposals(text: str, tools: ToolSchemas, exists: Exists = nothing_exists) -> Iterator[RawRequest | Refusal]:
    """Yield a request for each change; only refusals if one cannot be read."""
    found = [_judged(text, block, one, tools) for block in _blocks(text, tools, exists) for one in block.outcomes]
    refused = [one for one in found if isinstance(one, Refusal)]
    yield from refused or found


def second_look(
    text: str,
    tools: ToolSchemas,
    proposed_to: ToolSchemas,
    read: Sequence[RawRequest],
    *,
    exists: Exists = nothing_exists,
) -> Iterator[RawRequest | Refusal]:
    """Yield an answer's proposals, and a refusal for each unread call.

    Beside ``read``, requests whose blocks are not in ``text``, a proposal is refused; what repeats one or is about its
    file is passed over. ``proposed_to``: the tools that the author may use.
    """
    known = [*(_beside(text, proposed_to, read, exists) if read else find_proposals(text, proposed_to, exists))]
    yield from known
    for call in find_unread_calls(text, tools, read, proposed_to):
        if not any(one.start < call.end and call.start < one.end for one in known):
            yield call


def _beside(text: str, tools: ToolSchemas, read: Sequence[RawRequest], exists: Exists) -> Iterator[Refusal]:
    paths = {value for one in read for key, value in one.parameters.items() if key in PATH_KEYS}
    for block in _blocks(text, tools, exists):
        named = [one.parameters.get("file_path") for one in block.outcomes if isinstance(one, Proposed)]
        if block.outcomes and paths.isdisjoint(named):
            yield _refusal(text, block, "it is beside a tool request, so it was not taken", _BESIDE, code="unread")


def _refusal(text: str, block: _Block, message: str, hint: str, *, line: int = 0, code: str = "patch") -> Refusal:
    place = f"Line {line_column(text, block.start)[0] + line}, {block.form}"
    return Refusal(code, f"{place}: {message}.", hint, block.start, block.end)


def _judged(text: str, block: _Block, outcome: Outcome, tools: ToolSchemas) -> RawRequest | Refusal:
    if isinstance(outcome, NotRead):
        message = f"{outcome.message}. Nothing of the answer was taken"
        return _refusal(text, block, message, outcome.hint, line=block.first + outcome.line)
    if outcome.tool not in tools:
        message = f"there is no tool {outcome.tool!r} here, which it needs"
        return _refusal(text, block, message, f"Your tools: {own_names(tools, outcome.tool)}.")
    told = block.form, block.start, block.end, (), block.raw, outcome.below
    return RawRequest("", outcome.tool, outcome.parameters, "", *told)


def _blocks(text: str, tools: ToolSchemas, exists: Exists) -> Iterator[_Block]:
    if len(text) > _CHARS or not any(tool.name in tools for tool in (WRITE_FILE, EDIT_FILE)):
        return  # who may not edit shows what it writes
    found = find_blocks(text, tools)
    items = found.items[:_PIECES]
    prose = ""
    for n, item in enumerate(items):
        if isinstance(item, str):
            prose += item
            continue
        behind = next(iter(items[n + 1 : n + 2]), "")
        block = _of_span(item, prose, behind.partition("\n")[0] if isinstance(behind, str) else "", exists)
        if block.form == NAMED and isinstance(behind, str) and _may_go_on(block, behind, items[n + 2 :]):
            block = block._replace(outcomes=[NotRead(item.raw.rstrip("\n").count("\n") - 1, _GOES_ON, _LONGER)])
        if found.strays.around(item.start) is None:
            yield block
        # Blocks that follow each other may share the name above the first.
        prose = f"{prose[-400:].rstrip()}\n\n" if item.container == "patch" else ""
        if block.form == "SEARCH/REPLACE" and isinstance(last := block.outcomes[-1], Proposed):
            prose = f"{last.parameters['file_path']}\n"


def _of_span(span: BlockSpan, prose: str, behind: str, exists: Exists) -> _Block:
    prose = prose.replace("\r\n", "\n")
    above = [line for line in prose.split("\n")[-_ABOVE - 1 :] if line.strip()]
    block = _Block(span.start, span.end, "", span.raw, [], exists)
    if span.container is None or _is_tag_fence(span):
        block = _of_fence(span, block._replace(first=1), above) if span.kind != "xml" else block
        cut = block.outcomes and not span.closed
        return block._replace(first=0, outcomes=[NotRead(0, _CUT, "Send it again.")]) if cut else block
    header = _header(prose)
    if span.container == "patch" and not _writes(prose.removesuffix(header).rstrip().rpartition("\n")[2]):
        return _patch(block, span.raw + behind, above, header)
    is_fence = span.container == "element" or span.label in SHOWN
    return _patch(block, span.raw, above, "") if is_fence and _SEARCH.search(span.raw) else block


def _of_fence(span: BlockSpan, block: _Block, above: Sequence[str]) -> _Block:
    body = _body(span)
    inner = next((n for n, line in enumerate(body) if FENCE.match(line) or _shows(line)), len(body))
    is_patch = _is_patch_fence(span.label)
    if _START.search("\n".join(body[:inner])) or (is_patch and inner == len(body)):
        patch = _patch(block, "\n".join(body), above, "", span.label)
        if patch.outcomes:
            return patch
    if is_patch:
        return block
    last = above[-1] if above and not above[-1].lstrip().startswith(">") else ""
    named = named_file("" if span.container else _info(span), body, last, block.exists)
    parsed = parse_strict("\n".join(body)) if span.kind == "json" and named is None else None
    value = parsed.value if isinstance(parsed, ParsedJson) else None
    if isinstance(value, dict) and isinstance(value.get("nodes"), list) and "connections" in value:
        return block._replace(form="n8n workflow", outcomes=[_workflow(value.get("name"), body)])
    return block._replace(form=NAMED, outcomes=[named] if named else [])


def _is_tag_fence(span: BlockSpan) -> bool:
    lines = span.raw.lower().strip().split("\n")
    ends = not span.closed or lines[-1].strip() == f"</{span.label}>"
    is_tag = span.label in TAG_FENCES and lines[0].strip() == f"<{span.label}>"
    return is_tag and ends and not _SEARCH.search(span.raw)


def _may_go_on(block: _Block, behind: str, rest: Sequence[str | BlockSpan]) -> bool:
    paths = (str(one.parameters.get("file_path")) for one in block.outcomes if isinstance(one, Proposed))
    is_prose = any(path.endswith((".md", ".markdown", ".mdx", ".rst")) for path in paths)
    bare = (not isinstance(item, str) and item.container is None and not _info(item) for item in rest)
    return is_prose and bool(behind.partition("\n")[0].strip()) and any(bare)


def what_is_read(text: str) -> str:
    """Return a hint: which fences were skipped, and which forms are read."""
    spans = [item for item in find_blocks(text[:_CHARS], {}).items if not isinstance(item, str)]
    fences = [one for one in spans if one.container is None and one.kind != "xml" and not is_talk(_info(one))]
    lines = [str(line_column(text, one.start)[0]) for one in fences[:_TOLD]]
    seen = "" if text.strip() else "The answer is empty. "
    if lines:
        who = f"Lines {', '.join(lines)}: these fences name" if len(lines) > 1 else f"Line {lines[0]}: the fence names"
        seen = f"{who} no file. Write its path alone on the line above it, in back-ticks. "
    return f"{seen}What is read: {FORMS}."


def _workflow(name: Json, body: Sequence[str]) -> Outcome:
    words = re.sub(r"\W+", "-", name).strip("-")[:_NAME] if isinstance(name, str) else ""
    hint = "Put the name of the file behind the fence's language, as in ```json hello.json."
    return new_file(f"{words}.json", body) if words else NotRead(0, "it has no name, so its file has none", hint)


def _info(span: BlockSpan) -> str:
    first = span.raw.partition("\n")[0]
    return first.strip().lstrip("`~-*+0123456789.) \t").strip()


def _body(span: BlockSpan) -> list[str]:
    first, *lines = span.raw.removesuffix("\n").split("\n")
    blanks = re.sub(r"\S", " ", first[: len(first) - len(first.lstrip("-*+0123456789.) \t"))])
    return [line.removeprefix(blanks) for line in (lines[:-1] if span.closed else lines)]


def _is_patch_fence(info: str) -> bool:
    return info.partition(" ")[0].lower() in _PATCH_FENCES


def _header(prose: str) -> str:
    found = _DIFF_HEAD.search(prose)
    return found[1] if found else ""


def _shows(line: str) -> bool:
    return _writes(line) or (line.rstrip().endswith(":") and " " in line.strip())


def _writes(line: str) -> bool:
    command, here, _ = line.partition("<<")
    return bool(here) and ">" in command and not _APPLIES.search(command.partition(">")[0].rstrip())


def _patch(block: _Block, text: str, above: Sequence[str], header: str, info: str = "") -> _Block:
    name = name_in_info(info) or name_above(above, "", block.exists)
    if _SEARCH.search(text):
        name = name or name_in_comment(text.lstrip("\n").partition("\n")[0])
        return block._replace(
            form="SEARCH/REPLACE", outcomes=list(block_changes(text, above, name, exists=block.exists))
        )
    text = _HERE.sub(r"\1", text)
    if any(line.strip() == BEGIN for line in text.split("\n")):
        return block._replace(form="*** Begin Patch", outcomes=list(patch_changes(text)))
    if name and _is_patch_fence(info) and not header and not _DIFF.search(text):
        block, text = block._replace(first=block.first - 1), f"@@\n{text}"
    if header or _DIFF.search(text):
        first = block.first - header.count("\n")
        return block._replace(form="unified diff", outcomes=list(diff_changes(header + text, name)), first=first)
    return block
