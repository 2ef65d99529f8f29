"""Installs and removes our hooks; the rest of a settings file stays byte for byte.

Claude Code: ``.claude/settings.json``; Codex: ``.codex/hooks.json``. The command line is the same in all versions, as
Codex asks again to trust a changed one. In a project's settings it reports a missing ai-rails to whoever clones it.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from rails import __version__
from rails.config.json_edit import read_settings, with_last, without
from rails.core.errors import UsageError
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.core.user_files import UserFile
from rails.integrations.hooks.contract import host_list, host_object

#: The host's limit for one call, in seconds: above ours, so that the last word is ours.
HOST_SECONDS: Final = 60
_OURS: Final = re.compile(r"(?:^|[\s/'])ai-rails['\s]+hook(?:['\s]|$)")


@cache
def host_table(host: str) -> Mapping[str, Any]:
    """Return ``hosts.toml`` on a host: events, settings, plug-in files."""
    table: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("hosts.toml").read_text("utf-8"))[host]
    return table


class Settings(Struct, frozen=True):
    """A settings file: owner, path, text ("": none)."""

    host: str
    file: UserFile
    text: str
    shared: bool

    @property
    def commands(self) -> tuple[str, ...]:
        """Return our distinct command lines."""
        return tuple(dict.fromkeys(one_line(_command(entry), 300) for _, _, entry in _ours(self)))


def settings_of(host: str, project: Path, *, shared: bool) -> Settings:
    """Return the settings: the project's if ``shared``, else the user's. Raises UsageError if unreadable."""
    folder, name = host_table(host)["settings"]
    home = os.environ.get(host_table(host).get("home", ""))
    base = project / folder if shared else Path(home or Path.home() / folder)
    try:
        file = UserFile(base / name)
        text = file.read().decode()  # with the line ends that it has
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{base / name} cannot be read: {error}. Nothing was changed.") from error
    if text.strip():
        read_settings(text, str(file))
    return Settings(host, file, text, shared)


def installed(settings: Settings, words: Sequence[str] = ()) -> str:
    """Return the text with our hooks and options (``words``). Idempotent."""
    command = command_line(settings.host, words, shared=settings.shared)
    entries: dict[str, Json] = {}
    for event, matcher in host_table(settings.host)["events"].items():
        entries[event] = _entry(settings.host, matcher, command, strict="--strict" in words)
    if {event: entry for event, _, entry in _ours(settings)} == entries:
        return settings.text
    text = removed(settings)
    text = text if text.strip() else "{}\n"
    value = read_settings(text, str(settings.file))
    hooks = value.get("hooks", {})
    if not isinstance(hooks, dict) or not all(isinstance(hooks.get(event, []), list) for event in entries):
        raise UsageError(f"{settings.file}: hooks is not an object of lists. Nothing was changed.")
    if "hooks" not in value:
        text = with_last(text, (), "hooks", {})
    for event, entry in entries.items():
        if event in hooks:
            text = with_last(text, ("hooks", event), None, entry)
        else:
            text = with_last(text, ("hooks",), event, [entry])
    return text


def removed(settings: Settings) -> str:
    """Return the text without our hooks; "" if nothing is left."""
    left = settings
    while ours := _ours(left):
        event, index, _ = ours[0]
        hooks = _hooks(left)
        place: tuple[str | int, ...] = ("hooks", event, index)
        if len(host_list(hooks[event])) == 1:
            place = ("hooks", event) if len(hooks) > 1 else ("hooks",)
        left = replace(left, text=without(left.text, place))
    return "" if left != settings and left.text.split() == ["{}"] else left.text


def write_settings(settings: Settings, text: str) -> None:
    """Replace the settings; delete an empty file. Raises UsageError."""
    try:
        if text:
            settings.file.write((text.encode(),))
        else:
            settings.file.remove()
    except OSError as error:
        raise UsageError(f"{settings.file} cannot be written: {error}. Nothing was changed.") from error


def write_plugin(host: str, name: str, words: Sequence[str] = ()) -> str:
    """Make a plug-in in a new folder; return its install command. Raises UsageError."""
    table = host_table(host)
    folder = Path(name).absolute()
    hooks = installed(Settings(host, UserFile(folder / "hooks.json"), "", shared=True), words)
    try:
        folder.mkdir(parents=True)
        for path, text in {**table["files"], "ai-rails/hooks/hooks.json": hooks}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text.replace("VERSION", __version__), "utf-8")
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror}. Name a new folder.") from error
    return str(table["install"]).replace("FOLDER", shlex.quote(str(folder)))


def command_line(host: str, words: Sequence[str], *, shared: bool) -> str:
    """Return the host's shell line."""
    own = shlex.join(["hook", host, *words])
    if not shared:
        program = Path(sys.argv[0])
        named = program.name == "ai-rails" and program.is_absolute()
        return f"{shlex.quote(str(program)) if named else 'ai-rails'} {own}"
    missing = (
        '{"systemMessage":"ai-rails is not installed here, so edits are NOT checked. Install it: see the README."}'
    )
    return f"command -v ai-rails >/dev/null 2>&1 || {{ echo '{missing}'; exit 0; }}; exec ai-rails {own}"


def _entry(host: str, matcher: str, command: str, *, strict: bool) -> dict[str, Json]:
    limit = HOST_SECONDS * (1_000 if host == "gemini" else 1)
    hook: dict[str, Json] = {"type": "command", "command": command, "timeout": limit}
    if strict and host == "claude-code":
        hook["onFailure"] = "block"
    return {**({"matcher": matcher} if matcher else {}), "hooks": [hook]}


def _hooks(settings: Settings) -> Mapping[str, Json]:
    value = read_settings(settings.text, str(settings.file)) if settings.text.strip() else {}
    return host_object(value.get("hooks"))


def _ours(settings: Settings) -> list[tuple[str, int, Json]]:
    found: list[tuple[str, int, Json]] = []
    for event, entries in _hooks(settings).items():
        found += [(event, index, entry) for index, entry in enumerate(host_list(entries)) if _command(entry)]
    return found


def _command(entry: Json) -> str:
    """Return the command line of an entry, or "" if it is not only ours."""
    hooks = map(host_object, host_list(host_object(entry).get("hooks")))
    commands = [" ".join(map(str, (hook.get("command"), *host_list(hook.get("args"))))) for hook in hooks]
    return commands[0] if commands and all(map(_OURS.search, commands)) else ""
