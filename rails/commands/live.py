"""The live view of a session in a terminal: one short line for each thing that matters.

It is a projection of the log's records, like every other view. On a terminal a spinner shows what is
being waited for; elsewhere the same lines come without colour and without movement.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TextIO

from rails.core.events.record import Record
from rails.core.messages import MessageKey, say
from rails.core.record_fields import items, number, text
from rails.core.text import in_words, one_line, printable
from rails.core.tool_request import Json

if TYPE_CHECKING:
    from rich.status import Status

_STYLES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_PROSE_LINES: Final = 6
_RULE, _MESSAGE = "rule", "message"


class ProgressScreen:
    """Prints records as they come. ``debug`` adds the texts that the model reads and the blocks it sent."""

    def __init__(
        self, out: TextIO | None = None, *, colour: bool | None = None, debug: bool = False, plain: bool = False
    ) -> None:
        """Write to ``out`` (standard output); ``colour`` is decided by whether that is a terminal.

        ``plain`` is for screen readers: words instead of signs, no colour, nothing that moves.
        """
        self.out = out or sys.stdout
        self.plain = plain
        self.colour = (self.out.isatty() if colour is None else colour) and not plain
        self.debug = debug
        self.stage_ms: defaultdict[str, float] = defaultdict(float)
        self.counts: Counter[str] = Counter()
        self.files: dict[str, str] = {}
        self._status: Status | None = None
        self._turn = 0
        self._answer = ""
        self._held: Record | None = None  # a status without a path, which may still come
        self._draw: Mapping[str, Callable[[Record], None]] = {
            "AGENT_ENGAGE": self._engage,
            "LLM_CALL": self._call,
            "LLM_RESPONSE": self._response,
            "LLM_ERROR": self._model_error,
            "TOOL_STATUS": self._tool_status,
            "TOOL_BLOCK": self._block,
            "MCP_REQUEST_FORMULATED": self._request,
            "TOOL_REQUEST_VALIDATION_FAILED": self._refused,
            "CHANGE_REFUSED": self._refused,
            "OUTPUT_REFUSED": self._refused,
            "PLACE_CHOSEN": self._placed,
            "CHANGE_PLANNED": self._planned,
            "GATE_VERDICT": self._verdict,
            "HUMAN_DECISION": self._decision,
            "EXECUTION_STARTED": self._started,
            "TOOL_EXECUTION_RESULT": self._result,
            "FEEDBACK_SENT": self._feedback,
            "ERROR": self._error,
            "SESSION_RESUMED": self._resumed,
            "OVERSEER_ALERT": self._alert,
            "ESCALATION": self._told,
            "HANDOFF": self._told,
            "HUMAN_STEERED": self._told,
            "AGENT_FINISHED": self._finished,
        }

    def __call__(self, record: Record) -> None:
        """Show one record."""
        held, self._held = self._held, None
        if held and (record.event_type != "TOOL_STATUS" or record.details.get("id") != held.details.get("id")):
            self.line(f"  🔧 {one_line(held.message)}")
        if draw := self._draw.get(record.event_type):
            draw(record)

    def line(self, text: str = "", style: str = "") -> None:
        """Print one line; ``text`` must be printable already."""
        if self._status:
            self._status.stop()
            self._status = None
        self.out.write(self._paint(in_words(text) if self.plain else text, style) + "\n")
        self.out.flush()

    def busy(self, what: str) -> None:
        """Show that something is being waited for."""
        if not self.colour:
            return
        from rich.console import Console

        if self._status:
            self._status.stop()
        self._status = Console(file=self.out, highlight=False, markup=False).status(what, spinner="dots")
        self._status.start()

    def rest(self) -> None:
        """Stop the spinner."""
        if self._status:
            self._status.stop()
            self._status = None

    def _paint(self, text: str, style: str) -> str:
        if not self.colour or not style:
            return text
        codes = ";".join(_STYLES[name] for name in style.split())
        return f"\x1b[{codes}m{text}\x1b[0m"

    def _debug(self, key: MessageKey, **values: str) -> None:
        """Print a line that only ``--debug`` shows. Records come masked, so no secret can be in it."""
        if self.debug:
            self.line(f"  {one_line(say(key, None, **values), 400)}", "dim")

    # -- records ---------------------------------------------------------------------------------

    def _engage(self, record: Record) -> None:
        facts = record.details
        self.line()
        self.line(f"── {record.agent_role}: {one_line(text(facts, 'task'))} ".ljust(78, "─"), "bold")

    def _call(self, record: Record) -> None:
        self._turn += 1
        self.line()
        self.line(f"turn {self._turn}", "cyan")
        self.busy(f"{record.agent_role} · {one_line(record.llm_model_used, 40)} is answering")

    def _response(self, record: Record) -> None:
        facts = record.details
        self.rest()
        self.counts["turns"] += 1
        self._answer = text(facts, "text")
        self._took("model", facts)
        lines = [line for line in text(facts, "prose").splitlines() if line.strip()]
        for line in lines[:_PROSE_LINES]:
            self.line(f"  {one_line(line, 110)}", "dim")
        if len(lines) > _PROSE_LINES:
            self.line(f"  … {len(lines) - _PROSE_LINES} more lines", "dim")
        if (reason := text(facts, "stop_reason")) not in ("end_turn", "tool_use"):
            self.line(f"  the model stopped early: {reason}. {one_line(text(facts, 'note'))}", "yellow")

    def _model_error(self, record: Record) -> None:
        facts = record.details
        retry = "; trying again" if facts.get("will_retry") else ""
        self.line(f"  model: {one_line(text(facts, 'error'), 300)}{retry}", "yellow")

    def _tool_status(self, record: Record) -> None:
        if not text(record.details, "path"):
            self._held = record
            self.busy(one_line(record.message))
            return
        self.line(f"  🔧 {one_line(record.message)}")
        self.busy("reading the rest of the answer")

    def _block(self, record: Record) -> None:
        facts = record.details
        start, end = int(number(facts, "start")), int(number(facts, "end"))
        if facts.get("verdict") == "failed":
            self._debug("debug_invalid", json=self._answer[start:end] if start >= 0 else text(facts, "content"))

    def _request(self, record: Record) -> None:
        facts = record.details
        self.counts["requests"] += 1
        repairs = [item for item in items(facts, "repairs") if isinstance(item, dict)]
        self.counts["repairs"] += len(repairs)
        for fix in repairs:
            before, after = one_line(repr(fix.get("before")), 40), one_line(repr(fix.get("after")), 40)
            self.line(f"  repaired the request's JSON: {one_line(text(fix, 'name'))}, {before} → {after}", "yellow")
        self._debug("debug_detected", name=text(facts, "tool_name"), args=str(facts.get("parameters")))

    def _refused(self, record: Record) -> None:
        facts = record.details
        self.counts["refused"] += 1
        self._debug("debug_error", error=record.message)
        for item in items(facts, "refusals"):
            if isinstance(item, dict):
                words = text(item, "message").partition(" Details: ")
                reason = words[2].removesuffix(" Please correct your JSON parameters.") or words[0]
                self.line(f"  refused: {one_line(reason, 300)}", "red")
                if hint := text(item, "hint"):
                    self.line(f"           {one_line(hint, 300)}", "dim")

    def _placed(self, record: Record) -> None:
        self.line(f"  {one_line(record.message, 200)}", "yellow")

    def _planned(self, record: Record) -> None:
        facts = record.details
        for note in items(facts, "notes"):
            self.line(f"  {one_line(str(note), 200)}", "yellow")
        self.busy("checking the proposed code")

    def _verdict(self, record: Record) -> None:
        facts = record.details
        self.rest()
        self._took("gate", facts)
        checks = [f"{c.get('name')} {c.get('version')}".strip() for c in items(facts, "checks") if isinstance(c, dict)]
        took = f"{number(facts, 'duration_ms'):.0f} ms"
        status = text(facts, "status")
        findings = [f for f in items(facts, "findings") if isinstance(f, dict) and f.get("new")]
        errors = [f for f in findings if f.get("severity", "error") == "error"]
        words = {"pass": "passed", "fail": f"{len(errors)} to correct", "error": "could not check everything"}
        style = {"pass": "green", "fail": "red", "error": "yellow"}.get(status, "")
        self.line(f"  gate: {words.get(status, status)}  ({one_line(', '.join(checks), 120)}; {took})", style)
        for finding in findings[:10]:
            place = f"{finding.get('path')}:{finding.get('line')}:{finding.get('column')}"
            self.line(f"    {one_line(f'{place} {text(finding, _RULE)} {text(finding, _MESSAGE)}', 200)}")
        self.counts["findings"] += len(findings)
        fixed = [f for f in items(facts, "fixed") if isinstance(f, dict)]
        self.counts["fixed"] += sum(int(number(f, "count")) or 1 for f in fixed)
        if fixed:
            names = dict.fromkeys(f"{f.get('rule')} in {f.get('path')}" for f in fixed)
            self.line(f"    fixed for the agent: {one_line(', '.join(names), 200)}", "green")
        for item in items(facts, "not_checked"):
            if isinstance(item, dict):
                words_ = f"{item.get('path')} by {item.get('check')}: {item.get('reason')}"
                self.line(f"    not checked: {one_line(words_, 200)}", "yellow")

    def _decision(self, record: Record) -> None:
        facts = record.details
        answer = text(facts, "answer")
        self.counts[answer] += 1
        self.stage_ms["approval"] += number(facts, "seconds") * 1000
        style = "green" if answer == "approve" else "red"
        reason = f": {one_line(text(facts, 'reason'), 300)}" if facts.get("reason") and answer != "approve" else ""
        said = {"approve": "approved", "deny": "denied", "abort": "stopped"}.get(answer, answer)
        self.line(f"  {said} by {one_line(text(facts, 'by'), 60)}{reason}", style)
        if facts.get("by") == "headless":
            self.line(
                "  There is no terminal to ask at. Answer at one, or allow it by a rule in your policy file.", "dim"
            )

    def _started(self, record: Record) -> None:
        facts = record.details
        if tool := text(facts, "tool"):
            self.busy(f"running {one_line(tool, 60)}")

    def _result(self, record: Record) -> None:
        facts = record.details
        self.rest()
        self._took("tools", facts)
        changes = [c for c in items(facts, "changes") if isinstance(c, dict)]
        verb = {"create": "Created", "modify": "Edited", "delete": "Deleted"}
        for change in changes:
            self.files[text(change, "path")] = text(change, "kind")
            self.line(f"  ✅ {verb.get(text(change, 'kind'), 'Wrote')} {one_line(text(change, 'path'))}", "green")
        if not changes:
            ok = facts.get("ok") is True
            what = facts.get("facts")
            path = f" {text(what, 'path')}" if isinstance(what, dict) else ""
            self.line(f"  {'✅' if ok else '❌'} {one_line(record.message + path, 200)}", "green" if ok else "red")
            if not ok or (isinstance(what, dict) and "exit_code" in what):
                for line in [line for line in text(facts, "text").splitlines() if line.strip()][-4:]:
                    self.line(f"    {one_line(line, 110)}", "dim")

    def _feedback(self, record: Record) -> None:
        facts = record.details
        codes = [str(code) for code in items(facts, "codes")]
        if codes:
            self.counts["retries"] += 1
            said = "" if codes == ["denied"] else f"{record.message} "
            self.line(f"  → {said}Sent back to the agent ({', '.join(codes)}).", "yellow")
        if codes:
            self._debug("debug_attempt", n=f"{number(facts, 'attempt'):.0f}", max=f"{number(facts, 'limit'):.0f}")
        if self.debug:
            for line in printable(text(facts, "text")).splitlines():
                self.line(f"    | {line}", "dim")

    def _error(self, record: Record) -> None:
        facts = record.details
        self.line(f"  {one_line(record.message, 400)} {one_line(text(facts, 'error'), 400)}", "red")
        if "limit" in facts:
            self._debug("debug_exceeded", max=f"{number(facts, 'limit'):.0f}")

    def _alert(self, record: Record) -> None:
        style = {"CRITICAL": "bold red", "WARNING": "yellow"}.get(text(record.details, "severity"), "dim")
        self.line(f"  overseer: {one_line(record.message, 300)}", style)
        self.line(f"            {one_line(text(record.details, 'evidence'), 200)}", "dim")

    def _told(self, record: Record) -> None:
        self.rest()
        self.line(f"  → {one_line(record.message, 300)}", "cyan")

    def _resumed(self, record: Record) -> None:
        self.line(f"  {one_line(record.message, 200)}", "cyan")

    def _finished(self, record: Record) -> None:
        facts = record.details
        self.rest()
        done = facts.get("outcome") == "done"
        self.line()
        self.line(
            f"  {record.agent_role}: {'finished' if done else one_line(record.message, 300)}",
            "green" if done else "red",
        )

    def summary(self) -> Sequence[str]:
        """Return the closing lines: what was asked, repaired, sent back, fixed, written, and the time it took."""
        count = self.counts
        files = ", ".join(f"{one_line(path)} ({kind})" for path, kind in self.files.items()) or "none"
        times = " · ".join(f"{stage} {ms / 1000:.2f} s" for stage, ms in self.stage_ms.items())
        return (
            f"requests {count['requests']} · repairs {count['repairs']} · refused {count['refused']} · "
            f"sent back {count['retries']} · findings {count['findings']} · fixed for the agent {count['fixed']}",
            f"approved {count['approve']} · denied {count['deny']} · turns {count['turns']}",
            f"files changed: {files}",
            f"time: {times}",
        )

    def _took(self, stage: str, facts: Mapping[str, Json]) -> None:
        self.stage_ms[stage] += number(facts, "duration_ms")
