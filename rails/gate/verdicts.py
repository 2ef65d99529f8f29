"""From findings to a verdict: pass, fail or error; order and limits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from rails.core.verdict import Finding, NotChecked, Status, Verdict, Weight


def status_of(findings: Sequence[Finding], missed: Sequence[NotChecked]) -> Status:
    """Return the verdict's status."""
    if any(finding.severity == "error" for finding in findings):
        return "fail"
    return "error" if any(miss.required for miss in missed) else "pass"


def checked_nothing(verdict: Verdict) -> bool:
    """Return whether nothing looked at what there was."""
    looked = any(one.checks for one in verdict.evidence) or any(run.config == COMMAND for run in verdict.checks)
    return not looked and bool(verdict.evidence or verdict.not_checked)


#: What stands as the configuration of a command's run.
COMMAND: Final = "command"
#: A change of how the project is checked: it is shown first, and a person has to agree.
CONFIGURES: Final = "gate-config-changed"
#: A note about a pin, which a project's settings may make break.
LOOSER: Final = "looser-pin"
_ORDER: Final = {"error": 0, "warning": 1, "info": 2}


def importance(finding: Finding) -> tuple[int, int, str, int, int, str]:
    """Sort: errors, what breaks the program, then by place."""
    order = _ORDER[finding.severity] - (finding.rule == CONFIGURES)
    return order, rank(finding), finding.path, finding.line, finding.column, finding.rule


def rank(finding: Finding) -> int:
    """Return 0 for parse errors, 1 for what breaks the program, up to 3 for style."""
    rule = finding.rule
    if rule.endswith("syntax") or rule in ("syntax-error", "conflict-marker", "markdown-fence"):
        return 0
    if rule.startswith(("F", "E9")):
        return 1
    return 3 if rule.startswith(("E", "W", "I", "D")) else 2


def with_weight(finding: Finding) -> Finding:
    """Return a finding with its weight from ``weights.toml``; warnings are notes."""
    weight = "note" if finding.severity != "error" else _weight(finding.tool, finding.rule)
    return finding if weight == finding.weight else replace(finding, weight=weight)


@lru_cache(maxsize=1024)
def _weight(tool: str, rule: str) -> Weight:
    style, breaking = _weights()
    if rule.startswith(breaking):
        return "breaks"
    return "style" if tool in style or rule in style else "breaks"


@cache
def _weights() -> tuple[frozenset[str], tuple[str, ...]]:
    import tomllib  # only a finding needs it

    from rails.gate.support.known_tools import style_tools

    table = tomllib.loads((Path(__file__).parent / "weights.toml").read_text("utf-8"))
    style = table["style"]
    return frozenset((*style["tools"], *style["rules"], *style_tools())), tuple(table["breaks"]["rules"])
