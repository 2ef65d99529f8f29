"""The ways to answer an approval card: approve, deny with a reason, grant, edit, stop. ``approval.js`` acts on them."""

from __future__ import annotations

from collections.abc import Mapping

from rails.core import record_fields as d
from rails.core.limits import REASON_CHARS
from rails.core.record_fields import Details
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.review.markup import Html, el, text
from rails.review.web.card_files import editable_texts


def bar_html(facts: Details, decides: str) -> Html:
    """Return the ways to answer. What they do is in ``approval.js``."""
    if decides == "read":
        words = "This address can only look. To decide, open the other one that ai-rails printed."
        return el("p", text(words), class_="box")
    if decides != "yes":
        words = "The run is not running, so nobody would take an answer. ai-rails run --resume asks again."
        return el("p", text(words), class_="box")
    risky = bool(d.texts(facts, "risks"))
    grant = d.inner(facts, "grant")
    edited = bool(d.whole(facts, "replaces"))
    confirm = (
        el("label", text("There are risks: type "), el("b", text("approve")), el("input", id="confirm", size=9))
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
        el("label", text("Why not? The agent reads this word for word."), for_="reason"),
        el("textarea", id="reason", rows=3, maxlength=REASON_CHARS),
        el("button", text("Deny with this reason"), type="button", data_do="deny-now"),
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
        return el("p", text(one_line(why, 300)), class_="panel meta", id="grant-panel", hidden=True)
    return el(
        "div",
        el("p", text(f"{one_line(d.text(grant, 'words'), 600)}. This is the rule, whole:")),
        el("pre", text(d.text(grant, "rule")), tabindex=0),
        el("p", id="dry-run", class_="meta"),
        _count("uses", "times ", grant),
        _count("minutes", "minutes ", grant),
        el("button", text("Approve, and let this rule hold"), type="button", data_do="grant-now"),
        class_="panel",
        id="grant-panel",
        hidden=True,
    )


def _count(name: str, words: str, grant: Mapping[str, Json]) -> Html:
    most = int(d.number(grant, name))
    return el("label", text(words), el("input", id=name, type="number", min=1, max=most, value=most))


def _edit_button() -> Html:
    """Return the button that opens the editor and, once something is changed, has it checked."""
    words = el("span", text("Edit"), class_="edit-first"), el("span", text("Check my version"), class_="edit-now")
    return el("button", *words, el("kbd", text("e")), type="button", data_do="edit", aria_keyshortcuts="e")


def _button(do: str, words: str, key: str, kind: str = "") -> Html:
    hint = el("kbd", text(key)) if key else None
    return el(
        "button", text(words), hint, type="button", data_do=do, class_=kind or None, aria_keyshortcuts=key or None
    )
