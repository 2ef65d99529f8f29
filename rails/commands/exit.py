"""The end of a process, also by Ctrl-C or a signal at any moment."""

from __future__ import annotations

import atexit
import math
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from rails.core.exit_codes import EXIT_BROKEN
from rails.core.text import one_line

#: What ends a program from outside: it ends as Ctrl-C ends it, so that nothing is left.
_ENDS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
#: Seconds within which a second signal says nothing new.
_AT_ONCE: Final = 1.0
_came = -math.inf
#: What came while something was begun that is not left half done; ``None`` where nothing is.
_held: list[int] | None = None


def interrupted(number: int, _frame: object) -> None:
    """Raise KeyboardInterrupt, unless another signal came just before: its cleanup must not be interrupted."""
    global _came
    if _held is not None:
        _held.append(number)
        return
    before, _came = _came, time.monotonic()
    if _came - before > _AT_ONCE:
        raise KeyboardInterrupt(*(() if number == signal.SIGINT else (signal.Signals(number).name,)))


def take_interrupts() -> None:
    """Handle termination signals; two in quick succession count once, ignored ones stay so."""
    for number in _ENDS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):  # else: nohup
            signal.signal(number, interrupted)


def tell_of_threads() -> None:
    """Report exceptions of threads in one line; the thread's waiter reports the rest."""
    import threading

    def tell(failed: threading.ExceptHookArgs) -> None:
        if os.environ.get("AI_RAILS_DEBUG"):
            threading.__excepthook__(failed)
            return
        what = one_line(f"{failed.exc_type.__name__}: {failed.exc_value}", 200)
        with suppress(OSError):
            print(f"  A part of AI-Rails failed; the rest continues: {what}", file=sys.stderr)

    threading.excepthook = tell


def code_after(by: str) -> int:
    """Return the exit code after Ctrl-C or this signal: 128 plus its number."""
    return 128 + signal.Signals["SIGINT" if by in ("", "Ctrl-C") else by]


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore Ctrl-C in the block, and delay other signals until its end."""
    global _held
    came, _held = _held, list[int]()
    try:
        yield
    finally:
        ends, _held = [number for number in _held if number != signal.SIGINT], came
    if ends:
        interrupted(ends[0], None)


def end_process(code: int) -> None:
    """End this process at once, after exit handlers and flushing; saves a tenth of ``ai-rails gate FILE``.

    Returns if a thread works or output cannot be written.
    """
    threading = sys.modules.get("threading")
    if threading and any(
        not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()
    ):
        return
    try:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except Exception:  # the interpreter's own end says what is wrong
        return
    os._exit(code)


def settle_streams(code: int) -> int:
    """Flush the streams; return ``code``, or an error instead of 0 if standard output is lost.

    A broken pipe is no error (Python would exit with 120). A spinner's stand-in may be in a stream's place.
    """
    ours = [number for number in _ENDS if signal.getsignal(number) is interrupted]
    for number in ours:  # nobody takes what is given out
        signal.signal(number, lambda number, _frame: os._exit(128 + number))
    sys.stdout = sys.__stdout__
    sys.stderr = sys.__stderr__
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            if stream is sys.stdout and not isinstance(error, BrokenPipeError):
                code = code or EXIT_BROKEN
                with suppress(OSError):
                    print(f"ai-rails: standard output cannot be written: {error.strerror}", file=sys.stderr)
    for number in ours:  # only waiting for threads is left to stop; taken apart after that, Python would end by it
        signal.signal(number, lambda *_: os._exit(code))
        atexit.register(signal.signal, number, signal.SIG_IGN)
    # Python ends by SIGINT (-2, not ``code``) where Ctrl-C once struck in the ``exec`` of a text, as classes are made
    # while a library is imported, although it was caught. Each further text that is executed makes it forget that.
    exec("")  # noqa: S102 - nothing is executed
    return code
