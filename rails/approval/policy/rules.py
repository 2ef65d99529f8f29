"""The rules of a policy, and what they say about a question. Pure.

A question is split into items: one for each tool and file of a change set, or one for a tool run. ``deny`` and ``ask``
match *any* item; ``allow`` must cover *every* item, and is read narrowly:

- without ``kind``: creating and modifying files, and tools that only read; deleting (emptying) and running are named;
- without ``verdict``: the checks passed; with ``clean``: no repair, conversion or lenient matching;
- paths and names compare exactly; ``deny`` and ``ask`` ignore case.

``path`` is the file changed or read. ``verdict``, ``finding``, ``severity``, ``max_lines`` and ``max_bytes`` never
match the use of a tool; an ``allow`` with ``path`` lets nothing run. What a tool returned is of kind ``result``, free
unless a rule names that kind. ``command`` (``"pytest *"``) compares the words of one plain command; others are never
allowed by it, and asked about where a ``deny`` or ``ask`` names commands. An ``allow`` covers deceiving text, secrets
and dangerous commands only with that ``risk``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final, Literal

from msgspec import Struct, field

from rails.approval.content_risks import UNNAMED_NEVER
from rails.approval.decision import ApprovalRequest
from rails.approval.risks import is_emptied
from rails.core.changes import FileChange
from rails.core.diff import line_diff
from rails.core.globs import glob_match
from rails.core.lazy_pattern import lazy
from rails.core.paths import WorkspacePath, parse_path, protected, readings
from rails.core.tool_request import PATH_KEYS, Json
from rails.core.verdict import Status

#: One command without anything that a shell would read otherwise than as it is written.
_PLAIN_COMMAND: Final = lazy(r"[\w@%+:,./-][\w@%+:,./=-]*(?: [\w@%+:,./=-]+)*", re.ASCII)


class Circumstances(Struct, frozen=True):
    """The circumstances of a question: ``model`` as in the log, ``interactive``: a human could answer."""

    model: str = ""
    interactive: bool = True


UNKNOWN: Final = Circumstances()


class Seen(Struct, frozen=True):
    """Facts of a change set: (rule, severity) of new findings, bytes after, names of risks."""

    findings: tuple[tuple[str, str], ...] = ()
    size: int = 0
    risks: frozenset[str] = frozenset()


class Conditions(Struct, frozen=True):
    """The further keys of a rule; empty or ``None`` requires nothing.

    ``model``: globs. ``finding`` (globs), ``severity``: of new findings; ``allow`` needs all to fit, the others one.
    ``max_bytes``: of the files after the change. ``adjusted``: repaired, converted or matched leniently.
    """

    model: tuple[str, ...] = ()
    interactive: bool | None = None
    finding: tuple[str, ...] = ()
    severity: tuple[str, ...] = ()
    max_bytes: int | None = None
    adjusted: bool | None = None
    risk: tuple[str, ...] = ()

    def hold(self, allows: bool, around: Circumstances, seen: Seen, adjusted: bool) -> bool:
        """Return whether all conditions hold."""
        return (
            self._of_model(allows, around.model)
            and self.interactive in (None, around.interactive)
            and self._found(allows, seen)
            and self._at_risk(allows, seen.risks)
            and (self.max_bytes is None or seen.size <= self.max_bytes)
            and self.adjusted in (None, adjusted)
        )

    def _of_model(self, allows: bool, model: str) -> bool:
        if not self.model or not model:
            return not self.model or not allows
        return any(fnmatchcase(model, glob) for glob in self.model)

    def _at_risk(self, allows: bool, risks: frozenset[str]) -> bool:
        if allows:
            return risks & UNNAMED_NEVER <= set(self.risk)
        return not self.risk or not risks.isdisjoint(self.risk)

    def _found(self, allows: bool, seen: Seen) -> bool:
        if not self.finding and not self.severity:
            return True
        quantify: Callable[[list[bool]], bool] = all if allows else any
        return quantify(
            [
                (not self.finding or any(fnmatchcase(rule, glob) for glob in self.finding))
                and (not self.severity or severity in self.severity)
                for rule, severity in seen.findings
            ]
        )


Ruling = Literal["deny", "ask", "allow"]
ItemKind = Literal["create", "modify", "delete", "read", "run", "result"]

_HARMLESS: Final = frozenset({"create", "modify", "read"})


class PolicyItem(Struct, frozen=True):
    """One thing that would happen. ``verdict`` is None for the use of a tool.

    ``lines``: added and removed, of the entire change set. ``adjusted``: repaired, converted or matched leniently.
    ``command``: the words of one plain command.
    """

    agent: str
    tool: str
    kind: ItemKind
    path: str | None = None
    verdict: Status | None = None
    lines: int = 0
    adjusted: bool = False
    seen: Seen = field(default_factory=Seen)
    command: tuple[str, ...] | None = None


class PolicyRule(Struct, frozen=True):
    """One ``[[rule]]``. Empty tuples and ``None`` match everything."""

    number: int
    decision: Ruling
    source: str
    name: str = ""
    reason: str = ""
    tool: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    verdict: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    max_lines: int | None = None
    clean: bool = False
    when: Conditions = field(default_factory=Conditions)
    command: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"rule {self.number}{f' ({self.name})' if self.name else ''}"

    def matches(self, item: PolicyItem, around: Circumstances = UNKNOWN) -> bool:
        """Return whether the rule matches ``item``."""
        return (
            self._any_name(self.tool, item.tool)
            and self._any_name(self.agent, item.agent)
            and self._kind(item.kind)
            and self._command(item)
            and self._file(item)
            and not (self.clean and item.adjusted)
            and self.when.hold(self.decision == "allow", around, item.seen, item.adjusted)
        )

    def speaks(self, items: Sequence[PolicyItem], around: Circumstances) -> tuple[PolicyItem, ...]:
        """Return the ``items`` that the rule matches."""
        return tuple(item for item in items if self.matches(item, around))

    def ruling_on(self, found: Sequence[PolicyItem]) -> Ruling:
        """Return the ruling; an unreadable command is at most asked about."""
        unread = bool(self.command) and all(item.command is None for item in found)
        return "ask" if unread and self.decision == "deny" else self.decision

    def _command(self, item: PolicyItem) -> bool:
        """Return whether a command matches; one that is not plain matches all rules but ``allow``."""
        if not self.command:
            return True
        if item.kind != "run" or item.command is None:
            return item.kind == "run" and self.decision != "allow"
        names = [item.command]
        if self.decision != "allow":
            names.append((item.command[0].rpartition("/")[2], *item.command[1:]))
        return any(_words_match(glob.split(), words) for glob in self.command for words in names)

    def _kind(self, kind: ItemKind) -> bool:
        if self.kind or kind == "result":
            return kind in self.kind
        return self.decision != "allow" or kind in _HARMLESS

    def _file(self, item: PolicyItem) -> bool:
        allows = self.decision == "allow"
        when = self.when
        if item.verdict is None:
            of_changes = self.verdict or when.finding or when.severity or self.max_lines is not None
            no_file = allows and self.path and item.kind not in ("read", "result")
            if of_changes or when.max_bytes is not None or no_file:
                return False
            return self._place(item.path)
        verdicts = self.verdict or (("pass",) if allows else ())
        return (
            self._place(item.path)
            and (not verdicts or item.verdict in verdicts)
            and (self.max_lines is None or item.lines <= self.max_lines)
        )

    def _any_name(self, globs: tuple[str, ...], name: str) -> bool:
        wide = self.decision != "allow"
        return not globs or any(
            fnmatchcase(*((name.casefold(), glob.casefold()) if wide else (name, glob))) for glob in globs
        )

    def _place(self, path: str | None) -> bool:
        if not self.path or path is None:
            return not self.path
        return any(glob_match(glob, path, self.decision != "allow") for glob in self.path)


class Judgement(Struct, frozen=True):
    """The ruling, the rules behind it (none: no match) and why."""

    ruling: Ruling
    rules: tuple[PolicyRule, ...]
    why: str


class Policy(Struct, frozen=True):
    """The rules in force."""

    rules: tuple[PolicyRule, ...] = ()

    def judge(self, request: ApprovalRequest, around: Circumstances = UNKNOWN) -> Judgement:
        """Return the ruling on ``request``."""
        return self.judge_items(items_of(request), request.doubts, around)

    def judge_items(
        self, items: Iterable[PolicyItem], doubts: Sequence[str] = (), around: Circumstances = UNKNOWN
    ) -> Judgement:
        """Judge ``items`` together; ``doubts`` make it at least "ask"."""
        items = tuple(items)
        for decision in ("deny", "ask"):
            for rule in self.rules:
                found = rule.speaks(items, around) if rule.decision != "allow" else ()
                if found and rule.ruling_on(found) == decision:
                    return Judgement(rule.ruling_on(found), (rule,), rule.reason or f"{rule} of {rule.source}")
        if items and all(item.kind == "result" for item in items):
            return Judgement("allow", (), "no rule is about what a tool returned")
        if reason := next(filter(None, map(_protected, items)), None):
            return Judgement("ask", (), reason)
        if doubts:
            return Judgement("ask", (), doubts[0])
        return self._allowed(items, around)

    def _allowed(self, items: tuple[PolicyItem, ...], around: Circumstances) -> Judgement:
        used: list[PolicyRule] = []
        allowing = [(rule, rule.speaks(items, around)) for rule in self.rules if rule.decision == "allow"]
        for item in items:
            rule = next((rule for rule, covered in allowing if item in covered), None)
            if rule is None:
                return Judgement("ask", (), f"no rule matches {item.tool} {item.path or item.kind}")
            used.append(rule)
        if not used:
            return Judgement("ask", (), "there is nothing that a rule could match")
        rules = tuple(dict.fromkeys(used))
        return Judgement("allow", rules, " and ".join(str(rule) for rule in rules))


def items_of(request: ApprovalRequest) -> tuple[PolicyItem, ...]:
    """Split ``request`` into items."""
    return tuple(_change_items(request) if request.kind == "changes" else _tool_items(request))


def _change_items(request: ApprovalRequest) -> Iterator[PolicyItem]:
    lines = sum(_lines_of(change) for change in request.changes.changes)
    status = request.verdict.status if request.verdict else None
    found = request.verdict.findings if request.verdict else ()
    size = sum(len(change.after or b"") for change in request.changes.changes)
    findings = tuple((one.rule, one.severity) for one in found if one.new)
    for tool in request.tools or ("",):
        for change in request.changes.changes:
            kind: ItemKind = "delete" if is_emptied(change) else change.kind
            seen = Seen(findings, size, _risks(request, str(change.path)))
            yield PolicyItem(request.agent, tool, kind, str(change.path), status, lines, bool(request.notes), seen)


def _tool_items(request: ApprovalRequest) -> Iterator[PolicyItem]:
    effect = request.tool_request.effect if request.tool_request else "run"
    # An edit tool is asked about through its change set; asked about as a run, it is treated as one.
    kind: ItemKind = "result" if request.returned else "read" if effect == "read" else "run"
    given = request.tool_request.parameters if request.tool_request else {}
    named = [value for key in (*PATH_KEYS, "new_path") if isinstance(value := given.get(key), str)]
    paths = [str(path) if isinstance(path, WorkspacePath) else raw for raw in named for path in readings(raw)]
    for tool in request.tools or ("",):
        for path in paths or (None,):
            seen = Seen(risks=_risks(request))
            command = plain_command(given.get("command"))
            adjusted = bool(request.notes)
            yield PolicyItem(request.agent, tool, kind, path, adjusted=adjusted, seen=seen, command=command)


def plain_command(command: Json) -> tuple[str, ...] | None:
    """Return the words of a command without shell operator, quote, pattern, assignment or odd blank."""
    line = " ".join(map(str, command)) if isinstance(command, list) else command
    if isinstance(command, list) and any(" " in str(word) for word in command):
        return None  # one argument that would pass for two
    words = tuple(line.split(" ")) if isinstance(line, str) and _PLAIN_COMMAND.fullmatch(line) else ()
    return words if words and "=" not in words[0] else None


def _words_match(globs: Sequence[str], words: Sequence[str]) -> bool:
    if globs[-1:] == ["*"]:
        globs, words = globs[:-1], words[: len(globs) - 1]
    return len(globs) == len(words) and all(map(fnmatchcase, words, globs))


def _risks(request: ApprovalRequest, path: str = "") -> frozenset[str]:
    return frozenset(risk.kind for risk in request.named if risk.path in ("", path))


def _lines_of(change: FileChange) -> int:
    before, after = ((data or b"").decode("latin-1").split("\n") for data in (change.before, change.after))
    diff = line_diff(before, after)
    return diff.added + diff.removed


def _protected(item: PolicyItem) -> str | None:
    if item.path is None:
        return None
    path = parse_path(item.path)
    reason = protected(path) if isinstance(path, WorkspacePath) else "not a usable path"
    if item.kind == "read" and reason not in ("secrets", "keys"):
        return None  # also of a folder, or of what the tool itself refuses
    return f"{item.path} is protected ({reason})" if reason else None
