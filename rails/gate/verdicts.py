"""What findings amount to: pass, fail or error; which come first, and how many are listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from rails.core import limits
from rails.core.verdict import Finding, NotChecked, Severity, Status
from rails.gate.support.diagnostics import MORE


def status_of(findings: Sequence[Finding], missed: Sequence[NotChecked]) -> Status:
    """Return what findings and misses amount to."""
    if any(finding.new and finding.severity == "error" for finding in findings):
        return "fail"
    return "error" if any(miss.required for miss in missed) else "pass"


_ORDER: Final = {"error": 0, "warning": 1, "info": 2}


def cut_short(findings: Sequence[Finding]) -> Sequence[Finding]:
    """Return as many findings of one file and tool as are listed, and how many more of each rule there are."""
    if len(findings) <= limits.FINDINGS_LISTED:
        return findings
    shown: list[Finding] = []
    count: Counter[tuple[str, str]] = Counter()
    more: Counter[tuple[str, str, str, Severity, bool]] = Counter()
    for one in findings:
        count[one.path, one.tool] += one.rule != MORE
        if one.rule == MORE or count[one.path, one.tool] <= limits.FINDINGS_LISTED:
            shown.append(one)
        else:
            more[one.path, one.tool, one.rule, one.severity, one.new] += 1
    for (path, tool, rule, severity, new), many in more.items():
        words = f"{many} more findings of `{rule}` in this file; they are not listed"
        shown.append(Finding(path, 1, 1, MORE, words, tool, severity, new=new))
    return shown


def importance(finding: Finding) -> tuple[bool, int, int, str, int, int, str]:
    """Sort: new first, errors first, what breaks the program before what is only untidy, then by place."""
    order = _ORDER[finding.severity]
    return not finding.new, order, weight(finding), finding.path, finding.line, finding.column, finding.rule


def weight(finding: Finding) -> int:
    """Return 0 for what does not parse, 1 for what breaks the program, up to 3 for what is only untidy."""
    rule = finding.rule
    if rule.endswith("syntax") or rule in ("syntax-error", "conflict-marker", "markdown-fence"):
        return 0
    if rule.startswith(("F", "E9")):
        return 1
    return 3 if rule.startswith(("E", "W", "I", "D")) else 2
