"""The approval card as HTML: what would happen, byte for byte, and the ways to answer.

Most dangerous first: risks, then who asks and why, the change with the findings at their lines, and what was
adjusted, checked and not checked. The terminal (``rails.approval.terminal.screen``) shows the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from rails.core.events.approval import ApprovalOpened, GrantOffer
from rails.core.events.values import object_to_json
from rails.core.limits import REASON_CHARS
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.core.verdict import Verdict
from rails.projections.questions import ApprovalQuestion
from rails.render.html_page.blocks import badge, notes_html
from rails.render.html_page.markup import Html, el, html_text
from rails.render.units import time_text
from rails.review.web.card_files import editable_texts, files_html


def bar_html(asked: ApprovalOpened, decides: str) -> Html:
    """Return the ways to answer. What they do is in ``approval.js``."""
    if decides == "read":
        words = "This address can only look. To decide, open the other one that ai-rails printed."
        return el("p", html_text(words), class_="box")
    if decides != "yes":
        words = "The run is not running, so nobody would take an answer. ai-rails run --resume asks again."
        return el("p", html_text(words), class_="box")
    grant = asked.grant
    confirm = (
        el(
            "label",
            html_text("There are risks: type "),
            el("b", html_text("approve")),
            el("input", id="confirm", size=9),
        )
        if asked.risks
        else None
    )
    buttons = [
        _button("approve", "Approve", "a", "primary"),
        _button("deny", "Deny…", "d"),
        _button("grant", "Approve and grant…", "A") if grant and grant.rule else None,
        _edit_button() if asked.can_edit and any(editable_texts(asked)) else None,
        _button("original", "Back to the agent's", "") if asked.replaces else None,
        _button("abort", "Stop session", ""),
    ]
    reason = el(
        "div",
        el("label", html_text("Why not? The agent reads this word for word."), for_="reason"),
        el("textarea", id="reason", rows=3, maxlength=REASON_CHARS),
        el("button", html_text("Deny with this reason"), type="button", data_do="deny-now"),
        class_="panel",
        id="deny-panel",
        hidden=True,
    )
    return el(
        "div",
        confirm,
        el("div", [button for button in buttons if button], class_="answers"),
        reason,
        _grant_panel(grant),
        el("p", class_="armed meta", id="armed"),
        class_="bar-answer",
    )


def _grant_panel(grant: GrantOffer | None) -> Html | None:
    if not grant:
        return None
    if grant.why_not:
        return el("p", html_text(one_line(grant.why_not, 300)), class_="panel meta", id="grant-panel", hidden=True)
    return el(
        "div",
        el("p", html_text(f"{one_line(grant.words, 600)}. This is the rule, whole:")),
        el("pre", html_text(grant.rule), tabindex=0),
        el("p", id="dry-run", class_="meta"),
        _count("uses", "times ", grant.uses),
        _count("minutes", "minutes ", grant.minutes),
        el("button", html_text("Approve, and let this rule hold"), type="button", data_do="grant-now"),
        class_="panel",
        id="grant-panel",
        hidden=True,
    )


def _count(name: str, words: str, most: int) -> Html:
    return el("label", html_text(words), el("input", id=name, type="number", min=1, max=most, value=most))


def _edit_button() -> Html:
    """Return the button that opens the editor and, once something is changed, has it checked."""
    words = (
        el("span", html_text("Edit"), class_="edit-first"),
        el("span", html_text("Check my version"), class_="edit-now"),
    )
    return el("button", *words, el("kbd", html_text("e")), type="button", data_do="edit", aria_keyshortcuts="e")


def _button(do: str, words: str, key: str, kind: str = "") -> Html:
    hint = el("kbd", html_text(key)) if key else None
    return el(
        "button", html_text(words), hint, type="button", data_do=do, class_=kind or None, aria_keyshortcuts=key or None
    )


_ESCAPE: Final = re.compile(r"\\.")


def question_json(
    question: ApprovalQuestion, asked: ApprovalOpened, decides: str, *, full: bool = False
) -> dict[str, Json]:
    """Return a question for the page: its card, and the texts of the files that can be edited there.

    ``decides`` is "yes", "read" (this address only looks) or "not running" (nobody would take the answer).
    ``full`` leaves no line of a difference out.
    """
    return {
        "question": question.number,
        "digest": question.digest,
        "state": question.state,
        "decides": decides,
        "risky": bool(asked.risks),
        "grant": object_to_json(asked.grant) if asked.grant else {},
        "texts": dict(editable_texts(asked)) if asked.can_edit else {},
        "html": card_html(question, asked, decides, full=full),
    }


def card_html(question: ApprovalQuestion, asked: ApprovalOpened, decides: str, *, full: bool = False) -> Html:
    """Return the card; its head has the id ``card-title``."""
    asks = "Change these files?" if asked.kind == "changes" else "Run this tool?"
    parts: list[Html | None] = [
        el(
            "h2",
            el("span", html_text("✋ Waiting for you"), class_="badge open"),
            html_text(f" {asks}"),
            id="card-title",
            tabindex=-1,
        ),
        _note(asked),
        _list("Look twice", asked.risks, "risks-box"),
        _facts(question, asked),
        files_html(asked, can_edit=decides == "yes" and asked.can_edit, full=full),
        *_requests(asked),
        *_verdict(asked.verdict, [file.path for file in asked.files]),
        bar_html(asked, decides),
    ]
    return el("section", [part for part in parts if part], class_="card-asked", aria_labelledby="card-title")


def _note(asked: ApprovalOpened) -> Html | None:
    if asked.note:
        return el(
            "p", html_text(f"Your version cannot be used: {one_line(asked.note, 600)}"), class_="box bad", role="alert"
        )
    if asked.replaces:
        again = "Your version was checked and formatted. This is what would be written; nothing is written yet."
        return el("p", html_text(again), class_="box good")
    return None


def _facts(question: ApprovalQuestion, asked: ApprovalOpened) -> Html:
    local = any(request.from_project for request in asked.requests)
    definitions = dict.fromkeys(f"{request.tool_name} {request.definition[:12]}" for request in asked.requests)
    origin = "the project's own, not yours" if local else "shipped or your own"
    why = [el("p", html_text(line)) for line in asked.explanation.strip().split("\n")[:12] if line.strip()]
    rows: list[tuple[str, list[Html]]] = [
        ("Agent", [el("span", html_text(one_line(asked.agent, 80)))]),
        ("Tool", [el("code", html_text(one_line(", ".join(asked.tools), 200)))]),
        ("Why", why or [el("span", html_text("The agent did not say."), class_="meta")]),
        (
            "Definition",
            [el("code", html_text(one_line(", ".join(definitions), 200))), el("span", html_text(f" ({origin})"))],
        ),
        ("Digest", [el("code", html_text(question.digest[:16])), el("span", html_text(" travels with your answer"))]),
        ("Asked", [el("span", html_text(time_text(question.opened_at)))]),
    ]
    if asked.expires:
        rows.append(
            ("Ends", [el("span", html_text(f"{time_text(asked.expires)}; then the run pauses, nothing is denied"))])
        )
    return el(
        "dl", [el("div", el("dt", html_text(name)), el("dd", value)) for name, value in rows], class_="card-facts"
    )


def _requests(asked: ApprovalOpened) -> Iterator[Html]:
    repairs = []
    for request in asked.requests:
        for repair in request.repairs:
            before, after = (json.dumps(text, ensure_ascii=False) for text in (repair.before, repair.after))
            repairs.append(f"{request.tool_name}: {repair.name} at {repair.offset}: {before} became {after}")
    notes = [note for note in asked.notes if ": JSON repaired (" not in note]
    yield from filter(None, (_list("Repaired in the request's JSON", repairs, "notes"),))
    yield from filter(None, (_list("Adjusted on the way", notes, "notes"),))
    as_run = asked.kind != "changes"
    for request in asked.requests:
        shown = json.dumps(request.parameters, indent=2, ensure_ascii=False)
        name = f"{request.tool_name}: parameters{'' if as_run else ' as the agent sent them'}"
        summary = el("summary", html_text(one_line(name, 200)))
        # Line breaks in a value are drawn as such, behind the escape that stands for them.
        body = html_text(_ESCAPE.sub(lambda found: found[0] + ("\n" if found[0] == r"\n" else ""), shown))
        yield el("details", summary, el("pre", body, tabindex=0), class_="sent", open=as_run)


def _verdict(verdict: Verdict | None, drawn: Sequence[str]) -> Iterator[Html]:
    if not verdict:
        yield el("p", html_text("No check looks at what a tool does."), class_="meta")
        return
    mark, kind = ("✓", "good") if verdict.status == "pass" else ("✕", "bad")
    words = {"pass": "Checks passed", "fail": "Checks failed"}.get(verdict.status, "Checks could not be completed")
    checks = ", ".join(f"{run.name} {run.version}".strip() for run in verdict.checks)
    ran = el("span", html_text(f" {one_line(checks, 300) or 'none ran'}"), class_="meta")
    yield el("p", badge(mark, kind, words), ran, class_="verdict")
    elsewhere = [finding for finding in verdict.findings if finding.path not in drawn]
    fixed = [f"{one.tool} {one.rule} ×{one.count} in {one.path}" for one in verdict.fixed]
    unseen = [f"{one.path} by {one.check}: {one.reason}" for one in verdict.not_checked]
    found = [f"{finding.path}:{finding.line} {finding.rule} {finding.message}" for finding in elsewhere]
    for title, lines in (("Findings elsewhere", found), ("Fixed for the agent", fixed), ("Not checked", unseen)):
        yield from filter(None, (_list(title, lines, "notes"),))


def _list(title: str, lines: Sequence[str], kind: str) -> Html | None:
    return notes_html(title, lines, kind=kind, chars=500) if lines else None
