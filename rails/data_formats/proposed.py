"""What a pasted patch or named block comes to: a request of an edit tool, or the reason why there is none.

Texts are taken as whole lines: what is replaced and what takes its place have no line end at their ends, so that the
file keeps its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from rails.core.builtin_tools import EDIT_FILE, WRITE_FILE
from rails.core.dataclass import NamedTuple
from rails.core.lazy_pattern import lazy
from rails.core.tool_request import Json


class Proposed(NamedTuple):
    """A request of the tool ``tool``. ``below`` are the lines above it that a patch names, the outer one first."""

    tool: str
    parameters: Mapping[str, Json]
    below: tuple[str, ...] = ()


class NotRead(NamedTuple):
    """Why a part of a patch is not read, and what to do. ``line`` counts the lines of the block from 0."""

    line: int
    message: str
    hint: str = "Correct the patch, or send the whole new text of the file in a fence with its name."


Outcome: TypeAlias = Proposed | NotRead
#: The forms of patches: what their edits search for is whole lines, never a piece of one.
PATCHES: Final = ("*** Begin Patch", "SEARCH/REPLACE", "unified diff")
#: Whole files in fences with a name.
NAMED: Final = "named block"

_PATH: Final = r"(?:[A-Za-z]:)?(?:\.{0,2}[/\\])?(?:[\w@.+-]+[/\\])*[\w@.+-]+"
#: Names without an ending that are surely files.
_BARE: Final = "Makefile|Dockerfile|Containerfile|Jenkinsfile|Procfile|Gemfile|Rakefile|LICENSE"
_FILE: Final = lazy(rf"(?:{_PATH}/)?(?:{_BARE}|\.\w[\w.-]*)|{_PATH}\.[A-Za-z]\w{{0,11}}|(?:[\w@.+-]+/)+[\w@.+-]+")
_DOTFILE: Final = (
    r"\.(?:env|[a-z-]+(?:rc|ignore|config|attributes|keep)|flake8|htaccess|mailmap|[a-z]+-versions?)(?:\.\w+)*"
)
_ENDING: Final = (
    "pyi?|[cm]?[jt]s|[jt]sx|vue|svelte|astro|jsonc?|json5|ya?ml|toml|ini|cfg|conf|mdx?|rst|txt|adoc|html?|s?css|less|xml|"
    "svg|sql|sh|bash|zsh|fish|ps1|bat|cmd|[ch]|cc|hh|[ch]pp|cxx|cs|java|kts?|go|rs|rb|php|p[lm]|lua|r|jl|swift|scala|clj|"
    "exs?|erl|hs|mli?|fs|dart|tf|hcl|proto|graphql|gql|[ct]sv|lock|mk|cmake|gradle|ipynb|tex|bib|ejs|hbs|pug|j2|te?mpl|"
    "nix|zig|asm"
)
_SURE: Final = lazy(
    rf"(?:.*/)?(?:{_BARE}|{_DOTFILE})|.*/[^/]+\.[A-Za-z]\w{{0,11}}|(?!(?:Node|Next|Nuxt|Vue|React|Angular|Ember|Three|"
    rf"D3|Express|Chart|Moment|Backbone|Alpine|Electron|Discord)\.js)[^/]+\.(?:{_ENDING})"
)
#: A line that is nothing but the name of a file.
_HEADING: Final = lazy(
    r"[ \t]*(?:#{1,6}[ \t]+|[-*+][ \t]+)?(?:[^\x00-\x7f\w]{1,3}[ \t]+)?"
    r"(?:(?:step[ \t]*)?\d{1,3}[.):][ \t]*)?(?:\*\*|__)?"
    r"(?:(?:an? |the |here(?:'s| is) |new |full |complete |entire |created? |updated? |modify |modified |edit )*"
    r"(?:file ?(?:name|path|\d+)?(?: called| named)?|path)?[ \t]*:?[ \t]*)?"
    r"(?:\*\*|__)?[ \t]*(?:`(?P<code>[^`]+)`|[`\"']?(?P<path>[^\s`\"'*]+?)[`\"']?)(?:\*\*|__)?[ \t]*"
    r"(?:\((?:new|updated?|modified|changed|created?|full|complete)[^()]*\)|(?:with|containing)[ \t]+(?:(?:the|this|"
    r"following|full|complete|new|updated)[ \t]+)*(?:contents?|code|text|lines))?[ \t]*:?(?:\*\*|__)?[ \t]*",
    re.IGNORECASE,
)
_COMMENT: Final = lazy(
    r"[ \t]*(?:#|//|--|;|%|/\*+|<!--|\"\"\")[ \t]*(?:file ?(?:name|path)?[ \t]*:[ \t]*)?(?P<path>[^\s:*]+?)[ \t]*"
    r"(?:\*/|-->|\"\"\")?[ \t\r]*",
    re.IGNORECASE,
)
_KEYED: Final = lazy(r"(?:title|file|file_?name|file_?path|path|name)[ \t]*=[ \t]*[\"']?([^\s\"'}]+)", re.I)


def is_file(text: str) -> bool:
    """Whether ``text`` looks like the path of a file. A blank may follow a folder, else the first word is a command."""
    first = text.partition(" ")[0]
    if first != text and "/" in first[1:] and not _SURE.fullmatch(first):
        text = text.replace(" ", "_")
    return len(text) <= 300 and _FILE.fullmatch(text) is not None


def is_surely_file(text: str) -> bool:
    """Whether ``text`` is the path of a file wherever it stands: `os.path`, `client/server` and `Node.js` are words."""
    return is_file(text) and _SURE.fullmatch(text) is not None


def name_in_heading(line: str) -> str:
    """Return the file that a line of prose names and nothing else, or ``""``."""
    found = _HEADING.fullmatch(line[:400].rstrip())
    name = (found["code"] or found["path"]) if found else ""
    return name if name and is_file(name) else ""


def name_in_comment(line: str) -> str:
    """Return the file that a comment names and nothing else, or ``""``."""
    found = _COMMENT.fullmatch(line[:400])
    return found["path"] if found and is_file(found["path"]) else ""


def name_in_info(info: str) -> str:
    """Return the file that the info string of a fence names, or ``""``."""
    if keyed := _KEYED.search(info):
        return keyed[1] if is_file(keyed[1]) else ""
    if re.match(r"\d*:\d+:", info):
        return ""  # 12:20:src/app.py shows lines that are there
    words = re.split(r"[\s{}]+|:(?![/\\])", info.strip())
    return next((word for word in words if is_file(word)), "")


def edit_of(path: str, old: Sequence[str], new: Sequence[str], line: int = 0) -> Proposed:
    """Return the replacement of whole lines; ``line`` is where they stand, where that is certain."""
    texts = "\n".join(old) + ("" if new else "\n"), "\n".join(new)
    near: dict[str, Json] = {"near_line": line} if line else {}
    return Proposed(EDIT_FILE.name, {"file_path": path, "old_string": texts[0], "new_string": texts[1], **near})


def new_file(path: str, lines: Sequence[str], *, ends: bool = True) -> Proposed:
    """Return the creation of a file that must not exist yet; ``ends``: its last line has a line end."""
    content = "\n".join(lines) + ("\n" if ends and lines else "")
    return Proposed(WRITE_FILE.name, {"file_path": path, "content": content, "create_only": True})
