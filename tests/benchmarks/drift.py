# ruff: noqa: RET503 - the blocks never end
"""Drift cases: a file, an edit whose search text is not quite the file's, and the results that are right.

Every case comes from a piece of the running Python's standard library and a seeded generator, so anyone
gets the same ones. A recoverable case has one safe reading; ``right`` holds the bytes that count as
correct (several where keeping and replacing an untouched line's own blanks or quotes are both fair). A case
with an empty ``right`` must be refused.
"""

import hashlib
import random
import re
import sysconfig
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

PIECE = 120
_TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Case:
    kind: str
    data: bytes
    old: str
    new: str
    right: tuple[bytes, ...] = ()
    more: dict = field(default_factory=dict)

    @property
    def must_refuse(self):
        return not self.right


@dataclass(frozen=True)
class Block:
    """A unique window of a piece, and the same window with an ordinary edit made in it."""

    lines: tuple[str, ...]
    start: int
    old: tuple[str, ...]
    new: tuple[str, ...]

    def result(self, lines=None, new=None):
        lines = list(lines or self.lines)
        new = list(new or self.new)
        return lines[: self.start] + new + lines[self.start + len(self.old) :]


def pieces(rng):
    """Yield pieces of the standard library forever: clean text, indented with spaces, blank-trimmed."""
    root = Path(sysconfig.get_paths()["stdlib"])
    files = sorted(p for p in root.glob("*.py") if 6_000 < p.stat().st_size < 400_000)
    while True:
        lines = rng.choice(files).read_text(encoding="utf-8", errors="ignore").split("\n")
        if len(lines) > PIECE and "\t" not in "".join(lines):
            start = rng.randrange(len(lines) - PIECE)
            yield [*(line.rstrip() for line in lines[start : start + PIECE]), ""]


def tokens(lines):
    return [tuple(_TOKEN.findall(line)) for line in lines]


def blocks(rng, *, indented=False, least=3):
    """Yield windows that are unique even when blanks are ignored, with an edit."""
    for lines in pieces(rng):
        size = rng.randrange(least, 12)
        start = rng.randrange(1, PIECE - size - 1)
        old = lines[start : start + size]
        if not old[0].strip() or not old[-1].strip() or sum(map(len, tokens(old))) < 8:
            continue
        if indented and not all(line.startswith("    ") for line in old if line.strip()):
            continue
        if '"""' in "".join(lines) or "'''" in "".join(lines) or "\\" in "".join(old):
            continue
        if count(lines, old) != 1:
            continue
        new = edited(rng, old)
        if tokens(new) != tokens(old) and count(lines, new) == 0:
            yield Block(tuple(lines), start, tuple(old), tuple(new))


def count(lines, block):
    have = tokens(lines)
    want = tokens(block)
    return sum(have[n : n + len(want)] == want for n in range(len(have) - len(want) + 1))


def edited(rng, old):
    """Make one to three ordinary changes: rename a word, add a line, drop a line, nest a line deeper."""
    new = list(old)
    for _ in range(rng.randrange(1, 4)):
        at = rng.choice([n for n, line in enumerate(new) if line.strip()])
        indent = margin(new[at])
        kind = rng.randrange(4)
        if kind == 0 and (words := re.findall(r"[A-Za-z_]\w+", new[at])):
            new[at] = new[at].replace(rng.choice(words), f"renamed_{rng.randrange(100)}", 1)
        elif kind == 1:
            new.insert(at + 1, f"{indent}added_{rng.randrange(100)} = {rng.randrange(1000)}")
        elif kind == 2 and sum(bool(line.strip()) for line in new) > 2:
            del new[at]
        else:
            new[at : at + 1] = [f"{indent}if checked_{rng.randrange(100)}:", f"    {new[at]}"]
    return new


def join(lines, eol="\n"):
    return eol.join(lines).encode()


def dedent(lines, width):
    return [line[width:] if line.strip() else line for line in lines]


def margin(line):
    """Return the blanks that a line begins with."""
    return line[: len(line) - len(line.lstrip())]


def depths(lines):
    """Return how deep each line stands that is not blank."""
    return [len(margin(line)) for line in lines if line.strip()]


def depth(lines):
    return min(depths(lines))


def within(block, old=None, new=None):
    """Return the case of a block in its own piece, sent as ``old`` and ``new``."""
    return join(block.lines), old or block.old, new or block.new, join(block.result())


def first(rng, fits, **how):
    """Return the first block that ``fits``."""
    return next(filter(fits, blocks(rng, **how)))


# -- recoverable ------------------------------------------------------------------------------------


def exact(rng):
    block = next(blocks(rng))
    return within(block)


def de_indented(rng):
    block = next(blocks(rng, indented=True))
    width = depth((*block.old, *block.new))
    return within(block, dedent(block.old, width), dedent(block.new, width))


def over_indented(rng):
    block = next(blocks(rng))
    pad = " " * rng.choice([2, 4, 8])
    deeper = [[pad + line if line.strip() else line for line in part] for part in (block.old, block.new)]
    return within(block, *deeper)


def trailing_blanks_in_file(rng):
    block = next(blocks(rng))
    lines = [line + rng.choice(["", " ", "   ", "\t"]) for line in block.lines]
    lines[block.start] = block.lines[block.start] + "  "
    return join(lines), block.old, block.new, around(block, lines)


def trailing_blanks_in_search(rng):
    block = next(blocks(rng))
    old = [line + rng.choice(["", " ", "  "]) for line in block.old[:-1]] + [block.old[-1] + " "]
    return within(block, old)


def tab_file(rng):
    block = first(rng, lambda b: steady(b) and any(line.startswith(" ") for line in b.old))
    tabbed = [[tabs(line) for line in part] for part in (block.lines, block.result())]
    return join(tabbed[0]), block.old, block.new, join(tabbed[1])


def space_file_tab_search(rng):
    block = first(rng, lambda b: steady(b) and any(line.startswith(" ") for line in b.old))
    return within(block, [tabs(line) for line in block.old], [tabs(line) for line in block.new])


def other_unit(rng):
    block = first(rng, lambda b: steady(b) and len(set(depths(b.old))) > 1)
    if "\n".join(" " * (len(margin(x)) // 2) + x.lstrip() for x in block.old) in "\n".join(block.lines):
        return other_unit(rng)
    half = [[" " * (len(margin(x)) // 2) + x.lstrip() for x in part] for part in (block.old, block.new)]
    return within(block, *half)


def steady(block):
    every = (*block.lines, *block.new)
    return all(len(margin(line)) % 4 == 0 for line in every)


def opens(line):
    return line.rstrip().endswith((":", ",", "(", "[", "{", "\\"))


def tabs(line):
    blanks = len(margin(line))
    return "\t" * (blanks // 4) + line.lstrip()


def crlf_file(rng):
    block = next(blocks(rng))
    return join(block.lines, "\r\n"), block.old, block.new, join(block.result(), "\r\n")


def crlf_search(rng):
    block = next(blocks(rng))
    return within(block, [f"{x}\r" for x in block.old[:-1]] + [block.old[-1]])


def mixed_ends(rng):
    block = next(blocks(rng))
    ends = [rng.choice(["\n", "\r\n"]) for _ in block.lines]
    stop = block.start + len(block.old)
    data = "".join(line + end for line, end in zip(block.lines, ends, strict=True)).encode()
    head = "".join(x + e for x, e in zip(block.lines[: block.start], ends, strict=False))
    tail = "".join(x + e for x, e in zip(block.lines[stop:], ends[stop:], strict=True))
    # Which end a new line gets is open; that every other line keeps its own is not.
    return data, block.old, block.new, Around(head, block.new, tail)


@dataclass(frozen=True)
class Around:
    """Right if head and tail are the file's own bytes and the lines between are the new ones.

    What those lines have for line ends, and, for kinds where a line may fairly keep or lose them,
    trailing blanks and typographic punctuation, is open.
    """

    head: str
    new: tuple[str, ...]
    tail: str

    def __eq__(self, other):
        text = other.decode()
        if not text.startswith(self.head) or not text.endswith(self.tail):
            return False
        middle = text[len(self.head) : len(text) - len(self.tail)]
        lines = [plain(line) for line in middle.removesuffix("\n").split("\n")]
        return lines == [plain(line) for line in self.new]

    def __hash__(self):
        return hash(self.head)


def plain(line):
    return line.rstrip().translate(str.maketrans({"“": '"', "’": "'", "–": "-"}))


def around(block, lines, eol="\n"):
    head = "".join(line + eol for line in lines[: block.start])
    return Around(head, block.new, eol.join(lines[block.start + len(block.old) :]))


def token_spacing(rng):
    for block in blocks(rng):
        old = [re.sub(r", (?=\S)", ",", line) for line in block.old]
        old = [re.sub(r"(?<=\w) ([=+<>-]=?) (?=\w)", r"\1", line) for line in old]
        if old != list(block.old) and tokens(old) == tokens(block.old):
            return within(block, old)


def punctuation_in_file(rng):
    for block in blocks(rng):
        odd = {'"': "“", "'": "’", "-": "–"}
        lines = list(block.lines)
        for n in range(block.start, block.start + len(block.old)):
            lines[n] = "".join(odd.get(char, char) for char in lines[n])
        if lines != list(block.lines):
            return join(lines), block.old, block.new, around(block, lines)


def blank_borders(rng):
    for block in blocks(rng):
        before = block.lines[block.start - 1]
        after = block.lines[block.start + len(block.old)]
        if before.strip() and after.strip():
            old = ["", *block.old, ""]
            new = ["", *block.new, ""]
            return within(block, old, new)


def final_newlines(rng):
    block = next(blocks(rng))
    return within(block, [*block.old, ""], [*block.new, ""])


def end_of_file(rng):
    block = next(blocks(rng))
    lines = block.lines[: block.start + len(block.old)]
    return join(lines), [*block.old, ""], [*block.new, ""], join(block.result()[: block.start + len(block.new)])


def first_line_bare(rng):
    block = first(rng, lambda b: b.old[0] == b.new[0], indented=True)
    old = list(block.old)
    new = list(block.new)
    old[0], new[0] = old[0].lstrip(), new[0].lstrip()
    return within(block, old, new)


def line_numbers(rng):
    block = next(blocks(rng))
    old = [f"{n:6}\t{line}" for n, line in enumerate(block.old, start=block.start + 1)]
    return within(block, old)


def fenced(rng):
    block = next(blocks(rng))
    wrapped = [["```python", *part, "```"] for part in (block.old, block.new)]
    return within(block, *wrapped)


def inside_a_line(rng):
    for block in blocks(rng):
        line = block.old[0]
        words = [m for m in re.finditer(r"\w{4,}.{3,12}", line) if sum(m[0] in x for x in block.lines) == 1]
        if words and line.count(words[0][0]) == 1:
            old = words[0][0]
            new = r"new \1 $& text"
            lines = list(block.lines)
            lines[block.start] = line.replace(old, new)
            return join(block.lines), [old], [new], join(lines)


def marked_utf16(rng):
    block = next(blocks(rng))
    data = ("\ufeff" + "\r\n".join(block.lines)).encode("utf-16-le")
    return data, block.old, block.new, ("\ufeff" + "\r\n".join(block.result())).encode("utf-16-le")


def two_drifts(rng):
    """De-indented, and the file has Windows line ends and trailing blanks."""
    block = next(blocks(rng, indented=True))
    width = depth((*block.old, *block.new))
    lines = [line + (" " if line.strip() and n % 3 == 0 else "") for n, line in enumerate(block.lines)]
    return join(lines, "\r\n"), dedent(block.old, width), dedent(block.new, width), around(block, lines, "\r\n")


def accented(rng):
    """A block whose words have accents, composed; tokens stay what they were."""
    for block in blocks(rng):
        lines = [line.replace("e", "é").replace("o", "ö") for line in block.lines]
        result = [line.replace("e", "é").replace("o", "ö") for line in block.result()]
        stop = block.start + len(block.old)
        if lines[block.start : stop] != list(block.old) and all(len(line) < 100 for line in lines):
            new = result[block.start : block.start + len(block.new)]
            return lines, lines[block.start : stop], new, result


def decomposed(lines):
    return [unicodedata.normalize("NFD", line) for line in lines]


def decomposed_file(rng):
    lines, old, new, _ = accented(rng)
    start = next(n for n in range(len(lines)) if lines[n : n + len(old)] == old)
    head = decomposed(lines[:start])
    tail = decomposed(lines[start + len(old) :])
    return join(decomposed(lines)), old, new, Composed("".join(f"{x}\n" for x in head), tuple(new), "\n".join(tail))


def decomposed_search(rng):
    lines, old, new, _ = accented(rng)
    start = next(n for n in range(len(lines)) if lines[n : n + len(old)] == old)
    head = lines[:start]
    tail = lines[start + len(old) :]
    right = Composed("".join(f"{x}\n" for x in head), tuple(new), "\n".join(tail))
    return join(lines), decomposed(old), decomposed(new), right


class Composed(Around):
    """As Around; which form the lines in the middle have is open."""

    def __eq__(self, other):
        text = other.decode()
        if not text.startswith(self.head) or not text.endswith(self.tail):
            return False
        middle = text[len(self.head) : len(text) - len(self.tail)].removesuffix("\n")
        return unicodedata.normalize("NFC", middle).split("\n") == list(self.new)

    __hash__ = Around.__hash__


def ellipsis_in_file(rng):
    block = first(rng, lambda b: "..." not in "".join(b.lines))
    lines = list(block.lines)
    old = list(block.old)
    new = list(block.new)
    kept = next((n for n, line in enumerate(old) if line.strip() and line in new), 0)
    if old[kept] not in new:
        return ellipsis_in_file(rng)
    at = new.index(old[kept])
    lines[block.start + kept] += "  # wait…"
    result = [*lines[: block.start], *new, *lines[block.start + len(old) :]]
    result[block.start + at] += "  # wait…"
    old[kept], new[at] = old[kept] + "  # wait...", new[at] + "  # wait..."
    return join(lines), old, new, (join(result), join([x.replace("wait…", "wait...") for x in result]))


def mark_copied(rng):
    block = next(blocks(rng))
    lines = block.lines[block.start :]
    data = b"\xef\xbb\xbf" + join(lines)
    new = ["\ufeff" + block.new[0], *block.new[1:]]
    return data, ["\ufeff" + block.old[0], *block.old[1:]], new, b"\xef\xbb\xbf" + join(block.result()[block.start :])


def slipped_line(rng):
    """One line in the middle, which the edit leaves alone, was copied some blanks off."""
    for block in blocks(rng, least=5):
        if not steady(block) or block.old[-1] == block.new[-1]:
            continue
        at = rng.randrange(1, len(block.old) - 1)
        line = block.old[at]
        above = block.old[at - 1]
        if not line.strip() or not above.strip() or opens(above):
            continue
        if block.old.count(line) != 1 or block.new.count(line) != 1:
            continue
        slip = " " * rng.choice([1, 2, 3]) + line
        old = [slip if one == line else one for one in block.old]
        new = [slip if one == line else one for one in block.new]
        return within(block, old, new)


def line_end_lost(rng):
    """The search text ends in a line end, the new one does not: the next line must not join it."""
    block = first(rng, lambda b: b.new[-1].strip())
    return within(block, [*block.old, ""])


def leading_line_end(rng):
    block = first(rng, lambda b: b.lines[b.start - 1].strip() and b.new[0].strip())
    return within(block, ["", *block.old])


def one_line_grows(rng):
    """One line, quoted with a part of its blanks or none, becomes several: they stand where the file has it."""
    for block in blocks(rng, indented=True):
        line = block.old[0]
        if not steady(block) or sum(line.strip() in other for other in block.lines) != 1 or opens(line):
            continue
        blanks = margin(line)
        cut = rng.choice([4, len(blanks)])
        added = rng.choice([["second()"], ["if third:", "    fourth()"], ["with five:", "    six()", "seven()"]])
        lines = [*block.lines[: block.start + 1], *(blanks + one for one in added), *block.lines[block.start + 1 :]]
        new = [line[cut:], *(blanks[cut:] + one for one in added)]
        return join(block.lines), [line[cut:]], new, join(lines)


def whole_line_among_deeper(rng):
    """The text is one whole line, and also the end of a deeper one."""
    for block in blocks(rng, indented=True):
        line = block.old[0]
        if sum(line.strip() in other for other in block.lines) != 1:
            continue
        lines = [*block.lines, "if deeper:", "    " + line]
        right = [block.lines[0 : block.start], (line.replace(line.strip(), "changed()"),), lines[block.start + 1 :]]
        return join(lines), [line], [line.replace(line.strip(), "changed()")], join([x for part in right for x in part])


def in_encoding(name, text):
    def make(rng):
        block = first(rng, lambda b: "".join(b.lines).isascii())
        head = f"# coding: {name}\n# {text}"
        right = "\n".join([head, *block.result()]).encode(name)
        return "\n".join([head, *block.lines]).encode(name), block.old, block.new, right

    return make


# -- to be refused ----------------------------------------------------------------------------------


def stale_word(rng):
    """One word of the search text, in a line that the edit leaves alone, is not the file's any more."""
    for block in blocks(rng):
        inner = list(enumerate(block.old))[1:-1]
        same = [n for n, line in inner if line in block.new and re.search(r"[A-Za-z_]{4,}", line)]
        if same:
            lines = list(block.lines)
            at = block.start + rng.choice(same)
            lines[at] = re.sub(r"[A-Za-z_]{4,}", lambda m: m[0] + "_now", lines[at], count=1)
            return join(lines), block.old, block.new, ()


def absent(rng):
    for block in blocks(rng):
        rest = block.lines[: block.start] + block.lines[block.start + len(block.old) :]
        if "\n".join(block.old) not in "\n".join(rest):  # a line may begin as the block's last one does
            return join(rest), block.old, block.new, ()


def duplicate(rng):
    block = next(blocks(rng))
    return join((*block.lines, "", *block.old, "")), block.old, block.new, ()


def duplicate_other_indents(rng):
    block = next(blocks(rng, indented=True))
    width = depth(block.old)
    again = ["  " + " " * width + line[width:] if line.strip() else line for line in block.old]
    return join((*block.lines, "", *again, "")), dedent(block.old, width), dedent(block.new, width), ()


def duplicate_other_blanks(rng):
    """Neither copy is exact: one has trailing blanks, both have them somewhere."""
    block = next(blocks(rng))
    one = [line + " " for line in block.old]
    lines = [*block.lines[: block.start], *one, *block.lines[block.start + len(block.old) :]]
    two = [line + "\t" for line in block.old]
    return join((*lines, "", *two, "")), block.old, block.new, ()


def line_missing(rng):
    block = next(blocks(rng, least=5))
    at = block.start + len(block.old) // 2
    if not block.lines[at].strip():
        return line_missing(rng)
    lines = block.lines[:at] + block.lines[at + 1 :]
    if join(block.old) in join(lines):
        return line_missing(rng)
    return (join(lines), block.old, block.new, ()) if not count(lines, block.old) else line_missing(rng)


def line_added(rng):
    block = next(blocks(rng, least=4))
    at = block.start + 2
    lines = [*block.lines[:at], "            something_else()", *block.lines[at:]]
    return join(lines), block.old, block.new, ()


def nested_otherwise(rng):
    """The last line of the block has moved into, or out of, the block above it."""
    for block in blocks(rng, least=4):
        levels = depths(block.old)
        if levels.count(levels[-1]) > 1:
            lines = list(block.lines)
            at = block.start + len(block.old) - 1
            lines[at] = "    " + lines[at]
            return join(lines), block.old, block.new, ()


def already_applied(rng):
    block = next(blocks(rng))
    return join(block.result()), block.old, block.new, ()


def lazy_rest(rng):
    block = next(blocks(rng, least=5))
    blanks = margin(block.old[1])
    comment = rng.choice(
        ["# ... existing code ...", "# rest of the code remains unchanged", "# (rest of the function unchanged)"]
    )
    return join(block.lines), block.old, (block.new[0], blanks + comment), ()


def stale_hash(rng):
    block = next(blocks(rng))
    data = join(block.lines)
    return data, block.old, block.new, (), {"base_hash": hashlib.sha256(data + b"x").hexdigest()}


def half_level(rng):
    """A tab file; a new line is half a level deep, as no line of either side is."""
    for block in blocks(rng):
        last = block.old[-1]
        if not steady(block) or not last.startswith("    ") or opens(last):
            continue
        blanks = margin(last)
        new = [*block.old, f"{blanks}  half_a_level()"]
        return join(tabs(line) for line in block.lines), block.old, new, ()


def bare_definition(rng):
    """The first line was sent without its blanks, and a new line stands at the left: as deep as it, or there?"""
    block = next(blocks(rng, indented=True, least=4))
    old = [block.old[0].lstrip(), *block.old[1:]]
    return join(block.lines), old, [*old, "", "at_the_left()"], ()


def control_sent(rng):
    block = next(blocks(rng))
    return join(block.lines), block.old, [*block.new, f"x = '{rng.choice(chr(0) + chr(27) + chr(8))}'"], ()


def not_in_the_encoding(rng):
    block = first(rng, lambda b: "".join(b.lines).isascii())
    data = "\n".join(["# café déjà vu", *block.lines]).encode("latin-1")
    return data, block.old, [*block.new, "x = '→'"], ()


def encoding_unknown(rng):
    block = first(rng, lambda b: "".join(b.lines).isascii())
    return "\n".join(["# Größe, über", *block.lines]).encode("cp850"), block.old, block.new, ()


def nothing_new(rng):
    block = next(blocks(rng))
    return join(block.lines), block.old, block.old, ()


# -- what models really write -----------------------------------------------------------------------


def tabs_dedented(rng):
    """A file of tabs; the block was sent at the left, with spaces."""
    block = first(rng, steady, indented=True)
    width = depth((*block.old, *block.new))
    lines = [[tabs(line) for line in part] for part in (block.lines, block.result())]
    return join(lines[0]), dedent(block.old, width), dedent(block.new, width), join(lines[1])


def tabs_as_blanks(width):
    def make(rng):
        block = first(rng, lambda b: steady(b) and any(line.startswith(" ") for line in b.old))
        sent = [[tabs(line).expandtabs(width) for line in part] for part in (block.old, block.new)]
        return join(map(tabs, block.lines)), *sent, join(map(tabs, block.result()))

    return make


def tabs_of_eight(rng):
    """Levels of four columns, written with tabs of eight, as in old C and Perl; or refused where that is not clear."""
    block = first(rng, lambda b: steady(b) and sum(len(margin(x)) >= 8 for x in b.old) > 1)
    return join(map(eights, block.lines)), block.old, block.new, join(map(eights, block.result()))


def eights(line):
    blanks = len(margin(line))
    return "\t" * (blanks // 8) + " " * (blanks % 8) + line.lstrip()


def half_line_ends(rng):
    """A file with Windows line ends; the block was cut at the line feeds, so its last line keeps half of one."""
    block = next(blocks(rng))
    sent = [[f"{line}\r" for line in part] for part in (block.old, block.new)]
    return join(block.lines, "\r\n"), *sent, join(block.result(), "\r\n")


def no_break_spaces(rng):
    block = first(rng, lambda b: any(" = " in line for line in b.old))
    return within(block, [x.replace(" = ", "\u00a0= ") for x in block.old])


def last_line_cut(rng):
    """The last line of both texts stops in the middle: a literal match."""
    for block in blocks(rng):
        cut = block.old[-1][: len(block.old[-1]) - 2]
        old, new = [*block.old[:-1], cut], ["before()", *block.old[:-1], cut]
        text = "\n".join(block.lines)
        search = "\n".join(old)
        if cut.strip() and text.count(search) == 1:
            return join(block.lines), old, new, text.replace(search, "\n".join(new)).encode()


def context(change, *, fair=False):
    """One inner line, which the edit leaves alone, is not as in the file: ``change`` says what was sent for it.

    ``fair``: to read it as it was meant is fair, too.
    """

    def make(rng):
        for block in blocks(rng, least=4):
            at = rng.randrange(1, len(block.old) - 1)
            line = block.old[at]
            sent = change(line) if line.strip() and block.old.count(line) == block.new.count(line) == 1 else None
            if sent is None or sent == [line]:
                continue
            texts = [[x for one in part for x in (sent if one == line else [one])] for part in (block.old, block.new)]
            if "\n".join(texts[0]) not in "\n".join(block.lines) and count(block.lines, texts[0]) == 0:
                return join(block.lines), *texts, join(block.result()) if fair else ()

    return make


def only(pattern, text):
    """Return a change of a line: the first match of ``pattern`` replaced; none where there is no match."""
    return lambda line: [re.sub(pattern, text, line, count=1)] if re.search(pattern, line) else None


def split_at_comma(line):
    head, found, rest = line.partition(", ")
    return [f"{head},", f"        {rest}"] if found and not line.lstrip().startswith("#") else None


def lines_joined(rng):
    for block in blocks(rng, least=5):
        at = len(block.old) // 2
        if block.old[at].strip() and block.old[at - 1].strip():
            old = [*block.old[: at - 1], f"{block.old[at - 1]} {block.old[at].strip()}", *block.old[at + 1 :]]
            return join(block.lines), old, [*old, "added()"], ()


def lines_swapped(rng):
    for block in blocks(rng, least=5):
        at = rng.randrange(1, len(block.old) - 1)
        old = [*block.old[: at - 1], block.old[at], block.old[at - 1], *block.old[at + 1 :]]
        if old != list(block.old) and count(block.lines, old) == 0:
            return join(block.lines), old, [*old, "added()"], ()


def comment_wrapped_anew(rng):
    for lines in pieces(rng):
        for at in range(5, PIECE - 8):
            one = lines[at]
            other = lines[at + 1]
            words = other.split()
            if one.lstrip().startswith("# ") and words[:1] == ["#"] and len(one) > 50 and len(words) > 4:
                blanks = margin(one)
                old = [lines[at - 1], f"{one} {words[1]}", f"{blanks}# {' '.join(words[2:])}", lines[at + 2]]
                return join(lines), old, [*old, "added()"], ()


def structure_lost(rng):
    """All blanks are gone, though the block has several depths: where a new line stands is not known."""
    block = first(rng, lambda b: len(set(depths(b.old))) > 1, indented=True)
    old = [line.lstrip() for line in block.old]
    return join(block.lines), old, [*old, "added()"], ()


def middle_left_out(rng):
    block = first(rng, lambda b: b.old[:2] + b.old[-2:] != b.new[:2] + b.new[-2:], least=6)
    old, new = ([*part[:2], "...", *part[-2:]] for part in (block.old, block.new))
    return join(block.lines), old, new, ()


def diff_signs_copied(rng):
    block = next(blocks(rng))
    return join(block.lines), [f"-{x}" for x in block.old], [f"+{x}" for x in block.new], ()


Maker = Callable[[random.Random], tuple]


#: Right or refused, both are fair; anything else is silently wrong.
def blank_line_dropped(rng):
    """All blank lines are gone from both texts; beside a changed line it is not known where they shall be."""
    for block in blocks(rng, least=6):
        old, new = ([line for line in part if line.strip()] for part in (block.old, block.new))
        if len(old) < len(block.old) and old != new:
            return within(block, old, new)


EITHER: dict[str, Maker] = {
    "tabs of eight columns": tabs_of_eight,
    "blank line dropped": blank_line_dropped,
    "entities sent": context(only("[<>]", "&lt;"), fair=True),
}
RECOVERABLE: dict[str, Maker] = {
    "exact": exact,
    "de-indented": de_indented,
    "over-indented": over_indented,
    "trailing blanks in file": trailing_blanks_in_file,
    "trailing blanks in search": trailing_blanks_in_search,
    "tab file, spaces sent": tab_file,
    "space file, tabs sent": space_file_tab_search,
    "other indent unit": other_unit,
    "CRLF file": crlf_file,
    "CRLF sent": crlf_search,
    "mixed line ends": mixed_ends,
    "token spacing": token_spacing,
    "typographic file": punctuation_in_file,
    "blank border lines": blank_borders,
    "final newlines sent": final_newlines,
    "end of file": end_of_file,
    "first line bare": first_line_bare,
    "line numbers copied": line_numbers,
    "fence copied": fenced,
    "inside a line": inside_a_line,
    "UTF-16 with mark": marked_utf16,
    "three drifts at once": two_drifts,
    "decomposed file": decomposed_file,
    "decomposed search": decomposed_search,
    "ellipsis in file": ellipsis_in_file,
    "byte-order mark copied": mark_copied,
    "one line slipped": slipped_line,
    "final line end lost": line_end_lost,
    "leading line end": leading_line_end,
    "one line grows": one_line_grows,
    "whole line among deeper": whole_line_among_deeper,
    "Latin-1 file": in_encoding("latin-1", "café déjà vu"),
    "Shift-JIS file": in_encoding("cp932", "これは日本語のコメントです。"),
    "Cyrillic file": in_encoding("cp1251", "это комментарий на русском языке"),
    "Chinese file": in_encoding("gb18030", "这是一个中文注释，用于测试编码识别的正确性。"),
    "Korean file": in_encoding("euc-kr", "이것은 한국어 주석입니다. 인코딩을 시험합니다."),
    "tab file, sent at the left": tabs_dedented,
    "tab file, eight blanks sent": tabs_as_blanks(8),
    "tab file, two blanks sent": tabs_as_blanks(2),
    "half line ends sent": half_line_ends,
    "no-break spaces sent": no_break_spaces,
    "last line cut": last_line_cut,
}
REFUSABLE: dict[str, Maker] = {
    "stale word": stale_word,
    "block absent": absent,
    "duplicate": duplicate,
    "duplicate, other indents": duplicate_other_indents,
    "duplicate, other blanks": duplicate_other_blanks,
    "line missing in file": line_missing,
    "line added in file": line_added,
    "nested otherwise": nested_otherwise,
    "already applied": already_applied,
    "lazy rest": lazy_rest,
    "stale base hash": stale_hash,
    "nothing new": nothing_new,
    "half a level": half_level,
    "first line bare, one at the left": bare_definition,
    "control character": control_sent,
    "not in the encoding": not_in_the_encoding,
    "encoding unknown": encoding_unknown,
    "variable renamed in context": context(only(r"\b[a-z_]{4,}\b", "another_name")),
    "comment line dropped": context(lambda line: [] if line.lstrip().startswith("#") else None),
    "comment line added": context(lambda line: ["# a note", line]),
    "comment at the end dropped": context(only(r"\s+# .*", "")),
    "trailing comma added": context(only(r"(\w)\)$", r"\1,)")),
    "trailing comma dropped": context(only(r",$", "")),
    "quotes changed": context(lambda x: [x.replace("'", '"')] if "'" in x and '"' not in x else None),
    "number changed": context(only(r"\b[0-8]\b", "9")),
    "negation dropped": context(only(" not ", " ")),
    "long line split": context(split_at_comma),
    "lines joined": lines_joined,
    "lines swapped": lines_swapped,
    "comment wrapped anew": comment_wrapped_anew,
    "all indentation lost": structure_lost,
    "middle left out": middle_left_out,
    "diff signs copied": diff_signs_copied,
}


def cases(each, seed=1):
    """Yield ``each`` cases of every kind."""
    for kind, make in {**RECOVERABLE, **EITHER, **REFUSABLE}.items():
        rng = random.Random(f"{seed} {kind}")
        for _ in range(each):
            data, old, new, right, *rest = make(rng)
            right = right if isinstance(right, tuple) else (right,)
            more = rest[0] if rest and kind == "stale base hash" else {}
            yield Case(kind, data, "\n".join(old), "\n".join(new), right, more)
