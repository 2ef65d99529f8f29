"""The approval card as HTML: what would happen, byte for byte, and the ways to answer.

Most dangerous first: risks, then who asks and why, the change with the findings at their lines, and what was
adjusted, checked and not checked. The terminal (``rails.approval.terminal.screen``) shows the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rails.core import record_fields as d
from rails.core.limits import REASON_CHARS
from rails.core.record_fields import Details
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.projections.questions import ApprovalQuestion
from rails.render.html_page.blocks import badge
from rails.render.html_page.markup import Html, el, html_text
from rails.render.units import time_text
from rails.review.web.card_files import editable_texts, files_html


def bar_html(facts: Details, decides: str) -> Html:
    """Return the ways to answer. What they do is in ``approval.js``."""
    if decides == "read":
        words = "This address can only look. To decide, open the other one that ai-rails printed."
        return el("p", html_text(words), class_="box")
    if decides != "yes":
        words = "The run is not running, so nobody would take an answer. ai-rails run --resume asks again."
        return el("p", html_text(words), class_="box")
    risky = bool(d.texts(facts, "risks"))
    grant = d.inner(facts, "grant")
    edited = bool(d.integer(facts, "replaces"))
    confirm = (
        el(
            "label",
            html_text("There are risks: type "),
            el("b", html_text("approve")),
            el("input", id="confirm", size=9),
        )
        if risky
        else None
    )
    buttons = [
        _button("approve", "Approve", "a", "primary"),
        _button("deny", "Deny…", "d"),
        _button("grant", "Approve and grant…", "A") if d.text(grant, "rule") else None,
        _edit_button() if d.flag(facts, "can_edit") and any(editable_texts(facts)) else None,
        _button("original", "Back to the agent's", "") if edited else None,
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


def _grant_panel(grant: Mapping[str, Json]) -> Html | None:
    if not grant:
        return None
    if why := d.text(grant, "why_not"):
        return el("p", html_text(one_line(why, 300)), class_="panel meta", id="grant-panel", hidden=True)
    return el(
        "div",
        el("p", html_text(f"{one_line(d.text(grant, 'words'), 600)}. This is the rule, whole:")),
        el("pre", html_text(d.text(grant, "rule")), tabindex=0),
        el("p", id="dry-run", class_="meta"),
        _count("uses", "times ", grant),
        _count("minutes", "minutes ", grant),
        el("button", html_text("Approve, and let this rule hold"), type="button", data_do="grant-now"),
        class_="panel",
        id="grant-panel",
        hidden=True,
    )


def _count(name: str, words: str, grant: Mapping[str, Json]) -> Html:
    most = int(d.number(grant, name))
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


_LISTED: Final = 40
_ESCAPE: Final = re.compile(r"\\.")


def question_json(question: ApprovalQuestion, facts: Details, decides: str, *, full: bool = False) -> dict[str, Json]:
    """Return a question for the page: its card, and the texts of the files that can be edited there.

    ``decides`` is "yes", "read" (this address only looks) or "not running" (nobody would take the answer).
    ``full`` leaves no line of a difference out.
    """
    return {
        "question": question.number,
        "digest": question.digest,
        "state": question.state,
        "decides": decides,
        "risky": bool(d.texts(facts, "risks")),
        "grant": dict(d.inner(facts, "grant")),
        "texts": dict(editable_texts(facts)) if d.flag(facts, "can_edit") else {},
        "html": card_html(question, facts, decides, full=full),
    }


def card_html(question: ApprovalQuestion, facts: Details, decides: str, *, full: bool = False) -> Html:
    """Return the card; its head has the id ``card-title``."""
    asks = "Change these files?" if d.text(facts, "kind") == "changes" else "Run this tool?"
    parts: list[Html | None] = [
        el(
            "h2",
            el("span", html_text("✋ Waiting for you"), class_="badge open"),
            html_text(f" {asks}"),
            id="card-title",
            tabindex=-1,
        ),
        _note(facts),
        _list("Look twice", d.texts(facts, "risks"), "risks-box"),
        _facts(question, facts),
        files_html(facts, can_edit=decides == "yes" and d.flag(facts, "can_edit"), full=full),
        *_requests(facts),
        *_verdict(d.inner(facts, "verdict"), [d.text(f, "path") for f in d.objects(facts, "files")]),
        bar_html(facts, decides),
    ]
    return el("section", [part for part in parts if part], class_="card-asked", aria_labelledby="card-title")


def _note(facts: Details) -> Html | None:
    if note := d.text(facts, "note"):
        return el("p", html_text(f"Your version cannot be used: {one_line(note, 600)}"), class_="box bad", role="alert")
    if d.integer(facts, "replaces"):
        again = "Your version was checked and formatted. This is what would be written; nothing is written yet."
        return el("p", html_text(again), class_="box good")
    return None


def _facts(question: ApprovalQuestion, facts: Details) -> Html:
    requests = d.objects(facts, "requests")
    local = any(d.flag(request, "from_project") for request in requests)
    definitions = dict.fromkeys(f"{d.text(r, 'tool')} {d.text(r, 'definition')[:12]}" for r in requests)
    origin = "the project's own, not yours" if local else "shipped or your own"
    why = [el("p", html_text(line)) for line in d.text(facts, "explanation").strip().split("\n")[:12] if line.strip()]
    rows: list[tuple[str, list[Html]]] = [
        ("Agent", [el("span", html_text(one_line(d.text(facts, "agent"), 80)))]),
        ("Tool", [el("code", html_text(one_line(", ".join(d.texts(facts, "tools")), 200)))]),
        ("Why", why or [el("span", html_text("The agent did not say."), class_="meta")]),
        (
            "Definition",
            [el("code", html_text(one_line(", ".join(definitions), 200))), el("span", html_text(f" ({origin})"))],
        ),
        ("Digest", [el("code", html_text(question.digest[:16])), el("span", html_text(" travels with your answer"))]),
        ("Asked", [el("span", html_text(time_text(question.opened_at)))]),
    ]
    if expires := d.text(facts, "expires"):
        rows.append(("Ends", [el("span", html_text(f"{time_text(expires)}; then the run pauses, nothing is denied"))]))
    return el(
        "dl", [el("div", el("dt", html_text(name)), el("dd", value)) for name, value in rows], class_="card-facts"
    )


def _requests(facts: Details) -> Iterator[Html]:
    repairs, notes = [], list(d.texts(facts, "notes"))
    for request in d.objects(facts, "requests"):
        for repair in d.objects(request, "repairs"):
            before, after = (json.dumps(d.text(repair, key), ensure_ascii=False) for key in ("before", "after"))
            place = f"{d.text(request, 'tool')}: {d.text(repair, 'name')} at {d.number(repair, 'offset'):.0f}"
            repairs.append(f"{place}: {before} became {after}")
    notes = [note for note in notes if ": JSON repaired (" not in note]
    yield from filter(None, (_list("Repaired in the request's JSON", repairs, "notes"),))
    yield from filter(None, (_list("Adjusted on the way", notes, "notes"),))
    as_run = d.text(facts, "kind") != "changes"
    for request in d.objects(facts, "requests"):
        shown = json.dumps(request.get("parameters"), indent=2, ensure_ascii=False)
        name = f"{d.text(request, 'tool')}: parameters{'' if as_run else ' as the agent sent them'}"
        summary = el("summary", html_text(one_line(name, 200)))
        # Line breaks in a value are drawn as such, behind the escape that stands for them.
        body = html_text(_ESCAPE.sub(lambda found: found[0] + ("\n" if found[0] == r"\n" else ""), shown))
        yield el("details", summary, el("pre", body, tabindex=0), class_="sent", open=as_run)


def _verdict(verdict: Details, drawn: Sequence[str]) -> Iterator[Html]:
    if not verdict:
        yield el("p", html_text("No check looks at what a tool does."), class_="meta")
        return
    status = d.text(verdict, "status")
    mark, kind = ("✓", "good") if status == "pass" else ("✕", "bad")
    words = {"pass": "Checks passed", "fail": "Checks failed"}.get(status, "Checks could not be completed")
    checks = ", ".join(f"{d.text(c, 'name')} {d.text(c, 'version')}".strip() for c in d.objects(verdict, "checks"))
    ran = el("span", html_text(f" {one_line(checks, 300) or 'none ran'}"), class_="meta")
    yield el("p", badge(mark, kind, words), ran, class_="verdict")
    elsewhere = [f for f in d.objects(verdict, "findings") if d.text(f, "path") not in drawn]
    fixed = [
        f"{d.text(f, 'tool')} {d.text(f, 'rule')} ×{d.number(f, 'count'):.0f} in {d.text(f, 'path')}"
        for f in d.objects(verdict, "fixed")
    ]
    unseen = [
        f"{d.text(s, 'path')} by {d.text(s, 'check')}: {d.text(s, 'reason')}" for s in d.objects(verdict, "not_checked")
    ]
    found = [
        f"{d.text(f, 'path')}:{d.number(f, 'line'):.0f} {d.text(f, 'rule')} {d.text(f, 'message')}" for f in elsewhere
    ]
    for title, lines in (("Findings elsewhere", found), ("Fixed for the agent", fixed), ("Not checked", unseen)):
        yield from filter(None, (_list(title, lines, "notes"),))


def _list(title: str, lines: Sequence[str], kind: str) -> Html | None:
    if not lines:
        return None
    items = [el("li", html_text(one_line(line, 500))) for line in lines[:_LISTED]]
    more = [el("li", html_text(f"and {len(lines) - _LISTED} more"))] if len(lines) > _LISTED else []
    return el("div", el("p", html_text(title), class_="label"), el("ul", items, more), class_=kind)
