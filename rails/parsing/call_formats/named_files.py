"""Whole files in fences with a name: in the info string, on the line above, or in a comment on the first line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rails.core.builtin_tools import WRITE_FILE
from rails.data_formats.proposed import (
    NotRead,
    Outcome,
    Proposed,
    name_in_comment,
    name_in_heading,
    name_in_info,
)

#: Languages of commands and of what is printed: a file with another ending is not what such a fence holds.
_TALK: Final = re.compile(
    r"(?:bash|sh|shell|zsh|fish|console|shell-?session|terminal|powershell|cmd|output|log|ansi)\b", re.I
)
_SCRIPT: Final = re.compile(r"(?:\.(?:sh|bash|zsh|fish|ps1|bat|cmd|log|txt)|/[^.]+|\A[^.]+)\Z")
#: What must be the first thing in its file, so that a comment above it is only a label.
_FIRST: Final = re.compile(r"#!|<\?(?:xml|php)|<!doctype|\s*[{\[]", re.I)


def named_file(info: str, body: Sequence[str], above: str) -> Iterator[Outcome]:
    """Yield the file that a fence is, if it has a name; ``above`` is the line before it."""
    body = [line.removesuffix("\r") for line in body]
    label = body[0] if body else ""
    places = name_in_info(info), name_in_heading(above), name_in_comment(label)
    names = list(dict.fromkeys(name.removeprefix("./") for name in places if name))
    if not names or (_TALK.match(info) and not _SCRIPT.search(names[0])):
        return
    if len(names) > 1:
        yield NotRead(0, f"a fence has two names, {names[0]} and {names[1]}", "Name its file once.")
        return
    if places[2] and len(body) > 1 and _FIRST.match(body[1]) and not label.lstrip().startswith('"'):
        body = body[1:]
    content = "\n".join(body) + "\n" if any(line.strip() for line in body) else ""
    if content:
        yield Proposed(WRITE_FILE.name, {"file_path": names[0], "content": content})
