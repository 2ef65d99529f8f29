"""``ruff server`` kept warm: the same answers as the command gives, thirty times as fast.

The server speaks the Language Server Protocol 3.17 on its pipes (``Content-Length`` headers and JSON-RPC
2.0). Texts are opened, asked about and closed; nothing of them needs to be on disk. Positions are
negotiated as UTF-32, so that columns count characters as ours do. A configuration that the server cannot
read makes it fall back to its defaults and say so in a message only; such a server is not used.
"""

from __future__ import annotations

import codecs
import json
import os
import threading
import time
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Literal

from rails.core import limits
from rails.core.errors import CheckError
from rails.core.text import one_line, plain_text
from rails.gate.languages.python import ruff
from rails.gate.languages.python.config import RuffSettings
from rails.gate.support import diagnostics
from rails.gate.support.diagnostics import Diagnostic, FixEdit
from rails.gate.support.warm_processes import Pipe
from rails.processes import programs

if TYPE_CHECKING:
    from rails.core.tool_request import Json

_URI_SAFE: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-._~")
_OPTIONS: Final[Json] = {"tabSize": 4, "insertSpaces": True}
RuffTask = Literal["lint", "format"]
#: What is asked about which path with which content.
RuffRequest = tuple[RuffTask, str, bytes]
_METHODS: Final[Mapping[RuffTask, tuple[str, Mapping[str, Json]]]] = {
    "lint": ("textDocument/diagnostic", {}),
    "format": ("textDocument/formatting", {"options": _OPTIONS}),
}
_HELP: Final = "\n\nhelp: "


class BadConfigurationError(CheckError):
    """The server could not read a configuration and would silently use its defaults."""


class RuffServer:
    """One server for one project and one way to be configured. Answers one request after the other."""

    def __init__(self, tool: programs.Tool, project: Path, settings: RuffSettings) -> None:
        self.tool, self.project = tool, project
        self.seen: dict[str, str] = {settings.origin: settings.digest}
        self._lock, self._listening = threading.Lock(), threading.Lock()
        self._awaited: set[int] = {0}
        self._number = 0
        self._complaint = ""
        self._expected: dict[RuffRequest, int] = {}
        self._early: dict[int, Mapping[str, Json]] = {}
        self._pipe = Pipe("ruff server", programs.start_tool([*tool.argv, "server"]), _frame)
        try:
            self._initialize(settings)
        except CheckError:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The process id, for reports."""
        return self._pipe.pid

    @property
    def alive(self) -> bool:
        """Whether the process has not closed its output, as one that ends does."""
        return self._pipe.listens

    def knows(self, settings: RuffSettings) -> bool:
        """Whether the configuration file that counts is the one the server has read."""
        return self.seen.get(settings.origin) == settings.digest

    def lint(self, path: str, data: bytes) -> list[Diagnostic]:
        """Return what ruff finds in ``data`` as the content of ``path``. Raises CheckError."""
        answer = self._about("lint", path, data)
        try:
            items = answer["items"] if isinstance(answer, dict) else None
            found = [_diagnostic(item, self.tool) for item in _dicts(items)]
            return sorted(found, key=lambda one: (one.start, one.rule))
        except (KeyError, TypeError) as error:
            raise CheckError("ruff server answered something unknown.") from error

    def format(self, path: str, data: bytes) -> bytes:
        """Return ``data`` formatted, or as it is when the server would not format it. Raises CheckError."""
        return self._edited(data, self._about("format", path, data))

    def expect(self, questions: Sequence[RuffRequest]) -> None:
        """Ask now what will be asked for soon; the server works on it while we do something else.

        Questions about one text that follow each other share its opening. What is not UTF-8 is left out.
        Raises CheckError when the server has gone.
        """
        with self._lock:
            sent = bytearray()
            for (path, data), group in groupby(questions, key=lambda question: question[1:]):
                asked = [question for question in group if question not in self._expected]
                text = plain_text(data)
                if asked and text is not None:
                    sent += self._written(asked, path, text)
            if sent:
                self._pipe.send(bytes(sent))

    def forget(self) -> None:
        """Discard what was expected and never asked for."""
        with self._lock:
            self._expected.clear()
            self._early.clear()

    def _edited(self, data: bytes, edits: Json) -> bytes:
        if not edits:
            return data
        text = plain_text(data)
        if text is None:
            return data
        try:
            chosen = Diagnostic("format", "", (1, 1), (1, 1), tuple(map(_edit, _dicts(edits))))
        except (KeyError, TypeError) as error:
            raise CheckError("ruff server answered something unknown.") from error
        made = diagnostics.apply_fixes(text, [chosen])[0].encode()
        return codecs.BOM_UTF8 + made if data.startswith(codecs.BOM_UTF8) else made

    def close(self) -> None:
        """Stop the server."""
        self._pipe.close()

    def _initialize(self, settings: RuffSettings) -> None:
        configuration = _nested(dict(settings.options))
        preference = "editorFirst" if settings.project else "editorOnly"
        client: Json = {"configurationPreference": preference, "logLevel": "error", "showSyntaxErrors": True}
        if configuration and isinstance(client, dict):
            client["configuration"] = configuration
        folder: Json = {"uri": _uri(str(self.project)), "name": "project"}
        capabilities: Json = {
            "general": {"positionEncodings": ["utf-32"]},
            "textDocument": {"diagnostic": {"dynamicRegistration": False}},
        }
        about: Mapping[str, Json] = {
            "processId": None,
            "capabilities": capabilities,
            "initializationOptions": {"settings": client, "globalSettings": client},
            "workspaceFolders": [folder],
        }
        self._pipe.send(_request(0, "initialize", about))
        self._answer(0)
        self._pipe.send(_notification("initialized", {}))

    def _about(self, what: RuffTask, path: str, data: bytes) -> Json:
        text = plain_text(data)
        if text is None:
            raise CheckError(f"{path} is not UTF-8 text.")
        question = (what, path, data)
        with self._lock:
            if question not in self._expected:
                self._pipe.send(self._written([question], path, text))
            number = self._expected.pop(question)
            self._awaited.add(number)
        answer = self._answer(number)
        if self._complaint:
            raise BadConfigurationError(self._complaint)
        return answer

    def _written(self, questions: Sequence[RuffRequest], path: str, text: str) -> bytes:
        """Return the messages that open a text, ask about it and close it; its answers are expected from now on."""
        document: dict[str, Json] = {"uri": _uri(f"{self.project}/{path}")}
        opened: dict[str, Json] = {**document, "languageId": "python", "version": 1, "text": text}
        messages = [_notification("textDocument/didOpen", {"textDocument": opened})]
        for question in questions:
            self._number += 1
            self._expected[question] = self._number
            method, parameters = _METHODS[question[0]]
            messages.append(_request(self._number, method, {"textDocument": document, **parameters}))
        messages.append(_notification("textDocument/didClose", {"textDocument": document}))
        return b"".join(messages)

    def _answer(self, wanted: int) -> Json:
        """Wait for the answer to a request. Answers to others that are awaited or expected are kept."""
        deadline = time.monotonic() + limits.CHECK_SECONDS
        while (message := self._early.pop(wanted, None)) is None:
            # One thread listens for all; whoever gets its turn may find that its answer has come meanwhile.
            with self._listening:
                if wanted not in self._early:
                    self._receive(deadline)
        self._awaited.discard(wanted)
        if isinstance(failure := message.get("error"), dict):
            raise CheckError(f"ruff server: {one_line(str(failure.get('message')), 200)}")
        return message.get("result")

    def _receive(self, deadline: float) -> None:
        try:
            received = json.loads(self._pipe.receive(deadline))
        except ValueError as error:
            raise CheckError("ruff server answered something that is not JSON.") from error
        if "method" in received:
            self._notice(received)
            return
        with self._lock:
            if (number := received.get("id")) in self._awaited or number in self._expected.values():
                self._early[number] = received

    def _notice(self, message: Mapping[str, Json]) -> None:
        parameters = message.get("params")
        if (
            message["method"] == "window/showMessage"
            and isinstance(parameters, dict)
            and parameters.get("type") in (1, 2)
        ):
            self._complaint = one_line(str(parameters.get("message")), 200)


def _uri(path: str) -> str:
    """Return a file URI; ``Path.as_uri`` would import ten modules for it."""
    if os.name == "nt":
        return Path(path).as_uri()
    if _URI_SAFE.issuperset(path.encode()):
        return f"file://{path}"
    return "file://" + "".join(chr(byte) if byte in _URI_SAFE else f"%{byte:02X}" for byte in path.encode())


def _notification(method: str, parameters: Mapping[str, Json]) -> bytes:
    return _message({"jsonrpc": "2.0", "method": method, "params": dict(parameters)})


def _request(number: int, method: str, parameters: Mapping[str, Json]) -> bytes:
    return _message({"jsonrpc": "2.0", "id": number, "method": method, "params": dict(parameters)})


def _message(value: Json) -> bytes:
    body = json.dumps(value).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def _frame(output: IO[bytes]) -> bytes | None:
    """Read one message; ``None`` at the end of the output."""
    length = 0
    while line := output.readline():
        if not line.strip():
            return output.read(length) or None
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return None


def _nested(options: Mapping[str, object]) -> dict[str, Json]:
    """Turn dotted option names into the nested tables the server wants."""
    result: dict[str, Json] = {}
    for name, value in options.items():
        *tables, key = name.split(".")
        inner = result
        for table in tables:
            below = inner.setdefault(table, {})
            if isinstance(below, dict):
                inner = below
        inner[key] = list(value) if isinstance(value, tuple) else value  # type: ignore[assignment]
    return result


def _diagnostic(item: Mapping[str, Json], tool: programs.Tool) -> Diagnostic:
    message, _, remedy = str(item["message"]).partition(_HELP)
    extra = item.get("data")
    edits: tuple[FixEdit, ...] = ()
    safe = False
    if isinstance(extra, dict) and isinstance(found := extra.get("edits"), list):
        edits = tuple(map(_edit, _dicts(found)))
        safe = extra.get("is_preferred") is True
    start, end = _range(item["range"])
    reported = str(item.get("code") or diagnostics.SYNTAX)
    rule = reported if reported == diagnostics.SYNTAX else ruff.code_of(tool, reported)
    return Diagnostic(rule, message, start, end, edits, safe, remedy)


def _dicts(value: Json) -> list[dict[str, Json]]:
    if not isinstance(value, list):
        raise TypeError("list")
    return [item for item in value if isinstance(item, dict)]


def _edit(item: Mapping[str, Json]) -> FixEdit:
    start, end = _range(item["range"])
    return FixEdit(start, end, str(item["newText"]))


def _range(value: Json) -> tuple[tuple[int, int], tuple[int, int]]:
    if not isinstance(value, dict):
        raise TypeError("range")
    return _place(value["start"]), _place(value["end"])


def _place(value: Json) -> tuple[int, int]:
    if not isinstance(value, dict):
        raise TypeError("position")
    line, character = value["line"], value["character"]
    if not isinstance(line, int) or not isinstance(character, int):
        raise TypeError("position")
    return line + 1, character + 1
