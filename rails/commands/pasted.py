"""Makes edits of what a pasted answer only shows: functions, constants, keys, pairs of texts, one of several options.

What surely goes to one place goes there; else a person is asked, or the block is left out, with what to do.
"""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
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
_FUTURE = "from __future__ import annotations"
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
#: A comment in a block above the old text, or above the new one.
_SIDE = re.compile(
    r"^[ \t]*(?:#|//|/\*|--|<!--)[^\w\n]*(?:(before|old|original|current)|after|new|updated|fixed)"
    r"(?: (?:code|version|implementation|change))?(?: *\([^()\n]*\))?[^\w\n]*$",
    re.M | re.I,
)
#: The first words of an option that are no fence.
_TITLE = re.compile(r"^(?!```).*\w.*", re.M)
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
        lines = self.raw.rstrip("\n").split("\n")
        return "\n".join(lines[1:-1])

    @property
    def begins(self) -> str:
        """Return the first line."""
        body = self.body.removeprefix("<<<<<<< SEARCH").strip()
        return one_line(body.partition("\n")[0], 60)


def with_fence(text: str) -> str:
    """Return an answer with a block; bare code becomes one. Raises NothingToApplyError."""
    if _spans(text):
        return text
    language = next((name for name in ("python", "javascript") if parses(text.strip(), name)), "")
    if language and "\n" in text.strip():
        return f"```{language}\n{text.rstrip()}\n```\n"
    code = _CODE.search(text)
    if not code:
        raise NothingToApplyError("No edit found in this text.")
    line, _ = line_column(text, code.start())
    raise NothingToApplyError(_RENDERED.format(line))


def _spans(text: str) -> list[BlockSpan]:
    spans = [one for one in find_blocks(text, {}).items if not isinstance(one, str)]
    return [one for one in spans if one.closed and one.container in (None, "patch")]


def _blocks(text: str, has: Callable[[str], bool]) -> list[PastedBlock]:
    """Return the blocks; a pair of an old and a new text is one. ``has``: whether a file has an old text."""
    found = list[PastedBlock]()
    at = 0
    for span in _spans(text):
        line, _ = line_column(text, span.start)
        block = PastedBlock(line, span.end, text[at : span.start], span.label, span.raw)
        at = span.end
        if found and _is_pair(found[-1], block):
            old = found.pop()
            found.append(_pair(old, at, old.above, old.body, block.body))
        else:
            found += _sides(block, has) or [block]
    return found


def _is_pair(old: PastedBlock, new: PastedBlock) -> bool:
    above = old.above.rstrip()
    if _INTO.search(above) or not _FROM.search(above) or old.label == "diff":
        return False
    return old.label == new.label and bool(_INTO.search(new.above))


def _sides(block: PastedBlock, has: Callable[[str], bool]) -> list[PastedBlock]:
    """Return the pairs of a block with comments "Before" and "After" in it, below nothing but its file's name."""
    head, *pieces = _SIDE.split(block.body)
    name = name_in_comment(head.strip())
    marks = pieces[::2]
    texts = [piece.strip("\n") for piece in pieces[1::2]]
    order = [bool(mark) for mark in marks]
    is_named = name or not head.strip()
    if order != [True, False] * (len(order) // 2) or not is_named or not all(map(has, texts[::2])):
        return []
    above = f"{block.above}\n`{name}`\n" if name else block.above
    return [_pair(block, block.end, above, old, new) for old, new in zip(texts[::2], texts[1::2], strict=True)]


def _pair(block: PastedBlock, end: int, above: str, old: str, new: str) -> PastedBlock:
    raw = f"{_FENCE}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n{_FENCE}\n"
    return PastedBlock(block.line, end, above, block.label, raw)


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
    """Return a file with what a block defines in the place of what has the name. New parts go into their class or
    table, into the class ``owner``, above the next part that has a place, or to the end. None if uncertain.

    Functions, classes and constants of Python, JavaScript and TypeScript; keys of TOML and YAML. ``choose`` takes one
    of several places, or none. Uncertain are shortened bodies, lines that need a place and have none, one of a list of
    tables, and keys that would not be read as both together.
    """
    source = textwrap.dedent(block).strip("\n")
    rows = source.split("\n")
    lines = old.rstrip("\n").split("\n")
    here = _entries(source, language) or _methods(source, language)
    homes = {"": owner}
    moved = dict[str, str]()
    heads = list[str | None]()
    loose = list[str]()
    levels = set[str]()
    taken = 0
    for one in here:
        if one.last <= taken:
            continue
        there = _entries("\n".join(lines), language)
        places = _places(one.name, there, language)
        place = choose(places) if len(places) > 1 else next(iter(places), None)
        if place and _is_frame(_members(here, one), _members(there, place), language):
            homes[one.name] = place.name
            rows[one.first - 1] = ""
            levels |= {indent(rows[each.first - 1]) for each in here if _around(each.name) == one.name}
            continue
        taken = one.last
        piece = _take(rows, one)
        around, _, name = one.name.rpartition(".")
        home = homes.get(around, around)
        near = place or _last_of(home, there)
        is_lost = home and not near and language not in _DATA
        if is_lost or (places and not place) or placeholder(piece, old, "x.py"):
            return None
        moved[one.name] = place.name if place else f"{home}.{name}".strip(".")
        heads.append(near.head if near else None)
        if place:
            homes[around] = _around(place.name)
        if near and _around(near.name):
            _put(lines, near, [piece], language, below=not place)
        else:
            loose.append(piece)
        if place and not _around(place.name):
            _put(lines, place, loose, language)
            loose.clear()
    if loose:
        lines += ["", "\n\n\n".join(loose)]
    is_sure = _rest_is_known(rows, lines, levels)
    after = "\n".join([*lines, ""])
    if not is_sure or (language in _DATA and not _is_sure(old, source, after, moved, language)):
        return None
    is_known = any(heads) or None not in heads  # a constant of that name is no proof
    return Joined(after, (*moved.values(),) or ("imports",), is_known)


def _take(rows: list[str], one: Symbol) -> str:
    first = _decorated(rows, one.first) - 1
    piece = textwrap.dedent("\n".join(rows[first : one.last]))
    rows[first : one.last] = [""] * (one.last - first)
    return piece


def _places(name: str, there: Sequence[Symbol], language: str) -> list[Symbol]:
    inner = [one for one in there if f".{one.name}".endswith(f".{name}")]
    exact = [one for one in inner if one.name == name]
    return exact if exact and language in _DATA else inner


def _is_frame(mine: set[str], theirs: set[str], language: str) -> bool:
    """Return whether a block's class or table lacks members, so that those that it has go into the file's."""
    return bool(mine and theirs) if language in _DATA else not theirs <= mine


def _last_of(home: str, there: Sequence[Symbol]) -> Symbol | None:
    """Return the last member of a class or table, or the head of a table without any."""
    inside = [one for one in there if home and _around(one.name) == home and one.head[:1] != "["]
    head = next((one for one in there if one.name == home and one.head[:1] == "["), None)
    return max(inside, key=lambda one: one.last, default=head)


def _around(name: str) -> str:
    return name.rpartition(".")[0]


def _put(lines: list[str], near: Symbol, pieces: Sequence[str], language: str, *, below: bool = False) -> None:
    blanks = indent(lines[near.first - 1])
    gap = "\n" if language in _DATA else "\n\n" if blanks else "\n\n\n"
    text = textwrap.indent(gap.join(pieces), blanks)
    start = _decorated(lines, near.first) if pieces[-1].startswith("@") else near.first
    if below:
        lines[near.last : near.last] = f"{gap[1:]}{text}".split("\n")
    else:
        lines[start - 1 : near.last] = text.split("\n")


def _rest_is_known(rows: Sequence[str], lines: list[str], levels: set[str]) -> bool:
    """Add the imports among what is left of a block; False if a line has no place. What stands for other members is as
    deep as one of ``levels``; deeper it stands for a part of one.
    """
    at = next((number for number, line in enumerate(lines) if _IMPORT.match(line)), -1)
    if at < 0 and _FUTURE in lines:
        at = lines.index(_FUTURE) + 1
    text = "\n".join(lines)
    for row in rows:
        is_gap = row[:1].isspace() and (_GAP.match(row) or placeholder(row, text, "x.py"))
        if is_gap and indent(row) not in levels:
            return False
        if is_gap or row in lines or _IGNORED.match(row):
            continue
        if at < 0 or not _IMPORT.match(row):
            return False
        lines.insert(at, row)
        at += 1
    return True


def _members(entries: Sequence[Symbol], one: Symbol) -> set[str]:
    return {each.name.removeprefix(one.name) for each in entries if each.name.startswith(f"{one.name}.")}


def _entries(text: str, language: str) -> list[Symbol]:
    """Return the definitions of a text in order: of Python also constants, of TOML and YAML the keys."""
    if language in _DATA:
        return [*_keys(text, language)]
    found = [*symbols(text, language)]
    if language == "python":
        found += _constants(text)
    return sorted(found, key=lambda one: one.first)


def _constants(text: str) -> Iterator[Symbol]:
    lines = text.split("\n")
    for node in parse_tree(text).body if parses(text, "python") else ():
        name = re.match(r"(\w+)(?:: [^=]+)? = ", lines[node.lineno - 1])
        if name:
            yield Symbol(name[1], node.lineno, node.end_lineno or node.lineno, "")


def _methods(text: str, language: str) -> list[Symbol]:
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
        if not path or int in map(type, path):
            continue
        behind = (places[one][0] - 1 for one in paths[n:] if one[: len(path)] != path)
        last = next(behind, len(rows))
        while not rows[last - 1].strip() or rows[last - 1].lstrip().startswith("#"):
            last -= 1
        first, _ = places[path]
        yield Symbol(".".join(map(str, path)), first, last, rows[first - 1].strip())


def _values(text: str, language: str) -> dict[str, object]:
    """Return the values of TOML or YAML by dotted keys, scalars of YAML as strings; {} if they are not read."""
    import tomllib

    import yaml

    try:
        value = tomllib.loads(text) if language == "toml" else yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506
    except (ValueError, yaml.YAMLError, RecursionError):
        return {}
    is_read = value and isinstance(value, dict) and not _ALIAS.search(text)
    return dict(_flat(value)) if is_read else {}


def _flat(value: object, at: str = "") -> Iterator[tuple[str, object]]:
    if not value or not isinstance(value, dict):
        yield at, value
        return
    for key, one in value.items():
        yield from _flat(one, f"{at}{key}.")


def _is_sure(old: str, block: str, after: str, moved: Mapping[str, str], language: str) -> bool:
    """Return whether keys mean in the file what they mean in the block, and all others what they meant."""
    given = _values(block, language)
    wanted = _values(old, language)
    for source, target in moved.items():
        gone = [name for name in wanted if name.startswith(f"{target}.")]
        if any("[{" in str(wanted.pop(name)) for name in gone):  # a list of tables
            return False
        wanted |= {target + name.removeprefix(source): given[name] for name in given if name.startswith(f"{source}.")}
    return _values(after, language) == wanted


def _decorated(lines: Sequence[str], first: int) -> int:
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
    #: The names that blocks have replaced, by file.
    _done: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def one_option(self, text: str) -> str:
        """Return an answer with the one option that a person takes, if headings begin several with blocks; if none is
        taken, without them. All lines keep their numbers.
        """
        options = _options(text)
        if len(options) < 2:
            return text
        titles = [re.sub(r"[*#_>]|:\W*$", "", _TITLE.findall(part)[0]) for part in options]
        taken = self._answer("The answer has several ways to do the same. Which one?", titles)
        self.note(f"option taken: {taken or 'none'}")
        for n, part in enumerate(options, 1):
            if f"{n}" != taken:
                text = text.replace(part, "\n" * part.count("\n"), 1)
        return text

    def settle(self, text: str) -> str:
        """Return the answer with a file for each block. Raises NothingToApplyError."""
        before = dict(self.files)
        pieces = list[str]()
        at = 0
        for block in _blocks(text, self._has):
            pieces += [block.above, self._settled(block)]
            at = block.end
        if not self._done and at and not "".join(pieces[1::2]).strip():
            raise NothingToApplyError("Nothing is left to apply.")
        pieces.append(text[at:])
        for path in self._done:
            was, now = (f"{files[path].rstrip()}\n".encode() for files in (before, self.files))
            pieces.append("\n".join(["\n", *unified_diff(was, now, path), "\n"]))  # in no fence: it may have fences
        return "".join(pieces)

    def _has(self, text: str) -> bool:
        return bool(text) and any(_bare(text) in _bare(file) for file in self.files.values())

    def _settled(self, block: PastedBlock) -> str:
        raw = block.raw
        if block.label == "diff" and not re.search(r"^(?:@@|\+\+\+ )", raw, re.MULTILINE):
            raw = raw.replace("\n", "\n@@\n", 1)
        found = next(find_proposals(block.above[-400:] + raw, self.tools, self.files.__contains__), None)
        patch = raw
        if isinstance(found, RawRequest):
            path = str(found.parameters.get("file_path"))
            patch = "" if found.dialect == NAMED else raw
            if not self._is_short(path):
                return raw if patch else self._as_edit(path, block, str(found.parameters.get("content")), whole=True)
        elif is_talk(block.label) or _USAGE.match(block.body) or (found and "names no file" not in found.message):
            return block.raw
        elif not found:
            patch = ""
        path = self._file_of(block, patch)
        if not path:
            return self._noted(block, "left out, as nothing says which file it is for")
        return f"\n{path}\n{raw}" if patch else self._as_edit(path, block, block.body)

    def _file_of(self, block: PastedBlock, patch: str) -> str:
        """Return the file that a block is for, by its words or by where it fits, else by the person; "" for none."""
        files = self._of_language(block.label.lower())
        words = [word.rstrip("./-") for word in re.findall(r"[\w./-]+", block.above)]
        said = [path for path in files if path in words]
        said = said or [path for path in files if path.rpartition("/")[2] in words]
        nearest = sorted(said or files, key=lambda path: block.begins not in self.files[path])
        last = block.above.rstrip().rpartition("\n")[2]
        fits = list[str]()
        likely = said
        if said or not COULD_BE_NAME.match(last):  # else not where it fits, but where it says
            fits = self._fitting(block, nearest, patch)
            fresh = [word for word in words if is_surely_file(word) and word not in files and not self._is_short(word)]
            likely = fits or said or fresh
        if len(likely) == 1:
            return likely[0]
        paths = (fits or nearest)[:6]
        question = f"Line {block.line}: which file is this block for? {block.begins}"
        taken = self._answer(question, paths, f=("feedback", "f PATH: another file"))
        return paths[int(taken) - 1] if taken.isdigit() else taken

    def _of_language(self, label: str) -> list[str]:
        wanted = language_of(f"x.{label}") or label
        files = [path for path in self.files if language_of(path) == wanted != "" and path[-4:] != ".pyi"]
        return files or [*self.files]

    def _is_short(self, path: str) -> bool:
        return path not in self.files and any(name.endswith(f"/{path}") for name in self.files)

    def _fitting(self, block: PastedBlock, paths: Sequence[str], patch: str) -> list[str]:
        if not patch:
            merged = {path: self._merged(path, block, block.body, lambda places: places[0]) for path in paths}
            return [path for path, found in merged.items() if found and found.known]
        found = next(find_proposals(f"any.txt\n{patch}", self.tools), None)
        old = str(found.parameters.get("old_string")) if isinstance(found, RawRequest) else "\0"
        return [path for path in paths if _bare(old) in _bare(self.files[path])]

    def _merged(self, path: str, block: PastedBlock, body: str, choose: Choose) -> Joined | None:
        language = language_of(path)
        old = self.files[path]
        names = re.findall(r"\w+", block.above) if _MEMBER.match(body) else []
        said = [one.name for one in symbols(old, language) if _CLASS.match(one.head) and one.name in names]
        return joined(old, body, language, choose, said[0] if len(said) == 1 else "")

    def _as_edit(self, path: str, block: PastedBlock, body: str, *, whole: bool = False) -> str:
        """Return a block as a difference, or as the ``whole`` file if it is; "" if it is left out."""
        old = self.files.get(path, "")
        body = _without_name(body, path, old)
        lost = lost_lines(old, body)
        names, known = _names(body, path), _names(old, path)
        keeps = known <= names and not placeholder(body, old, path)
        named = f"\n`{path}`\n\n{_FENCE}\n{body.rstrip()}\n{_FENCE}\n"
        if not old or (whole and keeps and not lost):
            return named
        found = self._merged(path, block, body, partial(self._which, block.line))
        if found and not found.known and _MEMBER.match(body):
            found = None
        if not found and keeps and (lost or known) and body.startswith(old.partition("\n")[0]):
            found = Joined(body, ("everything",), known=True)
        if not found and (whole or lost):
            return named  # and is refused, with what to do
        if not found:
            return self._noted(block, f"left out, its place in {path} is not certain; ask for a diff")
        if found.text.rstrip() == old.rstrip():
            return self._noted(block, f"left out, {path} has it already; if it is to go, ask for a diff")
        question = f"Line {block.line}: {path} does not have it. {block.begins}"
        if not (found.known or self._answer(question, (), a=("a", "add it at the end"))):
            return self._noted(block, f"left out, nothing in {path} has its name")
        if again := self._done[path].intersection(found.names):
            words = f"Line {block.line}: a block above has {min(again)} of {path}, too. Take one of the two out."
            raise NothingToApplyError(words)
        self._done[path] |= known.intersection(found.names)
        self.files[path] = found.text
        return self._noted(block, f"{', '.join(found.names)} in {path}")

    def _noted(self, block: PastedBlock, words: str) -> str:
        self.note(f"line {block.line}: {words}")
        return ""

    def _which(self, line: int, places: Sequence[Symbol]) -> Symbol | None:
        shown = [f"{one.name}, line {one.first}" for one in places]
        answer = self._answer(f"Line {line}: which one is this block for?", shown)
        return places[int(answer) - 1] if answer else None

    def _answer(self, words: str, numbered: Sequence[str], **others: tuple[str, str]) -> str:
        """Return the number of an answer, the word of another, or what was typed; "" for none."""
        choices = {f"{n}": (f"{n}", one_line(shown, 70)) for n, shown in enumerate(numbered, 1)}
        choices |= {**others, "n": (_NONE, "none: leave it out")}
        reply = self.person.answer(UserQuestion("block", (words,), choices, _NONE))
        return reply.text if reply.answer == "feedback" else reply.answer.removeprefix(_NONE)


def _options(text: str) -> list[str]:
    """Return the parts of an answer that each have blocks and begin as one of several ways."""
    spans = _spans(text)
    heads = [one.start() for one in OPTION.finditer(text)]
    heads = [at for at in heads if not any(span.start < at < span.end for span in spans)]
    parts = [text[begin:end] for begin, end in pairwise([0, *heads, len(text)])]
    instead = "lternatively" in "".join(parts[1:2])[:40]  # of what is above it
    return [part for part in parts[not instead :] if _spans(part)]


def _without_name(body: str, path: str, old: str) -> str:
    first, _, rest = body.partition("\n")
    said = name_in_comment(first)
    is_name = said and f"/{path}".endswith(f"/{said}") and not old.startswith(first)
    return rest.lstrip("\n") if is_name else body


def _names(text: str, path: str) -> set[str]:
    language = language_of(path)
    if language == "json":
        return set(_values(text, "yaml"))
    return {one.name for one in _entries(text, language)}


def _bare(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip("\n").split("\n"))
