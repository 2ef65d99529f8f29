"""Configuration files as bytes and tables, bounded and parsed once."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from rails.core.errors import CheckError
from rails.core.plain_file import read_ordinary
from rails.core.tool_request import Json

#: A configuration file. Larger ones are not configuration.
_BYTES: Final = 1_000_000


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


def table(value: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    """Return the table ``key``, or an empty one."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}
