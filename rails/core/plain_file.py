"""Reading files that a project holds: a pipe or a device in a file's place is an error, never waited for."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Final

from rails.core.errors import UsageError
from rails.core.limits import ANSWER_CHARS
from rails.core.text import decode_text, one_line
from rails.core.tool_request import Json

_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)


def open_ordinary(place: Path | str, *, links: bool = True) -> BufferedReader:
    """Return an ordinary file, open for reading. Raises OSError."""
    file = os.fdopen(os.open(place, _FLAGS | (0 if links else _NO_LINK)), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not an ordinary file", str(place))
    return file


def read_ordinary(place: Path | str, most: int, *, links: bool = True) -> bytes:
    """Return an ordinary file's bytes, of a larger one the first ``most`` and one more. Raises OSError."""
    with open_ordinary(place, links=links) as file:
        return file.read(most + 1)


def read_input(name: str) -> str:
    """Read a file or standard input (``-``) as text: UTF-8, or UTF-16 with its mark, as PowerShell writes it.

    Other bytes become U+FFFD, visibly.
    """
    if name == "-":
        data = sys.stdin.buffer.read(ANSWER_CHARS * 4 + 1)
    else:
        path = Path(name)
        if not path.is_file():
            raise UsageError(
                f"{one_line(name) or repr(name)} is not a file. Name a saved answer, or - for standard input."
            )
        data = path.read_bytes()
    marked = decode_text(data) if data.startswith((BOM_UTF8, BOM_UTF16_LE, BOM_UTF16_BE)) else None
    return marked.text if marked else data.decode("utf-8", "replace")


def read_jsonl(name: str) -> Iterator[tuple[Json, str]]:
    """Read ``{"id": …, "text": …}`` lines. Raises UsageError naming the line that is none."""
    for number, line in enumerate(read_input(name).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
            yield item["id"], str(item["text"])
        except (ValueError, TypeError, KeyError) as error:
            why = f"{error} is missing" if isinstance(error, KeyError) else one_line(str(error))
            raise UsageError(f'Line {number} is not {{"id": …, "text": …}}: {why}. Nothing more was read.') from error
