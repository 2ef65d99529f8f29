"""Shared by several verbs: project, tools, agents, model, approver, log."""

from __future__ import annotations

import contextlib
import json
import re
import sys
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from rails.commands.exit import code_after
from rails.core.errors import EXIT_BROKEN, EXIT_FINDINGS, EXIT_OK, LogError, RailsError, UsageError
from rails.core.limits import ANSWER_CHARS
from rails.core.outcomes import GOOD, MEANINGS, SessionEnd, is_good, outcome_for
from rails.core.text import decode_text, one_line
from rails.render.terminal import columns, wrap
from rails.session.project import state_of

if TYPE_CHECKING:
    import argparse

    from rails.agents.template import Agents
    from rails.approval.decision import ApprovalRequest, Approver
    from rails.approval.pending import PendingAnswers
    from rails.approval.policy.policy import PolicyApprover
    from rails.approval.queue import ApprovalQueue
    from rails.commands.live import ProgressScreen
    from rails.core.events.base import Event
    from rails.core.events.record import Record
    from rails.core.tool_request import Json, ToolRequest
    from rails.gate.gate import Gate
    from rails.log.writer import SessionLog
    from rails.projections.common import SessionView
    from rails.session.ask_user import Person
    from rails.session.job import Ending
    from rails.tools.registry import Registry

#: The colours of outcomes; red for all others.
STYLES: Final[Mapping[SessionEnd, str]] = {
    "changed": "green",
    "answered": "green",
    "unchanged": "green",
    "asked": "yellow",
    "claimed": "yellow",
    "stopped": "yellow",
}
#: What begins one of several ways to do the same.
OPTION = re.compile(
    r"^[#*_> \t\d.]*((?:option|approach|alternative|variant|solution|choice)[ \t]+#?(?:\d|[a-f]\b|one|two|three).*"
    r"|(?:or,? )?alternatively\b.*)$",
    re.M | re.I,
)
#: Columns that the text of a row has at least.
_NARROW: Final = 20
#: Notes on what is left out that a command prints before its work.
_MOST_NOTES: Final = 8
DEFAULT_MODEL: Final = "anthropic:claude-sonnet-5-5"


def project_of(options: argparse.Namespace) -> Path:
    """Return the project folder, resolved. Raises UsageError if it is no folder."""
    folder = Path(options.project).resolve()
    if not folder.is_dir():
        raise UsageError(f"{one_line(str(options.project))} is not a folder. Name the project with --project DIR.")
    return folder


def project_above(options: argparse.Namespace) -> Path:
    """Return the project folder: unless one is named, the nearest with a sign of one, but not the home."""
    from rails.gate.support.config_files import project_of_folder

    folder = project_of(options)
    return project_of_folder(folder) if options.project == "." else folder


def untrusted(registry: Registry) -> frozenset[str]:
    """Return the project's unaccepted tools."""
    return frozenset(name for name, one in registry.definitions.items() if not one.trusted)


def human_of(screen: ProgressScreen, approver: object = None) -> Person:
    """Return who answers between turns: a person, or nobody."""
    from rails.session.ask_user import AtBoth, AtTerminal, Unattended

    keyboard = _keyboard()
    queue = _queue_behind(approver)
    here = AtTerminal(keyboard, screen.out, elsewhere=queue.answered_elsewhere if queue else None) if keyboard else None
    return AtBoth(queue, here) if queue else here or Unattended()


def approver_of(
    options: argparse.Namespace, screen: ProgressScreen, project: Path, registry: Registry, gate: Gate
) -> PolicyApprover:
    """Return who approves: a person, with ``--approve policy`` after the policy file. Without terminal and ``--web``
    questions are denied.
    """
    from rails.approval.policy.policy import PolicyApprover, load_policy

    web = getattr(options, "web", False)
    minutes = getattr(options, "answer_within", None)
    keyboard = _keyboard()
    by_policy = options.approve == "policy"
    closed = getattr(options, "closed", str)
    if not (keyboard or web):
        return PolicyApprover(load_policy(project), decides=by_policy, closed=closed)
    queue = queue_of(registry, gate, page_waits=web, minutes=minutes)
    if keyboard:
        from rails.approval.terminal.approver import Choices, TerminalApprover
        from rails.review.reports.dry_run import rule_in_words

        choices = Choices(
            judge=gate.judge,
            revalidate=lambda request, text: revalidated(request, text, registry),
            grants=queue.grants,
            dry_run=lambda rule: rule_in_words(rule, views_of(state_of(project))),
            from_project=untrusted(registry),
        )
        queue.here = TerminalApprover(
            keyboard,
            screen.out,
            plain=screen.plain,
            colour=screen.colour,
            choices=choices,
            elsewhere=queue.answered_elsewhere,
        )
    return PolicyApprover(load_policy(project), queue, queue.grants, decides=by_policy, closed=closed)


def show_question(screen: ProgressScreen, request: ApprovalRequest) -> None:
    """Draw a question that nobody at this terminal answers."""
    from rails.approval.terminal.screen import Look, draw_request

    screen.line()
    for line in draw_request(request, Look(screen.colour, min(100, columns()), screen.plain)).lines:
        screen.line(line)


def queue_of(registry: Registry, gate: Gate, *, page_waits: bool, minutes: float | None) -> ApprovalQueue:
    """Return a queue of questions that any process's page may answer."""
    from rails.approval.policy.grants import Grants
    from rails.approval.queue import ApprovalQueue

    return ApprovalQueue(
        judge=gate.judge,
        grants=Grants(),
        from_project=untrusted(registry),
        page_waits=page_waits,
        patience_s=None if minutes is None else minutes * 60,
    )


def revalidated(request: ToolRequest, text: str, registry: Registry) -> ToolRequest | str:
    """Return edited JSON parameters validated as an agent's, or what is wrong."""
    from rails.core.tool_request import RawRequest, ToolRequest
    from rails.tools.validate import validate

    try:
        value = parameters_of(text)
    except UsageError as error:
        return str(error)
    found = validate(RawRequest(request.id, request.tool_name, value, request.explanation), registry, request.agent)
    return found if isinstance(found, ToolRequest) else " ".join(map(str, found))


def parameters_of(text: str) -> Mapping[str, Json]:
    """Return a tool's parameters from typed JSON. Raises UsageError."""
    from rails.data_formats.json_document import JsonError, parse_document

    try:
        value = parse_document(text).value
    except JsonError as error:
        raise UsageError(f"Line {error.line} of the parameters is not JSON: {error.message}. {error.fix}") from None
    if not isinstance(value, dict):
        raise UsageError('The parameters have to be a JSON object, for example \'{"file_path": "README.md"}\'.')
    return value


def notes_of(loaded: Agents, registry: Registry, most: int = _MOST_NOTES) -> list[str]:
    """Return the problems of agents and tools: the first ``most`` lines, and a count."""
    unknown = (
        f"the agent {agent.name} works without {name}: no tool has that name ({agent.source})"
        for agent in loaded.values()
        for name in dict.fromkeys((*(agent.tools or ()), *(agent.shown or ())))
        if registry.get(name) is None
    )
    notes = [one_line(words, 600) for words in (*loaded.notes, *registry.notes, *unknown)]
    more = len(notes) - most
    notes[most:] = [f"and {more} more: ai-rails agents lists them"] * (more > 0)
    return notes


def answers_of(state: Path, session_id: str) -> PendingAnswers:
    """Return the pending answers of a session, with the user's key."""
    from rails.approval.pending import PendingAnswers, answer_key
    from rails.core.app_dirs import config_folder

    return PendingAnswers(state, session_id, answer_key(config_folder()))


def listen(approver: Approver, log: SessionLog, publish: Callable[[Event, str], Record]) -> None:
    """Let any process's page answer ``approver``."""
    queue = _queue_behind(approver)
    if queue is None:
        return
    try:
        box = answers_of(log.state, log.session_id)
        box.listen()
    except LogError:
        if queue.page_waits:
            raise
        return  # the configuration folder cannot be written: the terminal alone is asked
    queue.open(box, publish)


def _queue_behind(approver: object) -> ApprovalQueue | None:
    queue: ApprovalQueue | None = getattr(approver, "fallback", None)
    return queue


def views_of(state: Path) -> list[SessionView]:
    """Return every session of a project."""
    from rails.log.reader import damage_in_words, full, read_lenient, sessions
    from rails.projections.session import session_view

    views = []
    for session in sessions(state):
        records, damages = read_lenient(session.path)
        views.append(session_view(records, damage_in_words(damages), load=lambda record: full(record, state)))
    return views


def _keyboard() -> TextIO | None:
    if sys.stdin and sys.stdin.isatty():
        return sys.stdin
    try:
        return Path("/dev/tty").open(encoding="utf-8")
    except OSError:
        return None


def accepted(question: str, what: str, accept: Callable[[], object]) -> bool:
    """Show a project's text; accept it if a person agrees."""
    print(question)
    agreed = typed("trust", what)
    if agreed:
        accept()
    return agreed


def typed(word: str, what: str) -> bool:
    """Return whether a person types ``word``; False without a terminal."""
    sys.stdout.flush()
    if not sys.stdin.isatty():
        return False
    try:
        return input(f'Type the whole word "{word}" to {what}: ').strip() == word
    except EOFError:
        return False


def read_input(name: str) -> str:
    """Read a file or ``-``: UTF-8, or UTF-16 with a BOM (PowerShell); other bytes become U+FFFD."""
    if name == "-":
        data = sys.stdin.buffer.read(ANSWER_CHARS * 4 + 1)
    else:
        path = Path(name)
        if not path.is_file():
            raise UsageError(
                f"{one_line(name) or repr(name)} is not a file. Name a saved answer, or - for standard input."
            )
        data = path.read_bytes()
    marked = decode_text(data) if data.startswith((BOM_UTF8, BOM_UTF16_LE, BOM_UTF16_BE)) else None
    return marked.text if marked else data.decode("utf-8", "replace")


def read_jsonl(name: str) -> Iterator[tuple[Json, str]]:
    """Yield ``{"id": …, "text": …}`` lines. Raises UsageError naming the bad line."""
    for number, line in enumerate(read_input(name).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
            yield item["id"], str(item["text"])
        except (ValueError, TypeError, KeyError) as error:
            why = f"{error} is missing" if isinstance(error, KeyError) else one_line(str(error))
            raise UsageError(f'Line {number} is not {{"id": …, "text": …}}: {why}. Nothing more was read.') from error


def write_output(name: str | Path, parts: Iterable[str], mark: str = "") -> None:
    """Write output into a file, following links, and say where.

    Raises UsageError for an existing file whose beginning lacks ``mark`` (``""``: any), RailsError if unwritable.
    """
    from rails.core.user_files import UserFile

    try:
        file = UserFile(Path(name))
        held = file.read(2_000)
        if held and not (mark and mark.encode() in held):
            raise UsageError(f"{file} exists already and was not changed. Name another file.")
        file.write(part.encode("utf-8", "replace") for part in parts)
    except OSError as error:
        raise RailsError(
            f"{one_line(str(name))} cannot be written: {error.strerror or error}. Nothing was written."
        ) from error
    print(f"Wrote {one_line(str(file), 300)}")


def print_row(lead: str, text: str) -> None:
    """Print a row of a list; at a terminal its text stays to the right of its lead."""
    pieces = [one_line(text, 1_000)]
    if sys.stdout.isatty():
        pieces = wrap(pieces[0], max(_NARROW, columns() - len(lead)), half=False)
    gap = " " * len(lead)
    print(lead + f"\n{gap}".join(piece.strip() for piece in pieces))


def print_json(value: object, *, indent: int | None = 2) -> None:
    """Print JSON: stable order, ASCII, one line if ``indent`` is ``None``."""
    print(json.dumps(value, indent=indent))


def commit(project: Path, session_id: str, title: str, screen: ProgressScreen) -> None:
    """Commit on the user's branch, with the session in the trailer. Raises WorkspaceError."""
    from rails.edits.commit import commit_session

    made = commit_session(project, session_id, title)
    screen.line(f"  committed {made.commit[:12]}: {one_line(', '.join(made.files), 200)}", "green")
    if made.ignored:
        screen.line(f"  ignored by git, so not in it: {one_line(', '.join(made.ignored), 200)}", "yellow")


def exit_of(outcome: SessionEnd) -> int:
    """Return the exit code of an outcome."""
    if outcome in GOOD:
        return EXIT_OK
    return EXIT_BROKEN if outcome == "error" else EXIT_FINDINGS


def close(ending: Ending, screen: ProgressScreen, project: Path) -> int:
    """Print a session's end and next commands; return the exit code."""
    from rails.session.job import PAUSED

    outcome = outcome_for(ending.outcome)
    left = ending.outcome == "left"
    _summary(screen)
    if not left:
        screen.line(f"  outcome: {outcome}, {MEANINGS[outcome]}{_reason(ending, screen)}", STYLES.get(outcome, "red"))
    where = _option_for(project)
    if ending.outcome == "gave_up":
        if ending.file:
            screen.line(f"  your turn:  {one_line(ending.file, 300)} has what was tried and how to go on", "bold")
        screen.line(f'  or a hint:  ai-rails run --resume {ending.session_id}{where} "hint for the model"', "bold")
    _what_next(ending.session_id, screen, where, paused=ending.outcome in PAUSED, talks=left)
    return EXIT_OK if left else exit_of(outcome)


def _reason(ending: Ending, screen: ProgressScreen) -> str:
    """Return the reason for the end, without the model's error and the command to continue, shown beside it."""
    words = ending.message.removeprefix(screen.failed).partition("Nothing is lost:")[0].split()
    return one_line(f": {' '.join(words)}", 1_500) if words and not is_good(ending.outcome) else ""


def _option_for(project: Path) -> str:
    with contextlib.suppress(OSError):
        if project == Path.cwd():
            return ""
    return f" --project {project}"


def interrupted(session_id: str, screen: ProgressScreen, project: Path, by: str, *, talks: bool) -> int:
    """Print how to go on; return the exit code."""
    screen.rest()
    screen.line()
    screen.line(f"Stopped by {by}. What was approved and written stays; nothing is half done.", "yellow")
    _summary(screen)
    _what_next(session_id, screen, _option_for(project), paused=True, talks=talks)
    return code_after(by)


def _summary(screen: ProgressScreen) -> None:
    screen.rest()
    screen.line()
    screen.line("summary", "bold")
    for line in screen.summary():
        screen.line(f"  {line}")


def _what_next(session_id: str, screen: ProgressScreen, where: str, *, paused: bool, talks: bool = False) -> None:
    if paused:
        verb = "chat" if talks else "run"
        screen.line(f"  go on:      ai-rails {verb} --resume {session_id}{where}", "bold")
    screen.line(f"  review it:  ai-rails review {session_id}{where}", "dim")
    if screen.files or screen.wrote:
        screen.line(f"  undo it:    ai-rails undo {session_id} --all{where}", "dim")


def refuse_more(command: str, words: Sequence[str | None], room: int) -> None:
    """Raise UsageError for superfluous words."""
    if surplus := [one_line(word) for word in words if word is not None][room:]:
        raise UsageError(f"{command} does not take {' '.join(surplus)!r}. Nothing was done.")
