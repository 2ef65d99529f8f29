"""Completes a pasted answer.

It finds each block's file (the one it fits, or a person names), turns single functions into diffs, and chooses
between two blocks for a place.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec import Struct, field

from rails.core.changes import unified_diff
from rails.core.errors import RailsError
from rails.core.text import line_column, one_line
from rails.core.tool_request import RawRequest
from rails.data_formats.file_names import COULD_BE_NAME, is_surely_file, name_in_comment
from rails.data_formats.proposed import NAMED
from rails.data_formats.source import Symbol, language_of, parses, symbols
from rails.edits.placeholders import lost_lines, placeholder
from rails.parsing.blocks import BlockSpan, find_blocks
from rails.parsing.call_formats.named_files import is_talk
from rails.parsing.proposals import find_proposals
from rails.parsing.values import ToolSchemas
from rails.session.ask_user import Person, UserQuestion

_RENDERED = (
    "Line {}: this looks like code that was copied without its fences, so where it begins and ends is not known. Copy "
    "the whole answer with the chat's own copy button below it, or one block of code with the block's own button."
)
#: A line of code, or the button above a block that was copied with it.
_CODE = re.compile(r"^(?:copy code|[ \t]*(?:def|class|async|const|let|function|export)\b.*[:{;(])[ \t]*$", re.M | re.I)
_SUFFIXES = {"python": "py", "javascript": "js", "typescript": "ts"}
#: A file's name between marks.
_NAMED = re.compile(r"[`*]([^`*\s]+)[`*]")
#: What shows how code is used, and lines of a block that need no place in its file: blank ones, comments, decorators.
_USAGE = re.compile(r"\s*(?:>>>|\$ |In \[|Traceback )")
_IGNORED = re.compile(r"\s*(?:\Z|@|#|//|/\*|\*)")
#: What stands for the other members of a class.
_GAP = re.compile(r"\s*(?:(?:#|//)\s*)?(?:\.{3}|…)(?:.*(?:\.{3}|…))?\s*$")
#: An import on one line, except those that stand first in any case.
_IMPORT = re.compile(r"(?:from (?!__future__)[\w.]+ import [^(]|import [\w.{*'\"])")
#: A part of a class, by its indentation or its first parameter.
_MEMBER = re.compile(r"[ \t]|@|(?:async )?def \w+\((?:self|cls)\b")
#: The word for a block that is left out.
_NONE = "none"
#: What two blocks may both do.
_FREE = {"nothing", "no definition"}
#: Longer than the fences within a file.
_FENCE = "`" * 10


class NothingToApplyError(RailsError):
    """A text holds no edit; the message says what to copy instead, if known."""


def with_definitions(
    old: str,
    block: str,
    language: str,
    choose: Callable[[Sequence[Symbol]], Symbol | None] = lambda places: next(iter(places), None),
    *,
    new: bool = False,
) -> tuple[str, str]:
    """Return ``old`` with definitions of ``block`` replaced, and their names. Python, JavaScript, TypeScript.

    New definitions beside a replaced one follow it, alone they are added if ``new``; new imports go before the others.
    Two empty texts if uncertain: no name fits, ``choose`` (the first) takes none, a shortened body, unknown lines.
    """
    lines = old.split("\n")
    rows = textwrap.dedent(block).strip("\n").split("\n")
    known = symbols(old, language)
    names = list[str]()
    pieces = list[str]()
    edits = list[tuple[int, int, str, list[str]]]()
    for one in _outermost(rows, old, language):
        places = [each for each in known if one.name in (each.name, each.name.rpartition(".")[2])]
        place = choose(places) if len(places) > 1 else next(iter(places), None)
        first = _decorated(rows, one.first)
        text = rows[first - 1 : one.last]
        if (places and not place) or placeholder("\n".join(text), old, "x.py"):
            return "", ""
        rows[first - 1 : one.last] = [""] * len(text)
        if place:
            pieces = [] if names else pieces  # what is new before the first goes with it, else with the one before
            head = lines[place.first - 1]
            begin = place.first if first == one.first else _decorated(lines, place.first)
            edits.append((begin - 1, place.last, head[: len(head) - len(head.lstrip())], pieces))
            names.append(place.name)
        elif one.depth and not names:
            return "", ""
        pieces.append(textwrap.dedent("\n".join(text)))
    if pieces and not names:
        edits.append((len(lines), len(lines), "", ["\n" + "\n\n\n".join(pieces)]))
        names.append("nothing" if new else "")
    at = next((number for number, line in enumerate(lines) if _IMPORT.match(line)), -1)
    for row in rows:
        if at >= 0 and _IMPORT.match(row):
            edits += [(at, at, "", [row])] * (row not in lines)
            names = names or ["no definition"]
        elif (row[:1].isspace() and placeholder(row, old, "x.py")) or not (_IGNORED.match(row) or row in lines):
            return "", ""
    for begin, last, indent, pieces in sorted(edits, reverse=True):
        gap = "\n\n" if indent else "\n\n\n"
        lines[begin:last] = [textwrap.indent(gap.join(pieces), indent)]
    return "\n".join(lines) if any(names) else "", ", ".join(names)


def _outermost(rows: list[str], old: str, language: str) -> list[Symbol]:
    """Return a block's definitions: a class that leaves out members (that line is emptied) as its methods.

    Methods without a class are JavaScript's.
    """
    text = "\n".join(rows)
    read = symbols(text, language)
    inner = {at for one in read if one.depth for at in range(one.first - 1, one.last)}
    short = [""]
    for one in read:
        for at in {*range(one.first, len(rows))} - inner:
            if "class " in one.head and _GAP.match(rows[at]) and rows[at] not in old:
                rows[at] = ""
                short.append(one.name)
    found = [one for one in read if one.name not in short and one.name.rpartition(".")[0] in short]
    return found or [
        Symbol(one.name[2:], one.first - 1, one.last - 1, "")
        for one in symbols(f"class _ {{\n{text}\n}}", language)
        if one.depth
    ]


def _decorated(lines: Sequence[str], first: int) -> int:
    """Return the line of a definition's first decorator."""
    while first > 1 and lines[first - 2].lstrip().startswith("@"):
        first -= 1
    return first


def with_fence(text: str) -> str:
    """Return an answer with a block; bare code becomes one. Raises NothingToApplyError."""
    if any(map(_is_block, find_blocks(text, {}).items)):
        return text
    language = next((name for name in ("python", "javascript") if parses(text.strip(), name)), "")
    if not language or "\n" not in text.strip():
        code = _CODE.search(text)
        line = line_column(text, code.start())[0] if code else 0
        raise NothingToApplyError(_RENDERED.format(line) if line else "No edit found in this text.")
    return f"```{language}\n{text.rstrip()}\n```\n"


def _is_block(item: BlockSpan | str) -> bool:
    return not isinstance(item, str) and item.container in (None, "patch") and item.closed


class Settling(Struct):
    """Settles one answer. ``files``: texts by path; ``person`` is asked; ``note`` gets sentences.

    ``_claims``: file, names, the piece with their difference, the old file, its line.
    """

    files: dict[str, str]
    tools: ToolSchemas
    person: Person
    note: Callable[[str], object]
    _pieces: list[str] = field(default_factory=list)
    _claims: list[tuple[str, set[str], int, str, int]] = field(default_factory=list)

    def settle(self, text: str) -> str:
        """Return the answer with a file for each block."""
        at = 0
        for item in find_blocks(text, {}).items:
            if not isinstance(item, str) and _is_block(item):
                line = line_column(text, item.start)[0]
                self._pieces += [text[at : item.start], self._settled(item, text[: item.start], line)]
                at = item.end
        return "".join([*self._pieces, text[at:]])

    def _settled(self, span: BlockSpan, above: str, line: int) -> str:
        raw = span.raw
        if span.label == "diff" and not re.search(r"^(?:@@|\+\+\+ )", raw, re.MULTILINE):
            raw = raw.replace("\n", "\n@@\n", 1)
        found = next(find_proposals(above[-400:].rpartition("```")[2] + raw, self.tools, self.files.__contains__), None)
        body = "\n".join(span.raw.rstrip("\n").split("\n")[1:-1])
        if isinstance(found, RawRequest):
            path, content = (str(found.parameters.get(key)) for key in ("file_path", "content"))
            return self._named(path, content, line, part=False) if found.dialect == NAMED else raw
        if is_talk(span.label) or _USAGE.match(body) or (found and "names no file" not in found.message):
            return span.raw
        nearest = self._nearest(above, span.label.lower())
        fits = [path for path in nearest if self._fits(raw if found else body, path, patch=found is not None)]
        if COULD_BE_NAME.match(above.rstrip().rpartition("\n")[2]):  # not where it fits, but where it says
            fits = []
        likely = fits if len(fits) == 1 else nearest
        known = len(likely) == 1 and likely[0] in (fits or above.rstrip().rpartition("\n\n")[2])
        path = likely[0] if known else self._asked(line, body, fits or nearest)
        return self._named(path, body, line) if path and not found else f"\n{path}\n{raw}"

    def _fits(self, text: str, path: str, *, patch: bool) -> bool:
        old = self.files.get(path, "")
        if not patch:
            return bool(with_definitions(old, text, language_of(path))[1])
        found = next(find_proposals(f"{path}\n{text}", self.tools), None)
        return isinstance(found, RawRequest) and str(found.parameters.get("old_string")) in old

    def _nearest(self, above: str, label: str) -> list[str]:
        wanted = language_of(f"x.{_SUFFIXES.get(label, label)}")
        paths = {*self.files, *filter(is_surely_file, _NAMED.findall(above))}
        said = {
            path: _last(path.rpartition("/")[2], above) for path in paths if language_of(path) == wanted or not wanted
        }
        named = [path for path in said if said[path] >= 0]
        return sorted(
            [path for path in named if _last(path, above) >= 0] or named or said,
            key=lambda path: (-said[path], "test" in path, path.count("/"), path),
        )

    def _asked(self, line: int, body: str, paths: Sequence[str]) -> str:
        choices = {str(n): (path, path) for n, path in enumerate(paths[:6], 1)}
        choices |= {"f": ("feedback", "f PATH: another file"), "n": (_NONE, "none: leave the block out")}
        answer = self._answer(f"Line {line}: which file is this block for? {_begins(body)}", choices)
        if not answer:
            self.note(f"line {line}: the block is left out, as nothing says which file it is for")
        return answer

    def _answer(self, words: str, choices: Mapping[str, tuple[str, str]]) -> str:
        reply = self.person.answer(UserQuestion("block", (words,), choices, _NONE))
        return reply.text if reply.answer == "feedback" else reply.answer.removeprefix(_NONE)

    def _which(self, line: int, places: Sequence[Symbol]) -> Symbol | None:
        choices = {str(n): (one.name, one.name) for n, one in enumerate(places, 1)}
        answer = places and self._answer(f"Line {line}: which one is this block for?", choices)
        return next((one for one in places if one.name == answer), None)

    def _named(self, path: str, body: str, line: int, *, part: bool = True) -> str:
        first, _, rest = body.partition("\n")
        said = name_in_comment(first)
        old = self.files.get(path, "")
        if said and f"/{path}".endswith(f"/{said}") and not old.startswith(first):
            body = rest.lstrip("\n")
        lost = lost_lines(old, body)
        language = language_of(path)
        part = bool(part or lost or placeholder(body, old, path))
        read = partial(with_definitions, old, body, language, partial(self._which, line))
        after, names = read() if part else ("", "")
        if not names and lost and _defines_all(body, old, language):
            after = body
            names = "everything"
        if not names and lost and not _MEMBER.match(body) and read(new=True)[1]:
            choices = {"a": ("a", "add it at the end"), "n": (_NONE, "none: leave the block out")}
            if not self._answer(f"Line {line}: nothing in {path} has the name. {_begins(body)}", choices):
                return ""
            after, names = read(new=True)
        if not names:
            return f"\n`{path}`\n\n{_FENCE}\n{body.rstrip()}\n{_FENCE}\n"
        claimed = {*names.split(", ")}
        rival = next((one for one in self._claims if one[0] == path and one[1] & claimed - _FREE), None)
        if rival and after != old:
            choices = {str(n): (str(n), f"the block at line {at}") for n, at in enumerate((rival[4], line), 1)}
            if self._answer(f"Two blocks have {names}. Which one?", choices) != "2":
                return ""
            self._pieces[rival[2]] = ""
            self._claims.remove(rival)
            self.files[path] = rival[3]
            return self._named(path, body, line, part=part)
        if after == old:
            return ""
        self._claims.append((path, claimed, len(self._pieces) + 1, old, line))
        self.files[path] = after
        self.note(f"line {line}: the block replaces {names} in {path}")
        was, now = (f"{text.rstrip()}\n".encode() for text in (old, after))
        return "\n".join(["\n", *unified_diff(was, now, path), "\n"])  # in no fence: lines of the file may be fences


def _last(name: str, text: str) -> int:
    """Return the last offset of the whole name ``name`` in ``text``, -1 for none."""
    return max((one.start() for one in re.finditer(rf"(?<![\w.-]){re.escape(name)}(?![\w/-])", text)), default=-1)


def _begins(body: str) -> str:
    return one_line(body.strip().partition("\n")[0], 60)


def _defines_all(body: str, old: str, language: str) -> bool:
    names, known = ({one.name for one in symbols(text, language)} for text in (body, old))
    begins = old.partition("\n")[0] == body.partition("\n")[0]
    return bool(known) and begins and known <= names and not placeholder(body, old)
