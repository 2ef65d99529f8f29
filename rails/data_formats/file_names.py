"""The name of a file in an answer: above a block, behind a fence's label, in a comment.

Any legal relative path. An ambiguous one ("Node.js", `os.path`, client/server) counts by its ending, or if the project
has it (``exists``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final, TypeAlias

from rails.core.lazy_pattern import lazy

#: Whether the project has a file of this path.
Exists: TypeAlias = Callable[[str], bool]

_LONGEST: Final = 300
#: Characters that no file of a project has in its name, and that markup has.
_NO_PATH: Final = lazy(r"[\x00-\x1f\x7f<>|*?\"`]|//|://|\A[/~]|\A[A-Za-z]:|(?:\A|/)\.\.?(?:/|\Z)|/\Z|\A\s|\s\Z")
_HAS_ENDING: Final = lazy(r".*[^/]\.[A-Za-z]\w{0,11}")
#: Names without an ending that are surely files.
_BARE: Final = "Makefile|Dockerfile|Containerfile|Jenkinsfile|Procfile|Gemfile|Rakefile|LICENSE"
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
#: Names without an ending that are files where they stand alone between back-ticks.
_ALONE: Final = lazy(r"[A-Z][A-Z_-]{2,}|[A-Za-z]\w*file")
_BARE_OR_DOTFILE: Final = lazy(rf"(?:.*/)?(?:{_BARE}|\.\w[\w.-]*)")
#: A line that is nothing but the name of a file.
_HEADING: Final = lazy(
    r"[ \t]*+(?:#{1,6}[ \t]++|[-*+][ \t]++)?(?:[^\x00-\x7f\w]{1,3}[ \t]++)?"
    r"(?:(?:step[ \t]*+)?\d{1,3}[.):](?:[ \t]++|(?=[`*\"'])))?(?:\*\*|__(?=.*__[ \t]*+:?[ \t]*+\Z))?"
    r"(?:(?:an? |the |here(?:'s| is) |new |full |complete |entire |created? |updated? |modify |modified |edit "
    r"|show )*+"
    r"(?:(?:file ?(?:name|path|\d+)?(?: called| named)?|path)(?:[ \t]*+:[ \t]*+|[ \t]++))?)?"
    r"(?:\*\*|__(?=.*__[ \t]*+:?[ \t]*+\Z))?[ \t]*+"
    r"(?:`(?P<code>[^`]+)`|\"(?P<quoted>[^\"]+)\"|'(?P<single>[^']+)'|(?P<path>[^\s`\"]+?))"
    r"(?:\*\*|__)?[ \t]*+"
    r"(?:\((?:new|updated?|modified|changed|created?|full|complete)[^()]*\)|(?:with|containing)[ \t]++(?:(?:the|this|"
    r"following|full|complete|new|updated)[ \t]++)*+(?:contents?|code|text|lines))?[ \t]*+:?(?:\*\*|__)?[ \t]*+",
    re.IGNORECASE,
)
_LABEL: Final = lazy(r"\A[\s#*`_-]*(?:file ?(?:name|path)?|path)[ \t]*:", re.IGNORECASE)
_COMMENT: Final = lazy(
    r"[ \t]*+(?:#|//|--|;|%|/\*+|<!--|\"\"\")[ \t]*+(?:file ?(?:name|path)?[ \t]*+:[ \t]*+)?(?P<path>[^\s:*]+?)"
    r"[ \t]*+(?:\*/|-->|\"\"\")?[ \t\r]*+",
    re.IGNORECASE,
)
_KEYED: Final = lazy(
    r"(?:title|file|file_?name|file_?path|path|name)[ \t]*=[ \t]*[\"']?((?<=[\"'])[^\"'\n]+|[^\s\"'}]+)", re.I
)
_ESCAPED: Final = lazy(r"\\(?=[_*\[\](){}#+.!~-])")
#: Lines above a block in which its file is named: the name, and a fence.
_ABOVE: Final = 3
#: A line that could only be a name, a legal one or not: a label, or one word with what stands in a path.
COULD_BE_NAME: Final = lazy(
    r"[\s#*`_-]*(?:file ?(?:name|path)?|path)[ \t]*:|[#*`\s-]*+(?>\S*?[/\\.]\w)\S*+\s*+\Z", re.IGNORECASE
)


def nothing_exists(_path: str) -> bool:
    """Return False: the project is unknown."""
    return False


def is_file(text: str) -> bool:
    """Return whether ``text`` looks like a path. A blank may follow a folder; else the first word is a command."""
    first = text.partition(" ")[0]
    if first != text and ("/" not in first[1:] or _SURE.fullmatch(first)):
        return False
    if len(text) > _LONGEST or _NO_PATH.search(text):
        return False
    return "/" in text or bool(_HAS_ENDING.fullmatch(text) or _BARE_OR_DOTFILE.fullmatch(text))


def is_surely_file(text: str) -> bool:
    """Return whether ``text`` is a path anywhere, unlike `os.path` and `Node.js`."""
    return is_file(text) and _SURE.fullmatch(text) is not None


def clean_path(name: str) -> str:
    """Return a name with slashes and without Markdown's escapes."""
    if "\\" in name:
        name = _ESCAPED.sub("", name) if "/" in name else name.replace("\\", "/")
    return name.removeprefix("./")


def name_in_heading(line: str) -> str:
    """Return the file that is a line's only content, or ``""``."""
    found = _HEADING.fullmatch(line[:400].rstrip())
    name = clean_path(found[found.lastindex or 0]) if found else ""
    if is_file(name) or (found and found["code"] and _ALONE.fullmatch(name)):
        return name
    whole = line.strip()
    return whole if is_surely_file(whole) else ""


def name_in_project(line: str, exists: Exists) -> str:
    """Return the project's file that a line names, or ``""``."""
    name = clean_path(_LABEL.sub("", line).strip("#*`_\"': \t\r-"))
    return name if exists(name) else ""


def is_marked(line: str, name: str, label: str) -> bool:
    """Return whether a name is between back-ticks, and the fence below has no other language."""
    word = label.lower()
    return f"`{name}`" in line.replace("\\", "") and (word in ("", "text", "plaintext") or word in name.lower())


def name_in_comment(line: str) -> str:
    """Return the file that is a comment's only content, or ``""``."""
    found = _COMMENT.fullmatch(line[:400])
    name = clean_path(found["path"]).removeprefix("/") if found else ""
    return name if is_file(name) else ""


def name_in_info(info: str) -> str:
    """Return the file in a fence's info string, or ``""``."""
    if keyed := _KEYED.search(info):
        return keyed[1] if is_file(keyed[1]) else ""
    if re.match(r"\d*:\d+:", info):
        return ""  # 12:20:src/app.py shows lines that are there
    words = re.split(r"[\s{}]+|:(?![/\\])", info.strip())
    found = [name for name in map(clean_path, words) if is_file(name)]
    return found[0] if len(found) == 1 else ""


def name_above(above: Sequence[str], name: str = "", exists: Exists = nothing_exists) -> str:
    """Return the file of the nearest line, or of all near lines, else ``name``; ``""`` for several.

    ``""``, too, if the nearest line could only be a name and is none.
    """
    full = (line for line in reversed(above) if line.strip() and not line.lstrip().startswith(("```", "~~~")))
    spoken = {name} - {""}
    for number, line in enumerate(islice(full, _ABOVE)):
        if found := name_in_project(line, exists) or name_in_heading(line):
            return found if spoken <= {name, found} else ""
        if number == 0 and COULD_BE_NAME.match(line):
            return ""
        spoken |= {*filter(is_surely_file, (word.strip("`'\"*_,.:;()") for word in line.split()))}
    return spoken.pop() if len(spoken) == 1 else ""


def the_name(names: Sequence[str], exists: Exists) -> str:
    """Return the file among a block's names, outside ones first; "" for a tie.

    The one in the project; else the first, if one ends with the other.
    """
    known = [name for name in names if exists(name)] or names
    first = f"/{known[0]}"
    return known[0] if all(f"/{name}".endswith(first) or first.endswith(f"/{name}") for name in known) else ""
