"""The weight of a new finding ("blocking", "retry", "advisory").

Also for agents' inputs, which block by default, and turns, where critical findings do. Unreadable settings make
everything block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from rails.core.errors import CheckError, UsageError
from rails.core.verdict import Finding, NotChecked, Verdict
from rails.gate.support.settings import Checked, Enforcement, GateSettings, read_gate_settings, several
from rails.gate.verdicts import LOOSER, with_weight


class Modes:
    """Applies the settings' modes and counts the retries of one session."""

    def __init__(self) -> None:
        self._tries: Counter[tuple[str, str]] = Counter()
        self._counted: set[tuple[str, str]] = set()

    def applied(
        self, findings: Sequence[Finding], missed: Sequence[NotChecked], options: GateSettings, agent: str
    ) -> tuple[list[Finding], list[NotChecked]]:
        """Return non-blocking findings as warnings, and optional checks as not required."""
        self._counted.clear()
        findings = [with_weight(finding) for finding in findings]
        if not options.modes:
            return findings, list(missed)
        return [self._weighed(finding, options, agent) for finding in findings], [
            replace(miss, required=False) if miss.required and _advisory(miss, options, agent) else miss
            for miss in missed
        ]

    def attempted(self, verdict: Verdict, agent: str) -> Verdict:
        """Count an attempt per file sent back; forget those that pass."""
        told = {(agent, finding.path) for finding in verdict.findings}
        if verdict.status == "fail":
            self._tries.update(self._counted)
        for key in {(agent, str(change.path)) for change in verdict.proposal.changes} - told:
            self._tries.pop(key, None)
        return verdict

    def _weighed(self, finding: Finding, options: GateSettings, agent: str) -> Finding:
        if finding.severity != "error" and finding.rule != LOOSER:
            return finding
        mode = options.mode_of(finding, agent)
        if mode is None:
            return finding
        key = agent, finding.path
        if mode.mode == "retry":
            self._counted.add(key)
        if mode.mode == "advisory" or (mode.mode == "retry" and self._tries[key] >= mode.attempts):
            return replace(finding, severity="warning", weight="note")
        return replace(finding, severity="error", weight="style" if mode.mode == "retry" else "breaks")


def _advisory(miss: NotChecked, options: GateSettings, agent: str) -> bool:
    mode = options.mode_of(Finding(miss.path, 0, 0, miss.check, "", ""), agent)
    return mode is not None and mode.mode == "advisory"


class CheckModes(Struct):
    """The same for inputs and turns."""

    project: Path
    sent: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def of(self, check: Checked, agent: str, rule: str, otherwise: Enforcement) -> Enforcement:
        """Return a finding's mode, counting a retry; after its retries a human decides."""
        try:
            mode = read_gate_settings(self.project).mode_of_check(check, agent, rule, otherwise)
        except CheckError:
            return "blocking"
        if mode.mode == "retry":
            self.sent[check, agent, rule] += 1
            if self.sent[check, agent, rule] > mode.attempts:
                return "blocking"
        return mode.mode

    def check_rules(self, known: Sequence[str]) -> None:
        """Raise UsageError for a turn's mode with an unknown rule."""
        try:
            modes = read_gate_settings(self.project).modes
        except CheckError:
            return  # said with the first verdict, which it makes an error
        for rule in (rule for mode in modes if mode.check == "turn" for rule in several(mode.rule)):
            if not any(name.startswith(rule) for name in known):
                raise UsageError(
                    f"A mode in the gate's settings is for the turn and names the rule {rule!r}, which the monitor "
                    f"does not have. Nothing was started. Its rules: {', '.join(known)}"
                )
