"""A session as Markdown, for a pull request or an issue: what was asked, what was refused, who agreed.

Nothing that a model wrote can become formatting, a link, a mention or HTML: inside a line it stands in a
code span, as a block in a fence, both longer than any run of backticks inside, and hidden characters are
shown as escapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rails.core import limits
from rails.core import record_fields as facts
from rails.core.events.record import Record
from rails.core.text import head_and_tail, one_line, printable
from rails.log.session_stats import SessionStats

_BLOCK_CHARS: Final = limits.FEEDBACK_CHARS


def to_markdown(records: Sequence[Record]) -> str:
    """Return the session as Markdown. The same records give the same text."""
    card = SessionStats(records[0].session_id if records else "")
    for record in records:
        card.add(record)
    lines = [*_summary(card)]
    turn = 0
    for record in records:
        if record.event_type == "LLM_RESPONSE":
            turn += 1
            lines += ["", f"## Turn {turn}, {inline(record.agent_role or 'agent')}", ""]
        lines += _told(record)
    return "\n".join(lines) + "\n"


def inline(text: str, limit: int = 300) -> str:
    """Return untrusted text for the inside of a line or table: a code span, in which nothing is a link or a mention.

    A bar would end a table's cell even there, so it becomes the broken bar.
    """
    plain = one_line(text, limit).replace("|", "¦")
    if not plain:
        return ""
    ticks = "`" * (max((len(run) for run in re.findall("`+", plain)), default=0) + 1)
    pad = " " if "`" in (plain[0], plain[-1]) else ""
    return f"{ticks}{pad}{plain}{pad}{ticks}"


def fenced_block(text: str, language: str = "") -> list[str]:
    """Return untrusted text as a fenced block."""
    shown, left_out = head_and_tail(printable(text.replace("\r\n", "\n")), _BLOCK_CHARS)
    ticks = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * max(3, ticks + 1)
    del left_out  # the text itself says how much is missing
    return [f"{fence}{language}", *shown.rstrip("\n").split("\n"), fence]


def collapsible(title: str, body: Sequence[str]) -> list[str]:
    """Return a part that opens on demand; ``title`` is trusted."""
    return ["", f"<details><summary>{title}</summary>", "", *body, "", "</details>", ""]


def _summary(card: SessionStats) -> Iterator[str]:
    yield "# AI-Rails session"
    yield ""
    rows = {
        "Task": inline(card.task),
        "Outcome": inline(card.outcome or "not ended") + (f" {inline(card.message)}" if card.message else ""),
        "Session": inline(card.session_id),
        "Time (UTC)": f"{inline(card.started[:19])} to {inline(card.last[:19])}",
        "Agents": ", ".join(map(inline, card.agents)),
        "Models": ", ".join(map(inline, card.models)),
        "Turns": str(card.turns),
        "Requests": f"{card.requests}; {card.refused} refused",
        "Gate": f"{card.gate_failed} failed verdicts" if card.gate_failed else "no failed verdict",
        "Decisions": f"{card.approved} approved, {card.denied} denied",
        "Files": ", ".join(map(inline, card.paths)) or "none",
        "Tokens": f"{card.input_tokens + card.cached_tokens:,} in, {card.output_tokens:,} out",
    }
    yield "| | |"
    yield "|---|---|"
    for name, value in rows.items():
        yield f"| {name} | {value} |"


def _told(record: Record) -> list[str]:
    """Return the lines of a record; most kinds have none here."""
    details = record.details
    match record.event_type:
        case "LLM_RESPONSE":
            note = facts.text(details, "note")
            ending = [f"- ⚠ {inline(note)}"] if note else []
            return [*collapsible("The answer", fenced_block(facts.text(details, "text"))), *ending]
        case "MCP_REQUEST_FORMULATED":
            repairs = facts.objects(details, "repairs")
            mended = f" (repaired: {', '.join(inline(facts.text(r, 'name')) for r in repairs)})" if repairs else ""
            return [f"- Request {inline(facts.text(details, 'tool_name'))}{mended}: {inline(_reason(record))}"]
        case "TOOL_REQUEST_VALIDATION_FAILED" | "CHANGE_REFUSED" | "OUTPUT_REFUSED":
            return [f"- ❌ Refused: {inline(record.message)}"]
        case "GATE_VERDICT":
            return _verdict(record)
        case "APPROVAL_REQUESTED":
            diff = facts.text(details, "diff")
            return collapsible("The change that was shown", fenced_block(diff, "diff")) if diff else []
        case "HUMAN_DECISION":
            sign = "✅" if facts.text(details, "answer") == "approve" else "⛔"
            return [f"- {sign} Decision: {inline(record.message)}"]
        case "TOOL_EXECUTION_RESULT":
            sign = "❌" if details.get("ok") is False else "✅"
            return [f"- {sign} {inline(record.message)}"]
        case "FEEDBACK_SENT":
            return collapsible("What the agent was told", fenced_block(facts.text(details, "text")))
        case "ESCALATION" if first := facts.text(details, "first_message"):
            return [f"- ⚠ {inline(record.message)}", *collapsible("What it began afresh with", fenced_block(first))]
        case "LLM_ERROR" | "ERROR" | "UNDO" | "SESSION_RESUMED" | "LOG_RECOVERED" | "ESCALATION" | "OVERSEER_ALERT":
            return [f"- ⚠ {inline(record.message)}"]
        case "HANDOFF" | "HUMAN_STEERED":
            return [f"- ⚠ {inline(record.message)}"]
    return []


def _reason(record: Record) -> str:
    return facts.text(record.details, "explanation") or "no reason given"


def _verdict(record: Record) -> list[str]:
    status = facts.text(record.details, "status")
    lines = [f"- Gate: {inline(status)}"]
    fixed = facts.objects(record.details, "fixed")
    if fixed:
        lines[0] += f", fixed: {', '.join(inline(facts.text(item, 'rule')) for item in fixed)}"
    found = [item for item in facts.objects(record.details, "findings") if item.get("new", True)]
    if found:
        lines += ["", "| File | Line | Rule | Finding |", "|---|---|---|---|"]
        lines += [
            f"| {inline(facts.text(item, 'path'))} | {facts.integer(item, 'line')} "
            f"| {inline(facts.text(item, 'rule'))} | {inline(facts.text(item, 'message'))} |"
            for item in found
        ]
        lines.append("")
    for item in facts.objects(record.details, "not_checked"):
        lines.append(
            f"- Not checked: {inline(facts.text(item, 'path'))} by {inline(facts.text(item, 'check'))}, "
            f"{inline(facts.text(item, 'reason'))}"
        )
    return lines
