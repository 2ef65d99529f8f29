"""The policy: deny > ask > allow; no match asks.

With ``--approve policy`` the rules decide; the rest is asked, or denied where nobody is there. With ``--approve ask`` a
human decides, and rules that deny or ask only add risks to the question. ``policy.toml`` is in the user's configuration
folder, where no agent can write (keys: ``rails/config/schemas/policy.schema.json``); a project's ``[policy]`` in
``.rails.toml`` has no ``allow``. Protected paths are asked about whatever a rule allows.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from rails.approval.decision import NO_HUMAN, ApprovalRequest, Approver, Choice, Decision, attended
from rails.approval.policy.file import Example, read_policy
from rails.approval.policy.grants import Change, Grants
from rails.approval.policy.places import POLICY_NAME, PROJECT_NAME
from rails.approval.policy.rules import (
    Circumstances,
    Judgement,
    Policy,
    PolicyItem,
    PolicyRule,
    items_of,
)
from rails.core.app_dirs import config_folder
from rails.core.errors import UsageError


class PolicyApprover(Struct, frozen=True):
    """Answers from the policy; the rest goes to ``fallback``, or is denied without one.

    Unless it ``decides``, a human does, and rules only add to the question.
    """

    policy: Policy
    fallback: Approver | None = None
    grants: Grants | None = None
    decides: bool = True
    #: Why everything is denied at the moment, before any rule; "": it is not.
    closed: Callable[[], str] = str

    def decide(self, request: ApprovalRequest) -> Decision:
        """Answer from the rules, then from grants, else ask; deny if there is nobody.

        A grant overrules neither a rule nor a protected path.
        """
        if why := self.closed():
            return Decision("deny", why, "plan mode", of=request.digest)
        return self._by_rule(request, self._around(request.model)) or self._asked(request)

    @property
    def tightens(self) -> bool:
        """Whether a rule denies or asks."""
        return any(rule.decision != "allow" for rule in self.policy.rules)

    def looks_at(self, request: ApprovalRequest) -> bool:
        """Return whether a rule denies or asks."""
        return self._tightened(request) is not None

    def keeps_back(self, agent: str, path: str, tools: Sequence[str], answered: ApprovalRequest | None = None) -> str:
        """Return the rule that forbids showing a file unasked, unless ``answered`` covers it; or ""."""
        if not self.tightens:
            return ""
        items = [PolicyItem(agent, tool, "read", path) for tool in tools]
        around = self._around()
        judgement = self.policy.judge_items(items, (), around)
        if answered and judgement.rules:
            use = items_of(answered)
            left = Policy(tuple(rule for rule in self.policy.rules if not rule.speaks(use, around)))
            judgement = left.judge_items(items, (), around)
        if not judgement.rules or judgement.ruling == "allow":  # what is returned of a file is shown of it
            of_files = Policy(tuple(rule for rule in self.policy.rules if rule.path))
            judgement = of_files.judge_items([replace(item, kind="result") for item in items], (), around)
        return str(judgement.rules[0]) if judgement.rules and judgement.ruling != "allow" else ""

    def shows_secrets(self, agent: str, tool: str, path: str | None) -> bool:
        """Return whether a rule with this risk lets an agent read secrets of ``tool``."""
        item = PolicyItem(agent, tool, "result", path, risks=frozenset({"secret"}))
        return any(rule.decision == "allow" and rule.speaks((item,), self._around()) for rule in self.policy.rules)

    def with_rules(self, request: ApprovalRequest) -> ApprovalRequest:
        """Return the question with the policy's remarks, where a human decides."""
        judgement = None if self.decides else self._tightened(request)
        if judgement is None:
            return request
        does = "denies this" if judgement.ruling == "deny" else "asks about this"
        words = f"Your policy {does}: {judgement.rules[0]} of {judgement.rules[0].source}"
        said = f"{words}: {judgement.rules[0].reason}" if judgement.rules[0].reason else words
        return replace(request, risks=(said, *request.risks), doubts=(*request.doubts, said))

    def _tightened(self, request: ApprovalRequest) -> Judgement | None:
        judgement = self.policy.judge(request, self._around(request.model))
        return judgement if judgement.rules and judgement.ruling != "allow" else None

    def _asked(self, request: ApprovalRequest) -> Decision:
        if self.fallback is None:
            return Decision("deny", NO_HUMAN, "headless", of=request.digest)
        return self.fallback.decide(request)

    def _around(self, model: str = "") -> Circumstances:
        return Circumstances(model, self.fallback is not None)

    def _by_rule(self, request: ApprovalRequest, around: Circumstances) -> Decision | None:
        started = time.monotonic()
        judgement = self.policy.judge(request, around)
        by = f"policy: {' and '.join(map(str, judgement.rules))}"

        def decided(answer: Choice, reason: str, by: str, scope: str = "once") -> Decision:
            return Decision(answer, reason, by, seconds=time.monotonic() - started, scope=scope, of=request.digest)

        if self.decides and judgement.ruling == "deny":
            return decided("deny", _denial(judgement), by)
        if self.decides and judgement.ruling == "allow":
            return decided("approve", judgement.why, by)
        # Where a human decides, a grant of theirs stands alone: no rule of the file adds to what it allows.
        rules = [rule for rule in self.policy.rules if self.decides or rule.decision != "allow"]
        if self.grants and (used := self.grants.take(request, rules, around)):
            return decided("approve", "; ".join(map(str, used)), f"grant {used[0].number}", "grant")
        return None

    def changes(self) -> tuple[Change, ...]:
        """Return the grants given or revoked since the last call."""
        return self.grants.changes() if self.grants else ()

    @property
    def attended(self) -> bool:
        """Whether there is a human."""
        return attended(self.fallback)


def load_policy(project: Path | None = None, *, folder: Path | None = None) -> Policy:
    """Read the user's policy and what ``project`` adds. A missing file means no rules.

    Raises UsageError with every mistake: unreadable files, unknown keys, contradictory rules, failing examples.
    """
    file = (folder or config_folder()) / POLICY_NAME
    mine = read_policy(_content(file), str(file))
    mistakes = [*mine.mistakes]
    rules = mine.rules
    examples = mine.examples
    if project is not None:
        place = project / PROJECT_NAME
        more = read_policy(_content(place), str(place), first=len(rules) + 1, project=True)
        mistakes += [f"{rule.source}: {rule} allows; a project can only deny or ask" for rule in _allowing(more.rules)]
        mistakes += more.mistakes
        rules += more.rules
        examples += more.examples
    policy = Policy(rules)
    mistakes += [wrong for example in examples if (wrong := _check(policy, example))]
    if mistakes:
        raise UsageError("\n".join(("The approval policy cannot be used. Nothing is approved from it.", *mistakes)))
    return policy


def _allowing(rules: Iterable[PolicyRule]) -> list[PolicyRule]:
    return [rule for rule in rules if rule.decision == "allow"]


def _content(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            if os.fstat(stream.fileno()).st_mode & stat.S_IWOTH:
                raise UsageError(f"{file}: anyone on this machine can write it. Run: chmod o-w {file}")
            return stream.read()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise UsageError(f"{file}: {error}. Nothing is approved from a policy that cannot be read.") from error


def _check(policy: Policy, example: Example) -> str | None:
    judgement = policy.judge_items((example.item,), (), example.around)
    if judgement.ruling == example.expect:
        return None
    return (
        f"{example.source}: example {example.number} expects {example.expect}, but: {judgement.ruling}, {judgement.why}"
    )


def _denial(judgement: Judgement) -> str:
    rule = judgement.rules[0]
    return rule.reason or f"The user's policy does not allow this ({rule}). Do it another way or leave it out."
