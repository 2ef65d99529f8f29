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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rails.commands.options import EPILOG, verb_parser
from rails.commands.verbs import GROUPS, VERBS

DOCS = Path(__file__).parent
SCHEMAS = DOCS.parent / "rails/config/schemas"
WHERE = {
    "rails": ("`.rails.toml`", "in the project: it may only tighten until you have trusted it"),
    "config": ("`config.toml`", "in your configuration folder"),
    "gate": ("`gate.toml`", "in your configuration folder"),
    "policy": ("`policy.toml`", "in your configuration folder"),
    "prices": ("`prices.toml`", "in your configuration folder"),
}


def commands() -> str:
    """Return the page of all verbs and their options."""
    rows = {verb: [row for action in _parser(verb)._actions if (row := _row(action))] for verb in VERBS}
    often = Counter(row for verb in rows.values() for row in verb)
    common = [row for row, times in often.items() if times > 2 and row.startswith("| `-")]
    made = [
        "# Commands",
        "",
        "Every verb with its options; `ai-rails VERB --help` says the same. Options of three verbs or more are listed"
        " once, at the end. This page is written by `docs/generate.py`.",
    ]
    for title, verbs in GROUPS.items():
        made += ["", f"## {title[0].upper()}{title[1:]}"]
        for verb in verbs:
            own = [row for row in rows[verb] if row not in common]
            made += ["", f"### {verb}", "", _inline(" ".join((_parser(verb).description or "").split()))]
            made += ["", *_HEAD, *own] if own else []
            if shared := [row.split("`")[1].split()[0].rstrip(",") for row in rows[verb] if row in common]:
                made += ["", f"Also: {', '.join(f'`{name}`' for name in shared)}."]
    made += ["", "## Common options", "", *_HEAD, *common]
    made += ["", "## Exit codes, environment, files", "", "```text", *_epilog(), "```", ""]
    return "\n".join(made)


def _epilog() -> Iterator[str]:
    lines = EPILOG.rstrip().splitlines()
    yield from lines[lines.index("exit codes:") :]


_HEAD = ("| | |", "| --- | --- |")


def _parser(verb: str) -> argparse.ArgumentParser:
    return verb_parser(verb, VERBS[verb], importlib.import_module(f"rails.commands.{verb}").options)


def _row(action: argparse.Action) -> str:
    if action.help == argparse.SUPPRESS or action.dest == "help":
        return ""
    value = action.metavar or (action.dest.upper() if action.nargs != 0 and action.option_strings else action.dest)
    shown = " ".join(value) if isinstance(value, tuple) else str(value)
    if action.choices and not action.metavar:
        shown = "|".join(map(str, action.choices))
    takes = f" {shown}" if action.option_strings and action.nargs != 0 else ""
    name = f"{', '.join(action.option_strings)}{takes}" if action.option_strings else shown
    return f"| `{_cell(name)}` | {_inline(_cell((action.help or '') % _Defaults(action)))} |"


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
        " (`ai-rails config schema NAME` prints one). `ai-rails config` shows what counts now, and where it comes from."
        " This page is written by `docs/generate.py`.",
    ]
    for name, (title, where) in WHERE.items():
        schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text("utf-8"))
        made += ["", f"## {title}", "", f"{_inline(schema['description']).rstrip('.')}. It stands {where}."]
        made += _table(schema, "")
    return "\n".join([*made, ""])


def _table(schema: Mapping[str, Any], prefix: str) -> Iterator[str]:
    """Yield a table of an object's keys, and then those of the tables inside it."""
    keys = {key: value for key, value in schema.get("properties", {}).items() if key != "$schema"}
    plain = {key: value for key, value in keys.items() if not _inner(value)}
    if plain:
        yield from ("", "| key | value | what it does |", "| --- | --- | --- |")
        required = schema.get("required", ())
        yield from (f"| `{key}` | {_kind(value, key in required)} | {_said(value)} |" for key, value in plain.items())
    for key, value in keys.items():
        if inner := _inner(value):
            is_list = value.get("type") == "array"
            path = f"{prefix}{key}"
            yield from ("", f"### `{'[[' if is_list else '['}{path}{']]' if is_list else ']'}`", "", _said(value))
            yield from _table(inner, f"{path}.")


def _inner(value: Mapping[str, Any]) -> Mapping[str, Any]:
    inside = value.get("items", value)
    return inside if isinstance(inside, dict) and inside.get("properties") else {}


def _kind(value: Mapping[str, Any], is_required: bool) -> str:
    if "const" in value:
        kind = f"`{json.dumps(value['const'])}`"
    elif options := value.get("enum") or value.get("items", {}).get("enum"):
        kind = ", ".join(f"`{one}`" for one in options)
    else:
        named = value.get("type", "")
        kind = " or ".join(named) if isinstance(named, list) else str(named)
    default = f", default `{json.dumps(value['default'])}`" if value.get("default") not in (None, "") else ""
    return _cell(f"{kind}{default}{', required' if is_required else ''}")


def _said(value: Mapping[str, Any]) -> str:
    return _inline(_cell(value.get("description", "")))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


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
