"""Benchmark of intake: accuracy on the generated corpus, and the libraries a user would pick instead.

    python tests/benchmarks/parsing.py [--scale N] [--seed N] [--quick]

Peers are not dependencies of the project. To have them measured, in a throw-away environment:

    python -m venv /tmp/peers && /tmp/peers/bin/pip install . json_repair dirtyjson partial-json-parser \\
        fast-json-repair json5 langchain-core jiter baml-py && npm install --prefix /tmp/peers jsonrepair
    /tmp/peers/bin/python tests/benchmarks/parsing.py

``jsonrepair`` (JavaScript) is found below the environment's ``node_modules``. A peer that is missing is
named and left out. Peers get the block alone, without its message, and free validation by the tool's
schema; the reader under test gets the whole message.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent.parent)]

from parsing_corpus import SHAPES, Row, rows  # noqa: E402

from rails.parsing.parse import parse  # noqa: E402

Parser = Callable[[str], Any]


# -- accuracy -----------------------------------------------------------------------------------------


def fits(name: str, parameters: Any) -> bool:
    """Say whether the call would pass the tool's schema: required keys, closed keys, types."""
    from rails.json_schema import quick_check

    return name in SHAPES and quick_check.fits(SHAPES[name], parameters)


def ours(row: Row) -> str:
    """Read one message and name the result."""
    found = parse(row.message, SHAPES, finish=row.finish)  # type: ignore[arg-type]
    calls = [(one.tool_name, dict(one.parameters)) for one in found.requests]
    if calls and not all(fits(*call) for call in calls):
        return "caught"
    return judge(row, calls, bool(found.refusals))


def judge(row: Row, calls: list[tuple[str, Any]], refused: bool) -> str:
    """Compare calls with what the row means."""
    if row.expect in ("refuse", "ignore"):
        return "RAN" if calls else "refused" if refused else "ignored"
    if calls == list(row.calls):
        return "exact"
    return "WRONG" if calls else "refused" if refused else "lost"


def theirs(row: Row, parse: Parser) -> str:
    """Give a peer the block alone; everything around it, and the schema check, is free."""
    try:
        value = parse(row.block)
    except Exception:  # whatever a peer raises is a refusal
        return "refused"
    call = as_call(value)
    if call is None:
        return "refused"
    return judge(row, [call], refused=False) if fits(*call) else "caught"


def as_call(value: Any) -> tuple[str, Any] | None:
    """Read a value in one of the JSON wire formats, without any check."""
    if not isinstance(value, dict):
        return None
    if value.get("type") == "tool_request":
        return str(value.get("tool_name")), value.get("parameters")
    if isinstance(value.get("tool"), str):
        return value["tool"], value.get("arguments", {k: v for k, v in value.items() if k != "tool"})
    return None


def accuracy(corpus: list[Row], result: Callable[[Row], str]) -> dict[str, Counter[str]]:
    """Count results for each class of rows."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in corpus:
        group = "valid" if row.kind.startswith("valid") else "broken" if row.expect == "exact" else row.expect
        counts[group][result(row)] += 1
        if row.expect == "quotes" and has_one_reading(row.block):
            counts["quotes, one reading"][result(row)] += 1
    return counts


@cache
def has_one_reading(block: str) -> bool:
    """Say whether exactly one way of reading the block's quotation marks fits the schema, by trying all of them."""
    seen: list[Any] = []
    for tried, (value, end) in enumerate(readings(block, 0)):
        call = as_call(value) if not block[end:].strip() else None
        if call is not None and fits(*call) and call not in seen:
            seen.append(call)
        if len(seen) > 1 or tried > 200_000:
            return False
    return bool(seen)


def readings(text: str, pos: int) -> Iterator[tuple[Any, int]]:
    """Yield every value at ``pos`` with its end, where any quotation mark behind the first may end a string."""
    pos = BLANK.match(text, pos).end()  # type: ignore[union-attr]
    if text[pos : pos + 1] == '"':
        for mark in re.finditer('"', text[pos + 1 :]):
            end = pos + 1 + mark.start()
            inside = re.sub(r'(?<!\\)((?:\\\\)*)"', r'\1\\"', text[pos + 1 : end])
            try:
                yield json.loads(f'"{inside}"', strict=False), end + 1
            except ValueError:
                continue
    elif text[pos : pos + 1] == "{":
        yield from members(text, pos + 1, {})
    elif word := WORD.match(text, pos):
        yield json.loads(word[0]), word.end()


def members(text: str, pos: int, before: dict[str, Any]) -> Iterator[tuple[Any, int]]:
    """Yield every object whose members from ``pos`` on follow those of ``before``."""
    for key, key_end in readings(text, pos):
        colon = COLON.match(text, key_end)
        if not colon or not isinstance(key, str) or key in before or key not in KEYS:
            continue
        for value, end in readings(text, colon.end()):
            found = {**before, key: value}
            mark = MARK.match(text, end)
            if mark and mark[1] == "}":
                yield found, mark.end()
            elif mark:
                yield from members(text, mark.end(), found)


BLANK = re.compile(r"\s*")
COLON = re.compile(r"\s*:")
MARK = re.compile(r"\s*([,}])")
WORD = re.compile(r"-?\d+|true|false|null")
#: Every key that a row of the corpus may hold; any other one fits no schema.
KEYS = {"tool", "arguments", *(key for schema in SHAPES.values() for key in schema["properties"])}


GROUPS = ("valid", "broken", "quotes", "quotes, one reading", "either", "coerce", "stay", "refuse", "ignore")


def table(name: str, counts: dict[str, Counter[str]]) -> None:
    """Print one line for each class."""
    for group in GROUPS:
        if group in counts:
            total = sum(counts[group].values())
            shares = ", ".join(f"{key} {100 * n / total:.1f} %" for key, n in sorted(counts[group].items()))
            print(f"  {name:22} {group:19} {total:6}  {shares}")


# -- peers --------------------------------------------------------------------------------------------


def peers() -> dict[str, Parser]:
    """Return the parsers of the libraries that are installed; name those that are not."""
    wanted: dict[str, tuple[str, Callable[[Any], Parser]]] = {
        "json.loads": ("json", lambda m: m.loads),
        "json_repair": ("json_repair", lambda m: m.loads),
        "json_repair, stable": ("json_repair", lambda m: lambda text: m.loads(text, stream_stable=True)),
        "fast-json-repair": ("fast_json_repair", lambda m: m.loads),
        "dirtyjson": ("dirtyjson", lambda m: lambda text: plain(m.loads(text))),
        "json5": ("json5", lambda m: m.loads),
        "partial-json-parser": ("partial_json_parser", lambda m: m.loads),
        "jiter, partial": ("jiter", lambda m: lambda text: m.from_json(text.encode(), partial_mode="trailing-strings")),
        "LangChain, partial": ("langchain_core.utils.json", lambda m: m.parse_partial_json),
        "BAML, any JSON": ("baml_py", baml),
    }
    found: dict[str, Parser] = {}
    for name, (module, parser) in wanted.items():
        try:
            found[name] = parser(importlib.import_module(module))
        except (ImportError, AttributeError):
            print(f"  (not installed: {name})")
    script = Path(sys.prefix) / "node_modules" / "jsonrepair"
    if script.is_dir():
        found["jsonrepair (JS)"] = NodeRepair(script)
    else:
        print("  (not installed: jsonrepair, npm)")
    return found


def baml(module: Any) -> Parser:
    """Return BAML's parser for a function whose result is any JSON value."""
    source = (
        "type JSON = string | int | float | bool | null | JSON[] | map<string, JSON>\n"
        'client<llm> C {\n provider openai\n options {\n  model "x"\n  api_key "x"\n }\n}\n'
        'function Any(x: string) -> JSON {\n client C\n prompt #"{{ x }}"#\n}\n'
    )
    runtime = module.BamlRuntime.from_files(".", {"any.baml": source}, {})
    context = runtime.create_context_manager()
    types = ModuleType("types")
    return lambda text: runtime.parse_llm_response("Any", text, types, types, types, False, context, None, None, {})


def plain(value: Any) -> Any:
    """Turn ordered dictionaries into plain ones, at every level."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


class NodeRepair:
    """The jsonrepair library in a Node.js process: one JSON line in, one out."""

    PROGRAM = (
        "const {jsonrepair}=require(process.argv[1]);"
        "require('readline').createInterface({input:process.stdin}).on('line',l=>{"
        "let r;try{r={ok:jsonrepair(JSON.parse(l))}}catch(e){r={error:String(e)}}"
        "console.log(JSON.stringify(r))})"
    )

    def __init__(self, package: Path) -> None:
        self.process = subprocess.Popen(
            ["node", "-e", self.PROGRAM, str(package)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __call__(self, text: str) -> Any:
        """Repair and parse one text. Raises ValueError when it cannot."""
        if self.process.stdin is None or self.process.stdout is None:
            raise ValueError("no pipes")
        self.process.stdin.write(json.dumps(text) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        return json.loads(answer["ok"])


def main() -> None:
    """Run the benchmark."""
    options = argparse.ArgumentParser(description="Benchmark of intake.")
    options.add_argument("--scale", type=int, default=1, help="size of the corpus (1: about 2,000 messages)")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--quick", action="store_true", help="accepted for scripts: accuracy is all that is measured")
    chosen = options.parse_args()
    corpus = rows(chosen.seed, chosen.scale)
    kinds = len({row.kind for row in corpus})
    print(f"accuracy on {len(corpus)} messages of {kinds} kinds, seed {chosen.seed} (the schema check is free for all)")
    table("rails, whole message", accuracy(corpus, ours))
    blocks = [
        row
        for row in corpus
        if row.block
        and row.expect not in ("ignore", "coerce", "stay")
        and len(row.calls) == 1
        and "XML" not in row.kind
    ]
    parsers = peers()
    print(f"peers, on the {len(blocks)} blocks alone")
    for name, reader in parsers.items():
        table(name, accuracy(blocks, partial(theirs, parse=reader)))


if __name__ == "__main__":
    main()
