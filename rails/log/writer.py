"""Writing a session log: one record, one line, one ``write()``; one writer; the disk before the deed.

- Appended records survive this process; ``events.DURABLE`` are on disk on return, others with the next of these or
  after ``GROUP_COMMIT_SECONDS`` while records come.
- Any write failure (full disk, stranger's bytes, unlinked file) ends the log: ``append`` raises LogError, tools stop.
  Nothing is truncated. Newer versions' logs are read-only.
- ``reopen`` keeps a torn last line; LOG_RECOVERED has its place, length, hash.

Needs POSIX ``O_APPEND``, ``flock``, ``fdatasync``: not every network file system.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from rails.core import atomic_file, limits, lock
from rails.core.errors import LogBusyError, LogError
from rails.core.events.base import Event, type_of
from rails.core.events.record import DURABLE, Record
from rails.core.events.session import LogRecovered, WorkflowEnd
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.log import blobs, event_codec, files
from rails.log.env_files import env_secrets
from rails.log.files import SESSION_ID
from rails.log.masking import Masker, of_environment
from rails.log.reader import LOG_NAME, Position, verify

_HOLDER: Final = "writer"
_KEY: Final = "masking.key"
#: Whoever collects stored values that no log points to holds this; a log begins, or goes on, when that is over.
COLLECTING: Final = "collecting.lock"
_MESSAGE_CHARS: Final = 1_000
_NEW: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class SessionLog(contextlib.AbstractContextManager["SessionLog", None]):
    """A session's log for appending; :meth:`create` or :meth:`reopen`, in ``with``. Thread-safe. ``state``: the
    ``.rails`` folder.
    """

    def __init__(self, state: Path, session_id: str, descriptor: int, masker: Masker) -> None:
        self.state = state
        self.session_id = session_id
        self.path = state / "sessions" / session_id / LOG_NAME
        self.group_s = limits.GROUP_COMMIT_SECONDS
        self._descriptor = descriptor
        self._masker = masker
        self._position = Position()
        self._next: Position | None = None
        self._broken = ""
        self._lock = threading.RLock()
        self._synced_at = time.monotonic()
        self._ended = False
        self._synced = -1  # how many bytes of the file are known to be on the disk

    @classmethod
    def create(cls, state: Path, *, session_id: str | None = None, secrets: Sequence[str] = ()) -> SessionLog:
        """Begin a session. ``secrets`` are masked besides the environment's (``…_KEY``, ``…_TOKEN``, ``…_PASSWORD``)
        and known shapes. Raises LogError, also if it exists.
        """
        try:
            with files.folder(state, "sessions", create=True) as folder:
                _hide_from_git(state)
                masker = _masker(state, secrets)
                name = _new_folder(folder, session_id)
                with files.folder(state, "sessions", name) as own:
                    log = cls(state, name, os.open(LOG_NAME, _NEW, 0o600, dir_fd=own), masker)
                    with log._closed_on_failure():
                        log._hold(own)
                        os.fsync(folder)
        except OSError as error:
            raise LogError(f"The session log cannot be created in {state}: {error.strerror or error}") from error
        return log

    @classmethod
    def reopen(cls, state: Path, session_id: str, *, secrets: Sequence[str] = ()) -> SessionLog:
        """Open an interrupted log, marking a torn tail. Raises LogError if unopenable, held by another writer, or
        damaged further up.
        """
        if not SESSION_ID.fullmatch(session_id):
            raise LogError(f"{session_id[:80]!r} is not the name of a session")
        try:
            masker = _masker(state, secrets)
            with files.folder(state, "sessions", session_id) as own:
                log = cls(state, session_id, files.open_regular(LOG_NAME, os.O_RDWR | os.O_APPEND, at=own), masker)
                with log._closed_on_failure():
                    log._hold(own)
                    log._recover()
        except OSError as error:
            where = state / "sessions" / session_id
            raise LogError(f"The session log in {where} cannot be opened: {error.strerror or error}") from error
        return log

    def masked(self, text: str) -> str:
        """Return ``text`` for an agent: without certain secrets."""
        return self._masker.text(text, certain=True)

    def append(self, event: Event, agent_role: str = "", llm_model_used: str = "") -> Record:
        """Write ``event``; return its record, masked, large values as pointers. Raises LogError: then change nothing in
        the project.
        """
        with self._lock:
            self._settle()
            details, body = self._payload(given := event.to_json())
            line, record = event_codec.encode_record(
                self._position.seq + 1,
                datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
                self.session_id,
                agent_role=agent_role,
                llm_model_used=llm_model_used,
                event_type=event.type,
                message=one_line(self._masker.text(event.message), _MESSAGE_CHARS),
                details=details,
                prev=self._position.hash,
                body=body,
            )
            at = self._position
            self._next = Position(at.offset + len(line), at.line + 1, record.seq, record.hash)
            self._write(line)
            self._position = self._next
            self._next = None
            self._commit(durable=event.type in DURABLE)
            self._ended = event.type == type_of(WorkflowEnd)
        if details is given and record.message == event.message and not hasattr(event, "verdict"):
            # Read back, it would be the same, but for a request without its raw text, and a verdict without its files.
            record.__dict__["event"] = event
        return record

    @property
    def is_new(self) -> bool:
        """Whether nothing was written yet."""
        return self._position.seq < 1

    def blob(self, data: bytes) -> str:
        """Keep masked ``data`` outside the log; return the SHA-256 of what was kept."""
        return self._keep(self._masker.data(data))

    def as_kept(self, text: str) -> str:
        """Return a text with every secret masked."""
        return self._masker.text(text.encode("utf-8", "replace").decode())

    def sync(self) -> None:
        """Put everything on the disk. Raises LogError."""
        with self._lock:
            self._commit(durable=True)

    def close(self, *_: object) -> None:
        """Put everything on the disk and close; idempotent."""
        with self._lock:
            if self._descriptor < 0:
                return
            try:
                if not self._broken:
                    self._commit(durable=True)
            finally:
                os.close(self._descriptor)
                self._descriptor = -1
                self._broken = "it is closed"
        if self._ended:
            from rails.log.summaries import keep_summary

            keep_summary(self.state, self.session_id)

    __exit__ = close

    def _payload(self, details: Mapping[str, Json]) -> tuple[Mapping[str, Json], bytes]:
        with contextlib.suppress(TypeError):  # a mapping that is no dict takes the longer way
            text = event_codec.unescaped(details)
            if not self._masker.may_touch(text) and (body := blobs.small(text)):
                return details, body
        masked = self._masker.value(dict(details))
        small = blobs.shrink(masked if isinstance(masked, dict) else {}, self._keep)
        return small, event_codec.dumps(small).encode()

    def _keep(self, data: bytes) -> str:
        return blobs.store_blob(self.state, data)

    @contextlib.contextmanager
    def _closed_on_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            os.close(self._descriptor)
            raise

    def _hold(self, own: int) -> None:
        """Become the only writer, or say who is; waits briefly for a predecessor."""
        if not lock.acquire(self._descriptor, limits.LOCK_SECONDS):
            raise LogBusyError(f"The session {self.session_id} is being written by {_holder(own)}.")
        collecting = self.state / COLLECTING
        # Whoever makes it from now on sees that this log is held.
        if collecting.exists() and not _is_over(collecting):
            raise LogBusyError(f"Sessions are being deleted in {self.state}. Try again when that is done.")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(_HOLDER, dir_fd=own)
        atomic_file.create(own, _HOLDER, f"process {os.getpid()}".encode(), durable=False)

    def _recover(self) -> None:
        """Find the log's end; mark a torn tail. Raises LogError for damage further up."""
        found = verify(self.path)
        if newer := next((item for item in found.damage if item.is_newer), None):
            raise LogError(
                f"The session log {self.path} is only read, not written: {newer}. Nothing was changed. "
                "Go on with the version of AI-Rails that wrote it, or start a new session."
            )
        if found.in_flight:
            atomic_file.write_all(self._descriptor, b"\n")
            found = verify(self.path)
        self._position = found.end
        for item in found.damage:
            if item.offset <= found.last_offset:  # a whole record that was changed was not torn by a crash
                raise LogError(
                    f"The session log {self.path} is damaged at {item}. Nothing was changed. "
                    "Review it with `ai-rails log verify`, and start a new session to go on."
                )
        for item in found.damage:
            words = f"A record was torn by a crash and is kept: {item}"
            self.append(LogRecovered(words, item.offset, item.length, item.sha256))
        self._commit(durable=True)

    def _write(self, line: bytes) -> None:
        try:
            atomic_file.write_all(self._descriptor, line)
        except OSError as error:
            self._fail(error)

    def _commit(self, *, durable: bool) -> None:
        now = time.monotonic()
        if self._synced == self._position.offset or (not durable and now - self._synced_at < self.group_s):
            return
        try:
            lock.sync(self._descriptor)
        except OSError as error:  # the kernel may have dropped the data: a second try would only look like success
            self._fail(error)
        self._synced_at = now
        self._synced = self._position.offset

    def _settle(self) -> None:
        """Match the position to the file, also after an interrupt between write and count."""
        if self._broken:
            raise LogError(f"The session log {self.path} can no longer be written: {self._broken}.")
        held = os.fstat(self._descriptor)
        self._require_in_place(held)
        size = held.st_size
        if self._next is not None and size == self._next.offset:
            self._position = self._next
            self._next = None
        elif size == self._position.offset:
            self._next = None
        else:
            self._broken = f"it has {size} bytes where {self._position.offset} were written"
            raise LogError(f"The session log {self.path} was changed by another program: {self._broken}.")

    def _require_in_place(self, held: os.stat_result) -> None:
        """Stop if the log was unlinked or replaced: nobody could read it."""
        with contextlib.suppress(OSError):
            there = os.lstat(self.path)
            if (there.st_ino, there.st_dev) == (held.st_ino, held.st_dev):
                return
        self._broken = "it was removed or replaced by another program"
        raise LogError(f"The session log {self.path} is gone: {self._broken}. No tool runs without it.")

    def _fail(self, error: OSError) -> None:
        self._broken = error.strerror or str(error)
        raise LogError(
            f"The session log {self.path} cannot be written: {self._broken}. No tool runs without it."
        ) from error


def _is_over(file: Path) -> bool:
    with lock.held(file, limits.COLLECTING_SECONDS) as over:
        return over


def _new_folder(folder: int, session_id: str | None) -> str:
    """Make a session's folder; names begin with the time, so they sort."""
    if session_id is not None:
        if not SESSION_ID.fullmatch(session_id):
            raise LogError(f"{session_id[:80]!r} cannot name a session: use letters, digits, dots and dashes")
        try:
            os.mkdir(session_id, 0o700, dir_fd=folder)
        except FileExistsError as error:
            raise LogBusyError(f"There is a session {session_id} already") from error
        return session_id
    while True:
        now = datetime.now(UTC)
        # The fraction of the second, so that sessions of one second are in their order by name too.
        name = f"{now:%Y%m%d-%H%M%S}-{now.microsecond * 65_536 // 1_000_000:04x}"
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=folder)
            return name


def _masker(state: Path, values: Sequence[str]) -> Masker:
    with files.folder(state) as folder:
        atomic_file.create(folder, _KEY, os.urandom(32))
        return Masker(
            files.read_regular_file(folder, _KEY), (*values, *of_environment(os.environ), *env_secrets(state.parent))
        )


def _hide_from_git(state: Path) -> None:
    with files.folder(state) as folder:
        atomic_file.create(folder, ".gitignore", b"*\n")


def _holder(own: int) -> str:
    try:
        return one_line(files.read_regular_file(own, _HOLDER).decode("utf-8", "replace"), 80) or "another process"
    except OSError:
        return "another process"
