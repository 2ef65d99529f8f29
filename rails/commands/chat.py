"""``ai-rails chat``: a conversation in one session. In the mode ``plan`` changes are denied until "go"."""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rails.commands import common, exit
from rails.commands.run import OPTIONS as RUN
from rails.core.errors import EXIT_OK, LogError, RailsError, UsageError
from rails.core.outcomes import is_good
from rails.core.text import one_line

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import CompleteEvent, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.formatted_text import StyleAndTextTuples

    from rails.commands.live import ProgressScreen
    from rails.commands.models import Cast
    from rails.commands.typed_ahead import TypedAhead
    from rails.session.agent_loop import AgentLoop
    from rails.session.job import Ending
    from rails.session.run import Session

#: What can be typed besides words for the agent.
COMMANDS: Final[Mapping[str, str]] = {
    "/help": "this list",
    "/plan": "talk without changes until you type go",
    "/diff": "what this session has changed",
    "/undo": "undo the project's last step",
    "/redo": "redo the last undone step",
    "/rewind": "N: restore files and conversation to before turn N",
    "/compact": "summarize older turns to free context",
    "/agent": "NAME: switch to another agent",
    "/model": "NAME: switch to another model",
    "/clear": "start a new session",
    "/quit": "leave (also exit or Ctrl-D); ai-rails chat --resume continues",
}
_HISTORY: Final = "chat_history"
_PLAN: Final = "Plan mode: answer in words, without any edit or command, until the person says go."
#: How often the page is listened to.
_LISTEN_SECONDS: Final = 0.3
#: Files that ``@`` completes.
_FILES: Final = 5_000


OPTIONS = f"""{RUN}
--mode edit|plan (edit)  plan: talk without changes until you type go (default: edit)
"""


def run(options: argparse.Namespace) -> int:
    """Talk; return the exit code."""
    from rails.commands.job import run_words

    exit.tell_of_threads()
    talk = Talk(options)
    code = EXIT_OK
    here = sys.stdin and sys.stdin.isatty()
    if options.resume is None:
        try:
            _make_ready(options, talk.project)
        except RailsError as error:
            if not here:
                raise
            print(f"ai-rails: {error}")
    if options.task:
        options.task = talk.in_mode(options.task)
    elif options.resume is None:
        print("Type a task, /help or /quit.")
    while True:
        if options.task is None and options.resume is None:
            options.task = talk.first()
        try:
            if options.task or options.resume is not None:
                code = run_words(options, talk.follow_up)
        except RailsError as error:
            if not here or options.resume is not None:
                raise
            print(f"ai-rails: {error}")
            talk.anew = True
        if not talk.anew:
            return code
        options.task = None
        options.resume = None
        talk.anew = False


def _make_ready(options: argparse.Namespace, project: Path) -> Cast:
    from rails.commands import models
    from rails.config.run_defaults import run_defaults
    from rails.core.app_dirs import config_folder
    from rails.session.project import agents_of

    configured = run_defaults(project, config_folder()).values
    players = models.cast_of(options, agents_of(project), configured)
    players.for_role(options.agent or str(configured.get("agent", "coder")))
    return players


class Talk:
    """Reads a person's input between two answers: a message or a command."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.project = common.project_of(options)
        self.web = options.web
        self.anew = False
        self.planning = options.mode == "plan"
        self.screen: ProgressScreen | None = None
        self.session: Session | None = None
        self._goes_on = False
        self._options = options
        options.closed = lambda: _PLAN if self.planning else ""
        self._typed = _lines(self.project, self)
        self._began = time.time()

    def first(self) -> str:
        """Return the first message, "" to leave."""
        return self._words(None)

    def follow_up(self, session: Session, screen: ProgressScreen, ending: Ending) -> str:
        """Return the next message, "" to leave or start a new session."""
        screen.rest()
        self.screen = screen
        self._goes_on = is_good(ending.outcome)
        if ending.outcome == "model_failed":  # what failed was shown when it did
            print("  Nothing is lost: type a message to try again, or switch with /model NAME.")
        elif ending.outcome == "stopped":
            print("  Stopped. What was written stays, and the conversation continues.")
        elif not is_good(ending.outcome):
            print(f"  {one_line(ending.message, 1_500)}")
        return self._words(session)

    def _words(self, session: Session | None) -> str:
        for line in self._lines(session):
            text = line.strip()
            if text.removeprefix("/") in ("exit", "quit"):
                return ""
            if not text.startswith("/") or "/" in text.split()[0][1:]:  # a path is no command
                if text:
                    return self.in_mode(text)
            elif self._command(text, session):
                return ""
        return ""

    def in_mode(self, text: str) -> str:
        """Return a message for the agent, with the mode's addition."""
        if self.planning and text.casefold() == "go":
            self.planning = False
            return "Go: carry out what you planned."
        return f"{text}\n\n{_PLAN}" if self.planning else text

    def status(self) -> str:
        """Return the status line: mode, free share of the context window, tokens, money."""
        mode = "plan: nothing is changed until you type go" if self.planning else ""
        left = _context_left(self.session.loop) if self.session else ""
        return " · ".join(filter(None, (mode, left, self.screen.usage() if self.screen else "")))

    def above(self, status: str) -> StyleAndTextTuples:
        """Return the text above the prompt; grants may end while it waits."""
        badge = self.typed.badge() if self.typed else ""
        line = " · ".join(filter(None, (status, badge)))
        return [("ansibrightblack", f"\n{line}"), ("", "\n› ")]

    def queued(self) -> str:
        """Return the next line that was typed while an answer was made, if that ended well, or ""."""
        if not (self.typed and self.typed.queued and self._goes_on):
            return ""
        words = self.typed.queued.pop(0)
        print(f"\n› {one_line(words, 600)}")
        return words

    def unsent(self) -> str:
        """Return the remaining typed text, to edit before sending."""
        return self.typed.unsent() if self.typed else ""

    @property
    def typed(self) -> TypedAhead | None:
        """The reader of keys typed during a turn."""
        return self.screen.typed if self.screen else None

    def _lines(self, session: Session | None) -> Iterator[str]:
        self.session = session
        box = common.answers_of(session.log.state, session.log.session_id) if session and self.web else None
        try:
            if box:
                box.hear(on=True)
            while (line := self._typed(partial(box.heard, self._began) if box else None)) is not None:
                yield line
        finally:
            if box:
                box.hear(on=False)

    def _command(self, text: str, session: Session | None) -> bool:
        word, _, rest = text.partition(" ")
        try:
            self.rest = rest.strip()
            if word == "/model" and session and self.rest:
                self._switch(session)
                return False
            if word in ("/clear", "/agent", "/model"):
                return self._begin_anew(word, self.rest)
            if (action := _ACTIONS.get(word)) is None:
                print(f"There is no command {one_line(word)!r}. The commands are:")
                _help(self, session)
            elif session is None and word in _OF_SESSION:
                print("Nothing was said yet.")
            else:
                action(self, session)
        except RailsError as error:
            print(f"ai-rails: {error}")
        except KeyboardInterrupt as stopped:
            if stopped.args:  # a signal that ends a program
                raise
            print(f"\n  {word} was stopped; the conversation continues.")
        return False

    def _begin_anew(self, word: str, rest: str) -> bool:
        if word != "/clear" and not rest:
            print(f"{word} takes a name, such as /agent reviewer or /model openai:NAME.")
            return False
        if word != "/clear":
            chosen = argparse.Namespace(**{**vars(self._options), word[1:]: rest})
            _make_ready(chosen, self.project)
            vars(self._options).update(vars(chosen))
        self.anew = True
        return True

    def _switch(self, session: Session) -> None:
        """Continue with another model. Raises UsageError or ModelError."""
        from msgspec.structs import replace

        from rails.commands.models import check_models
        from rails.core.app_dirs import config_folder
        from rails.session.context_window import ModelWindow

        loop = session.loop
        chosen = argparse.Namespace(**{**vars(self._options), "model": self.rest, "model_for": []})
        players = _make_ready(chosen, self.project)
        check_models(players, [loop.context.agent.name], session.job, session.budget.prices, config_folder())
        vars(self._options).update(vars(chosen))
        session.model_for = players.for_role
        fresh = session.context(loop.context.agent.name)
        loop.context = replace(
            loop.context, model=fresh.model, protocol=fresh.protocol, system=fresh.system, tools=fresh.tools
        )
        loop.window = ModelWindow()
        print(f"{one_line(fresh.model.name)} continues the conversation.")


# -- the commands ----------------------------------------------------------------------------------


def _help(_talk: Talk, _session: Session | None) -> None:
    for name, what in COMMANDS.items():
        print(f"  {name:<9} {what}")
    print("  @path completes a file's name; Esc then Enter begins a new line; Ctrl-C stops an answer, not the session.")


def _diff(talk: Talk, session: Session) -> None:
    from rails.approval.diff_view import file_diff
    from rails.edits.checkpoints import History, in_effect
    from rails.render.lines import draw
    from rails.render.terminal import columns, wants_colour

    history = History(talk.project)
    steps = in_effect(history.steps(session.log.session_id), undone=False)
    colour = wants_colour(sys.stdout)
    for step in steps:
        for change in history.restore_point(step).changes:
            print("\n".join(draw(file_diff(change, ()), colour=colour, width=columns())))
    if not steps:
        print("This session has changed nothing.")


def _move(talk: Talk, session: Session | None, *, redo: bool) -> None:
    from rails.commands.exit import uninterrupted
    from rails.commands.undo import log_of, say_moved, session_to_move, undo_event
    from rails.edits.checkpoints import History

    history = History(talk.project)
    name = session_to_move(history, None, redo=redo)
    own = session if session and session.log.session_id == name else None
    try:
        opened = nullcontext() if own else log_of(talk.project, name)
    except LogError as error:
        verb = "redo" if redo else "undo"
        raise UsageError(
            f"The next step to {verb} is not from this conversation. {error} Type /{verb} there."
        ) from error
    with opened as log, uninterrupted():
        one = history.redo(name) if redo else history.undo(name)
        say_moved(one, redo=redo)
        if own:
            own.publish(undo_event(one, redo=redo))
        elif log:
            log.append(undo_event(one, redo=redo))


def _plan(talk: Talk, _session: Session | None) -> None:
    talk.planning = True
    print("Plan mode: nothing is changed until you type go.")


def _rewind(talk: Talk, session: Session) -> None:
    from rails.commands.exit import uninterrupted
    from rails.commands.undo import say_moved, undo_event
    from rails.core.events.changes import CheckpointEvent
    from rails.core.events.session import HumanSteered
    from rails.core.events.turn import LlmCall
    from rails.edits.checkpoints import History, in_effect
    from rails.log.reader import read_strict

    records = read_strict(session.log.path)
    start = 0
    for record in records:
        if isinstance(record.event, HumanSteered) and record.event.about == "follow_up":
            start = record.seq
        if isinstance(record.event, LlmCall) and str(record.event.turn) == talk.rest:
            break
    else:
        raise UsageError("/rewind takes the number of a turn of this session, such as /rewind 2. Nothing was changed.")
    start = start or record.seq
    history = History(talk.project)
    name = session.log.session_id
    later = {one.event.step for one in records if isinstance(one.event, CheckpointEvent) and one.seq >= start}
    with uninterrupted():
        for step in reversed(in_effect(history.steps(name), undone=False)):
            if step.step in later:
                done = history.undo(name, step.step)
                say_moved(done, redo=False)
                session.publish(undo_event(done, redo=False))
        session.publish(HumanSteered("rewind", str(start), "terminal"))
    loop = session.loop
    loop.final = None
    loop.context.given.clear()
    loop.context.seen.clear()
    print(f"Files and conversation are as they were before turn {talk.rest}.")


def _context_left(loop: AgentLoop) -> str:
    window = loop.window
    if not window.tokens:
        return ""
    used = window.measured.tokens(window.thought(loop.context, loop.messages))
    return f"{max(0, 100 - 100 * used // window.tokens)} % of context left"


def _compact(_talk: Talk, session: Session) -> None:
    if said := session.loop.compact():
        print(said)


#: Commands that are about what was said, so that there has to be something.
_OF_SESSION: Final = ("/diff", "/compact", "/rewind")
_ACTIONS: Final[Mapping[str, Callable[[Talk, Any], None]]] = {
    "/help": _help,
    "/plan": _plan,
    "/rewind": _rewind,
    "/diff": _diff,
    "/undo": partial(_move, redo=False),
    "/redo": partial(_move, redo=True),
    "/compact": _compact,
}


# -- where lines come from -------------------------------------------------------------------------


Heard = Callable[[], str]


def _lines(project: Path, talk: Talk) -> Callable[[Heard | None], str | None]:
    if sys.stdin is None or not sys.stdin.isatty():
        return _read_line
    prompt = _prompt(project, talk)

    def line(heard: Heard | None) -> str | None:
        while True:
            if words := talk.queued():
                return words
            try:
                asking = partial(prompt.prompt, partial(talk.above, talk.status()), default=talk.unsent())
                return _typed_or_heard(prompt, asking, heard) if heard else asking()
            except KeyboardInterrupt as stopped:
                if stopped.args:  # a signal that ends a program
                    raise
                print("Type /quit to leave.")
            except EOFError:
                return None

    return line


def _read_line(heard: Heard | None) -> str | None:
    if line := sys.stdin.readline() if sys.stdin else "":
        return line
    while heard:
        if words := heard():
            return _shown(words)
        time.sleep(_LISTEN_SECONDS)
    return None


def _typed_or_heard(prompt: PromptSession[str], asking: Callable[[], str], heard: Heard) -> str:
    words = list[str]()
    over = threading.Event()

    def listen() -> None:
        while not words and not over.wait(_LISTEN_SECONDS):
            if said := heard():
                words.append(_shown(said))
                if prompt.app.is_running and prompt.app.loop:
                    prompt.app.loop.call_soon_threadsafe(partial(prompt.app.exit, result=""))

    listening = threading.Thread(target=listen, daemon=True, name="words from the page")
    listening.start()
    try:
        return "\n".join(filter(None, (asking(), *words)))
    finally:
        over.set()
        listening.join()


def _shown(words: str) -> str:
    print(f"from the page: {one_line(words, 600)}")
    return words


def _prompt(project: Path, talk: Talk) -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.history import FileHistory
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    from rails.commands.gate import known_files
    from rails.core.app_dirs import config_folder
    from rails.log.env_files import env_secrets
    from rails.log.masking import Masker, of_environment

    masker = Masker(b"", (*of_environment(os.environ), *env_secrets(project)))

    class Masked(FileHistory):
        """A masked history that only its user can read."""

        def load_history_strings(self) -> Iterable[str]:
            with suppress(OSError):
                yield from super().load_history_strings()

        def store_string(self, string: str) -> None:
            with suppress(OSError):
                super().store_string(masker.text(string))
                file.chmod(0o600)

    class Words(Completer):
        """Completes commands at a line's start and files after ``@``."""

        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
            del complete_event
            word = document.get_word_before_cursor(WORD=True)
            found: Mapping[str, str] = {}
            if word == document.text_before_cursor and word.startswith("/"):
                found = {name: what for name, what in COMMANDS.items() if name.startswith(word)}
            elif word.startswith("@"):
                found = {f"@{name}": "" for name in known_files(project)[:_FILES] if word[1:].lower() in name.lower()}
            yield from (Completion(name, -len(word), display_meta=what) for name, what in found.items())

    keys = KeyBindings()

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("escape", "r")
    def _(_event: KeyPressEvent) -> None:
        if talk.typed:
            talk.typed.revoke()

    file = config_folder() / _HISTORY
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
    return PromptSession(history=Masked(str(file)), completer=Words(), key_bindings=keys, complete_while_typing=True)
