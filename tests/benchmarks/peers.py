"""Real peers' matching functions, taken unmodified out of their installed packages.

Only the functions concerned are compiled (their modules import whole agents); reading and writing is done
as each peer does it, which matters: all of these read with universal newlines.
"""

import ast
import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path


def find_peers(folders):
    """Return ``name -> function(case) -> bytes | None`` for the peers that are there; say which are not."""
    found = {}
    for name, (*files, build) in PEERS.items():
        places = (folder / file for folder in folders for file in files)
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            print(f"({name} is not installed in any --peers folder and is left out)")
        else:
            found[name] = build(path)
    return found


def take(path, names, given=None):
    """Compile the named top-level functions and classes of a file as they stand."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    wanted = [node for node in body if getattr(node, "name", "") in names]
    assert {node.name for node in wanted} == set(names), f"{path} has changed"
    space = {"re": re, "Path": Path, "dataclass": dataclass, **(given or {})}
    future = ast.parse("from __future__ import annotations").body
    exec(compile(ast.Module(body=future + wanted, type_ignores=[]), str(path), "exec"), space)
    return space


def as_read(data):
    """What ``open(path, encoding="utf-8").read()`` gives."""
    return data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def contestant(function):
    """Wrap ``function(content, old, new) -> str``; any exception and any falsy result is a refusal."""

    def attempt(case):
        try:
            result = function(as_read(case.data), case.old, case.new)
        except Exception:
            return None
        return result.encode() if isinstance(result, str) and result else None

    return attempt


def aider(path):
    space = take(
        path,
        {
            "prep",
            "perfect_or_whitespace",
            "perfect_replace",
            "replace_most_similar_chunk",
            "try_dotdotdots",
            "replace_part_with_missing_leading_whitespace",
            "match_but_for_leading_whitespace",
            "strip_quoted_wrapping",
            "do_replace",
        },
        {"DEFAULT_FENCE": ("```", "```")},
    )
    return contestant(lambda content, old, new: space["do_replace"](__file__, content, old, new, ("```", "```")))


def deepagents(path):
    space = take(path, {"perform_string_replacement"}, {"EMPTY_OLD_STRING_ERROR": "Error: empty"})

    def replace(content, old, new):
        old = old.replace("\r\n", "\n")
        new = new.replace("\r\n", "\n")
        result = space["perform_string_replacement"](content, old, new, False)
        return None if isinstance(result, str) else result[0]

    return contestant(replace)


def gptme(path):
    space = take(path, {"Patch"})
    return contestant(lambda content, old, new: space["Patch"](old, new).apply(content))


def openhands(path):
    editor = next(
        node for node in ast.parse(path.read_text(encoding="utf-8")).body if getattr(node, "name", "") == "FileEditor"
    )
    method = next(node for node in editor.body if getattr(node, "name", "") == "str_replace")
    plain = {"SNIPPET_CONTEXT_WINDOW": 4, "ToolError": ValueError, "with_encoding": lambda function: function}
    space = {"re": re, "Path": Path, **plain}
    future = ast.parse("from __future__ import annotations").body
    exec(compile(ast.Module(body=[*future, method], type_ignores=[]), str(path), "exec"), space)

    class Editor:
        """The few things that the method asks of its object, after which it has written ``self.content``."""

        def __init__(self, content):
            self.content = content
            self._history_manager = self

        def validate_file(self, path):
            pass

        def read_file(self, path, **_):
            return self.content

        def write_file(self, path, content):
            self.content = content
            raise StopIteration

    def replace(content, old, new):
        one = Editor(content)
        try:
            space["str_replace"](one, Path("x"), old, new)
        except StopIteration:
            return one.content
        return None

    return contestant(replace)


def gemini(path):
    command = ["node", Path(__file__).parent / "edits_gemini.mjs", path]
    node = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def replace(content, old, new):
        node.stdin.write(json.dumps([content, old, new]) + "\n")
        node.stdin.flush()
        return json.loads(node.stdout.readline())

    def as_it_writes(case):  # it reads with universal line ends, and writes those of the file
        result = contestant(replace)(case)
        return result.replace(b"\n", b"\r\n") if result and b"\r\n" in case.data else result

    return as_it_writes


PEERS = {
    "aider diff": ("aider/coders/editblock_coder.py", aider),
    "OpenHands str_replace": (
        "openhands/tools/file_editor/editor.py",
        "openhands/tools/str_replace_editor/editor.py",
        openhands,
    ),
    "deepagents": ("deepagents/backends/utils.py", deepagents),
    "gptme patch": ("gptme/tools/patch.py", gptme),
    "gemini-cli": ("node_modules/@google/gemini-cli-core/dist/src/tools/edit.js", gemini),
}
