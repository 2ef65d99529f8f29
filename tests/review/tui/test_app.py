"""The terminal application under its own pilot: list, timeline, diff, search, reports; the keys of the page."""

import pytest
from textual.widgets import Label

from rails.review.tui.dialogs import KEYS, Help
from rails.review.tui.listing import Sessions
from rails.review.tui.pages import Hits, TextPage
from rails.review.tui.session import Diffs, SessionPage

HARD = "20261118-091500-aa01"


@pytest.fixture
def state(tmp_path, stories):
    stories.hard(tmp_path / ".rails", HARD)
    stories.easy(tmp_path / ".rails", "20261119-101500-aa02")
    return tmp_path / ".rails"


def text(pilot, rows="#rows"):
    """Everything that a list would show, whether it has room for it or not."""
    widget = pilot.app.screen.query_one(rows)
    return "\n".join(widget._row(at).plain for at in range(widget.count))


def screen_text(pilot):
    """What is on the screen now, as a terminal has it."""
    return "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())


def status(pilot):
    return str(pilot.app.screen.query_one("#status", Label).render())


def test_the_list_shows_outcomes_and_sparklines_and_j_k_move(state, review):
    async def steps(pilot):
        assert isinstance(pilot.app.screen, Sessions)
        first, second = text(pilot).split("\n")
        assert "done" in first
        assert "✕·✓" in first
        assert "✕✕✕✕✕✕·■·✓" in second
        await pilot.press("j")
        assert pilot.app.screen.rows.index == 1
        await pilot.press("j", "k")
        assert pilot.app.screen.rows.index == 0
        await pilot.press("G")
        assert pilot.app.screen.rows.index == 1
        assert "2 sessions" in status(pilot)

    review(steps)


def test_from_the_list_to_each_failure_and_its_diff_with_findings_in_place(state, review, settled):
    async def steps(pilot):
        await pilot.press("G", "enter")
        await settled(pilot)
        assert isinstance(pilot.app.screen, SessionPage)
        assert "10 turns, 8 failed" in status(pilot)
        for number in (1, 2):
            await pilot.press("n")
            assert f"── turn {number}  coder" in text(pilot, "#turn")
        for _ in range(5):
            await pilot.press("n")
        shown = text(pilot, "#turn")
        assert 'a value changed: new_string: "limit = 10" → "limit = 100"' in " ".join(shown.replace("│", "").split())
        await pilot.press("enter")
        assert isinstance(pilot.app.screen, Diffs)
        lines = text(pilot).split("\n")
        at = next(n for n, line in enumerate(lines) if "B006" in line)
        assert "if as_json:" in lines[at - 1]
        await pilot.press("right_curly_bracket", "n")
        assert "1 finding at their lines" in status(pilot)
        await pilot.press("escape", "n", "n", "n")
        assert "no other failure" in status(pilot)
        await pilot.press("p", "l")
        assert isinstance(pilot.app.screen, Sessions)

    review(steps)


def test_a_session_can_be_opened_at_once(state, review, settled):
    async def steps(pilot):
        await settled(pilot)
        assert "The session: done" in text(pilot, "#timeline")
        assert "why" in text(pilot, "#turn")
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, Sessions)

    review(steps, HARD)


def test_search_leads_to_the_turn_of_a_hit(state, review, settled):
    async def steps(pilot):
        await pilot.press("slash", *"limit")
        await pilot.press("space", *"type", "colon", *"CORRECTION", "enter")
        await settled(pilot)
        assert isinstance(pilot.app.screen, Hits)
        assert pilot.app.screen.rows.count == 1
        await pilot.press("enter")
        await settled(pilot)
        assert pilot.app.screen.rows.index == 7

    review(steps)


def test_sessions_that_the_index_lacks_are_listed_at_once_and_counted_as_it_goes(state, review, settled, monkeypatch):
    from rails.log.index.index import Index

    budgets, whole = [], Index.refresh

    def slow(self, budget_s=float("inf")):
        budgets.append(budget_s)
        return whole(self, budget_s) if len(budgets) > 2 else False

    monkeypatch.setattr(Index, "refresh", slow)

    async def steps(pilot):
        assert budgets[0] <= 0.2
        await settled(pilot)
        assert len(budgets) > 2
        assert "✕✕✕✕✕✕·■·✓" in text(pilot)
        assert "2 sessions" in status(pilot)

    review(steps)


def test_the_list_is_filtered_and_a_filter_that_means_nothing_is_said(state, review):
    async def steps(pilot):
        await pilot.press("i", *"is", "colon", *"denied", "enter")
        await pilot.pause()
        assert pilot.app.screen.rows.count == 1
        await pilot.press("i", *"x", "escape")
        assert pilot.app.screen.rows.count == 1
        await pilot.press("i", *"is", "colon", *"happy", "enter")
        await pilot.pause()
        assert pilot.app.screen.rows.count == 1
        assert "is:" in status(pilot)

    review(steps)


def test_two_marked_sessions_are_compared(state, review, settled):
    async def steps(pilot):
        await pilot.press("x")
        assert "This session is marked" in status(pilot)
        await pilot.press("x", "x", "j", "x")
        await pilot.pause()
        await settled(pilot)
        assert isinstance(pilot.app.screen, TextPage)
        assert "Turn by turn" in text(pilot)
        assert "only in B" in text(pilot)

    review(steps)


def test_every_report_is_a_key_away(state, review, settled):
    async def steps(pilot):
        await pilot.press("r")
        for key, words in zip(
            "12345", ("95 % interval", "by session", "by week", "Changed values", "Who decided"), strict=True
        ):
            await pilot.press(key)
            await pilot.pause()
            await settled(pilot)
            assert words in text(pilot), key
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, Sessions)

    review(steps)


def test_why_a_line_is_so(state, review, settled):
    async def steps(pilot):
        await pilot.press("y", *"todo", "slash", *"cli", "full_stop", *"py", "colon", "4", "enter")
        await pilot.pause()
        await settled(pilot)
        assert "was written in session" in text(pilot)
        assert "approve by human" in text(pilot)

    review(steps)


def test_question_mark_shows_every_key(state, review):
    async def steps(pilot):
        await pilot.press("question_mark")
        assert isinstance(pilot.app.screen, Help)
        shown = screen_text(pilot)
        for key, words in KEYS:
            assert key in shown
            assert words in shown
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, Sessions)

    review(steps)


def test_the_first_screen_cannot_be_left_and_an_empty_project_says_what_to_do(review):
    async def steps(pilot):
        await pilot.press("escape", "escape", "enter", "n", "x")
        assert isinstance(pilot.app.screen, Sessions)
        assert "No session yet" in status(pilot) or "no other session" in status(pilot)

    review(steps)


def test_a_narrow_terminal_puts_the_timeline_above_the_turn(state, review, settled):
    async def steps(pilot):
        await settled(pilot)
        timeline, turn = (pilot.app.screen.query_one(name).region for name in ("#timeline", "#turn"))
        assert timeline.bottom <= turn.y
        assert turn.right <= 60

    review(steps, HARD, size=(60, 24))


def test_a_running_session_is_followed(tmp_path, stories, review, settled):
    story = stories.Story(tmp_path / ".rails", HARD, "task", stories.MODELS[0])
    story.ask("One.").found("F821")

    async def steps(pilot):
        await settled(pilot)
        assert pilot.app.screen.rows.count == 2
        story.ask("Two.").found("F401")
        pilot.app.screen._follow()
        await settled(pilot)
        assert pilot.app.screen.rows.count == 3

    review(steps, HARD)
    story.log.close()


@pytest.mark.parametrize("evil", ["\x1b[2J", "\u202e", "[bold]x[/]", "\x07"], ids=ascii)
def test_hostile_text_is_shown_and_does_nothing(tmp_path, stories, review, settled, evil):
    story = stories.Story(tmp_path / ".rails", HARD, f"task{evil}", f"model{evil}", agent=f"coder{evil}")
    story.ask(f"text{evil}", path=f"a{evil}.py").refused(message=f"bad{evil}")
    story.end("gave_up", f"end{evil}")

    async def steps(pilot):
        for key in ("", "enter", "n", "question_mark"):
            if key:
                await pilot.press(key)
            await settled(pilot)
            shown = screen_text(pilot)
            assert all(char == "\n" or char.isprintable() for char in shown), ascii(shown)
            if evil.startswith("["):
                assert "[bold]" in shown or key == "question_mark"

    review(steps)


def test_only_the_lines_on_the_screen_are_drawn(tmp_path, review):
    from rich.text import Text

    from rails.review.tui.pages import Page

    asked = []

    def row(at):
        asked.append(at)
        return Text(f"line {at}")

    async def steps(pilot):
        await pilot.app.push_screen(Page("many", pick=True))
        pilot.app.screen.rows.show(1_000_000, row)
        await pilot.press("G")
        assert pilot.app.screen.rows.index == 999_999
        assert "line 999999" in screen_text(pilot)
        assert len(set(asked)) < 200

    review(steps)
