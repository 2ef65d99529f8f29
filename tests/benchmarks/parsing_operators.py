"""Further damage that models do to a block, for ``parsing_damage.py``: to be refused, or read exactly.

Each operator writes a call as another language, a template or a slip would. Its value is known; whether a reader could
know it as well is not judged.
"""

from __future__ import annotations

import html
import json
import random
import re
from collections.abc import Callable
from typing import Any

Operator = Callable[[dict[str, Any], random.Random], str]
_STRING = r'"(?:[^"\\]|\\.)*"'
_LONG = ("content", "old_string", "new_string")


def dumped(value: Any, rng: random.Random) -> str:
    """Return a value as JSON, in one of the usual layouts."""
    return json.dumps(value, ensure_ascii=False, indent=rng.choice((None, 2, 4)))


def texts(write: Callable[[str], str]) -> Operator:
    """Return the operator that writes the long texts of a call by ``write``, quotation marks included."""

    def members(value: Any, pad: str) -> str:
        if not isinstance(value, dict):
            return json.dumps(value, ensure_ascii=False)
        inner = f",{pad}".join(
            f'"{key}": {write(item) if key in _LONG else members(item, pad)}' for key, item in value.items()
        )
        return f"{{{pad}{inner}{pad}}}"

    return lambda value, rng: members(value, rng.choice((" ", "\n  ")))


def token(change: Callable[[str, random.Random], str], *, key: bool = False) -> Operator:
    """Return the operator that changes one string of the block: a key, or a value."""

    def operator(value: dict[str, Any], rng: random.Random) -> str:
        text = dumped(value, rng)
        found = [one for one in re.finditer(_STRING, text, re.S) if bool(re.match(r"\s*:", text[one.end() :])) is key]
        one = rng.choice(found)
        return text[: one.start()] + change(one[0], rng) + text[one.end() :]

    return operator


def between(pattern: str, *instead: str, every: bool = False) -> Operator:
    """Return the operator that puts something in place of what stands between the strings."""

    def operator(value: dict[str, Any], rng: random.Random) -> str:
        text = dumped(value, rng)
        new = rng.choice(instead)
        found = [one for one in re.finditer(f"{_STRING}|({pattern})", text, re.S) if one[1] is not None]
        for one in reversed(found if every else [rng.choice(found)] if found else []):
            text = text[: one.start()] + new + text[one.end() :]
        return text

    return operator


def lines(text: str) -> list[str]:
    """Return the lines of a text as JSON strings."""
    return [json.dumps(line, ensure_ascii=False) for line in text.splitlines(keepends=True)] or ['""']


def inside(text: str) -> str:
    """Return a text as the inside of a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


OTHER: dict[str, Operator] = {
    "text behind a string": token(lambda text, rng: text + rng.choice((" (new)", " <- here", " 1", " x"))),
    "Python prefix": texts(lambda text: f"r{json.dumps(text, ensure_ascii=False)}"),
    "Python bytes": texts(lambda text: repr(text.encode())),
    "HTML comment": between(r"(?<=,)\s", " <!-- next --> "),
    "comment at a value": between(r"(?<=:) ", ' /* the "value" */ '),
    "keys in back-ticks": token(lambda text, _: f"`{text[1:-1]}`", key=True),
    "value without marks": token(lambda text, _: text[1:-1]),
    "no brace at its end": lambda value, rng: dumped(value, rng)[:-1] + "]",
    "brace in the middle": between(r",(?=\s)", "},"),
    "open brace in the middle": between(r",(?=\s)", ", {"),
    "ellipsis": between(r",(?=\s)", ", ...,", ", …,"),
    "entities": lambda value, rng: html.escape(dumped(value, rng)),
    "semicolons": between(r",(?=\s)", ";", every=True),
    "equals": between(":", " =", every=True),
    "full width": between("[:,]", "：", "，"),
    **{
        f"joined by {mark!r}": texts(lambda text, mark=mark: mark.join(lines(text)))
        for mark in (" + ", " .. ", " . ", " & ", "\n    ", " \\\n")
    },
    "joined lines": texts(lambda text: f'{json.dumps(text.split(chr(10)))}.join("\\n")'),
    "template with an expression": texts(lambda text: f"`{'${x}'.join(f'{text} '.replace('`', '').split(' ', 1))}`"),
    "template, escaped": texts(
        lambda text: "`" + text.replace("\\", "\\\\").replace("`", "\\`").replace("${", "\\${") + "`"
    ),
    "tagged template": texts(lambda text: f"String.raw`{text}`"),
    "triple quotes as they are": texts(lambda text: f'"""{text}"""'),
    "YAML block": texts(lambda text: "|\n" + "\n".join(f"    {line}" for line in text.split("\n"))),
    "here document": texts(lambda text: f"<<EOF\n{text}\nEOF\n"),
    "assigned": lambda value, rng: f"const call = {dumped(value, rng)};",
    "doubled, SQL": texts(lambda text: "'" + text.replace("'", "''").replace("\\", "\\\\").replace("\n", "\\n") + "'"),
    "doubled, CSV": texts(lambda text: '"' + text.replace('"', '""').replace("\\", "\\\\").replace("\n", "\\n") + '"'),
    "stray mark": token(lambda text, rng: rng.choice((f'{text}"', f'"{text}', f'"{text}"', f'\\"{text[1:]}'))),
    "stray mark at a key": token(lambda text, rng: rng.choice((f'{text}"', f'"{text}')), key=True),
    "other mark at the end": token(lambda text, rng: text[:-1] + rng.choice("'`”’")),
    "other mark at the beginning": token(lambda text, rng: rng.choice("'`“‘") + text[1:]),
    "line continuation": texts(lambda text: '"' + inside(text).replace("\\n", "\\n\\\n") + '"'),
    "escapes of JavaScript": texts(lambda text: '"' + re.sub(r"(?<!\\)(['$`])", r"\\\1", inside(text)) + '"'),
    "octal escape": texts(lambda text: '"' + inside(text).replace(" ", "\\040", 1) + '"'),
    "Markdown escapes": lambda value, rng: dumped(value, rng).replace("_", "\\_"),
    "every brace doubled": lambda value, rng: dumped(value, rng).replace("{", "{{").replace("}", "}}"),
    "arguments as a text": lambda value, rng: json.dumps({"tool": value["tool"], "arguments": "?"}).replace(
        "?", dumped({key: item for key, item in value.items() if key != "tool"}, rng)
    ),
    "lines with a plus": lambda value, _: re.sub("(?m)^", "+", json.dumps(value, indent=2)),
    "numbered lines": lambda value, _: "\n".join(
        f"{number}\t{line}" for number, line in enumerate(json.dumps(value, indent=2).split("\n"), 1)
    ),
    "half a copy behind": lambda value, rng: (text := dumped(value, rng)) + "\n" + text[: len(text) // 2],
}
