"""The indentation map of rung 5: how the blanks of a search text correspond to those of the file.

It is learned from the lines that matched and used to write the replacement at the file's own
indentation. Where it would have to guess, it says so (``None``) and the edit is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rails.edits.view import indent

_SAMPLE = 4_000  # lines looked at for a file's unit; more do not change the answer


@dataclass(frozen=True, slots=True)
class IndentMap:
    """Search indentation to file indentation, with the two units for depths that the map has not seen."""

    known: dict[str, str]
    search_unit: str
    file_unit: str

    def translate(self, blanks: str) -> str | None:
        """Return the file's indentation for ``blanks``, or ``None`` where there is no safe answer."""
        if blanks in self.known:
            return self.known[blanks]
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
        steps = self._steps()
        if blanks in steps:
            return steps[blanks]
        scaled = {_scale(blanks, *step) for step in steps.items()}
        if len(scaled) == 1 and (only := scaled.pop()) is not None:
            return only
        if not self.search_unit or not self.file_unit or self.search_unit == self.file_unit:
            return blanks
        return _scale(blanks, self.search_unit, self.file_unit)

    def _steps(self) -> dict[str, str]:
        """Return the differences between neighbouring known depths; those that contradict are left out."""
        ordered = sorted(self.known, key=_width)
        steps: dict[str, str] = {}
        unclear = set()
        for low, high in pairwise(ordered):
            step, result = high.removeprefix(low), self.known[high].removeprefix(self.known[low])
            nested = high.startswith(low) and self.known[high].startswith(self.known[low])
            if nested and result and steps.setdefault(step, result) != result:
                unclear.add(step)
        return {step: result for step, result in steps.items() if step not in unclear}


def learn(pairs: Iterable[tuple[str, str]], search: Sequence[str], file: Sequence[str]) -> IndentMap | None:
    """Return the map from ``(search line, file line)`` pairs, or ``None`` if there is none.

    There is none when one search indentation stands for two in the file, or when what is deeper in the
    search is shallower in the file: then the block has another structure, not another indentation.
    """
    known: dict[str, str] = {}
    for wanted, found in pairs:
        if wanted.strip() and known.setdefault(indent(wanted), indent(found)) != indent(found):
            return None
    ordered = [known[blanks] for blanks in sorted(known, key=_width)]
    if any(_width(low) > _width(high) for low, high in pairwise(ordered)):
        return None
    return IndentMap(known, unit(search), unit(file))


def unit(lines: Sequence[str]) -> str:
    """Return the most frequent step from one line's indentation to a deeper one's ("" if none)."""
    steps: Counter[str] = Counter()
    last = ""
    for line in lines[:_SAMPLE]:
        if not line.strip():
            continue
        blanks = indent(line)
        if len(blanks) > len(last) and blanks.startswith(last):
            steps[blanks[len(last) :]] += 1
        last = blanks
    return steps.most_common(1)[0][0] if steps else ""


def _scale(blanks: str, step: str, result: str) -> str | None:
    """Return ``blanks`` as that many times ``result`` as it is times ``step``, if that comes out even."""
    if len(set(blanks)) != 1 or set(blanks) != set(step) or len(set(result)) != 1:
        return None
    length, rest = divmod(len(blanks) * len(result), len(step))
    return None if rest else result[0] * length


def _width(blanks: str) -> int:
    return len(blanks.expandtabs(8))
