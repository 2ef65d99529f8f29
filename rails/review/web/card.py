"""The approval card as HTML, with edits; texts are of ``rails.approval.question``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from rails.approval.diff_view import file_diff
from rails.approval.edit import sides
from rails.approval.policy.grants import MINUTES, USES
from rails.approval.question import question_card
from rails.core.changes import FileChange
from rails.core.diff import line_diff
from rails.core.events.approval import ApprovalOpened, AskedOption, GrantOffer
from rails.core.json_text import json_object
from rails.core.limits import REASON_CHARS
from rails.core.text import counted, one_line
from rails.core.tool_request import Json
from rails.log.actions import is_of_agent
from rails.render.blocks import Block, Diff, DiffLine, Facts, Prose, Risks
from rails.render.highlight import Span, spans
from rails.render.html_page.blocks import HtmlRenderer, diff_html, diff_row, notes_html
from rails.render.html_page.markup import Html, el
from rails.render.units import time_text
from rails.review.html import workflow_picture
from rails.review.questions import ApprovalQuestion

#: Lines of a file that are highlighted as a whole.
_WHOLE: Final = 3_000


def question_json(
    question: ApprovalQuestion, asked: ApprovalOpened, decides: str, *, full: bool = False
) -> dict[str, Json]:
    """Return a question for the page. ``decides``: "yes", "read" (read-only) or "not running"; ``full``: all difference
    lines.
    """
    return {
        "question": question.number,
        "digest": question.digest,
        "state": question.state,
        "decides": decides,
        "risky": bool(asked.careful),
        "grant": json_object(asked.grant) if asked.grant else {},
        "texts": dict(editable_texts(asked)) if asked.can_edit else {},
        "html": asked_html(question, asked, decides, full=full),
    }


def asked_html(question: ApprovalQuestion, asked: ApprovalOpened, decides: str, *, full: bool = False) -> Html:
    """Return the card, risks first; its head has the id ``card-title``."""
    card = question_card(asked, full=full, page=True)
    page = _CardRenderer(asked, can_edit=decides == "yes" and asked.can_edit)
    ends = f"{time_text(asked.expires)}; then the run pauses, nothing is denied" if asked.expires else ""
    when = Facts(
        tuple((name, (words,)) for name, words in (("asked", time_text(question.opened_at)), ("ends", ends)) if words)
    )
    title = card.title
    waits = "● Waiting for approval"
    first = sorted(card.head, key=lambda block: isinstance(block, Facts))
    blocks = [*first, when, *chain.from_iterable(card.parts)]
    if is_of_agent(asked):
        title = one_line(asked.lines[0].strip(" ─"), 60)
        waits = "? Asks you"
        blocks = [Prose("question", "\n".join(line.strip() for line in asked.lines[1:])), when]
    return el(
        "section",
        el(
            "h2",
            el("span", waits, class_="badge open"),
            f" {title}",
            id="card-title",
            tabindex=-1,
        ),
        [page.draw(block) for block in blocks],
        bar_html(asked, decides),
        class_="card-asked",
        data_first=question.number,
        data_last=question.number,
        aria_labelledby="card-title",
    )


def editable_texts(asked: ApprovalOpened) -> Iterator[tuple[str, str]]:
    """Yield the editable files: one kind of line end, nothing masked."""
    for file in asked.files:
        after = file.after
        if after is None or file.masked:
            continue
        crlf = after.count("\r\n")
        if after.count("\r") == crlf and crlf in (0, after.count("\n")):
            yield file.path, after.removeprefix("\ufeff")


class _CardRenderer(HtmlRenderer):
    def __init__(self, asked: ApprovalOpened, *, can_edit: bool) -> None:
        super().__init__(workflow_picture)
        self._all = {str(one.path): one for one in asked.changes.changes}
        self._changes = self._all if can_edit else {}
        self._texts = dict(editable_texts(asked)) if can_edit else {}

    def draw(self, block: Block) -> Html:
        if isinstance(block, Risks):
            return notes_html("Risks", block.lines, kind="risks-box", chars=500)
        return super().draw(block)

    def diff(self, diff: Diff) -> Html:
        change = self._changes.get(diff.path)
        pieces = NumberedPieces(change) if change else None
        row = pieces.row if pieces and pieces.count > 1 else diff_row
        rows = [row(line, parts) for line, parts in zip(diff.lines, self._spans(diff), strict=True)]
        edit = el("button", "Edit the text", type="button", data_edit=diff.path)
        every = el("button", "Show every line", type="button", data_do="full")
        hidden = el("p", f"Not shown: {counted(diff.hidden, 'line')}. ", every, class_="box bad")
        below = el("p", edit if diff.path in self._texts else None, class_="file-edit") if change else None
        return diff_html(diff, rows, hidden if diff.hidden else None, below)

    def _spans(self, diff: Diff) -> list[list[Span]]:
        """Return each line's parts, from the whole file: texts may span lines."""
        change = self._all.get(diff.path)
        if change is None:
            return spans(diff)
        whole = file_diff(change, context=_WHOLE, max_lines=None)
        if len(whole.lines) > _WHOLE:
            return spans(diff)
        known = {(line.style, line.old, line.new): parts for line, parts in zip(whole.lines, spans(whole), strict=True)}
        drawn = []
        for line in diff.lines:
            parts = known.get((line.style, line.old, line.new), [])
            same = "".join(part.text for part in parts) == line.text
            drawn.append(parts if same else [Span(line.text, "", False)])
        return drawn


class NumberedPieces:
    """A change's pieces, numbered as in ``rails.approval.edit``, each offered once, at its first line; a single one
    never.
    """

    def __init__(self, change: FileChange) -> None:
        self.count = 0
        self._lines: dict[tuple[bool, int], int] = {}
        self._offered: set[int] = set()
        both = sides(change)
        if both is None or change.before is None or change.after is None:
            return
        for block in line_diff(*both).changed:
            old = range(block.old_start, block.old_end)
            new = range(block.new_start, block.new_end)
            self._lines |= {(False, line + 1): self.count for line in old}
            self._lines |= {(True, line + 1): self.count for line in new}
            self.count += 1

    def row(self, line: DiffLine, parts: Sequence[Span]) -> Html:
        """Return a diff row, with its piece's box on the piece's first line."""
        changed = line.style.removeprefix("tool_") in ("add", "remove")
        piece = self._lines.get((bool(line.new), line.new or line.old)) if changed else None
        box = _choice(piece) if piece is not None and piece not in self._offered else None
        self._offered |= set() if piece is None else {piece}
        return diff_row(line, parts, el("td", box, class_="take"), piece)


def _choice(piece: int) -> Html:
    words = f"Take part {piece + 1}; without it, these lines stay as they are"
    return el("input", type="checkbox", checked=True, data_piece=piece, aria_label=words, title=words)


def bar_html(asked: ApprovalOpened, decides: str) -> Html:
    """Return the ways to answer; ``approval.js`` handles them."""
    if decides == "read":
        words = "This link is read-only. To decide, open the other link that ai-rails printed."
        return el("p", words, class_="box")
    if decides != "yes":
        words = "The run has stopped and takes no answer. ai-rails run --resume asks again."
        return el("p", words, class_="box")
    if asked.options:
        return _options_html(asked.options)
    grant = asked.grant
    confirm = (
        el(
            "label",
            "There are risks: type ",
            el("b", "approve"),
            el("input", id="confirm", size=9),
        )
        if asked.careful
        else None
    )
    buttons = [
        _button("approve", "Approve", "a", "primary"),
        _button("deny", "Deny…", "d"),
        _button("grant", "Always allow…", "A") if grant and grant.rule else None,
        _button("widen", f"Approve {grant.wider}", "W") if grant and grant.wider else None,
        _edit_button() if asked.can_edit and any(editable_texts(asked)) else None,
        _button("original", "Back to the agent's", "") if asked.replaces else None,
        _button("abort", "Stop session", ""),
    ]
    reason = el(
        "div",
        el("label", "Reason (sent to the model)", for_="reason"),
        el("textarea", id="reason", rows=3, maxlength=REASON_CHARS),
        el("button", "Deny with this reason", type="button", data_do="deny-now"),
        class_="panel",
        id="deny-panel",
        hidden=True,
    )
    held = el("span", one_line(grant.held, 600), class_="badge open") if grant and grant.held else None
    force = el("p", "In force: ", held, _button("revoke", "Revoke", "R")) if held else None
    return el(
        "div",
        force,
        confirm,
        el("div", [button for button in buttons if button], class_="answers"),
        reason,
        _grant_panel(grant),
        el("p", class_="armed meta", id="armed"),
        class_="bar-answer",
    )


def _options_html(options: Sequence[AskedOption]) -> Html:
    buttons = [
        el(
            "button",
            one_line(option.meaning, 200),
            el("kbd", number),
            type="button",
            data_do="choose",
            data_choice=option.word,
            data_must=option.word if option.typed else option.words == "must" or None,
            aria_keyshortcuts=number,
        )
        for number, option in enumerate(options, start=1)
    ]
    typed = next((f"; type here: {option.word}" for option in options if option.typed), "")
    said = any(option.words or option.typed for option in options)
    label = el("label", f"Your words{typed}", for_="reason")
    field = el("textarea", id="reason", rows=2, maxlength=REASON_CHARS)
    words = el("div", label, field, class_="panel") if said else None
    return el("div", el("div", buttons, class_="answers"), words, class_="bar-answer")


def _grant_panel(grant: GrantOffer | None) -> Html | None:
    if not grant:
        return None
    if grant.why_not:
        return el("p", one_line(grant.why_not, 300), class_="panel meta", id="grant-panel", hidden=True)
    return el(
        "div",
        el("p", f"{one_line(grant.words, 600)}. The rule:"),
        el("pre", grant.rule, tabindex=0),
        el("p", id="dry-run", class_="meta"),
        _count("uses", "times ", USES),
        _count("minutes", "minutes ", MINUTES),
        el("button", "Approve and add this rule", type="button", data_do="grant-now"),
        class_="panel",
        id="grant-panel",
        hidden=True,
    )


def _count(name: str, words: str, most: int) -> Html:
    return el("label", words, el("input", id=name, type="number", min=1, max=most, value=most))


def _edit_button() -> Html:
    words = (
        el("span", "Edit", class_="edit-first"),
        el("span", "Check my version", class_="edit-now"),
    )
    return el("button", *words, el("kbd", "e"), type="button", data_do="edit", aria_keyshortcuts="e")


def _button(do: str, words: str, key: str, kind: str = "") -> Html:
    hint = el("kbd", key) if key else None
    return el("button", words, hint, type="button", data_do=do, class_=kind or None, aria_keyshortcuts=key or None)
