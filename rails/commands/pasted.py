"""Makes edits of what a pasted answer only shows: functions, constants, keys, pairs of texts, one of several options.

What surely goes to one place goes there; else a person is asked, or the block is left out, with what to do.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise

from msgspec import Struct, field

from rails.commands.common import OPTION
from rails.core.changes import unified_diff
from rails.core.errors import RailsError
from rails.core.text import line_column, one_line
from rails.core.tool_request import RawRequest
from rails.data_formats import positions
from rails.data_formats.file_names import COULD_BE_NAME, is_surely_file, name_in_comment
from rails.data_formats.proposed import NAMED
from rails.data_formats.python_code import parse_tree
from rails.data_formats.source import Symbol, language_of, parses, symbols
from rails.edits.placeholders import lost_lines, placeholder
from rails.edits.text_view import indent
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
#: What shows how code is used, and lines of a block that need no place in its file: blank ones, comments, decorators.
_USAGE = re.compile(r"\s*(?:>>>|\$ |In \[|Traceback )")
_IGNORED = re.compile(r"\s*(?:\Z|@|#|//|/\*|\*|\})")
_GAP = re.compile(r"\s+(?:\.{3}|…)\s*$")
#: An import on one line, except those that stand first in any case.
_IMPORT = re.compile(r"(?:from (?!__future__)[\w.]+ import [^(]|import [\w.{*'\"])")
#: A part of a class, by its indentation or its first parameter.
_MEMBER = re.compile(r"[ \t]|@|(?:async )?def \w+\((?:self|cls)\b")
_CLASS = re.compile(r"(?:export |default |abstract )*class\b")
#: What is above the old text and above the new one of a pair, at the end of the words.
_FROM = re.compile(r"\b(?:find|replace|change|before|old|current(?:ly)?|original|from)\b[^\n]{0,120}\Z", re.I)
_INTO = re.compile(
    r"(?:\A|[\s*_#])(?:with|to|into|after|new|becomes?|by|updated)(?: (?:this|the following|code|version|text))*"
    r"[*_:\s]*\Z",
    re.I,
)
_ALIAS = re.compile(r"(?:^|[:,\[{-]) *\*\w", re.M)
#: The word for a block that is left out.
_NONE = "none"
#: Longer than the fences within a file.
_FENCE = "`" * 10


class NothingToApplyError(RailsError):
    """A text holds no edit; the message says what to copy instead, if known."""


# -- the blocks of an answer -------------------------------------------------------------------------


class PastedBlock(Struct, frozen=True):
    """A block of an answer: its line, its end, the words ``above`` it up to the block before, its text."""

    line: int
    end: int
    above: str
    label: str
    raw: str

    @property
    def body(self) -> str:
        """Return the lines between the fences."""
        return "\n".join(self.raw.rstrip("\n").split("\n")[1:-1])

    @property
    def begins(self) -> str:
        """Return the first line."""
        return one_line(self.body.removeprefix("<<<<<<< SEARCH").strip().partition("\n")[0], 60)


def with_fence(text: str) -> str:
    """Return an answer with a block; bare code becomes one. Raises NothingToApplyError."""
    if _spans(text):
        return text
    language = next((name for name in ("python", "javascript") if parses(text.strip(), name)), "")
    if not language or "\n" not in text.strip():
        code = _CODE.search(text)
        found = _RENDERED.format(line_column(text, code.start())[0]) if code else "No edit found in this text."
        raise NothingToApplyError(found)
    return f"```{language}\n{text.rstrip()}\n```\n"


def _blocks(text: str) -> list[PastedBlock]:
    """Return the blocks; a pair of an old and a new text is one."""
    found = list[PastedBlock]()
    at = 0
    for span in _spans(text):
        line = line_column(text, span.start)[0]
        block = PastedBlock(line, span.end, text[at : span.start], span.label, span.raw)
        at = span.end
        if found and _is_pair(found[-1], block):
            old = found.pop()
            raw = f"{_FENCE}\n<<<<<<< SEARCH\n{old.body}\n=======\n{block.body}\n>>>>>>> REPLACE\n{_FENCE}\n"
            block = PastedBlock(old.line, at, old.above, old.label, raw)
        found.append(block)
    return found


def _spans(text: str) -> list[BlockSpan]:
    items = find_blocks(text, {}).items
    return [one for one in items if not isinstance(one, str) and one.container in (None, "patch") and one.closed]


def _is_pair(old: PastedBlock, new: PastedBlock) -> bool:
    above = old.above.rstrip()
    if _INTO.search(above) or not _FROM.search(above) or old.label == "diff":
        return False
    return old.label == new.label and bool(_INTO.search(new.above))


# -- a few lines in the place of a file's own --------------------------------------------------------

Choose = Callable[[Sequence[Symbol]], Symbol | None]
#: Languages whose definitions are keys.
_DATA = ("toml", "yaml")


class Joined(Struct, frozen=True):
    """A file with what a block defines, the names, and whether the file has any of them."""

    text: str
    names: tuple[str, ...]
    known: bool


def joined(old: str, block: str, language: str, choose: Choose, owner: str = "") -> Joined | None:
    """Return a file with what a block defines in the place of what has the name; new parts go beside them, or into the
    class ``owner``, or to the end. None if uncertain.

    Functions, classes and constants of Python, JavaScript and TypeScript; keys of TOML and YAML. ``choose`` takes one
    of several places, or none. Uncertain are shortened bodies, lines that need a place and have none, one of a list of
    tables, and keys that would not be read as both together.
    """
    source = textwrap.dedent(block).strip("\n")
    rows = source.split("\n")
    here = _entries(source, language) or _methods(source, language)
    lines = old.rstrip("\n").split("\n")
    homes = {"": owner}
    moved = dict[str, str]()
    loose = list[str]()
    heads = list[str | None]()
    taken = 0
    for one in here:
        if one.last <= taken:
            continue
        there = _entries("\n".join(lines), language)
        inner = [each for each in there if f".{each.name}".endswith(f".{one.name}")]
        exact = [each for each in inner if each.name == one.name]
        places = (exact or inner) if language in _DATA else inner
        place = choose(places) if len(places) > 1 else next(iter(places), None)
        mine = _members(here, one)
        theirs = _members(there, place) if place else set()
        if (mine and theirs) if language in _DATA else not theirs <= mine:
            homes[one.name] = places[0].name
            _without_gaps(rows, one, here, old)
            continue
        taken = one.last
        first = _decorated(rows, one.first)
        piece = textwrap.dedent("\n".join(rows[first - 1 : taken]))
        rows[first - 1 : taken] = [""] * (taken - first + 1)
        around, _, name = one.name.rpartition(".")
        home = homes.get(around, around)
        near = place or _beside(home, there, [*moved.values()])
        if (places and not place) or placeholder(piece, old, "x.py") or (home and not near and language not in _DATA):
            return None
        heads.append(near.head if near and (place or home) else None)
        moved[one.name] = place.name if place else f"{home}.{name}".strip(".")
        if not near:
            loose.append(piece)
            continue
        begin = near.last
        if place:
            homes[around] = place.name.rpartition(".")[0]
            begin = place.first - 1 if first == one.first else _decorated(lines, place.first) - 1
        _put(lines, begin, near, [*loose, piece], language)
        loose.clear()
    if loose:
        lines += ["", "\n\n\n".join(loose)]
    is_sure = _rest_is_known(rows, lines)
    after = "\n".join(lines) + "\n"
    if language in _DATA:
        is_sure = is_sure and _is_sure(old, source, after, moved, language)
    is_known = any(heads) or None not in heads  # a constant of that name is no proof
    return Joined(after, (*moved.values(),) or ("no definition",), is_known) if is_sure else None


def _beside(home: str, there: Sequence[Symbol], moved: Sequence[str]) -> Symbol | None:
    """Return what a new definition goes below: the one before it, or the last of its class or table."""
    inside = [one for one in there if one.name.rpartition(".")[0] == home and one.head[:1] != "["]
    if not home:
        return next((one for one in inside if one.name in moved[-1:]), None)
    return max(inside, key=lambda one: one.last, default=next((one for one in there if one.name == home), None))


def _put(lines: list[str], begin: int, near: Symbol, pieces: Sequence[str], language: str) -> None:
    """Put pieces to the place of a definition, if it begins there, or below it."""
    blanks = indent(lines[near.first - 1])
    gap = "\n" if language in _DATA else "\n\n" if blanks else "\n\n\n"
    text = textwrap.indent(gap.join(pieces), blanks)
    new = begin == near.last
    lines[begin : near.last] = (gap[1:] * new + text).split("\n")


def _rest_is_known(rows: Sequence[str], lines: list[str]) -> bool:
    """Add the imports among what is left of a block; False if a line has no place."""
    at = next((number for number, line in enumerate(lines) if _IMPORT.match(line)), -1)
    for row in rows:
        is_gap = row[:1].isspace() and placeholder(row, "\n".join(lines), "x.py")
        if at >= 0 and _IMPORT.match(row):
            fresh = [row] * (row not in lines)
            lines[at:at] = fresh
            at += len(fresh)
        elif is_gap or not (_IGNORED.match(row) or row in lines):
            return False
    return True


def _without_gaps(rows: list[str], one: Symbol, here: Sequence[Symbol], old: str) -> None:
    """Empty the head of a class, and what stands for its other members; not what stands for a part of one."""
    levels = {indent(rows[each.first - 1]) for each in here if each.name.startswith(f"{one.name}.")}
    rows[one.first - 1] = ""
    for number in range(one.first, len(rows)):
        row = rows[number]
        if row and not row[0].isspace():
            return
        if indent(row) in levels and (_GAP.match(row) or placeholder(row, old, "x.py")):
            rows[number] = ""


def _members(entries: Sequence[Symbol], one: Symbol) -> set[str]:
    return {each.name.removeprefix(one.name) for each in entries if each.name.startswith(f"{one.name}.")}


def _entries(text: str, language: str) -> list[Symbol]:
    """Return the definitions of a text in order: of Python also constants, of TOML and YAML the keys."""
    if language in _DATA:
        return [*_keys(text, language)]
    found = [*symbols(text, language)]
    if language == "python" and parses(text, language):
        for node in parse_tree(text).body:
            if type(node).__name__ in ("Assign", "AnnAssign"):
                names = re.match(r"(\w+) *[:=]", text.split("\n")[node.lineno - 1])
                found += [Symbol(names[1], node.lineno, node.end_lineno or node.lineno, "")] if names else []
    return sorted(found, key=lambda one: one.first)


def _methods(text: str, language: str) -> list[Symbol]:
    """Return the methods of JavaScript in a text without their class."""
    read = symbols(f"class _ {{\n{text}\n}}", language)
    return [Symbol(one.name[2:], one.first - 1, one.last - 1, "") for one in read if one.depth]


def _keys(text: str, language: str) -> Iterator[Symbol]:
    import yaml

    if not _values(text, language):
        return
    places = positions.in_toml(text) if language == "toml" else positions.in_yaml(yaml.compose(text))
    rows = text.rstrip("\n").split("\n")
    paths = sorted(places, key=lambda path: (places[path], len(path)))
    for n, path in enumerate(paths):
        behind = (places[one][0] - 1 for one in paths[n:] if one[: len(path)] != path)
        last = next(behind, len(rows))
        while not rows[last - 1].strip() or rows[last - 1].lstrip().startswith("#"):
            last -= 1
        first = places[path][0]
        if path and int not in map(type, path):
            yield Symbol(".".join(map(str, path)), first, last, rows[first - 1].strip())


def _values(text: str, language: str) -> dict[str, object]:
    """Return the values of TOML or YAML by dotted keys, scalars of YAML as strings; {} if they are not read."""
    import tomllib

    import yaml

    try:
        value = tomllib.loads(text) if language == "toml" else yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506
    except (ValueError, yaml.YAMLError, RecursionError):
        return {}
    return {} if _ALIAS.search(text) else dict(_flat(value))


def _flat(value: object, at: str = "") -> Iterator[tuple[str, object]]:
    for key, one in value.items() if isinstance(value, dict) else ():
        yield from _flat(one, f"{at}{key}.") if one and isinstance(one, dict) else [(f"{at}{key}.", one)]


def _is_sure(old: str, block: str, after: str, moved: Mapping[str, str], language: str) -> bool:
    """Return whether keys mean in the file what they mean in the block, and all others what they meant."""
    before, given = _values(old, language), _values(block, language)
    targets = tuple(f"{target}." for target in moved.values())
    gone = [value for name, value in before.items() if name.startswith(targets)]
    both = {name: value for name, value in before.items() if not name.startswith(targets)}
    for source, target in moved.items():
        both |= {target + name.removeprefix(source): given[name] for name in given if name.startswith(f"{source}.")}
    is_list_of_tables = any(isinstance(value, list) and "{" in str(value) for value in gone)
    return not is_list_of_tables and _values(after, language) == both


def _decorated(lines: Sequence[str], first: int) -> int:
    """Return the line of a definition's first decorator."""
    while first > 1 and lines[first - 2].lstrip().startswith("@"):
        first -= 1
    return first


# -- where each block goes ---------------------------------------------------------------------------


class Settling(Struct):
    """Settles one answer. ``files``: texts by path; ``person`` is asked; ``note`` gets sentences."""

    files: dict[str, str]
    tools: ToolSchemas
    person: Person
    note: Callable[[str], object]
    #: Which line has a name in a file.
    _lines: dict[str, int] = field(default_factory=dict)

    def one_option(self, text: str) -> str:
        """Return an answer with the one option that a person takes, if headings begin several with blocks; if none is
        taken, without them. All lines keep their numbers.
        """
        spans = _spans(text)
        heads = [one.start() for one in OPTION.finditer(text)]
        heads = [at for at in heads if not any(span.start < at < span.end for span in spans)]
        parts = [text[begin:end] for begin, end in pairwise([0, *heads, len(text)])]
        instead = "lternatively" in "".join(parts[1:2])[:40]  # of what is above it
        options = [part for part in parts[not instead :] if _spans(part)]
        if len(options) < 2:
            return text
        titles = [re.sub(r"[*#_>]|:\W*$", "", part.strip().partition("\n")[0]) for part in options]
        choices = {f"{n}": (f"{n}", one_line(title, 70)) for n, title in enumerate(titles, 1)}
        taken = self._answer("The answer has several ways to do the same. Which one?", choices)
        self.note(f"option taken: {taken or 'none'}")
        others = [part for n, part in enumerate(options, 1) if f"{n}" != taken]
        return "".join("\n" * part.count("\n") if part in others else part for part in parts)

    def settle(self, text: str) -> str:
        """Return the answer with a file for each block. Raises NothingToApplyError."""
        before = dict(self.files)
        pieces = list[str]()
        at = 0
        for block in _blocks(text):
            pieces += [block.above, self._settled(block)]
            at = block.end
        changed = [path for path in before if before[path] != self.files[path]]
        if not changed and at and not "".join(pieces[1::2]).strip():
            raise NothingToApplyError("Nothing is left to apply.")
        pieces.append(text[at:])
        for path in changed:
            was, now = (f"{one[path].rstrip()}\n".encode() for one in (before, self.files))
            pieces.append("\n".join(["\n", *unified_diff(was, now, path), "\n"]))  # in no fence: it may have fences
        return "".join(pieces)

    def _settled(self, block: PastedBlock) -> str:
        raw = block.raw
        if block.label == "diff" and not re.search(r"^(?:@@|\+\+\+ )", raw, re.MULTILINE):
            raw = raw.replace("\n", "\n@@\n", 1)
        found = next(find_proposals(block.above[-400:] + raw, self.tools, self.files.__contains__), None)
        is_code = not found
        if isinstance(found, RawRequest):
            path = str(found.parameters.get("file_path"))
            is_code = found.dialect == NAMED
            if not self._is_short(path):
                content = str(found.parameters.get("content"))
                return self._as_edit(path, block, content, whole=True) if is_code else raw
        elif is_talk(block.label) or _USAGE.match(block.body) or (found and "names no file" not in found.message):
            return block.raw
        path = self._file_of(block, "" if is_code else raw)
        if path:
            return self._as_edit(path, block, block.body) if is_code else f"\n{path}\n{raw}"
        return self._noted(block, "left out, as nothing says which file it is for")

    def _file_of(self, block: PastedBlock, patch: str) -> str:
        """Return the file that a block is for, by its words or by where it fits, else by the person; "" for none."""
        label = block.label.lower()
        wanted = language_of(f"x.{label}") or label
        files = [path for path in self.files if language_of(path) == wanted != "" and path[-4:] != ".pyi"]
        files = files or [*self.files]
        words = [word.rstrip("./-") for word in re.findall(r"[\w./-]+", block.above)]
        fresh = [word for word in words if is_surely_file(word) and word not in files and not self._is_short(word)]
        said = [path for path in files if path in words]
        said = said or [path for path in files if path.rpartition("/")[2] in words]
        nearest = sorted(said or files, key=lambda path: block.begins not in self.files[path])
        fits = [path for path in nearest if self._fits(block, path, patch)]
        likely = fits or said or fresh
        if COULD_BE_NAME.match(block.above.rstrip().rpartition("\n")[2]) and not said:
            likely = fits = []  # not where it fits, but where it says
        if len(likely) == 1:
            return likely[0]
        choices = {f"{n}": (path, path) for n, path in enumerate((fits or nearest)[:6], 1)}
        choices["f"] = ("feedback", "f PATH: another file")
        return self._answer(f"Line {block.line}: which file is this block for? {block.begins}", choices)

    def _is_short(self, path: str) -> bool:
        """Return whether a path is the end of a file's."""
        return path not in self.files and any(name.endswith(f"/{path}") for name in self.files)

    def _fits(self, block: PastedBlock, path: str, patch: str) -> bool:
        if not patch:
            merged = self._merged(path, block, block.body, lambda places: places[0])
            return bool(merged and merged.known)
        found = next(find_proposals(f"{path}\n{patch}", self.tools), None)
        old = str(found.parameters.get("old_string")) if isinstance(found, RawRequest) else "\0"
        return _bare(old) in _bare(self.files[path])

    def _merged(self, path: str, block: PastedBlock, body: str, choose: Choose) -> Joined | None:
        language = language_of(path)
        old = self.files[path]
        names = re.findall(r"\w+", block.above) if _MEMBER.match(body) else []
        said = [one.name for one in symbols(old, language) if _CLASS.match(one.head) and one.name in names]
        return joined(old, body, language, choose, said[0] if len(said) == 1 else "")

    def _as_edit(self, path: str, block: PastedBlock, body: str, *, whole: bool = False) -> str:
        """Return a block as a difference, or as the ``whole`` file if it is; "" if it is left out."""
        first, _, rest = body.partition("\n")
        said = name_in_comment(first)
        old = self.files.get(path, "")
        if said and f"/{path}".endswith(f"/{said}") and not old.startswith(first):
            body = rest.lstrip("\n")
        lost = lost_lines(old, body)
        names, known = ({one.name for one in _entries(text, language_of(path))} for text in (body, old))
        keeps = known <= names and not placeholder(body, old, path)
        named = f"\n`{path}`\n\n{_FENCE}\n{body.rstrip()}\n{_FENCE}\n"
        if not old or (whole and keeps and not lost):
            return named
        found = self._merged(path, block, body, partial(self._which, block.line))
        if found and not found.known and _MEMBER.match(body):
            found = None
        if not found and lost and keeps and body.startswith(old.partition("\n")[0]):
            found = Joined(body, ("everything",), known=True)
        if not found and (whole or lost):
            return named  # and is refused, with what to do
        if not found:
            return self._noted(block, f"left out, its place in {path} is not certain; ask for a diff")
        if found.text.rstrip() == old.rstrip():
            return self._noted(block, f"left out, {path} has it already; if it is to go, ask for a diff")
        adding = {"a": ("a", "add it at the end")}
        question = f"Line {block.line}: {path} does not have it. {block.begins}"
        if not (found.known or self._answer(question, adding)):
            return self._noted(block, f"left out, nothing in {path} has its name")
        for name in found.names:
            before = self._lines.setdefault(f"{path}: {name}", block.line)
            if before != block.line and name in known:
                words = f"Lines {before} and {block.line} both have {name} of {path}. Take one of the blocks out."
                raise NothingToApplyError(words)
        self.files[path] = found.text
        return self._noted(block, f"{', '.join(found.names)} in {path}")

    def _noted(self, block: PastedBlock, words: str) -> str:
        self.note(f"line {block.line}: {words}")
        return ""

    def _which(self, line: int, places: Sequence[Symbol]) -> Symbol | None:
        choices = {f"{n}": (f"{n}", f"{one.name}, line {one.first}") for n, one in enumerate(places, 1)}
        answer = self._answer(f"Line {line}: which one is this block for?", choices)
        return places[int(answer) - 1] if answer else None

    def _answer(self, words: str, choices: Mapping[str, tuple[str, str]]) -> str:
        choices = {**choices, "n": (_NONE, "none: leave it out")}
        reply = self.person.answer(UserQuestion("block", (words,), choices, _NONE))
        return reply.text if reply.answer == "feedback" else reply.answer.removeprefix(_NONE)


def _bare(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip("\n").split("\n"))
