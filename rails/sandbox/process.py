"""Starting, reading and ending a program, whatever contains it.

Covered: time, output, its process group; with :func:`supervised` also own sessions and a SIGKILL of ours. Not covered:
what it may touch (``prepare``).
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct, field

from rails.core.errors import CheckError
from rails.sandbox.output import Kept

if TYPE_CHECKING:
    import ctypes

#: A program with pipes, for who talks to it.
PipedProcess: TypeAlias = "subprocess.Popen[bytes]"

#: Takes each piece of output (of errors: True), and b"" meanwhile; its exception ends the program.
Watched: TypeAlias = Callable[[bytes, bool], object]
WATCHED: Final[ContextVar[Watched]] = ContextVar("watched", default=lambda *_: None)

#: Seconds between two looks.
POLL_S: Final = 0.05
#: How long a killed program's output is still awaited.
_GRACE_SECONDS: Final = 1.0
#: How long a supervisor may take to end what it watches.
_END_SECONDS: Final = 5.0
_SET_DEATH_SIGNAL, _SET_SUBREAPER = 1, 36


class Launch(Struct, frozen=True):
    """A program to start; ``prepare`` runs in the new process first.

    ``supervised``: its first process is our supervisor, which ends all on SIGTERM. ``keep``: descriptors kept open.
    ``first``: the process that all end with, if not ours. ``check`` takes its output; raises CheckError if it was not
    even begun.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    prepare: Callable[[], None] | None = None
    supervised: bool = False
    keep: tuple[int, ...] = ()
    first: Callable[[], int] = lambda: 0
    check: Callable[[str], None] = lambda _: None


class Running(Struct):
    """A started program and its pipes; always call :meth:`end`."""

    process: subprocess.Popen[bytes]
    launch: Launch
    after: list[Callable[[], None]] = field(default_factory=list)

    def kill(self) -> None:
        """Kill it and its children, wait; pipes stay open."""
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                if self.launch.supervised:
                    self.process.terminate()
                    ended_within(self.process, _END_SECONDS)
                elif first := self.launch.first():
                    os.kill(first, signal.SIGKILL)
                    ended_within(self.process, _END_SECONDS)
        kill_group(self.process)

    def end(self) -> None:
        """Kill it, close its pipes; idempotent."""
        self.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        while self.after:
            self.after.pop()()


def start_process(launch: Launch, *, stdin: bool = True, together: bool = False, inherited: bool = False) -> Running:
    """Start it with pipes, in its own session. Raises CheckError if impossible.

    ``together``: errors into output; ``stdin`` false: empty input; ``inherited``: this process's.
    """
    prepare = supervisor(launch.prepare) if launch.supervised else launch.prepare
    given = None if inherited else subprocess.PIPE if stdin else subprocess.DEVNULL
    kinds = subprocess.STDOUT if together else subprocess.PIPE

    def begin() -> subprocess.Popen[bytes]:
        # Safe among threads: what runs between fork and exec here takes no lock but those that Python and the C
        # library renew in the child. No launcher in between: it would cost as much as all the rest.
        return subprocess.Popen(
            list(launch.argv),
            cwd=launch.folder,
            env=dict(launch.environment),
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=kinds,
            start_new_session=True,
            preexec_fn=prepare,  # noqa: PLW1509
            pass_fds=launch.keep,
        )

    try:
        return Running(_starter().submit(begin).result(), launch)
    except (OSError, subprocess.SubprocessError) as error:
        words = getattr(error, "strerror", None) or "the system refused what contains it; run: ai-rails doctor"
        raise CheckError(f"{Path(launch.argv[0]).name} could not be started: {words}.") from error


_starters: dict[int, ThreadPoolExecutor] = {}


def _starter() -> ThreadPoolExecutor:
    """Return the one starting thread: the parent-death signal is tied to it.

    A forked process needs its own. Racing threads get the same one: dropping a second would end what it started.
    """
    own = os.getpid()
    return _starters.get(own) or _starters.setdefault(own, ThreadPoolExecutor(1, "starts programs"))


def converse(running: Running, stdin: bytes, stdout: Kept, stderr: Kept, timeout: float | None) -> bool:
    """Feed and read the program until it ends; return whether time ran out.

    The program's end decides: a grandchild may hold the pipes open.
    """
    process = running.process
    rest = memoryview(stdin)
    watched = WATCHED.get()
    deadline = float("inf") if timeout is None else time.monotonic() + timeout
    with selectors.DefaultSelector() as selector:
        for stream, kept in ((process.stdout, stdout), (process.stderr, stderr)):
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ, kept)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE)
        ended_at: float | None = None
        while selector.get_map():
            watched(b"", False)
            now = time.monotonic()
            if now >= deadline:
                return True
            if ended_at is None and process.poll() is not None:
                ended_at = now
            if ended_at is not None and now - ended_at > _GRACE_SECONDS:
                return False
            for key, _ in selector.select(min(POLL_S, deadline - now)):
                if key.data is None:
                    rest = _feed(selector, key, rest)
                else:
                    watched(_take(selector, key), key.data is stderr)
    while not ended_within(process, POLL_S):  # it has closed its output
        watched(b"", False)
        if time.monotonic() >= deadline:
            return True
    return False


def ended_within(process: subprocess.Popen[bytes], seconds: float | None) -> bool:
    """Return whether it ends in time."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
        return True
    return False


def _feed(selector: selectors.BaseSelector, key: selectors.SelectorKey, rest: memoryview) -> memoryview:
    try:
        rest = rest[os.write(key.fd, rest[:65536]) :]
    except BlockingIOError:
        return rest
    except OSError:
        rest = rest[:0]
    if not rest:
        selector.unregister(key.fileobj)
        key.fileobj.close()  # type: ignore[union-attr]
    return rest


def _take(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> bytes:
    chunk = os.read(key.fd, 65536)
    if chunk:
        key.data.add(chunk)
    else:
        selector.unregister(key.fileobj)
    return chunk


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the process group and reap the program."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


# -- a supervisor, where no namespace ends everything -------------------------------------------------


def supervisor(prepare: Callable[[], None] | None) -> Callable[[], None]:
    """Return what makes the new process a supervisor with the program as child.

    It inherits orphans and kills them all when the program ends, on SIGTERM, or when its own parent is gone.
    """
    parent, linux = os.getpid(), sys.platform == "linux"
    library = libc() if linux else None
    signals = {signal.SIGCHLD, signal.SIGTERM}

    def become() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        if library:
            library.prctl(_SET_SUBREAPER, 1, 0, 0, 0)
            library.prctl(_SET_DEATH_SIGNAL, signal.SIGTERM, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(1)
        child = os.fork()
        if child == 0:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
            if prepare:
                prepare()
            return
        os.closerange(0, 65_536)  # its pipes, and the one that tells our caller that the program has begun
        _watch(child, signals)

    return become


def _watch(child: int, signals: set[signal.Signals]) -> None:
    status: int = signal.SIGKILL
    while True:
        ended = signal.sigwait(signals) == signal.SIGTERM
        with contextlib.suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                if found[0] == child:
                    ended, status = True, found[1]
        if ended:
            _end_children()
            code = os.waitstatus_to_exitcode(status)
            if code < 0:
                signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {-code})
                os.kill(os.getpid(), -code)
            os._exit(code if code >= 0 else 128 - code)


def _end_children() -> None:
    for _ in range(100_000):
        with contextlib.suppress(OSError):  # no such list, or one of them is gone
            for pid in _children():
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return


def _children() -> list[int]:
    return [int(word) for word in Path(f"/proc/self/task/{os.getpid()}/children").read_bytes().split()]


@cache
def libc() -> ctypes.CDLL:
    """Return the C library, loaded before a fork."""
    import ctypes

    return ctypes.CDLL(None, use_errno=True)
