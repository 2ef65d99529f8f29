"""The indentation map of strategy 5, learned from the lines that matched; None (a refusal) instead of a guess."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from rails.edits.text_view import indent

OPENERS = (":", "{", "(", "[", ">")  # a line that ends so is followed by one level more


#: Widths of a level that people choose.
_USUAL = frozenset({"\t", "  ", "    ", "        "})


class IndentMap(Struct, frozen=True):
    """Search indentation to file indentation, and the step of each for unseen depths.

    ``shifted``: moved sideways as a whole. ``file_blanks``: the file's characters. ``slips``: wrongly copied
    indentation to the file's. ``spelled``: depths in a file with tabs and spaces.
    """

    known: dict[str, str]
    search_unit: str
    file_unit: str
    shifted: bool
    file_blanks: str = " \t"
    slips: tuple[str, str] = ("", "")
    spelled: frozenset[str] = frozenset()

    def translate(self, blanks: str) -> str | None:
        """Return the file's indentation for ``blanks``, or None if uncertain."""
        slipped, meant = self.slips
        if slipped != meant and blanks == slipped:
            return meant if blanks and blanks not in self.known else None  # the slip once more, or that depth itself?
        even = bool(self.spelled) and self._is_even()
        there = blanks if even else self._translated(blanks)
        if blanks in self.known or there is None or not (even or (self.spelled and len(set(there)) > 1)):
            return self.known.get(blanks, there)
        same = {one for one in self.spelled if _width(one) == _width(there)}
        return same.pop() if len(same) == 1 else None

    def _translated(self, blanks: str) -> str | None:
        if shorter := [known for known in self.known if blanks.startswith(known)]:
            base = max(shorter, key=len)
            deeper = self._convert(blanks[len(base) :])
            return None if deeper is None else self.known[base] + deeper
        if longer := [known for known in self.known if known.startswith(blanks)]:
            base = min(longer, key=len)
            less = self._convert(base[len(blanks) :])
            if less is not None and self.known[base].endswith(less):
                return self.known[base].removesuffix(less)
        return None

    def _convert(self, blanks: str) -> str | None:
        if self.shifted and set(blanks) <= set(self.file_blanks):
            return blanks if self._is_level(blanks) else None
        if not self.search_unit or not self.file_unit:
            return self._by_depth(blanks)
        if self._is_even() and _width(self.search_unit) != _width(self.file_unit):
            return None  # a tab is as wide as two levels, or the request stands one level off
        return _scale(blanks, self.search_unit, self.file_unit)

    def _is_even(self) -> bool:
        """A tab is eight wide."""
        return all(_width(wanted) == _width(found) for wanted, found in self.known.items())

    def _is_level(self, blanks: str) -> bool:
        """Return whether both sides have this level, where one depth does not show it."""
        units = {self.search_unit, self.file_unit}
        differ = len(units) > 1 and units <= _USUAL
        return len(self.known) > 1 or (len(blanks) >= len(self.search_unit) and not differ)

    def _by_depth(self, blanks: str) -> str | None:
        """Return ``blanks`` at the one ratio of all depths, if that is a usual width."""
        levels = [(wanted, found) for wanted, found in self.known.items() if wanted and found]
        scaled = {_scale(blanks, wanted, found) for wanted, found in levels}
        ratios = [max(len(one), len(other)) / min(len(one), len(other)) for one, other in levels]
        if len(levels) < sum(map(bool, self.known)) or any(ratio not in (2, 4) for ratio in ratios):
            return None
        return scaled.pop() if len(scaled) == 1 else None


def pairs(search: Sequence[str], found: Sequence[str]) -> dict[str, str] | None:
    """Return search indentation to file indentation, or None for another structure.

    That is where one means two in the file, or deeper is shallower there.
    """
    known: dict[str, str] = {}
    for wanted, line in zip(search, found, strict=True):
        if wanted.strip() and known.setdefault(indent(wanted), indent(line)) != indent(line):
            return None
    ordered = [known[blanks] for blanks in sorted(known, key=_width)]
    if any(_width(low) > _width(high) for low, high in pairwise(ordered)):
        return None
    return known


def learn_indent(
    search: Sequence[str], found: Sequence[str], request: Sequence[str], file: Sequence[str]
) -> IndentMap | None:
    """Return the map of the lines ``search`` and ``found``, or None.

    ``request`` (old and new) and ``file`` (lines around) show how wide a level is.
    """
    known = pairs(search, found)
    if known is None:
        return None
    units = (unit(request, search), unit(file, file))
    blanks = "".join({char for line in file for char in indent(line)}) or " \t"
    shifted = _is_shift(known)
    scaled = _is_scale(known, *units)
    lines = [(indent(one), indent(other)) for one, other in zip(search, found, strict=True) if one.strip()]
    differ = [(wanted, there) for wanted, there in lines if wanted != there]
    if len(differ) == 1 and len(search) > 2 and not (shifted or scaled):
        same = {there: there for there in known.values()}
        return IndentMap(same, "", "", shifted=True, file_blanks=blanks, slips=differ[0])
    if known.get("") and list(known.values()).count(known[""]) > 1:
        return None  # only the first line lacks its indentation: a new one may be as deep, or at the left
    if not differ:
        return IndentMap(known, "", "", shifted=True, file_blanks=blanks)
    spelled = frozenset(indent(line) for line in file if line.strip()) if len(set(blanks)) > 1 else frozenset()
    return IndentMap(known, *units, shifted and not scaled, file_blanks=blanks, spelled=spelled)


def unit(lines: Sequence[str], settled: Sequence[str]) -> str:
    """Return one level of indentation, "" if unknown: after a line that opens a block, else any step between
    ``settled`` lines.
    """
    indented = [line for line in lines if line[:1] in " \t" and line.strip()]
    if sum(line[0] == "\t" for line in indented) * 2 > len(indented):
        return "\t"
    opened = Counter(step for line, step in _steps(lines) if line.rstrip().endswith(OPENERS))
    best = (opened or Counter(step for _, step in _steps(settled))).most_common(1)
    return best[0][0] if best else ""


def _steps(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    for line, following in pairwise(line for line in lines if line.strip()):
        low = indent(line)
        high = indent(following)
        if high != low and high.startswith(low):
            yield line, high.removeprefix(low)


def _is_shift(known: dict[str, str]) -> bool:
    deeper = {found.removesuffix(wanted) if found.endswith(wanted) else None for wanted, found in known.items()}
    shallower = {wanted.removesuffix(found) if wanted.endswith(found) else None for wanted, found in known.items()}
    return any(len(pads) == 1 and None not in pads for pads in (deeper, shallower))


def _is_scale(known: dict[str, str], search_unit: str, file_unit: str) -> bool:
    if not search_unit or not file_unit or search_unit == file_unit or not any(known):
        return False
    return all(_scale(wanted, search_unit, file_unit) == found for wanted, found in known.items() if wanted)


def _scale(blanks: str, step: str, result: str) -> str | None:
    """Return ``result`` as often as ``step`` is in ``blanks``; None if uneven."""
    if len(set(blanks)) != 1 or set(blanks) != set(step) or len(set(result)) != 1:
        return None
    levels, rest = divmod(len(blanks), len(step))
    return None if rest else result * levels


def _width(blanks: str) -> int:
    return len(blanks.expandtabs(8))
