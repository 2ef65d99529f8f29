"""How much it counts what an agent's input lacks and what the overseer finds after its turn: ``[[mode]]`` with a check.

"blocking": it waits for a human, and stops where nobody is asked. "retry": it goes back to the agent that made it, so
many times, and is then the human's. "advisory": it is told only. Without an entry, an input blocks, and of a turn what
is critical does. Settings that cannot be read make everything block.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from rails.agents.monitor_rules.rules import RULES
from rails.core.errors import CheckError, UsageError
from rails.gate.support.settings import Checked, Enforcement, read_gate_settings

#: The rule of the overseer's model.
MODEL_RULE = "model"


@dataclass
class CheckModes:
    """Applies the settings of a project, and counts what was sent back in one session."""

    project: Path
    sent: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def of(self, check: Checked, agent: str, rule: str, otherwise: Enforcement) -> Enforcement:
        """Return how much one thing counts now; what goes back is counted, and is a human's after its attempts."""
        mode = self.peek(check, agent, rule, otherwise)
        self.sent[check, agent, rule] += mode == "retry"
        return mode

    def peek(self, check: Checked, agent: str, rule: str, otherwise: Enforcement) -> Enforcement:
        """Return what :meth:`of` would, and count nothing."""
        try:
            mode = read_gate_settings(self.project).mode_of_check(check, agent, rule, otherwise)
        except CheckError:
            return "blocking"
        spent = mode.mode == "retry" and self.sent[check, agent, rule] >= mode.attempts
        return "blocking" if spent else mode.mode

    def check_rules(self) -> None:
        """Raise UsageError for a mode of a turn that names a rule which the overseer does not have."""
        known = (*RULES, MODEL_RULE)
        try:
            modes = read_gate_settings(self.project).modes
        except CheckError:
            return  # said with the first verdict, which it makes an error
        for rule in (rule for mode in modes if mode.check == "turn" for rule in mode.rule):
            if not any(name.startswith(rule) for name in known):
                raise UsageError(
                    f"A mode in the gate's settings is for the turn and names the rule {rule!r}, which the overseer "
                    f"does not have. Nothing was started. Its rules: {', '.join(known)}"
                )
