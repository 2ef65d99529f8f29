"""``ai-rails review``: the sessions, one turn by turn, or all counted."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rails.commands import common
from rails.commands.log import chosen_session
from rails.config.prices import PRICES_NAME
from rails.core.errors import EXIT_OK, UsageError
from rails.core.text import one_line
from rails.projections.session import session_as_json
from rails.render.terminal import columns, wants_colour
from rails.review.reports.session_text import render_session, session_as_markdown
from rails.session.project import state_of

if TYPE_CHECKING:
    from rails.render.blocks import Block
    from rails.review.reports.grouped import ReviewReport
    from rails.review.session_list import SessionList

_EMPTY: Final = "No session yet. Start one with ai-rails run or ai-rails apply."


OPTIONS = """
> --filter takes words of the task and fields such as since:yesterday is:waiting role: path: rule:.
session?  which session, or 'last'
--by model|rule|tool|decision  count the sessions by model, rule, tool or decision
--library STORE  sessions of a store of ai-rails batch
--since WHEN ()  what needs you, and what was changed: yesterday, today, 8h, 3d, 2w, 2026-11-21
--filter LINE ()  filter sessions, for example agent:coder is:waiting
--json  the result as JSON
--markdown  as Markdown
--html FILE  write one self-contained page
@project
"""


def run(options: argparse.Namespace) -> int:
    """Return the exit code."""
    state = Path(options.library).resolve() if options.library else state_of(common.project_of(options))
    if options.library and not state.is_dir():
        raise UsageError(
            f"There is no store of jobs in {one_line(options.library)}. Name the folder or address that batch run "
            "--store was given."
        )
    options.filter = " ".join(filter(None, (options.filter, options.since and f"since:{options.since}")))
    if options.by:
        return _report(options, state)
    if options.since or (options.filter and not options.session and (options.html or options.markdown)):
        return show_report(options, _library(state).morning(options.filter), "Sessions")
    if not (options.session or options.html or options.markdown):
        return _list(options, state)
    return _one(options, state)


def _library(state: Path) -> SessionList:
    from rails.core.app_dirs import config_folder
    from rails.review.session_list import SessionList

    return SessionList(state, config_folder() / PRICES_NAME)


def _list(options: argparse.Namespace, state: Path) -> int:
    from rails.review.reports.sessions import sessions_table

    cards = _library(state).cards(options.filter)[::-1]
    if options.json:
        shown = [card.to_json() for card in cards]
        for value in shown:
            del value["judged"]
        common.print_json(shown)
    elif not cards:
        print("No session matches that." if options.filter else _EMPTY)
    else:
        _print((sessions_table(cards),))
    return EXIT_OK


def _one(options: argparse.Namespace, state: Path) -> int:
    library = _library(state)
    session_id = chosen_session(state, options.session or "last").session_id
    if options.html:
        from rails.review.html import PAGE_MARK, html_parts

        common.write_output(
            options.html, html_parts(library.outlined(session_id), library.turns(session_id)), PAGE_MARK
        )
        return EXIT_OK
    view = library.view(session_id)
    if options.json:
        common.print_json(session_as_json(view))
    elif options.markdown:
        print(session_as_markdown(view), end="")
    else:
        print(render_session(view, wants_colour(sys.stdout), width=min(100, _width())))
    return EXIT_OK


def _report(options: argparse.Namespace, state: Path) -> int:
    library = _library(state)
    if options.session:
        chosen = chosen_session(state, options.session).session_id
        return show_report(options, library.report_of(options.by, [chosen]), f"Session {chosen}")
    about = f"Sessions: {one_line(options.filter)}" if options.filter else "All sessions"
    return show_report(options, library.report(options.by, options.filter), about)


def show_report(options: argparse.Namespace, report: ReviewReport, about: str) -> int:
    """Print a report in the chosen format."""
    if options.html:
        from rails.review.html import PAGE_MARK, report_file

        common.write_output(options.html, (report_file(report, about),), PAGE_MARK)
    elif options.json:
        common.print_json(report.value)
    elif options.markdown:
        from rails.render.markdown import block_lines

        print("\n".join(line for block in report.blocks for line in block_lines(block)))
    else:
        _print(report.blocks)
    return EXIT_OK


def _width() -> int:
    return columns() if sys.stdout.isatty() else 160


def _print(blocks: Sequence[Block]) -> None:
    from rails.render.blocks import Table
    from rails.render.text import TextRenderer

    pen = TextRenderer(wants_colour(sys.stdout), _width())
    for at, block in enumerate(blocks):
        if at and isinstance(block, Table):
            print()
        print("\n".join(pen.draw(block)))
