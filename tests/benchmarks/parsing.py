"""Benchmark of intake: accuracy on the generated corpus, speed, and the libraries a user would pick instead.

    python tests/benchmarks/parsing.py [--scale N] [--seed N] [--quick]

Peers are not dependencies of the project. To have them measured, in a throw-away environment:

    python -m venv /tmp/peers && /tmp/peers/bin/pip install . json_repair dirtyjson partial-json-parser \\
        fast-json-repair json5 langchain-core jiter baml-py && npm install --prefix /tmp/peers jsonrepair
    /tmp/peers/bin/python tests/benchmarks/parsing.py

``jsonrepair`` (JavaScript) is found below the environment's ``node_modules``. A peer that is missing is
named and left out. Peers get the block alone, without its message, and free validation by the tool's
schema; the reader under test gets the whole message. Times are CPU time of the thread, after a warm-up.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import re
import statistics
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent.parent)]

from parsing_corpus import SHAPES, F, Row, rows  # noqa: E402

from rails.core.app_dirs import builtin_folder  # noqa: E402
from rails.core.tool_request import ToolRequest  # noqa: E402
from rails.data_formats.strict_json import parse_strict  # noqa: E402
from rails.parsing.parse import AnswerParser, parse  # noqa: E402
from rails.parsing.repairs import repair  # noqa: E402
from rails.tools.loader import load_definitions  # noqa: E402
from rails.tools.validate import validate  # noqa: E402

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


# -- speed --------------------------------------------------------------------------------------------

LINE = 'def f(x):\n    """Doc."""\n    return {"a": [x, \'y\'], "b": "C:\\\\x"}  # é\n'


def long_block(size: int) -> str:
    """Return a valid block that is nearly all one string."""
    content = (LINE * (size // len(LINE) + 1))[: int(size * 0.85)]
    return json.dumps({"tool": "write_file", "path": "src/a.py", "content": content}, ensure_ascii=False)


def many_block(size: int) -> str:
    """Return a valid block of many small items."""
    edits = [
        {"file_path": f"src/f{n}.py", "old_string": "import a", "new_string": "from b import a"}
        for n in range(size // 80 + 1)
    ]
    return json.dumps({"tool": "multi_edit", "edits": edits})


DAMAGE: dict[str, Callable[[str], str]] = {
    "trailing comma": lambda block: block[:-1] + ",}",
    "extra brace": lambda block: block + "}",
    "raw line ends": lambda block: re.sub(r"(?<!\\)((?:\\\\)*)\\n", r"\1" + "\n", block),
    "Python repr": lambda block: repr(json.loads(block)),
    "missing brace": lambda block: block[:-1],
    "not repairable": lambda block: block[:-1] + ", oops}",
}


def microseconds(work: Callable[[], Any], repeat: int) -> tuple[float, float]:
    """Return the median and the 99th percentile of ``work``, in µs of CPU time."""
    work()
    times = []
    for _ in range(repeat):
        start = time.thread_time_ns()
        work()
        times.append((time.thread_time_ns() - start) / 1000)
    times.sort()
    return statistics.median(times), times[min(len(times) - 1, math.ceil(len(times) * 0.99) - 1)]


def speed(sizes: list[int]) -> None:
    """Print the times of valid and broken blocks, and how they grow."""
    for shape_name, make in (("one long string", long_block), ("many items", many_block)):
        print(f"\nvalid, {shape_name}: µs (median / p99), ratio to json.loads")
        for size in sizes:
            block = make(size)
            repeat = repetitions(size)
            base = microseconds(lambda block=block: json.loads(block), repeat)[0]
            parsed = microseconds(lambda block=block: parse_strict(block), repeat)
            message = f"Ok.\n\n{F}json\n{block}\n{F}\nDone.\n"
            whole = microseconds(lambda message=message: parse(message, SHAPES), repeat)
            print(
                f"  {size / 1000:6.1f} kB  json.loads {base:8.1f}   strict {parsed[0]:8.1f} / {parsed[1]:8.1f} "
                f"({parsed[0] / base:.1f}x)   whole message {whole[0]:8.1f} / {whole[1]:8.1f} ({whole[0] / base:.1f}x)"
            )
        print(f"\nbroken, {shape_name}: repair alone | whole message, µs (median / p99), growth exponent at the end")
        for kind, damage in DAMAGE.items():
            medians = []
            for size in sizes:
                block = damage(make(size))
                repeat = repetitions(size)
                alone = microseconds(lambda block=block: repair(block, closers=True), repeat)
                message = f"Ok.\n\n{F}json\n{block}\n{F}\nDone.\n"
                whole = microseconds(lambda message=message: parse(message, SHAPES), repeat)
                medians.append(whole[0])
                print(
                    f"  {kind:15} {size / 1000:6.1f} kB  {alone[0]:8.1f} / {alone[1]:8.1f} "
                    f"| {whole[0]:9.1f} / {whole[1]:9.1f}"
                )
            if len(sizes) > 1:
                print(f"  {kind:15} n^{math.log(medians[-1] / medians[-2]) / math.log(sizes[-1] / sizes[-2]):.2f}")


def repetitions(size: int) -> int:
    """Return how often a block of ``size`` is timed."""
    return 200 if size <= 1000 else 100 if size <= 10_000 else 30 if size <= 100_000 else 9


HOSTILE: dict[str, Callable[[int], str]] = {
    "open brackets": lambda n: f'{F}json\n{{"tool": "x", "a": ' + "[" * n,
    "open objects": lambda n: f"{F}json\n" + '{"a":' * (n // 5),
    "quotation marks": lambda n: f'{F}json\n{{"tool": "run_code", "code": "' + '"' * n,
    "commas in an open string": lambda n: f'{F}json\n{{"tool": "run_code", "code": "' + "a, " * (n // 3),
    "back-ticks in a string": lambda n: f'{F}json\n{{"tool": "run_code", "code": "' + f"{F}\n" * (n // 4),
    "inner quotes": lambda n: f'{F}json\n{{"tool": "run_code", "code": "' + 'a", "b' * (n // 6) + f'"}}\n{F}\n',
    "unclosed fences": lambda n: f"{F}json\n" * (n // 8),
    "bare fences": lambda n: f"{F}\n" * (n // 4),
    "back-ticks": lambda n: "`" * n,
    "nested tags": lambda n: '<tool name="write_file"><content>' + "<content>" * (n // 9),
    "closing tags": lambda n: '<tool name="write_file"><content>' + "</content>" * (n // 10),
    "broken blocks": lambda n: f'{F}json\n{{"tool": "run_code, "x\n{F}\n' * (n // 40),
}


def hostile() -> None:
    """Print how the time grows on texts that are made to be slow."""
    print("\nhostile texts, whole message: ms at 50 and 500 kB, growth exponent")
    for kind, make in HOSTILE.items():
        times = []
        for size in (50_000, 500_000):
            text = make(size)
            times.append(microseconds(lambda text=text: parse(text, SHAPES), 5)[0] / 1000)
        growth = math.log10(max(times[1], 1e-6) / max(times[0], 1e-6))
        print(f"  {kind:26} {times[0]:8.2f} {times[1]:9.2f}   n^{growth:.2f}")
    text = HOSTILE["open brackets"](100_000) + f"\n{F}\n"
    print(f"  100,000 nested brackets refused in {microseconds(lambda: parse(text, SHAPES), 9)[0] / 1000:.1f} ms")


def streaming() -> None:
    """Print the cost of reading in chunks, and the scanner's throughput."""
    print("\nstreaming")
    for size in (5_000, 20_000, 80_000):
        message = f"Ok.\n{F}json\n{long_block(size)}\n{F}\n"
        total = microseconds(lambda message=message: chunked(message, 4), 5)[0]
        each = total / (len(message) / 4)
        print(f"  {size // 1000:3} kB in 4-character chunks: {total / 1000:6.1f} ms, {each:.2f} µs a chunk")
    prose = "The quick brown fox `jumps` over the lazy dog, and so on.\n" * 4_000
    code = f"Code:\n{F}python\n" + LINE * 3_000 + f"{F}\n"
    for name, text in (("prose", prose), ("code", code)):
        for chunk in (1, 16, 4096):
            part = text[:30_000] if chunk == 1 else text
            taken = microseconds(lambda part=part, chunk=chunk: chunked(part, chunk), 3)[0]
            print(f"  {name:5} in chunks of {chunk:4}: {len(part) / taken:8.1f} MB/s")
    typical = f"I will write it.\n\n{F}json\n{long_block(1_000)}\n{F}\nDone.\n"
    median, p99 = microseconds(lambda: parse(typical, SHAPES), 400)
    print(f"  a typical 1 kB block, detected, parsed and classified: {median:.0f} µs (p99 {p99:.0f})")
    registry = load_definitions([builtin_folder("mcp_definitions")])
    typical = typical.replace('"path"', '"file_path"')
    shapes = registry.shapes()  # made once for each turn
    request = validate(parse(typical, shapes).requests[0], registry, "coder")
    assert isinstance(request, ToolRequest), request
    median, p99 = microseconds(lambda: validate(parse(typical, shapes).requests[0], registry, "coder"), 400)
    print(
        f"  the same, with the shipped tools, and validated by its tool's definition: {median:.0f} µs (p99 {p99:.0f})"
    )


def chunked(text: str, size: int) -> None:
    """Read a text in chunks."""
    reader = AnswerParser(SHAPES)
    for pos in range(0, len(text), size):
        reader.feed(text[pos : pos + size])
    reader.flush("end_turn")


def peer_speed(parsers: dict[str, Parser], sizes: list[int]) -> None:
    """Print median and p99 of each peer at each size and the growth at the end; one of over 20 ms is the last."""
    print(
        "\npeers on broken blocks, one long string: µs (median / p99) at "
        + ", ".join(f"{n / 1000:g}" for n in sizes)
        + " kB"
    )
    for kind in ("extra brace", "raw line ends", "Python repr"):
        for name, reader in {"rails, repair": partial(repair, closers=True), **parsers}.items():
            cells: list[str] = []
            medians: list[float] = []
            for size in sizes:
                if medians and medians[-1] > 20_000:
                    cells.append("-")
                    continue
                block = DAMAGE[kind](long_block(size))
                median, p99 = microseconds(partial(silently, reader, block), repetitions(size) // 3)
                medians.append(median)
                cells.append(f"{median:.0f} / {p99:.0f}")
            ends = math.log10(medians[-1] / medians[-2])  # each size is ten times the one before
            print(f"  {kind:14} {name:22} " + " ".join(f"{cell:>19}" for cell in cells) + f"   n^{ends:.2f}")


def silently(parse: Parser, text: str) -> None:
    """Parse, whatever comes."""
    try:
        parse(text)
    except Exception:  # only the time counts
        return


def main() -> None:
    """Run the benchmark."""
    options = argparse.ArgumentParser(description="Benchmark of intake.")
    options.add_argument("--scale", type=int, default=1, help="size of the corpus (1: about 2,000 messages)")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--quick", action="store_true", help="accuracy only")
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
    if chosen.quick:
        return
    speed([500, 5_000, 50_000, 500_000])
    hostile()
    streaming()
    peer_speed({name: parse for name, parse in parsers.items() if name != "json.loads"}, [500, 5_000, 50_000, 500_000])


if __name__ == "__main__":
    main()
