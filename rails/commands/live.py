"""The live view of a session in a terminal, from the log's records."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from operator import add
from typing import TYPE_CHECKING, Final, TextIO

from msgspec.structs import astuple

from rails.config.prices import Prices
from rails.core.conversation import Usage
from rails.core.errors import Refusal
from rails.core.events.approval import HumanDecision
from rails.core.events.changes import (
    ChangePlanned,
    ChangeRefused,
    ExecutionStarted,
    GateVerdict,
    PlaceChosen,
    ToolExecutionResult,
    changes_in_words,
)
from rails.core.events.record import Record
from rails.core.events.session import (
    AgentEngage,
    AgentFinished,
    ErrorEvent,
    Escalation,
    Handoff,
    HumanSteered,
    OverseerAlert,
    SessionResumed,
)
from rails.core.events.turn import (
    ContextReduced,
    CorrectionEvent,
    FeedbackSent,
    LlmCall,
    LlmError,
    LlmResponse,
    McpRequestFormulated,
    OutputRefused,
    ToolBlock,
    ToolRequestValidationFailed,
    ToolStatus,
)
from rails.core.messages import MessageKey, say
from rails.core.outcomes import is_good
from rails.core.text import counted, in_words, one_line, printable
from rails.core.tool_request import RawRequest
from rails.log.actions import action_text, result_text
from rails.projections.common import checks_in_words, not_checked_in_words, places_fixed
from rails.render.answer_text import AnswerText
from rails.render.terminal import columns, fitted, wants_colour

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.status import Status
    from rich.text import Text

    from rails.commands.typed_ahead import TypedAhead

_STYLES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
#: Events that only their sentence is shown of.
_PLAIN: Final = {PlaceChosen: "yellow", CorrectionEvent: "yellow", ContextReduced: "dim", SessionResumed: "cyan"}
#: Characters beside the spinner of what is being written.
_TAIL: Final = 60


class _Waiting:
    def __init__(self, what: str, facts: Callable[[], str]) -> None:
        self._what = what
        self._facts = facts
        self._started = time.monotonic()

    def __rich__(self) -> Text:
        from rich.text import Text

        facts = (self._what, f"{time.monotonic() - self._started:.0f} s", self._facts())
        return Text(" · ".join(filter(None, facts)), no_wrap=True, overflow="ellipsis")


class ProgressScreen:
    """Prints records as they come; ``debug`` adds the model's texts."""

    def __init__(self, out: TextIO | None = None, *, debug: bool = False, plain: bool = False) -> None:
        """Write to ``out``, default standard output; ``plain``: no movement, for screen readers."""
        self.out = out or sys.stdout
        self.plain = plain
        self.colour = not plain and wants_colour(self.out)
        self.debug = debug
        self.counts: Counter[str] = Counter()
        self.files: dict[str, str] = {}
        #: Whether an earlier run of the session wrote anything.
        self.wrote = False
        self.prices = Prices()
        self.used: dict[str, Usage] = {}
        #: What the model's service said last, where nothing is tried again.
        self.failed = ""
        #: What is typed while an answer is made.
        self.typed: TypedAhead | None = None
        self._status: Status | None = None
        self._text = AnswerText(self._prose)
        self._answer = self._shown = ""
        self._actions: dict[str, str] = {}

    def __call__(self, record: Record) -> None:
        """Show a record."""
        match record.event:
            case AgentEngage(task=task, system=system, first_message=first):
                self.line()
                if self.debug:
                    self.line(printable(f"{system}\n{first}"), "dim")
                name, _, _ = task.strip().partition("\n")
                self.line(f"── {record.agent_role}: {one_line(name)} ".ljust(min(78, columns()), "─"), "bold")
            case LlmCall(turn=number):
                self._text.begin()
                self._call(record, number)
            case LlmResponse() as event:
                self._response(event, record.llm_model_used)
            case LlmError(error=error, will_retry=again):
                self._text.begin()
                self.failed = "" if again else error
                self.line(f"  model: {one_line(error, 1_500)}{' Trying again.' if again else ''}", "yellow")
            case ToolStatus() as event:
                self._tool_status(event)
            case ToolBlock() as event:
                self._shown = self._answer[event.start : event.end] if event.start >= 0 else event.content
            case McpRequestFormulated(request=request):
                self._request(request)
            case ToolRequestValidationFailed(refusals=refusals) | OutputRefused(refusals=refusals):
                self._refused(refusals, record.message)
            case _:
                self._changed(record)

    def _changed(self, record: Record) -> None:
        match record.event:
            case ChangeRefused(refusals=refusals):
                self._refused(refusals, record.message)
            case ChangePlanned(notes=notes):
                for note in notes:
                    self.line(f"  {one_line(note, 200)}", "yellow")
                self.busy("checking the proposed code")
            case GateVerdict() as event:
                self._verdict(event)
            case HumanDecision() as event:
                self._decision(event)
            case ExecutionStarted(ids=ids, tool=tool) if tool:
                action = self._action(ids, tool)
                self.line(f"  🔧 {action}")
                self.busy(action)
            case ToolExecutionResult() as event:
                self._result(event, record.message)
            case _:
                self._around(record)

    def _around(self, record: Record) -> None:
        if (usage := getattr(record.event, "usage", None)) is not None:
            self._use(record.llm_model_used, usage)
        self.counts["repairs"] += getattr(record.event, "taken", 0)
        if style := _PLAIN.get(type(record.event)):
            self.line(f"  {one_line(record.message, 300)}", style)
            return
        match record.event:
            case FeedbackSent() as event:
                self._feedback(event, record.message)
            case ErrorEvent(error=error, limit=limit, trace=trace):
                # A translated sentence goes without its English reason.
                why = "" if record.message == say("gave_up", "ja") else _sentence(error)
                self.line(f"  {one_line(record.message, 400)} {why}".rstrip(), "red")
                if limit is not None:
                    self._debug("debug_exceeded", max=f"{limit}")
                for line in (trace or "").splitlines() if self.debug else ():
                    self.line(f"    {one_line(line, 200)}", "dim")
            case OverseerAlert(severity=severity, evidence=evidence):
                style = {"CRITICAL": "bold red", "WARNING": "yellow"}.get(severity, "dim")
                self.line(f"  monitor: {one_line(record.message, 300)}", style)
                self.line(f"            {one_line(evidence, 200)}", "dim")
            case HumanSteered(about="follow_up" | "conversation" | "rewind"):
                pass  # it was just typed
            case Escalation() | Handoff() | HumanSteered():
                self.line(f"  → {one_line(record.message, 300)}", "cyan")
            case AgentFinished(outcome=outcome):
                done = is_good(outcome)
                words = "finished" if done else one_line(record.message, 300)
                self.line()
                self.line(f"  {record.agent_role}: {words}", "green" if done else "red")

    def line(self, text: str = "", style: str = "") -> None:
        """Print one line of printable ``text``."""
        self.rest()
        words = in_words(text) if self.plain else text
        self.out.write(f"{self._paint(fitted(words, self.out), style)}\n")
        self.out.flush()

    def busy(self, what: str) -> None:
        """Show what the session waits for."""
        if not self.colour:
            return
        self.rest()
        self._status = self._console().status(_Waiting(what, self._so_far), spinner="dots")
        if self.typed:
            self.typed.begin()
        self._status.start()

    def hear(self, piece: str) -> None:
        """Show the next piece of an answer, at a terminal only."""
        if self.colour:
            self._text.feed(piece)

    def _console(self) -> Console:
        from rich.console import Console

        return Console(file=self.out, highlight=False, markup=False)

    def _prose(self, text: str) -> None:
        if self.colour:
            (self._status.console if self._status else self._console()).print(as_markdown(text))
            return
        for line in text.split("\n"):
            self.line(f"  {printable(line, keep='')}".rstrip())

    def _so_far(self) -> str:
        typed = self.typed.shown() if self.typed else ""
        return " · ".join(filter(None, (typed, self.usage(), one_line(self._text.tail[-_TAIL:]))))

    def usage(self) -> str:
        """Return the tokens used and their known cost; "" for nothing."""
        read = sum(one.prompt_tokens for one in self.used.values())
        written = sum(one.output_tokens for one in self.used.values())
        costs = [self.prices.cost(model, one) for model, one in self.used.items()]
        spent = sum(cost for cost in costs if cost)
        cost = self.prices.text(spent) if spent else ""
        unknown = " without the models that have no price" if cost and None in costs else ""
        tokens = f"{read:,} tokens in, {written:,} out" if read or written else ""
        return " · ".join(filter(None, (tokens, f"{cost}{unknown}")))

    def rest(self) -> None:
        """Stop the spinner."""
        if self._status:
            self._status.stop()
            self._status = None
        if self.typed:
            self.typed.end()

    def _paint(self, text: str, style: str) -> str:
        if not self.colour or not style:
            return text
        return f"\x1b[{';'.join(_STYLES[name] for name in style.split())}m{text}\x1b[0m"

    def _debug(self, key: MessageKey, **values: str) -> None:
        """Records come masked."""
        if self.debug:
            self.line(f"  {one_line(say(key, None, **values), 400)}", "dim")

    # -- records ---------------------------------------------------------------------------------

    def _call(self, record: Record, number: int) -> None:
        self.line()
        _, size, words = record.message.partition("; ")  # what the first prompt takes, where it is much
        self.line(f"turn {number}{size}{words}", "cyan")
        self.busy(f"{record.agent_role} · {one_line(record.llm_model_used, 40)} is answering")

    def _response(self, event: LlmResponse, model: str) -> None:
        self._text.end(event.prose or "")
        self.rest()
        self.counts["turns"] += 1
        self._answer = event.text
        self._use(model or event.model, event.usage)
        if event.stop_reason not in ("end_turn", "tool_use"):
            self.line(f"  The model stopped early ({event.stop_reason}). {one_line(event.note)}".rstrip(), "yellow")

    def _use(self, model: str, usage: Usage) -> None:
        self.used[model] = Usage(*map(add, *map(astuple, (self.used.get(model, Usage()), usage))))

    def _tool_status(self, event: ToolStatus) -> None:
        if not event.path or event.words.startswith("Processing"):  # what it looks at is said with what it gave
            self.busy(one_line(event.message))
            return
        self.line(f"  🔧 {one_line(event.message)}")
        self.busy("reading the rest of the answer")

    def _request(self, request: RawRequest) -> None:
        self.counts["requests"] += 1
        self._actions[request.id] = action_text(request.tool_name, request.parameters)
        self.counts["repairs"] += len(request.repairs)
        repairs = Counter((fix.name, repr(fix.before), repr(fix.after)) for fix in request.repairs)
        for (name, before, after), times in repairs.items():
            told = f"{one_line(name)}, {one_line(before, 40)} → {one_line(after, 40)}"
            more = f" ({times} times)" if times > 1 else ""
            self.line(f"  repaired the request's JSON: {told}{more}", "yellow")
        self._debug("debug_detected", name=request.tool_name, args=str(dict(request.parameters)))

    def _refused(self, refusals: Sequence[Refusal], message: str) -> None:
        self.counts["refused"] += 1
        refusals = refusals or (Refusal("refused", message or "without a reason"),)
        if refusals[0].code in ("syntax", "unterminated"):
            self._debug("debug_invalid", json=self._shown)
            self._debug("debug_error", error=message)
        for refusal in refusals:
            words = refusal.message.partition(" Details: ")
            reason = words[2].removesuffix(" Please correct your JSON parameters.") or words[0]
            self.line(f"  refused: {one_line(reason, 1_000)}", "red")  # its cause stands at its end
            if refusal.hint:
                self.line(f"           {one_line(refusal.hint, 300)}", "dim")

    def _verdict(self, event: GateVerdict) -> None:
        verdict = event.verdict
        checks = ", ".join(checks_in_words(verdict)) or "no checks apply"
        findings = [finding for finding in verdict.findings if finding.new]
        errors = sum(finding.severity == "error" for finding in findings)
        words = {"pass": "passed", "fail": counted(errors, "error"), "error": "not everything could be checked"}
        style = {"pass": "green", "fail": "red", "error": "yellow"}[verdict.status]
        self.line(f"  gate: {words[verdict.status]}  ({one_line(checks, 120)}; {event.duration_ms:.0f} ms)", style)
        for one in findings[:10]:
            self.line(f"    {one_line(f'{one.path}:{one.line}:{one.column} {one.rule} {one.message}', 200)}")
        self.counts["findings"] += len(findings)
        self.counts["fixed"] += places_fixed(verdict)
        if verdict.fixed:
            names = dict.fromkeys(f"{one.rule} in {one.path}" for one in verdict.fixed)
            self.line(f"    auto-fixed: {one_line(', '.join(names), 200)}", "green")
        for miss in not_checked_in_words(verdict):
            self.line(f"    not checked: {one_line(miss, 200)}", "yellow")

    def _decision(self, event: HumanDecision) -> None:
        self.counts[event.answer] += 1
        style = {"approve": "green", "dry_run": ""}.get(event.answer, "red")
        words = {"approve": "approved", "deny": "denied", "abort": "stopped", "dry_run": "not asked"}
        by = {"human": " by you", "headless": ""}.get(event.by, f" by {one_line(event.by, 60)}")
        line = f"  {words.get(event.answer, '')}{by}"
        if event.answer != "approve":
            line = ": ".join(filter(None, (line, self._actions.get(event.id), one_line(event.reason, 300))))
        self.line(line, style)

    def _result(self, event: ToolExecutionResult, message: str) -> None:
        for change in event.changes or ():
            created = self.files.get(change.path) == "create" and change.kind == "modify"
            self.files[change.path] = "create" if created else change.kind
            self.line(f"  ✅ {one_line(changes_in_words([change]))}", "green")
        if event.changes:
            return
        action = self._action(event.ids, message) if event.ids else event.text.partition("\n")[0]
        action = result_text(action, event.facts)
        self.line(f"  {'✅' if event.ok else '❌'} {action}", "green" if event.ok else "red")
        if not event.ok or "exit_code" in (event.facts or {}):
            lines = [line for line in event.text.splitlines() if line.strip()]
            for line in ([line for line in lines if "Error: " in line] or lines)[-4:]:  # what failed, not how many
                self.line(f"    {one_line(line, 110)}", "dim")

    def _action(self, ids: Sequence[str], other: str) -> str:
        return self._actions.get(ids[0], one_line(other, 200))

    def _feedback(self, event: FeedbackSent, message: str) -> None:
        if event.codes:
            self.counts["retries"] += 1
            if "denied" not in event.codes:
                kinds = ", ".join(event.codes)
                asking = say("sent_back", kinds=kinds, n=f"{event.attempt}", max=f"{event.limit}")
                self.line(f"  → {message} {asking}", "yellow")
            self._debug("debug_attempt", n=f"{event.attempt}", max=f"{event.limit}")
        if self.debug:
            for line in printable(event.text).splitlines():
                self.line(f"    | {line}", "dim")

    def summary(self) -> Sequence[str]:
        """Return the closing lines: counts, files, tokens and cost."""
        count = self.counts
        files = ", ".join(f"{one_line(path)} ({kind})" for path, kind in self.files.items()) or "none"
        used = self.usage()
        return [
            f"requests {count['requests']} · repairs {count['repairs']} · refused {count['refused']} · "
            f"sent back {count['retries']} · findings {count['findings']} · auto-fixed {count['fixed']}",
            f"approved {count['approve']} · denied {count['deny']} · turns {count['turns']}",
            f"files changed: {files}",
            *([f"used: {used}"] if used else []),
        ]


def _sentence(text: str) -> str:
    said = one_line(text, 400)
    return f"{said[:1].upper()}{said[1:].rstrip('.')}." if said else ""


def as_markdown(text: str) -> RenderableType:
    """Return a model's text drawn as Markdown; HTML stays text, links are not active."""
    from markdown_it import MarkdownIt
    from rich.markdown import Markdown
    from rich.padding import Padding

    drawn = Markdown(printable(text), hyperlinks=False, code_theme="ansi_dark")
    drawn.parsed = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).parse(printable(text))
    return Padding(drawn, (0, 0, 0, 2))
