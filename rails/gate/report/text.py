"""A verdict as text for people and as JSON for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain, groupby
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
#: Lines that are shown on each side of a finding, and of a function around it at most.
_AROUND: Final = 3
_FUNCTION: Final = 40
#: More files than this with the same thing unchecked are one line.
_NAMED: Final = 3


def verdict_as_json(verdict: Verdict) -> dict[str, Json]:
    """Return what ``ai-rails gate --format json`` prints."""
    about = ("name", "version", "duration_ms", "command")
    return {
        "verdict": verdict.status,
        "findings": [{name: getattr(found, name) for name in _SHOWN} for found in verdict.findings],
        "fixed": [asdict(fixed) for fixed in verdict.fixed],
        "not_checked": [asdict(miss) for miss in verdict.not_checked],
        "evidence": [{"path": one.path, "checks": list(one.checks)} for one in verdict.evidence],
        "checks": [{name: getattr(run, name) for name in about} for run in verdict.checks],
    }


def render(verdict: Verdict, form: str, *, colour: bool = False, explain: bool = False) -> str:
    """Return the verdict as text, JSON, or a form of :mod:`rails.gate.report.formats`; ``explain``: what ran, too."""
    if form == "text":
        return verdict_as_text(verdict, colour) + (f"\n{as_explanation(verdict)}" if explain else "")
    if form == "json":
        return json.dumps(verdict_as_json(verdict), indent=2)
    from rails.gate.report import formats

    return str(getattr(formats, form)(verdict))


def as_explanation(verdict: Verdict) -> str:
    """Return what ran: version, files, cached answers, time, rules, and below them the commands."""
    rows = [("check", "version", "files", "known", "ms", "rules")]
    for run in verdict.checks:
        counts = run.name, run.version, str(run.files), str(run.cached), f"{run.duration_ms:8.1f}"
        rows.append((*counts, _shown(run.config)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    lines += [f"{run.name}: {_shown(run.command)}" for run in verdict.checks if run.command]
    return "\n".join(lines) + "\n"


def verdict_as_text(verdict: Verdict, colour: bool = False) -> str:
    """Return findings by file with source lines, fixes, and what was not checked.

    Quotes pass :func:`rails.core.text.printable`; ``colour`` adds ANSI colours.
    """
    text = "\n".join(_parts(verdict)) + "\n"
    return text if colour else re.sub(r"\033\[\d+m", "", text)  # no quote has one


def _paint(code: str, text: str) -> str:
    return f"{code}{text}{_PLAIN}"


def _shown(text: str) -> str:
    return printable(text, keep="")


def _parts(verdict: Verdict) -> Iterator[str]:
    ordered = sorted(verdict.findings, key=lambda found: (found.path, found.line, found.column, found.rule))
    for path, group in groupby(ordered, key=lambda found: found.path):
        yield _paint(_BOLD, _shown(path))
        for finding in group:
            yield from _one(finding)
        yield ""
    if verdict.fixed:
        yield _paint(_BOLD, "Auto-fixed")
        for path, repairs in groupby(verdict.fixed, key=lambda fixed: fixed.path):
            words = (one.tool if one.rule == "format" else f"{one.rule} ({one.count})" for one in repairs)
            yield f"  {_shown(path)}: {', '.join(words)}"
        yield ""
    if verdict.not_checked:
        yield _paint(_BOLD, "Not checked")
        yield from _not_checked(verdict)
        yield ""
    yield _paint(_GREEN if verdict.status == "pass" else _RED, _summary(verdict))


def _one(finding: Finding) -> Iterator[str]:
    place = f"{finding.line}:{finding.column}" if finding.line else "-"
    old = "" if finding.new else _paint(_DIM, " (was there before)")
    colour = _RED if finding.severity == "error" and finding.new else _YELLOW
    mild = {"error": "", "info": "note: "}.get(finding.severity, "warning: ")
    yield f"  {place:<8} {_paint(colour, _shown(finding.rule))} {mild}{_shown(finding.message)}{old}"
    margin = f"           {_paint(_DIM, '|')}"
    if finding.source.strip():
        line, before, marked = _quoted(finding)
        yield f"{margin} {line}"
        yield f"{margin} {' ' * before}{_paint(_RED, '^' * max(1, marked))}"
    if finding.remedy and finding.remedy not in finding.message:
        yield f"           {_paint(_DIM, '=')} {_shown(finding.remedy)}"


def _quoted(finding: Finding) -> tuple[str, int, int]:
    """Return the line as shown, and how many characters stand before what is meant, and in it."""
    start = max(0, finding.column - 1)
    first = max(0, start - _WIDTH // 2) if len(finding.source) > _WIDTH else 0
    line = finding.source[first : first + _WIDTH].replace("\t", " ")
    end = start + 1
    if finding.end_line == finding.line and finding.end_column > finding.column:
        end = finding.end_column - 1
    before = _shown(line[: start - first])
    return _shown(line), len(before), len(_shown(line[start - first : end - first]))


def _not_checked(verdict: Verdict) -> Iterator[str]:
    alike: dict[tuple[str, bool], dict[str, dict[str, None]]] = {}
    for miss in sorted(verdict.not_checked, key=lambda miss: not miss.required):
        alike.setdefault((miss.reason, miss.required), {}).setdefault(miss.path, {})[miss.check] = None
    for (reason, required), paths in alike.items():
        tail = f"{_shown(reason)}{'' if required else ' (not required)'}"
        if len(paths) <= _NAMED:
            yield from (f"  {_shown(path)}: {', '.join(checks)}: {tail}" for path, checks in paths.items())
        else:
            checks = ", ".join(dict.fromkeys(chain.from_iterable(paths.values())))
            yield f"  {len(paths)} files: {checks}: {tail}"
            yield f"    {', '.join(map(_shown, [*paths][:_NAMED]))} and {len(paths) - _NAMED} more"


def _summary(verdict: Verdict) -> str:
    if verdict.status == "fail":
        given_back = {miss.path for miss in verdict.not_checked if miss.check == "fix"}
        open_still = [finding for finding in verdict.blocking if finding.path not in given_back]
        mended = sum(finding.fixable or finding.rule == "format" for finding in open_still)
        hint = f" ai-rails gate --fix corrects {mended} of them." if mended else ""
        worse = f", {len(verdict.worse)} worse than before" if verdict.worse else ""
        files = counted(len({finding.path for finding in verdict.blocking}), "file")
        return f"Fail: {counted(len(verdict.blocking), 'finding')} in {files}{worse}.{hint}"
    if verdict.status == "error":
        return "Error: something required could not be checked. This is not a pass."
    if checked_nothing(verdict):
        return "Nothing was checked."
    return "Pass: every required check ran and found nothing new."


def window(finding: Finding, text: str) -> str:
    """Return the numbered lines of ``text`` around a finding, its own marked ``>``.

    The innermost function or class of at most 40 lines, else three lines each side, or nine if it does not parse.
    """
    from rails.data_formats.source import language_of, symbols  # most verdicts have no window

    lines = split_lines(text.removesuffix("\n"))
    if not text or not 0 < finding.line <= len(lines):
        return ""
    reach = 9 if finding.rule == "syntax-error" else _AROUND
    first = max(1, finding.line - reach)
    last = min(len(lines), finding.line + reach)
    for one in symbols(text, language_of(finding.path)):
        if one.first <= finding.line <= one.last < one.first + _FUNCTION:
            first, last = one.first, one.last
    width = len(str(last))
    end = max(finding.line, min(finding.end_line, finding.line + _AROUND))
    shown = []
    for number in range(first, last + 1):
        mark = ">" if finding.line <= number <= end else " "
        line = printable(lines[number - 1][:_WIDTH], keep="\t")
        shown.append(f"{mark} {number:>{width}} | {line}".rstrip())
    return "\n".join(shown)
