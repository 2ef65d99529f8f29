"""Settles what a pasted answer leaves open: a block's file (what it fits, or a person names), single functions as
diffs, one of two blocks for a place.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from rails.core.changes import unified_diff
from rails.core.errors import RailsError
from rails.core.text import line_column, one_line
from rails.core.tool_request import RawRequest
from rails.data_formats.file_names import is_surely_file, name_in_comment
from rails.data_formats.proposed import NAMED
from rails.data_formats.source import language_of, parses, symbols
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
#: An import on one line, except those that stand first in any case.
_IMPORT = re.compile(r"(?:from (?!__future__)[\w.]+ import [^(]|import [\w.{*'\"])")
#: Longer than the fences within a file.
_FENCE = "`" * 10


class NothingToApplyError(RailsError):
    """A text holds no edit; the message says what to copy instead, if known."""


def with_definitions(old: str, block: str, language: str) -> tuple[str, str]:
    """Return ``old`` with definitions of ``block`` replaced, and their names. Python, JavaScript, TypeScript.

    New definitions beside a replaced one follow it, new imports go before the others. Two empty texts if uncertain: no
    name fits, or one fits twice, a shortened body, unknown lines.
    """
    lines = old.split("\n")
    rows = textwrap.dedent(block).strip("\n").split("\n")
    known = symbols(old, language)
    names = list[str]()
    pieces = list[str]()
    edits = list[tuple[int, int, str, list[str]]]()
    for one in symbols("\n".join(rows), language):
        places = [each for each in known if each.name.rpartition(".")[2] == one.name]
        if one.depth:
            continue
        if len(places) > 1 or placeholder("\n".join(rows[one.first - 1 :]), old, "x.py"):
            return "", ""
        text = rows[one.first - 1 : one.last]
        rows[one.first - 1 : one.last] = [""] * len(text)
        for place in places:
            pieces = [] if names else pieces  # what is new before the first goes with it, else with the one before
            head = lines[place.first - 1]
            indent = head[: len(head) - len(head.lstrip())]
            edits.append((place.first - 1, place.last, indent, pieces))
            names.append(place.name)
        pieces.append("\n".join(text))
    at = next((number for number, line in enumerate(lines) if _IMPORT.match(line)), -1)
    for row in rows:
        if at >= 0 and _IMPORT.match(row) and row not in lines:
            edits.append((at, at, "", [row]))
        elif not _IGNORED.match(row) and row not in lines:
            return "", ""
    for first, last, indent, pieces in sorted(edits, reverse=True):
        lines[first:last] = [textwrap.indent("\n\n\n".join(pieces), indent)]
    return "\n".join(lines) if names else "", ", ".join(names)


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

    ``_claims``, by file and names: the piece with their difference, the old file, its line.
    """

    files: dict[str, str]
    tools: ToolSchemas
    person: Person
    note: Callable[[str], object]
    _pieces: list[str] = field(default_factory=list)
    _claims: dict[tuple[str, str], tuple[int, str, int]] = field(default_factory=dict)

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
        found = next(
            find_proposals(above[-400:].rpartition("```")[2] + span.raw, self.tools, self.files.__contains__), None
        )
        body = "\n".join(span.raw.rstrip("\n").split("\n")[1:-1])
        if isinstance(found, RawRequest):
            path, content = (str(found.parameters.get(key)) for key in ("file_path", "content"))
            return self._named(path, content, line, part=False) if found.dialect == NAMED else span.raw
        if is_talk(span.label) or _USAGE.match(body) or (found and "names no file" not in found.message):
            return span.raw
        nearest = self._nearest(above, span.label.lower())
        fits = [path for path in nearest if self._fits(span.raw if found else body, path, patch=found is not None)]
        path = fits[0] if len(fits) == 1 else self._asked(line, body, fits or nearest)
        return self._named(path, body, line) if path and not found else f"\n{path}\n{span.raw}"

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
            path: above.rfind(path.rpartition("/")[2]) for path in paths if language_of(path) == wanted or not wanted
        }
        named = [path for path in said if said[path] >= 0]
        return sorted(named or said, key=lambda path: (-said[path], "test" in path, path.count("/"), path))

    def _asked(self, line: int, body: str, paths: Sequence[str]) -> str:
        choices = {str(n): (path, path) for n, path in enumerate(paths[:6], 1)}
        choices |= {"f": ("feedback", "f PATH: another file"), "n": ("", "none: leave the block out")}
        return self._answer(f"Line {line}: which file is this block for? {one_line(body.strip(), 60)}", choices)

    def _answer(self, words: str, choices: Mapping[str, tuple[str, str]]) -> str:
        reply = self.person.answer(UserQuestion("block", (words,), choices, ""))
        return reply.text if reply.answer == "feedback" else reply.answer

    def _named(self, path: str, body: str, line: int, *, part: bool = True) -> str:
        first, _, rest = body.partition("\n")
        said = name_in_comment(first)
        old = self.files.get(path, "")
        if said and f"/{path}".endswith(f"/{said}") and not old.startswith(first):
            body = rest.lstrip("\n")
        lost = lost_lines(old, body)
        language = language_of(path)
        part = bool(part or lost or placeholder(body, old, path))
        after, names = with_definitions(old, body, language) if part else ("", "")
        if not names and lost and _defines_all(body, old, language):
            after = body
            names = "everything"
        if not names:
            return f"\n`{path}`\n\n{_FENCE}\n{body.rstrip()}\n{_FENCE}\n"
        rival = self._claims.get((path, names))
        if rival and after != old:
            choices = {str(n): (str(n), f"the block at line {at}") for n, at in enumerate((rival[2], line), 1)}
            if self._answer(f"Two blocks have {names}. Which one?", choices) != "2":
                return ""
            self._pieces[rival[0]] = ""
            old = rival[1]
        if after == old:
            return ""
        self._claims[path, names] = len(self._pieces) + 1, old, line
        self.files[path] = after
        self.note(f"line {line}: the block replaces {names} in {path}")
        rows = unified_diff(old.encode(), after.encode(), path)
        return "\n".join(["\n", *rows, "\n"])  # in no fence: lines of the file may be fences


def _defines_all(body: str, old: str, language: str) -> bool:
    names, known = ({one.name for one in symbols(text, language)} for text in (body, old))
    return bool(known) and known <= names and not placeholder(body, old)
