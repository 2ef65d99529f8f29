"""Front matter: strings, whole numbers, true, false, lists and maps of YAML.

PyYAML's safe loader keeps the last of equal keys and turns ``no`` into false and ``12:30:45`` into a number; here
anchors, aliases, tags and duplicate keys are refused before anything is built.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rails.core.errors import DefinitionError
from rails.core.lazy_pattern import lazy
from rails.core.tool_request import Json

if TYPE_CHECKING:
    import yaml

#: A key and words that hold no sign of YAML's.
_PLAIN_LINE: Final = lazy(r"(  )?([A-Za-z][\w-]*):(?: ([A-Za-z0-9][\w .,/()+'-]*))?", re.ASCII)


def split_front_matter(text: str, source: str) -> tuple[str, str]:
    """Return the front matter and the text after it. Raises DefinitionError."""
    if not text.startswith("---\n"):
        raise DefinitionError(f"{source}:1: the front matter is missing. Start the file with a line '---'.")
    end = text.find("\n---\n", 3)
    if end < 0:
        raise DefinitionError(f"{source}:1: the front matter does not end. Close it with a line '---'.")
    return text[4 : end + 1], text[end + len("\n---\n") :]


def front_matter_values(text: str, source: str) -> dict[str, Json]:
    """Parse front matter. Raises DefinitionError with file and line."""
    if (plain := plain_lines(text)) is not None:
        return plain
    import yaml

    try:
        _refuse_tricks(text, source)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        value = _plain(node, source, 0) if node is not None else {}
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark else 1
        problem = getattr(error, "problem", None) or "nested too deep"
        raise DefinitionError(f"{source}:{line}: the front matter is not YAML: {problem}.") from error
    if not isinstance(value, dict):
        raise DefinitionError(f"{source}:2: the front matter must be 'key: value' lines.")
    return value


def plain_lines(text: str) -> dict[str, Json] | None:
    """Return the values of ``key: words`` lines, nested at most once, as YAML reads them; ``None`` for anything else.

    This saves importing PyYAML, which takes longer than applying a small answer.
    """
    found: dict[str, Json] = {}
    inner: dict[str, Json] | None = None
    for line in text.removesuffix("\n").split("\n"):
        match = _PLAIN_LINE.fullmatch(line)
        into = inner if match and match[1] else found
        if match is None or into is None or match[2] in into or match[2] in ("true", "false"):
            return None
        if match[3] is not None:
            into[match[2]] = _scalar(match[3].rstrip(" "))
            inner = into if match[1] else None
        elif match[1]:
            return None
        else:
            found[match[2]] = inner = {}
    return None if {} in found.values() else found


def _scalar(text: str) -> Json:
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else text


def _refuse_tricks(text: str, source: str) -> None:
    """Refuse aliases, which can explode, and tags, which can construct, before anything is built."""
    import yaml

    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        line = event.start_mark.line + 2 if event.start_mark else 2
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise DefinitionError(f"{source}:{line}: anchors and aliases are not allowed. Write the value out.")
        if getattr(event, "tag", None):
            raise DefinitionError(f"{source}:{line}: tags are not allowed. Write a plain value.")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > 8:
            raise DefinitionError(f"{source}:{line}: nested more than 8 levels. Make it flatter.")


def _plain(node: yaml.Node, source: str, depth: int) -> Json:
    import yaml

    if isinstance(node, yaml.MappingNode):
        found: dict[str, Json] = {}
        for key, value in node.value:
            name = str(_plain(key, source, depth + 1))
            if name in found:
                raise DefinitionError(f"{source}:{key.start_mark.line + 2}: the key {name!r} occurs twice.")
            found[name] = _plain(value, source, depth + 1)
        return found
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, source, depth + 1) for item in node.value]
    text = str(node.value)
    return _scalar(text) if getattr(node, "style", None) is None else text
