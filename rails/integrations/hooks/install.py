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

_MISSING: Final = (
    '{"systemMessage":"ai-rails is not installed here, so edits are NOT checked. Install it: see the README."}'
)
_OURS: Final = re.compile(r"(?:^|[\s/'])ai-rails['\s]+hook(?:['\s]|$)")


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
    def hooks(self) -> Mapping[str, Json]:
        """Return the hooks by event; {} where there are none."""
        value = read_settings(self.text, str(self.file)) if self.text.strip() else {}
        return host_object(value.get("hooks"))

    @property
    def ours(self) -> list[tuple[str, int, Json]]:
        """Return our entries, each with its event and place."""
        found: list[tuple[str, int, Json]] = []
        for event, entries in self.hooks.items():
            found += [(event, index, entry) for index, entry in enumerate(host_list(entries)) if _command(entry)]
        return found

    @property
    def commands(self) -> tuple[str, ...]:
        """Return our distinct command lines."""
        return tuple(dict.fromkeys(one_line(_command(entry), 300) for _, _, entry in self.ours))


def settings_of(host: str, project: Path, *, shared: bool) -> Settings:
    """Return the settings: the project's if ``shared``, else the user's. Raises UsageError if unreadable."""
    table = host_table(host)
    folder, name = table["settings"]
    base = project / folder if shared else os.environ.get(table["home"]) or Path.home() / folder
    file = Path(base) / name
    try:
        user = UserFile(file)
        return Settings(host, user, user.read().decode(), shared)  # with the line ends that it has
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}. Nothing was changed.") from error


def installed(settings: Settings, words: Sequence[str] = ()) -> str:
    """Return the text with our hooks and options (``words``). Idempotent."""
    entries = _entries(settings, words)
    if {event: entry for event, _, entry in settings.ours} == entries:
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
    while left.ours:
        event, index, _ = left.ours[0]
        place: tuple[str | int, ...] = ("hooks", event, index)
        if len(host_list(left.hooks[event])) == 1:
            place = place[: 2 if len(left.hooks) > 1 else 1]
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


def _entries(settings: Settings, words: Sequence[str]) -> dict[str, Json]:
    """Return our entry of each event."""
    table = host_table(settings.host)
    line = shlex.join(["hook", settings.host, *words])
    command = f"{_program()} {line}"
    if settings.shared:
        command = f"command -v ai-rails >/dev/null 2>&1 || {{ echo '{_MISSING}'; exit 0; }}; exec ai-rails {line}"
    strict = table["strict"] if "--strict" in words else {}
    hook: dict[str, Json] = {"type": "command", "command": command, "timeout": table["timeout"], **strict}
    matchers = {event: {"matcher": matcher} if matcher else {} for event, matcher in table["events"].items()}
    return {event: {**matcher, "hooks": [hook]} for event, matcher in matchers.items()}


def _program() -> str:
    program = Path(sys.argv[0])
    return shlex.quote(str(program)) if program.name == "ai-rails" and program.is_absolute() else "ai-rails"


def _command(entry: Json) -> str:
    """Return the command line of an entry, or "" if it is not only ours."""
    hooks = map(host_object, host_list(host_object(entry).get("hooks")))
    commands = [" ".join(map(str, (hook.get("command"), *host_list(hook.get("args"))))) for hook in hooks]
    return commands[0] if commands and all(map(_OURS.search, commands)) else ""
