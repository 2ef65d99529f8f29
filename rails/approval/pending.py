"""Answers from other processes, left beside the log of a run, which checks and records them.

A question is its APPROVAL_OPENED record's number, so old answers are never reused; the first file with that name is the
answer. A code made with a key from the user's configuration folder keeps out what only writes into the project, but not
a program run as the user.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rails.core import atomic_file, limits, lock
from rails.core.errors import LogError
from rails.core.tool_request import Json
from rails.log import files
from rails.log.files import SESSION_ID
from rails.log.reader import LOG_NAME

_FOLDER: Final = "answers"
_KEY: Final = "answers.key"

#: What is said to a conversation is left like the answer to a question that there is not.
_WORDS: Final = 0
_HEARING: Final = "hearing"


class PendingAnswers:
    """Pending answers of a session; ``key`` is :func:`answer_key`. Raises LogError for a bad session name."""

    def __init__(self, state: Path, session_id: str, key: bytes) -> None:
        if not SESSION_ID.fullmatch(session_id):
            raise LogError(f"{session_id[:80]!r} is not the name of a session")
        self._state = state
        self._session_id = session_id
        self._key = key
        self._folder = state / "sessions" / session_id / _FOLDER

    def listen(self) -> None:
        """Take answers from now on. Raises LogError."""
        try:
            with files.folder(self._state, "sessions", self._session_id, _FOLDER, create=True):
                pass
        except OSError as error:
            raise LogError(f"Answers cannot be taken in {self._folder}: {error.strerror or error}") from error

    @property
    def listening(self) -> bool:
        """Whether answers are taken and the log has a writer."""
        return self._folder.is_dir() and is_being_written(self._state, self._session_id)

    def place(self, question: int, answer: Mapping[str, Json]) -> bool:
        """Leave an answer, atomically; False if there is one already. Raises LogError."""
        body = json.dumps(dict(answer))
        letter = json.dumps({"answer": body, "code": self._code(question, body)}).encode()
        try:
            with files.folder(self._state, "sessions", self._session_id, _FOLDER) as box:
                return atomic_file.create(box, _name(question), letter)
        except OSError as error:
            raise LogError(
                f"The answer cannot be left in {self._folder}: {error.strerror or error}. Nothing was done."
            ) from error

    def waiting(self, question: int) -> bool:
        """Return whether there is an answer."""
        return (self._folder / _name(question)).exists()

    def read(self, question: int) -> Mapping[str, Json] | None:
        """Return the answer, None if there is none, {} if it is not genuine."""
        try:
            with files.folder(self._state, "sessions", self._session_id, _FOLDER) as box:
                data = files.read_regular_file(box, _name(question))
        except FileNotFoundError:
            return None
        except OSError:
            return {}
        return self._opened(question, data)

    def discard(self, question: int) -> None:
        """Remove the answer, so that the question is open again."""
        with contextlib.suppress(OSError), files.folder(self._state, "sessions", self._session_id, _FOLDER) as box:
            os.unlink(_name(question), dir_fd=box)

    def hear(self, *, on: bool) -> None:
        """Note whether the run waits for a message. Raises LogError."""
        try:
            if on:
                (self._folder / _HEARING).touch()
            else:
                (self._folder / _HEARING).unlink(missing_ok=True)
        except OSError as error:
            raise LogError(f"Messages cannot be taken in {self._folder}: {error.strerror or error}") from error

    @property
    def hearing(self) -> bool:
        """Whether the run waits for a message."""
        return (self._folder / _HEARING).exists() and self.listening

    def say(self, words: str) -> bool:
        """Leave a message for the run; False if the last one was not taken. Raises LogError."""
        return self.place(_WORDS, {"words": words, "at": time.time()})

    def heard(self, since: float) -> str:
        """Take the message left after ``since``, or ""."""
        found = self.read(_WORDS)
        if found is None:
            return ""
        self.discard(_WORDS)
        words = found.get("words")
        at = found.get("at")
        return words if isinstance(words, str) and isinstance(at, float) and at > since else ""

    def _opened(self, question: int, data: bytes) -> Mapping[str, Json]:
        if len(data) > 3 * limits.PAGE_BODY_BYTES:
            return {}
        try:
            letter = json.loads(data)
            body = letter["answer"]
            code = letter["code"]
            if not hmac.compare_digest(str(code).encode(), self._code(question, body).encode()):
                return {}
            answer = json.loads(body)
        except (ValueError, TypeError, KeyError, RecursionError):
            return {}
        return answer if isinstance(answer, dict) else {}

    def _code(self, question: int, body: str) -> str:
        text = f"{self._session_id}\n{question}\n{body}"
        return hmac.new(self._key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def answer_key(folder: Path) -> bytes:
    """Return the key of the configuration ``folder``, made on first use. Raises LogError."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        at = os.open(folder, os.O_RDONLY)
        try:
            if not (folder / _KEY).exists():
                atomic_file.create(at, _KEY, secrets.token_bytes(32))
            key = files.read_regular_file(at, _KEY)
        finally:
            os.close(at)
    except OSError as error:
        raise LogError(f"The key for answers cannot be kept in {folder}: {error.strerror or error}") from error
    if len(key) != 32:
        raise LogError(f"{folder / _KEY} is not a key of this program. Remove it; a new one is made.")
    return key


def is_being_written(state: Path, session_id: str) -> bool:
    """Return whether a process has the session's log open for writing."""
    try:
        descriptor = files.open_regular(str(state / "sessions" / session_id / LOG_NAME), os.O_RDONLY)
    except OSError:
        return False
    try:
        # A reopening writer waits for a moment's lock like this one.
        return not lock.acquire(descriptor, shared=True)
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _name(question: int) -> str:
    return f"{question}.json"
