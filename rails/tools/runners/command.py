"""A tool that is a program: an argument array, never a shell.

Covered: each parameter fills exactly one argument, whatever it contains; a value that begins with a dash
cannot become an option; the environment is an allow-list; the working folder is the project; on timeout
the whole process group is killed; output is bounded. Not covered: what the program itself does, and a
child that it moves to a session of its own. It runs as the user, so a command definition is trusted like
a script.
"""

from __future__ import annotations

import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from rails.core import limits
from rails.core.dataclass import dataclass
from rails.core.text import head_and_tail, one_line
from rails.core.tool_request import Json, ToolRequest, ToolResult
from rails.tools import transports
from rails.tools.registry import Command, Definition
from rails.tools.runners.output import Kept
from rails.tools.runners.secrets import Secrets
from rails.tools.transports import placeholders

#: What a program may see of our environment; nothing with a key in it has one of these names.
_ENVIRONMENT: Final = (
    *("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TEMP", "TMP"),
    *("SYSTEMROOT", "SYSTEMDRIVE", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PATHEXT", "COMSPEC", "VIRTUAL_ENV"),
)
#: One argument: Linux allows 131,072 bytes.
_ARGUMENT_BYTES: Final = 100_000
#: How long a killed program's output is still awaited.
_GRACE_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program ended. ``exit_code`` is negative for a signal and ``None`` when it could not start."""

    exit_code: int | None
    stdout: str
    stderr: str
    timed_out: bool = False


def run_command_tool(request: ToolRequest, definition: Definition, project: Path) -> ToolResult:
    """Run a command tool. Exit code 0 is success; everything else is a failed result with the output."""
    transport = definition.transport
    if not isinstance(transport, Command):
        raise TypeError("not a command tool")
    arguments = fill(transport.command, request.parameters)
    if isinstance(arguments, str):
        return ToolResult(False, arguments)
    secrets = Secrets.find(definition.secrets, project)
    if secrets.missing:
        return ToolResult(False, secrets.complaint())
    environment = {**clean_environment(project), **secrets.values, **secrets.fill(transport.env)}
    program = find_program(arguments[0], environment["PATH"], project)
    if program is None:
        return ToolResult(False, f"The program {one_line(arguments[0])!r} of {definition.tool_name} was not found.")
    text = json.dumps(dict(request.parameters), ensure_ascii=False).encode() if transport.stdin == "json" else b""
    finished = run_program([program, *arguments[1:]], project, environment, text, definition.timeout_s)
    return _result(finished, definition, secrets)


def _result(finished: Finished, definition: Definition, secrets: Secrets) -> ToolResult:
    if finished.timed_out:
        status = f"stopped after {definition.timeout_s:g} s (the time limit)"
    elif finished.exit_code is None:
        status = "could not be started"
    elif finished.exit_code < 0:
        status = f"ended by signal {-finished.exit_code}"
    else:
        status = f"exit code {finished.exit_code}"
    parts = [f"{definition.tool_name}: {status}", finished.stdout.rstrip("\n")]
    if finished.stderr.strip():
        parts += ["[stderr]", finished.stderr.rstrip("\n")]
    text, left_out = head_and_tail("\n".join(part for part in parts if part), limits.FEEDBACK_CHARS)
    facts: dict[str, Json] = {"exit_code": finished.exit_code, "timed_out": finished.timed_out}
    if left_out:
        facts["characters_left_out"] = left_out
    ok = finished.exit_code == 0 and not finished.timed_out
    return ToolResult(ok, secrets.mask(text), facts=facts)


def fill(command: tuple[str, ...], parameters: Mapping[str, Json]) -> list[str] | str:
    """Return the arguments with placeholders filled, or a sentence that says why they cannot be.

    A list fills as many arguments as it has items when the placeholder is the whole argument. An argument
    whose placeholder has no value is left out. After ``--`` a value may begin with a dash.
    """
    arguments: list[str] = []
    for template in command:
        whole = re.fullmatch(r"\{([^{}]+)\}", template)
        if whole is not None:
            value = parameters.get(whole[1])
            texts = [_text(item) for item in value] if isinstance(value, list) else [_text(value)]
            if whole[1] not in parameters or value is None:
                continue
            is_number = isinstance(value, int | float)
            if "--" not in arguments and not is_number and any(text.startswith("-") for text in texts):
                return f"`{whole[1]}` begins with a dash, which a program would take for an option. Nothing was run."
            arguments += texts
        else:
            filled = _fill_part(template, parameters)
            arguments += [] if filled is None else [filled]
    for argument in arguments:
        if "\0" in argument:
            return "A parameter has a NUL character. Nothing was run."
        if len(argument.encode("utf-8", "surrogatepass")) > _ARGUMENT_BYTES:
            return f"A parameter is longer than {_ARGUMENT_BYTES} bytes, too long for an argument. Nothing was run."
    return arguments


def _fill_part(template: str, parameters: Mapping[str, Json]) -> str | None:
    """Fill placeholders inside a longer argument; ``None`` when one has no value."""
    if any(parameters.get(name) is None for name in placeholders(template)):
        return None
    return transports.fill(template, lambda name: _text(parameters[name]))


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def clean_environment(project: Path) -> dict[str, str]:
    """Return the allow-listed environment; PATH keeps only absolute folders outside the project."""
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    folders = environment.get("PATH", os.defpath).split(os.pathsep)
    environment["PATH"] = os.pathsep.join(folder for folder in folders if _is_outside(folder, project))
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    return environment


def _is_outside(folder: str, project: Path) -> bool:
    """The project's own virtual environment counts as outside: its owner installed it."""
    path = Path(folder)
    if not path.is_absolute():
        return False
    inside = path.resolve().is_relative_to(project.resolve())
    return not inside or (path.parent / "pyvenv.cfg").is_file()


def find_program(name: str, path: str, project: Path) -> str | None:
    """Return the absolute path of a program: from ``path``, or in the project when it is named with a slash."""
    if "/" in name or os.sep in name:
        inside = Path(name) if Path(name).is_absolute() else project / name
        return str(inside) if inside.is_file() and os.access(inside, os.X_OK) else None
    found = shutil.which(name, path=path)
    return str(Path(found).absolute()) if found else None


def run_program(
    arguments: list[str], folder: Path, environment: Mapping[str, str], stdin: bytes, timeout: float
) -> Finished:
    """Run a program to its end or its timeout; nothing of its process group is left afterwards."""
    try:
        process = subprocess.Popen(
            arguments,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return Finished(None, "", f"{error.strerror}: {arguments[0]}")
    stdout, stderr = Kept(), Kept()
    try:
        timed_out = _converse(process, stdin, stdout, stderr, timeout)
    finally:
        kill_group(process)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
    return Finished(process.returncode, stdout.text(), stderr.text(), timed_out)


def _converse(process: subprocess.Popen[bytes], stdin: bytes, stdout: Kept, stderr: Kept, timeout: float) -> bool:
    """Feed and read the program until it ends; return whether the time ran out.

    A grandchild may hold the pipes open after the program ended, so its end decides, not the pipes'.
    """
    deadline = time.monotonic() + timeout
    rest = memoryview(stdin)
    with selectors.DefaultSelector() as selector:
        for stream, kept in ((process.stdout, stdout), (process.stderr, stderr)):
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ, kept)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE)
        ended_at: float | None = None
        while selector.get_map():
            now = time.monotonic()
            if now >= deadline:
                return True
            if ended_at is None and process.poll() is not None:
                ended_at = now
            if ended_at is not None and now - ended_at > _GRACE_SECONDS:
                return False
            for key, _ in selector.select(min(0.05, deadline - now)):
                if key.data is None:
                    rest = _feed(selector, key, rest)
                else:
                    _take(selector, key)
    with suppress(subprocess.TimeoutExpired):
        process.wait(max(0.0, deadline - time.monotonic()))
    return process.poll() is None


def _feed(selector: selectors.BaseSelector, key: selectors.SelectorKey, rest: memoryview) -> memoryview:
    try:
        rest = rest[os.write(key.fd, rest[:65536]) :]
    except BlockingIOError:
        return rest
    except OSError:
        rest = rest[len(rest) :]
    if not rest:
        selector.unregister(key.fileobj)
        key.fileobj.close()  # type: ignore[union-attr]
    return rest


def _take(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    chunk = os.read(key.fd, 65536)
    if chunk:
        key.data.add(chunk)
    else:
        selector.unregister(key.fileobj)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the process group and collect the program itself."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    elif process.poll() is None:
        process.kill()
    process.wait()
