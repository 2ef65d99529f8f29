"""Configuration files as bytes and tables, bounded and parsed once."""

from __future__ import annotations

import codecs
import fnmatch
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rails.core.errors import CheckError
from rails.core.plain_file import read_ordinary
from rails.core.tool_request import Json

if TYPE_CHECKING:
    from configparser import RawConfigParser

#: A configuration file. Larger ones are not configuration.
_BYTES: Final = 1_000_000
_HOOK: Final = r"^[ \t]*(?:-\s*)?id:\s*['\"]?([\w-]+)"


def read_config_file(path: Path | str) -> bytes:
    """Return the bytes, empty if the file is missing or too large."""
    try:
        data = read_ordinary(path, _BYTES)
        return data if len(data) <= _BYTES else b""
    except OSError:
        return b""


@lru_cache(maxsize=16)
def parse_toml(data: bytes, name: str) -> Mapping[str, Json]:
    """Parse TOML; the result is shared and must not change. Raises CheckError."""
    if not data.strip():
        return {}
    import tomllib

    try:
        return tomllib.loads(data.removeprefix(codecs.BOM_UTF8).decode())
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, a number or a depth beyond what is read
        raise CheckError(f"{name} is not valid TOML: {error}") from error


def parse_ini(data: bytes, name: str) -> RawConfigParser:
    """Parse a file of sections. Raises CheckError."""
    import configparser

    parser = configparser.RawConfigParser()
    try:
        parser.read_string(data.decode("utf-8-sig"), name)
    except (configparser.Error, UnicodeDecodeError) as error:
        raise CheckError(f"{name} cannot be read as configuration: {type(error).__name__}.") from error
    return parser


def project_of_folder(folder: Path) -> Path:
    """Return the nearest folder, upwards, that has a sign of a project, but not the home; else ``folder``."""
    signs = (".rails.toml", ".agent-restrictions", ".git")
    above = (one for one in (folder, *folder.parents) if any((one / sign).exists() for sign in signs))
    found = next(above, folder)
    return folder if found == Path.home() else found


def folders_to(path: str) -> list[str]:
    """Return the parent folders of ``path``, each with a slash, the project's first."""
    return ["", *(path[: at + 1] for at, sign in enumerate(path) if sign == "/")]


def pattern_fits(path: str, pattern: str) -> bool:
    """Match a pattern with ``{a,b}``; any part of it fits several folders. Without a slash it is for names in any."""
    if choices := re.search(r"\{([^{}]*)\}", pattern):
        each = (pattern.replace(choices[0], one, 1) for one in choices[1].split(","))
        return any(pattern_fits(path, one) for one in each)
    name = path if "/" in pattern else path.rpartition("/")[2]
    return fnmatch.fnmatchcase(name, pattern.removeprefix("./").replace("**/", "*"))


def hooks_of(data: bytes) -> set[str]:
    """Return the names of pre-commit's hooks."""
    return set(re.findall(_HOOK, data.decode(errors="replace"), re.M))


def table(value: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    """Return the table ``key``, or an empty one."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}
