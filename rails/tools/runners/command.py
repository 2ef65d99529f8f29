"""A tool that is a program: an argument array, never a shell.

Covered: a parameter fills exactly one argument; a leading dash makes no option; the environment is an allow-list; the
working folder is the project; a timeout kills the process group; output is bounded. Contained definitions, as a
project's all are, run in the sandbox. Not covered: what the user's own definitions do, and children with a session of
their own: trusted like scripts.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from rails.core.errors import CheckError, RailsError
from rails.core.text import one_line
from rails.core.tool_request import Json, ToolRequest, ToolResult
from rails.sandbox import probe
from rails.sandbox.none import run_as_user
from rails.sandbox.places import search_path
from rails.sandbox.process import WATCHED, Watched
from rails.sandbox.run import layer_for, run
from rails.sandbox.values import NONE, Result, SandboxLimits, SandboxView
from rails.tools import transports
from rails.tools.registry import Command, Definition, Mcp
from rails.tools.runners.answer_form import form_problem, masked_and_cut
from rails.tools.runners.secrets import Secrets
from rails.tools.transports import as_text, placeholders

#: What a program may see of our environment; nothing with a key in it has one of these names.
_ENVIRONMENT: Final = str.split("PATH HOME USER LOGNAME LANG LC_ALL LC_CTYPE TZ TMPDIR TEMP TMP VIRTUAL_ENV")
#: One argument: Linux allows 131,072 bytes.
_ARGUMENT_BYTES: Final = 100_000


class ContainedCall(Struct, frozen=True):
    """A command for the sandbox, with its definition's environment."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    stdin: bytes
    seconds: float
    network: tuple[str, ...]


#: Runs a command in the sandbox. Raises RailsError when it cannot be contained.
Contain = Callable[[ContainedCall], Result]


def watch_commands(watched: Watched) -> None:
    """Let ``watched`` see what this thread's commands print, and b"" meanwhile; its exception ends them."""
    WATCHED.set(watched)


def uncontained(name: str) -> str:
    """Return why a contained command cannot run here, or ""."""
    found = probe.label()
    if found.level > NONE:
        return ""
    own = "what a definition in your own folder names runs as you"
    return f"{name} is to run contained, and nothing does that here: {found.why}; or {own}. Nothing was run."


def contain_alone(project: Path) -> Contain:
    """Return a runner with its own sandbox layer."""

    def contain(call: ContainedCall) -> Result:
        with layer_for(project, held := probe.label()) as layer:
            view = SandboxView(project, layer, environment=call.environment)
            bounds = SandboxLimits(seconds=call.seconds)
            return run(call.argv, view, call.network, bounds, label=held, stdin=call.stdin)

    return contain


def run_command_tool(
    request: ToolRequest, definition: Definition, project: Path, contain: Contain | None = None
) -> ToolResult:
    """Run a command tool; any exit code but 0 is a failed result with the output.

    ``contain`` runs contained ones, by default in a layer of its own.
    """
    transport = definition.transport
    assert isinstance(transport, Command)
    arguments = fill(transport.command, request.parameters)
    if isinstance(arguments, str):
        return ToolResult(False, arguments)
    secrets = Secrets.find(definition.secrets, project)
    if secrets.missing:
        return ToolResult(False, secrets.complaint())
    text = json.dumps(dict(request.parameters), ensure_ascii=False).encode() if transport.stdin == "json" else b""
    try:
        program, environment = tool_start("it", arguments[0], transport, secrets, project)
        if transport.contained:
            given = ContainedCall(tuple(arguments), environment, text, definition.timeout_s, transport.network)
            return _result((contain or contain_alone(project))(given), definition, secrets)
        finished = run_as_user([program, *arguments[1:]], project, environment, text, definition.timeout_s)
    except RailsError as error:
        return ToolResult(False, f"{definition.tool_name}: {error}")
    return _result(finished, definition, secrets)


def tool_start(
    name: str, word: str, transport: Command | Mcp, secrets: Secrets, project: Path
) -> tuple[str, dict[str, str]]:
    """Return a tool's program and its environment: its own, if contained. Raises CheckError if it cannot be started."""
    environment = {**secrets.values, **secrets.fill(transport.env)}
    path = search_path(project)
    if not transport.contained:
        built = clean_environment(project)
        path = built["PATH"]
        environment = {**built, **environment}
    elif refused := uncontained(name):
        raise CheckError(refused)
    program = find_program(word, path, project)
    if program is None:
        raise CheckError(f"the program {one_line(word)!r} was not found")
    return program, environment


def _result(finished: Result, definition: Definition, secrets: Secrets) -> ToolResult:
    late = f"stopped after {definition.timeout_s:g} s (the time limit)"
    status = late if finished.timed_out else finished.status
    parts = [f"{definition.tool_name}: {status}", finished.out.rstrip("\n")]
    if finished.err.strip():
        parts += ["[stderr]", finished.err.rstrip("\n")]
    parts += finished.left_out
    wrong = form_problem(definition, finished.out, "output") if finished.ok else None
    if wrong:
        parts.append(f"Error: {wrong[0]}: {'; '.join(map(str, wrong[1])) if isinstance(wrong[1], list) else wrong[1]}")
    text = "\n".join(part for part in parts if part)
    text, facts = masked_and_cut(text, secrets, exit_code=finished.exit_code, timed_out=finished.timed_out)
    return ToolResult(finished.ok and not wrong, text, facts=facts, changes=finished.changes)


def fill(command: tuple[str, ...], parameters: Mapping[str, Json]) -> list[str] | str:
    """Return the filled arguments, or a sentence why not.

    A placeholder that is a whole argument takes a list as many, and is left out without a value. After ``--`` a value
    may begin with a dash.
    """
    arguments: list[str] = []
    for template in command:
        whole = re.fullmatch(r"\{([^{}]+)\}", template)
        if whole is not None:
            value = parameters.get(whole[1])
            texts = [as_text(item) for item in value] if isinstance(value, list) else [as_text(value)]
            if value is None:
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
    if any(parameters.get(name) is None for name in placeholders(template)):
        return None
    return transports.fill(template, lambda name: as_text(parameters[name]))


def clean_environment(project: Path) -> dict[str, str]:
    """Return the allow-listed environment; PATH: absolute folders outside the project."""
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    folders = environment.get("PATH", os.defpath).split(os.pathsep)
    environment["PATH"] = os.pathsep.join(folder for folder in folders if _is_outside(folder, project))
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    return environment


def _is_outside(folder: str, project: Path) -> bool:
    """The project's virtual environment counts as outside: its owner installed it."""
    path = Path(folder)
    if not path.is_absolute():
        return False
    inside = path.resolve().is_relative_to(project.resolve())
    return not inside or (path.parent / "pyvenv.cfg").is_file()


def find_program(name: str, path: str, project: Path) -> str | None:
    """Return a program's absolute path: from ``path``, or in the project if it has a slash."""
    if "/" in name:
        inside = project / name
        return str(inside) if inside.is_file() and os.access(inside, os.X_OK) else None
    found = shutil.which(name, path=path)
    return str(Path(found).absolute()) if found else None
