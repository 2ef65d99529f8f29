"""Write docs/commands.md and docs/settings.md from the parsers and the schemas.

python docs/generate.py            writes both
python docs/generate.py --check    writes nothing; exit code 1 where one is not as it would be written
"""

import argparse
import importlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rails.commands.options import EPILOG, verb_parser
from rails.commands.verbs import GROUPS, VERBS

DOCS = Path(__file__).parent
SCHEMAS = DOCS.parent / "rails/config/schemas"
WHERE = {
    "config": ("`config.toml`", "in your configuration folder"),
    "gate": ("`gate.toml`", "in your configuration folder"),
    "policy": ("`policy.toml`", "in your configuration folder"),
    "prices": ("`prices.toml`", "in your configuration folder"),
    "rails": ("`.rails.toml`", "in the project"),
}


def commands() -> str:
    """Return the page of all verbs and their options."""
    rows = {verb: list(_rows(_parser(verb))) for verb in VERBS}
    often = Counter(row for verb in rows.values() for row in verb)
    common = [row for row, times in often.items() if times > 2 and row.startswith("- `-")]
    made = [
        "# Commands",
        "",
        "Every verb with its options, as `ai-rails VERB --help` has them. Options of three or more verbs come once,"
        " at the end; most verbs take `--project DIR`. This page is written by `docs/generate.py`.",
    ]
    for title, verbs in GROUPS.items():
        made += ["", f"## {title[0].upper()}{title[1:]}"]
        for verb in verbs:
            made += ["", f"### {verb}", "", _inline(" ".join((_parser(verb).description or "").split()))]
            made += _options(verb, rows, common)
    made += ["", "## Common options", "", *common]
    made += ["", "## Exit codes and environment", "", "```text", *_epilog(), "```", ""]
    return "\n".join(made)


def _options(verb: str, rows: Mapping[str, Sequence[str]], common: Sequence[str]) -> Iterator[str]:
    """Yield a verb's options: in full, or by the name of a verb that has them, too."""
    covered = [other for other in rows if other != verb and rows[other] and set(rows[other]) < set(rows[verb])]
    wider = max(covered, key=lambda other: len(rows[other]), default="")
    if len(rows.get(wider, ())) > _FEW:
        yield from ("", f"It has the options of [{wider}](#{wider}), and:")
    else:
        wider = ""
    left = [row for row in rows[verb] if row not in rows.get(wider, ())]
    if own := [row for row in left if row not in common]:
        yield from ("", *own)
    if shared := [row.split("`")[1].split()[0].rstrip(",") for row in left if row in common and PROJECT not in row]:
        yield from ("", f"Also: {', '.join(f'`{name}`' for name in shared)}.")


#: What most verbs take is not listed with each of them.
PROJECT = "--project DIR"
#: So many shared options are listed again rather than by a link.
_FEW = 8


def _epilog() -> Iterator[str]:
    lines = EPILOG.rstrip().splitlines()
    yield from lines[lines.index("exit codes:") : lines.index("files:") - 1]


def _parser(verb: str) -> argparse.ArgumentParser:
    return verb_parser(verb, VERBS[verb], importlib.import_module(f"rails.commands.{verb}"))


def _rows(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield a parser's arguments; of one with actions of their own, these and their options."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            named = [each for each in action._choices_actions if each.help]
            yield from (_item(each.dest, each.help or "") for each in named)
            below = [row for each in named for row in _rows(action.choices[each.dest])]
            yield from dict.fromkeys(row for row in below if row)
        elif row := _row(action):
            yield row


def _row(action: argparse.Action) -> str:
    if action.help == argparse.SUPPRESS or action.dest == "help":
        return ""
    value = action.metavar or (action.dest.upper() if action.nargs != 0 and action.option_strings else action.dest)
    shown = " ".join(value) if isinstance(value, tuple) else str(value)
    if action.choices and not action.metavar:
        shown = "|".join(map(str, action.choices))
    takes = f" {shown}" if action.option_strings and action.nargs != 0 else ""
    name = f"{', '.join(action.option_strings)}{takes}" if action.option_strings else shown
    return _item(name, (action.help or "") % _Defaults(action))


def _item(name: str, words: str) -> str:
    return f"- `{name}`: {_inline(_one_line(words))}" if words else f"- `{name}`"


class _Defaults(dict[str, Any]):
    """What argparse puts into a help text: its %(default)s and the like."""

    def __init__(self, action: argparse.Action) -> None:
        super().__init__(vars(action), prog="ai-rails")


def settings() -> str:
    """Return the page of every settings file, key by key."""
    made = [
        "# Settings",
        "",
        "Every key of every settings file, from the schemas that errors quote and editors read"
        " (`ai-rails config schema NAME` prints one). `ai-rails config` shows the values in force, and where each comes"
        " from. This page is written by `docs/generate.py`.",
    ]
    seen: dict[str, dict[str, str]] = {}
    for name, (title, where) in WHERE.items():
        schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text("utf-8"))
        made += ["", f"## {title}", "", f"{_inline(schema['description']).rstrip('.')}. It is {where}."]
        made += _table(schema, (title.strip("`"),), seen)
    return "\n".join([*made, ""])


#: The table whose keys are those of a rule, each with one value.
_EXAMPLE = ("policy.toml", "example")


def _table(schema: Mapping[str, Any], path: tuple[str, ...], seen: dict[str, dict[str, str]]) -> Iterator[str]:
    """Yield an object's keys, and then those of the tables inside it; ``seen`` has those of the files before."""
    keys = {key: value for key, value in schema.get("properties", {}).items() if key != "$schema"}
    required = schema.get("required", ())
    rows = {key: _key(key, value, key in required) for key, value in keys.items() if not _inner(value)}
    seen[" ".join(path)] = rows
    theirs = seen.get(_twin(path), {})
    same = [key for key in rows if rows[key] == theirs.get(key) or (path == _EXAMPLE and key in theirs)]
    if same and path != _EXAMPLE:
        yield from ("", f"`{_title(schema, path)}`: as in {_place(_twin(path))}, {_names(same, theirs)}.")
    elif len(path) > 1:
        yield from ("", f"### `{_title(schema, path)}`", "", _said(schema))
    if same and path == _EXAMPLE:
        yield from ("", f"One value each of the keys of a rule: {', '.join(f'`{key}`' for key in same)}. And:")
    own = [row for key, row in rows.items() if key not in same]
    if own:
        yield from ("", *own)
    for key, value in keys.items():
        if inner := _inner(value):
            yield from _table({**inner, **{name: value[name] for name in ("type", "description")}}, (*path, key), seen)


def _title(schema: Mapping[str, Any], path: tuple[str, ...]) -> str:
    name = ".".join(path[1:])
    return f"[[{name}]]" if schema.get("type") == "array" else f"[{name}]"


def _names(keys: Sequence[str], theirs: Mapping[str, str]) -> str:
    """Return keys as a list of names, or as all of a table but some, whichever is shorter."""
    left = [key for key in theirs if key not in keys]
    if len(left) < len(keys):
        return "all keys" + (f" but {', '.join(f'`{key}`' for key in left)}" if left else "")
    return ", ".join(f"`{key}`" for key in keys)


def _place(path: str) -> str:
    file, _, table = path.partition(" ")
    return f"`{table}` of `{file}`" if table else f"`{file}`"


def _twin(path: tuple[str, ...]) -> str:
    """Return the table of a file of your own that a project's table is like: ``.rails.toml [gate.mode]``."""
    if path == _EXAMPLE:
        return "policy.toml rule"
    if path[0] != ".rails.toml" or len(path) == 1:
        return ""
    own = {"gate": ("gate.toml",), "policy": ("policy.toml",), "run": ("config.toml", "run")}
    return " ".join((*own.get(path[1], ()), *path[2:]))


def _inner(value: Mapping[str, Any]) -> Mapping[str, Any]:
    inside = value.get("items", value)
    return inside if isinstance(inside, dict) and inside.get("properties") else {}


def _key(key: str, value: Mapping[str, Any], is_required: bool) -> str:
    if "const" in value:
        kind = f"`{json.dumps(value['const'])}`"
    elif options := _choices(value):
        kind = ", ".join(f"`{option}`" for option in options)
    else:
        named = value.get("type", "")
        kind = " or ".join(named) if isinstance(named, list) else str(named)
    default = f"default `{json.dumps(value['default'])}`" if value.get("default") not in (None, "") else ""
    about = ", ".join(part for part in (kind, default, "required" if is_required else "") if part)
    return f"- `{key}` ({about}): {_said(value)}" if about else f"- `{key}`: {_said(value)}"


def _choices(value: Mapping[str, Any]) -> Sequence[str]:
    either = value.get("anyOf", (value,))[0]
    options: Sequence[str] = either.get("enum") or either.get("items", {}).get("enum", ())
    return options


def _said(value: Mapping[str, Any]) -> str:
    return _inline(_one_line(value.get("description", "")))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _inline(text: str) -> str:
    """Return a text in which nothing is taken for markup."""
    return re.sub(r"([<>*_\[\]])", r"\\\1", text)


PAGES = {"commands.md": commands, "settings.md": settings}


def main() -> int:
    """Write the pages, or compare them."""
    stale = []
    for name, make in PAGES.items():
        file, text = DOCS / name, make()
        if not file.exists() or file.read_text("utf-8") != text:
            stale.append(name)
            if "--check" not in sys.argv:
                file.write_text(text, "utf-8")
    if "--check" in sys.argv and stale:
        print(f"docs/{', docs/'.join(stale)} would be written differently: run python docs/generate.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
