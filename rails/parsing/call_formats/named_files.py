"""Whole files in fences with a name: in the info string, on the line above, or in a comment on the first line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rails.core.builtin_tools import WRITE_FILE
from rails.data_formats.file_names import (
    Exists,
    is_marked,
    is_surely_file,
    name_in_comment,
    name_in_heading,
    name_in_info,
    name_in_project,
    the_name,
)
from rails.data_formats.proposed import NotRead, Outcome, Proposed

#: Languages of commands and of what is printed: a file with another ending is not what such a fence holds.
_TALK: Final = re.compile(
    r"(?:bash|sh|shell|zsh|fish|console|shell-?session|terminal|powershell|cmd|output|log|ansi)\b", re.I
)
_SCRIPT: Final = re.compile(r"(?:\.(?:sh|bash|zsh|fish|ps1|bat|cmd|log|txt)|/[^.]+|\A[^.]+)\Z")
#: Words beside which any name is that of a file, in an info string also a slash within it.
_SAID: Final = re.compile(r"\bfile|\w[:= ]\S{1,300}/", re.I)
#: What stands around the sides of a change or of a merge conflict.
_MARK: Final = re.compile(r"(?:(?:<|&lt;){5,9}|(?:>|&gt;){5,9}|-{5,9} SEARCH|\+{5,9} REPLACE)(?: |$)", re.I)
_MARKED: Final = "Write a change as <<<<<<< SEARCH, =======, >>>>>>> REPLACE below the file's name."
#: The first and the last line of a fence, behind each other.
_FENCE: Final = re.compile(r"[ \t]*+(`{3,80}|~{3,80})[ \t]*+[\w.+#-]{0,40}[ \t]*+\1[ \t]*+")
#: What must be the first thing in its file, so that a comment above it is only a label.
_FIRST: Final = re.compile(r"#!|<\?(?:xml|php)|<!doctype|\s*[{\[]", re.I)


def is_talk(info: str) -> bool:
    """Return whether a fence holds commands or their output."""
    return _TALK.match(info) is not None


def named_file(info: str, body: Sequence[str], above: str, exists: Exists) -> Outcome | None:
    """Return a fence's named file, if any; ``above`` is the line before it."""
    body = [line.removesuffix("\r") for line in body]
    label = body[0] if body else ""
    heading = name_in_project(above, exists) or name_in_heading(above)
    places = (heading, above), (name_in_info(info), info), (name_in_comment(label), label)
    sure = [name for name, text in places if name and (is_surely_file(name) or exists(name) or _SAID.search(text))]
    if heading and heading not in sure and is_marked(above, heading, info):
        sure.insert(0, heading)
    names = list(dict.fromkeys(sure))
    if not names or (is_talk(info) and not _SCRIPT.search(names[0])):
        return None
    mark = next((n for n, line in enumerate(body) if _MARK.match(line)), -1)
    if mark >= 0 and not names[0].endswith((".md", ".rst", ".txt")):
        return NotRead(mark, f"the file {names[0]} would hold the mark {body[mark][:20].strip()!r}", _MARKED)
    path = the_name(names, exists)
    if not path:
        return NotRead(-1, f"a fence has two names, {names[0]} and {names[1]}", "Name its file once.")
    is_label = re.match(r"\W*filepath:", label) or (_FIRST.match("".join(body[1:2])) and label.lstrip()[:1] != '"')
    if places[2][0] in sure and len(body) > 1 and is_label:
        body = body[1:]
    if len(body) > 1 and _FENCE.fullmatch(body[0] + body[-1]) and ".md" not in path:
        body = body[1:-1]  # a fence in a fence: one of them is the file's
    content = "\n".join([*body, ""])
    return Proposed(WRITE_FILE.name, {"file_path": path, "content": content}) if content.strip() else None
