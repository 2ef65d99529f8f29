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
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

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


Ruling = Literal["deny", "ask", "allow"]
ItemKind = Literal["create", "modify", "delete", "read", "run", "result"]

_HARMLESS: Final = frozenset({"create", "modify", "read"})


class PolicyItem(Struct, frozen=True):
    """One thing that would happen. ``verdict`` is None for the use of a tool.

    ``lines``: added and removed, of the entire change set. ``adjusted``: repaired, converted or matched leniently.
    ``command``: the words of one plain command. ``findings``: (rule, severity) of new ones; ``size``: bytes after;
    ``risks``: their names.
    """

    agent: str
    tool: str
    kind: ItemKind
    path: str | None = None
    verdict: Status | None = None
    lines: int = 0
    adjusted: bool = False
    command: tuple[str, ...] | None = None
    findings: tuple[tuple[str, str], ...] = ()
    size: int = 0
    risks: frozenset[str] = frozenset()


class PolicyRule(Struct, frozen=True):
    """One ``[[rule]]``. Empty tuples and ``None`` match everything.

    ``model``, ``finding``: globs. ``finding``, ``severity``: of new findings; ``allow`` needs all to fit, the others
    one. ``max_bytes``: of the files after the change. ``adjusted``: repaired, converted or matched leniently.
    """

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
    command: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    interactive: bool | None = None
    finding: tuple[str, ...] = ()
    severity: tuple[str, ...] = ()
    max_bytes: int | None = None
    adjusted: bool | None = None
    risk: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"rule {self.number}{f' ({self.name})' if self.name else ''}"

    @property
    def allows(self) -> bool:
        """Whether it allows, and so is read narrowly."""
        return self.decision == "allow"

    def matches(self, item: PolicyItem, around: Circumstances = UNKNOWN) -> bool:
        """Return whether the rule matches ``item``."""
        return (
            self._any_name(self.tool, item.tool)
            and self._any_name(self.agent, item.agent)
            and self._kind(item.kind)
            and self._command(item)
            and self._place(item.path)
            and (self._use(item.kind) if item.verdict is None else self._change(item, item.verdict))
            and not (self.clean and item.adjusted)
            and self.adjusted in (None, item.adjusted)
            and self.interactive in (None, around.interactive)
            and self._model(around.model)
            and self._risk(item.risks)
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
            return item.kind == "run" and not self.allows
        names = [item.command]
        if not self.allows:
            names.append((item.command[0].rpartition("/")[2], *item.command[1:]))
        return any(_words_match(glob.split(), words) for glob in self.command for words in names)

    def _kind(self, kind: ItemKind) -> bool:
        if self.kind or kind == "result":
            return kind in self.kind
        return not self.allows or kind in _HARMLESS

    def _use(self, kind: ItemKind) -> bool:
        """Return whether it may be about a tool's use: it asks nothing that only changes have."""
        if self.verdict or self.finding or self.severity:
            return False
        if self.max_lines is not None or self.max_bytes is not None:
            return False
        return not (self.allows and self.path) or kind in ("read", "result")

    def _change(self, item: PolicyItem, status: Status) -> bool:
        verdicts = self.verdict or (("pass",) if self.allows else ())
        return (
            (not verdicts or status in verdicts)
            and (self.max_lines is None or item.lines <= self.max_lines)
            and (self.max_bytes is None or item.size <= self.max_bytes)
            and self._found(item.findings)
        )

    def _found(self, findings: Sequence[tuple[str, str]]) -> bool:
        if not self.finding and not self.severity:
            return True
        fits = [
            (not self.finding or _fits(self.finding, rule)) and (not self.severity or severity in self.severity)
            for rule, severity in findings
        ]
        return all(fits) if self.allows else any(fits)

    def _model(self, model: str) -> bool:
        if not self.model or not model:
            return not self.model or not self.allows
        return _fits(self.model, model)

    def _risk(self, risks: frozenset[str]) -> bool:
        if self.allows:
            return risks & UNNAMED_NEVER <= set(self.risk)
        return not self.risk or not risks.isdisjoint(self.risk)

    def _any_name(self, globs: tuple[str, ...], name: str) -> bool:
        if not self.allows:
            globs, name = tuple(map(str.casefold, globs)), name.casefold()
        return not globs or _fits(globs, name)

    def _place(self, path: str | None) -> bool:
        if not self.path or path is None:
            return not self.path
        return any(glob_match(glob, path, not self.allows) for glob in self.path)


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
                found = () if rule.allows else rule.speaks(items, around)
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
        allowing = [(rule, rule.speaks(items, around)) for rule in self.rules if rule.allows]
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
    changes = request.changes.changes
    found = request.verdict.findings if request.verdict else ()
    every = PolicyItem(
        request.agent,
        "",
        "modify",
        verdict=request.verdict.status if request.verdict else None,
        lines=sum(map(_lines_of, changes)),
        adjusted=bool(request.notes),
        findings=tuple((one.rule, one.severity) for one in found if one.new),
        size=sum(len(change.after or b"") for change in changes),
    )
    for tool in request.tools or ("",):
        for change in changes:
            kind: ItemKind = "delete" if is_emptied(change) else change.kind
            path = str(change.path)
            yield replace(every, tool=tool, kind=kind, path=path, risks=_risks(request, path))


def _tool_items(request: ApprovalRequest) -> Iterator[PolicyItem]:
    effect = request.tool_request.effect if request.tool_request else "run"
    # An edit tool is asked about through its change set; asked about as a run, it is treated as one.
    kind: ItemKind = "result" if request.returned else "read" if effect == "read" else "run"
    given = request.tool_request.parameters if request.tool_request else {}
    named = [value for key in (*PATH_KEYS, "new_path") if isinstance(value := given.get(key), str)]
    paths = [str(path) if isinstance(path, WorkspacePath) else raw for raw in named for path in readings(raw)]
    command = plain_command(given.get("command"))
    risks = _risks(request)
    for tool in request.tools or ("",):
        for path in paths or (None,):
            yield PolicyItem(
                request.agent, tool, kind, path, adjusted=bool(request.notes), command=command, risks=risks
            )


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


def _fits(globs: Sequence[str], name: str) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


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
