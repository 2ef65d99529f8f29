"""A verdict as text for people and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Final

from msgspec.structs import asdict

from rails.core.text import counted, printable
from rails.core.verdict import Finding, Verdict
from rails.gate.baseline import split_lines
from rails.gate.verdicts import checked_nothing

if TYPE_CHECKING:
    from rails.core.tool_request import Json

#: All but the line itself, which the reader has.
_SHOWN: Final = [name for name in Finding.__struct_fields__ if name != "source"]
_RED = "\033[31m"
_GREEN = "\033[32m"
_YELLOW = "\033[33m"
_BOLD = "\033[1m"
_DIM = "\033[2m"
_PLAIN = "\033[0m"
#: A source line is cut here; the caret stays right for what is shown.
_WIDTH: Final = 160
#: More files than this with the same thing unchecked are one line.
_NAMED: Final = 3


def verdict_as_json(verdict: Verdict) -> dict[str, Json]:
    """Return what ``ai-rails gate --format json`` prints."""
    return {
        "verdict": verdict.status,
        "findings": [{name: getattr(f, name) for name in _SHOWN} for f in verdict.findings],
        "fixed": [asdict(fixed) for fixed in verdict.fixed],
        "not_checked": [asdict(miss) for miss in verdict.not_checked],
        "evidence": [{"path": one.path, "checks": list(one.checks)} for one in verdict.evidence],
        "checks": [
            {"name": r.name, "version": r.version, "duration_ms": r.duration_ms, "command": r.command}
            for r in verdict.checks
        ],
    }


def render(verdict: Verdict, form: str, *, colour: bool = False, explain: bool = False) -> str:
    """Return the verdict as text, JSON, or a form of :mod:`rails.gate.report.formats`; ``explain``: what ran, too."""
    if form == "text":
        return verdict_as_text(verdict, colour) + (f"\n{as_explanation(verdict)}" if explain else "")
    if form == "json":
        return json.dumps(verdict_as_json(verdict), indent=2)
    from rails.gate.report import formats

    writers = {"sarif": formats.sarif, "github": formats.github, "junit": formats.junit, "rdjson": formats.rdjson}
    return writers[form](verdict)


def as_explanation(verdict: Verdict) -> str:
    """Return what ran: version, files, cached answers, time, rules, and below them the commands."""
    rows = [
        ("check", "version", "files", "known", "ms", "rules"),
        *(
            (
                r.name,
                r.version,
                str(r.files),
                str(r.cached),
                f"{r.duration_ms:8.1f}",
                printable(r.config, keep=""),
            )
            for r in verdict.checks
        ),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)) for row in rows]
    lines += [f"{r.name}: {printable(r.command, keep='')}" for r in verdict.checks if r.command]
    return "\n".join(lines) + "\n"


def verdict_as_text(verdict: Verdict, colour: bool = False) -> str:
    """Return findings by file with source lines, fixes, and what was not checked.

    Quotes pass :func:`rails.core.text.printable`; ``colour`` adds ANSI colours.
    """
    paint = _Paint(colour)
    parts = list(_grouped(verdict, paint))
    if verdict.fixed:
        parts += [paint(_BOLD, "Auto-fixed"), *_fixed(verdict), ""]
    if verdict.not_checked:
        parts += [paint(_BOLD, "Not checked"), *_not_checked(verdict), ""]
    parts.append(paint(_GREEN if verdict.status == "pass" else _RED, _summary(verdict)))
    return "\n".join(parts) + "\n"


class _Paint:
    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def __call__(self, code: str, text: str) -> str:
        return f"{code}{text}{_PLAIN}" if self.colour and text else text


def _grouped(verdict: Verdict, paint: _Paint) -> Iterator[str]:
    ordered = sorted(verdict.findings, key=lambda f: (f.path, f.line, f.column, f.rule))
    for path, group in groupby(ordered, key=lambda finding: finding.path):
        yield paint(_BOLD, printable(path, keep=""))
        for finding in group:
            yield from _one(finding, paint)
        yield ""


def _one(finding: Finding, paint: _Paint) -> Iterator[str]:
    place = f"{finding.line}:{finding.column}" if finding.line else "-"
    old = "" if finding.new else paint(_DIM, " (was there before)")
    colour = _RED if finding.severity == "error" and finding.new else _YELLOW
    mild = "" if finding.severity == "error" else f"{'note' if finding.severity == 'info' else 'warning'}: "
    rule = printable(finding.rule, keep="")
    message = printable(finding.message, keep="")
    yield f"  {place:<8} {paint(colour, rule)} {mild}{message}{old}"
    if finding.source.strip():
        yield from _quoted(finding, finding.source, paint)
    if finding.remedy and finding.remedy not in finding.message:
        yield f"           {paint(_DIM, '=')} {printable(finding.remedy, keep='')}"


def _quoted(finding: Finding, line: str, paint: _Paint) -> Iterator[str]:
    start = max(0, finding.column - 1)
    first = max(0, start - _WIDTH // 2) if len(line) > _WIDTH else 0
    window = line[first : first + _WIDTH].replace("\t", " ")
    head = printable(window[: start - first], keep="")
    same_line = finding.end_line == finding.line and finding.end_column > finding.column
    width = finding.end_column - finding.column if same_line else 1
    marked = printable(window[start - first : start - first + width], keep="")
    yield f"           {paint(_DIM, '|')} {printable(window, keep='')}"
    yield f"           {paint(_DIM, '|')} {' ' * len(head)}{paint(_RED, '^' * max(1, len(marked)))}"


def _fixed(verdict: Verdict) -> Iterator[str]:
    for path, group in groupby(verdict.fixed, key=lambda fixed: fixed.path):
        words = (f.tool if f.rule == "format" else f"{f.rule} ({f.count})" for f in group)
        yield f"  {printable(path, keep='')}: {', '.join(words)}"


def _not_checked(verdict: Verdict) -> Iterator[str]:
    alike: dict[tuple[bool, str], dict[str, list[str]]] = {}
    for miss in verdict.not_checked:
        alike.setdefault((not miss.required, miss.reason), {}).setdefault(miss.path, []).append(miss.check)
    for (optional, reason), files in sorted(alike.items(), key=lambda item: item[0][0]):
        tail = f"{printable(reason, keep='')}{' (not required)' if optional else ''}"
        if len(files) <= _NAMED:
            for path, checks in files.items():
                yield f"  {printable(path, keep='')}: {', '.join(checks)}: {tail}"
            continue
        checks = list(dict.fromkeys(check for some in files.values() for check in some))
        yield f"  {len(files)} files: {', '.join(checks)}: {tail}"
        names = [printable(path, keep="") for path in files][:_NAMED]
        yield f"    {', '.join(names)} and {len(files) - _NAMED} more"


def _summary(verdict: Verdict) -> str:
    blocking = len(verdict.blocking)
    files = len({finding.path for finding in verdict.blocking})
    if verdict.status == "fail":
        given_back = {miss.path for miss in verdict.not_checked if miss.check == "fix"}
        open_still = [finding for finding in verdict.blocking if finding.path not in given_back]
        mended = sum(finding.fixable or finding.rule == "format" for finding in open_still)
        hint = f" ai-rails gate --fix corrects {mended} of them." if mended else ""
        worse = f", {len(verdict.worse)} worse than before" if verdict.worse else ""
        return f"Fail: {counted(blocking, 'finding')} in {counted(files, 'file')}{worse}.{hint}"
    if verdict.status == "error":
        return "Error: something required could not be checked. This is not a pass."
    if checked_nothing(verdict):
        return "Nothing was checked."
    return "Pass: every required check ran and found nothing new."


def window(finding: Finding, text: str, *, around: int = 3, most: int = 40) -> str:
    """Return the numbered lines of ``text`` around a finding, its own marked ``>``.

    The enclosing function or class of at most ``most`` lines, else ``around`` lines each side.
    """
    lines = split_lines(text)
    if lines and lines[-1] == "":
        lines.pop()
    if not 0 < finding.line <= len(lines):
        return ""
    first, last = _enclosing(lines, finding.line, most) or (finding.line - around, finding.line + around)
    first = max(1, first)
    last = min(len(lines), last)
    width = len(str(last))
    marked = range(finding.line, max(finding.line, min(finding.end_line, finding.line + around)) + 1)
    shown = []
    for number in range(first, last + 1):
        line = printable(lines[number - 1][:_WIDTH], keep="\t")
        shown.append(f"{'>' if number in marked else ' '} {number:>{width}} | {line}".rstrip())
    return "\n".join(shown)


_STARTS: Final = (
    "def ",
    "async def ",
    "class ",
    "function ",
    "export function ",
    "async function ",
    "export default function ",
)

#: What begins the last line of a head or a block, as far out as its first.
_ENDS: Final = (")", "}", "]")


def _enclosing(lines: list[str], line: int, most: int) -> tuple[int, int] | None:
    """Find the function or class around ``line`` by indentation, even in broken code."""
    indent = _indent(lines[line - 1]) if lines[line - 1].strip() else 1_000
    if lines[line - 1].lstrip().startswith(_STARTS):
        return _block(lines, line, most)
    for number in range(line - 1, max(0, line - most), -1):
        text = lines[number - 1]
        if not text.strip() or _indent(text) >= indent or text.lstrip().startswith(_ENDS):
            continue
        indent = _indent(text)
        if text.lstrip().startswith(_STARTS):
            return _block(lines, number, most, line)
    return None


def _block(lines: list[str], first: int, most: int, inside: int = 0) -> tuple[int, int] | None:
    indent = _indent(lines[first - 1])
    last = first
    for number in range(first + 1, len(lines) + 1):
        text = lines[number - 1]
        if text.strip():
            if _indent(text) <= indent and not text.lstrip().startswith(_ENDS):
                break
            last = number
    return (first, last) if last - first < most and last >= inside else None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
