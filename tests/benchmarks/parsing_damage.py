"""Damaged blocks over real sources, their value known: what is read exactly, refused, or silently wrong.

    python tests/benchmarks/parsing_damage.py [--pieces N] [--seed N] [--operators] [--show RESULT]

The texts are whole statements and files of Python's standard library, of the npm packages of the JavaScript folder
(``.venv/javascript``) and of their Markdown. Each is put into a call and damaged by each operator that changes it:
``structure`` (between the tokens), ``backslash`` and ``quote`` (inside the strings), ``other`` (``parsing_operators``:
other languages, templates and slips; any of its rows may be refused). A row is

    unknowable     the block as sent is valid JSON, or a valid literal of Python, of another value
    two readings   another usual way to read its backslashes gives a text that its language accepts as well, or no
                   parser knows the language: to be refused, or read exactly. So are unescaped quotation marks that
                   are doubled (one each may be meant) or an odd number in a text that no parser can judge
    several ends   quotation marks are not escaped, and a string of the block could end at more than one of them
    one reading    all others

"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import sys
import sysconfig
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent.parent)]

from parsing_operators import OTHER  # noqa: E402

from rails.core.app_dirs import builtin_folder  # noqa: E402
from rails.data_formats import source  # noqa: E402
from rails.parsing.parse import parse  # noqa: E402
from rails.tools.loader import load_definitions  # noqa: E402

F = "`" * 3
SHAPES = load_definitions([builtin_folder("mcp_definitions")]).shapes()
JAVASCRIPT = Path(sys.prefix) / "javascript" / "node_modules"
#: How long a text may be.
LEAST = 80
MOST = 2_500


class Piece(NamedTuple):
    """A whole text of a language, and the path it is written to."""

    path: str
    text: str


class Row(NamedTuple):
    """A damaged block: its class and operator, the value it was made of, and the text that was damaged."""

    kind: str
    operator: str
    block: str
    value: dict[str, Any]
    piece: Piece


# -- real sources -------------------------------------------------------------------------------------


def pieces(count: int, rng: random.Random) -> list[Piece]:
    """Return ``count`` texts, a third each of Python, of JavaScript with its relatives, and of the rest."""
    library = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    packages = sorted(JAVASCRIPT.rglob("*")) if JAVASCRIPT.is_dir() else []
    scripts = [one for one in packages if one.suffix in (".js", ".mjs", ".cjs", ".ts", ".mts")]
    others = [one for one in packages if one.suffix in (".md", ".json", ".yml", ".yaml")]
    texts = [one for one in others if one.suffix == ".md"]
    data = [one for one in others if one.suffix != ".md"]
    shares = ((library, 3), (scripts, 3), (texts, 2), (data, 1))
    found: list[Piece] = []
    for files, share in shares:
        rng.shuffle(files)
        wanted = count * share // 9 + 1
        got = 0
        for file in files:
            for piece in cut(file, rng):
                found.append(piece)
                got += 1
            if got >= wanted:
                break
    rng.shuffle(found)
    return found[:count]


def cut(file: Path, rng: random.Random) -> list[Piece]:
    """Return up to three whole pieces of a file: runs of its top statements, of its paragraphs, or all of it."""
    try:
        text = file.read_bytes()[:400_000].decode()
    except (OSError, UnicodeDecodeError):
        return []
    language = source.language_of(file.name)
    if language == "python":
        parts = statements(text)
    elif file.suffix == ".md":
        parts = re.split(r"(?<=\n\n)", text)
    else:
        parts = re.split(r"(?<=\n)(?=\S)", text) if len(text) > MOST and language != "json" else [text]
    runs: list[str] = []
    for part in parts:
        if runs and len(runs[-1]) + len(part) <= rng.randint(LEAST, MOST):
            runs[-1] += part
        else:
            runs.append(part)
    rng.shuffle(runs)
    runs.sort(key=lambda one: "\\" not in one and rng.random() < 0.7)
    good = [one for one in runs if LEAST <= len(one) <= MOST and ('"' in one or "\\" in one)]
    whole = [one for one in good if source.parses(one, language) is not False]
    return [Piece(f"src/{file.name}", one) for one in whole[:3]]


def statements(text: str) -> list[str]:
    """Return the top statements of a Python module, with what stands before them."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return []
    lines = text.splitlines(keepends=True)
    ends = [node.end_lineno or 0 for node in tree.body]
    return ["".join(lines[start:end]) for start, end in zip([0, *ends], ends, strict=False)]


# -- calls and damage ---------------------------------------------------------------------------------


def calls(piece: Piece, rng: random.Random) -> dict[str, Any]:
    """Return a call that holds the text."""
    if rng.random() < 0.6:
        return {"tool": "write_file", "file_path": piece.path, "content": piece.text}
    lines = piece.text.splitlines(keepends=True)
    middle = rng.randrange(len(lines))
    old = "".join(lines[middle : middle + 2])
    new = "".join(lines[max(middle - 2, 0) : middle + 3])
    if rng.random() < 0.7 or not old.strip():
        return {"tool": "write_file", "arguments": {"file_path": piece.path, "content": piece.text}}
    return {"tool": "edit_file", "file_path": piece.path, "old_string": old, "new_string": new}


def dumped(value: Any, rng: random.Random) -> str:
    """Return a value as JSON, in one of the usual layouts."""
    return json.dumps(value, ensure_ascii=rng.random() < 0.1, indent=rng.choice((None, None, 2, 4)))


def strings(value: Any, write: Callable[[str], str], indent: int | None = 2) -> str:
    """Return JSON whose string values (not its keys) are written by ``write``, quotation marks included."""
    if isinstance(value, dict):
        pad = "\n" + " " * indent if indent else ""
        inner = ("," + (pad or " ")).join(f'"{key}": {strings(item, write, indent)}' for key, item in value.items())
        return "{" + pad + inner + ("\n" if indent else "") + "}"
    return write(value)


def escaped(text: str) -> str:
    """Return a text as the inside of a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def within(write: Callable[[str], str]) -> Callable[[dict[str, Any], random.Random], str]:
    """Return the operator that writes the inside of each string that needs escapes by ``write``."""

    def operator(value: dict[str, Any], rng: random.Random) -> str:
        def one(text: str) -> str:
            return f'"{write(text) if len(text) > 40 or chr(10) in text else escaped(text)}"'

        return strings(value, one, rng.choice((None, 2)))

    return operator


def on_json(change: Callable[[str, random.Random], str]) -> Callable[[dict[str, Any], random.Random], str]:
    """Return the operator that changes the block as a JSON writer would write it."""
    return lambda value, rng: change(dumped(value, rng), rng)


def python_repr(value: Any, _rng: random.Random) -> str:
    """Return the value as Python prints it."""
    return repr({**value, "explanation": None}).replace(", 'explanation': None", "")


def _between(text: str, pattern: str, replacement: str, rng: random.Random) -> str:
    """Replace one place of ``pattern`` that stands outside of strings."""
    outside = re.compile(r'"(?:[^"\\]|\\.)*"|(' + pattern + ")", re.S)
    found = [one for one in outside.finditer(text) if one[1] is not None]
    if not found:
        return text
    at = rng.choice(found)
    return text[: at.start()] + replacement + text[at.end() :]


def missing_comma(text: str, rng: random.Random) -> str:
    """Leave out a comma before a member on a line of its own."""
    return _between(text, r",(?=\n)", "", rng)


def key(text: str, rng: random.Random, change: Callable[[str], str]) -> str:
    """Change one key with its quotation marks."""
    found = [*re.finditer(r'"(tool|file_path|content|old_string|new_string|arguments)"(?=: ["{])', text)]
    at = rng.choice(found)
    return text[: at.start()] + change(at[1]) + text[at.end() :]


TAILS = (
    "\nThis writes the file.",
    "\n// the {end} of it",
    "\n# writes {x}",
    "\n[/TOOL_CALLS]",
    "<|im_end|>",
    ";",
    "\n(see {docs})",
)
STRUCTURE: dict[str, Callable[[dict[str, Any], random.Random], str]] = {
    "trailing comma": on_json(lambda text, rng: re.sub(r"(\n?)\}\Z", r",\1}", text)),
    "missing comma": on_json(missing_comma),
    "doubled comma": on_json(lambda text, rng: _between(text, ",", ",,", rng)),
    "extra closers": on_json(lambda text, rng: text + rng.choice(("}", "}}", "\n}", "]}"))),
    "missing closer": on_json(lambda text, rng: text[:-1].rstrip("\n")),
    "text behind": on_json(lambda text, rng: text + rng.choice(TAILS)),
    "text before": on_json(lambda text, rng: rng.choice(("Here is the call:\n", "json\n")) + text),
    "fence in the fence": on_json(lambda text, rng: f"{F}json\n{text}\n{F}"),
    "comment": on_json(
        lambda text, rng: _between(text, r"(?<=,)[ \n]", rng.choice((" // next\n", " /* next */ ", " # next\n")), rng)
    ),
    "bare key": on_json(lambda text, rng: key(text, rng, str)),
    "key with one quote": on_json(lambda text, rng: key(text, rng, lambda name: rng.choice((f'"{name}', f'{name}"')))),
    "colon missing": on_json(lambda text, rng: _between(text, r": (?=\")", " ", rng)),
    "=>": on_json(lambda text, rng: _between(text, ":", " =>", rng)),
    "no outer braces": on_json(lambda text, rng: text[1:-1].strip()),
    "odd space": on_json(
        lambda text, rng: _between(text, r"(?<=[,{])\s*", rng.choice(("\u00a0", "\u200b", "\ufeff")), rng)
    ),
    "literal line ends": on_json(lambda text, rng: _between(text, r"\n", "\\n", rng) if "\n" in text else text),
    "Python repr": python_repr,
    "single quotes": lambda value, rng: strings(
        value, lambda text: "'" + escaped(text).replace("'", "\\'").replace('\\"', '"') + "'"
    ),
    "curly quotes": lambda value, rng: strings(value, lambda text: f"“{escaped(text)}”"),
    "escaped once more": on_json(lambda text, rng: escaped(text)),
    "one JSON string": on_json(lambda text, rng: json.dumps(text)),
    "raw line ends": within(
        lambda text: escaped(text).replace("\\n", "\n") if not set("\\\t") & set(text) else escaped(text)
    ),
    "raw tabs": within(lambda text: escaped(text).replace("\\t", "\t") if "\\" not in text else escaped(text)),
    "back-ticks": within(lambda text: f"\x00{text}\x00" if not set("`\\$") & set(text) else escaped(text)),
    "triple quotes": within(
        lambda text: (
            f"\x01{text}\x01"
            if '""' not in text and F not in text and "\\" not in text and text[0] != '"' != text[-1]
            else escaped(text)
        )
    ),
}
BACKSLASH: dict[str, Callable[[dict[str, Any], random.Random], str]] = {
    "none doubled": within(
        lambda text: text.replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    ),
    "none doubled, raw lines": within(lambda text: text.replace('"', '\\"')),
    "all doubled, raw lines": within(
        lambda text: (
            escaped(text).replace("\\n", "\n") if "\\n" not in text else text.replace("\\", "\\\\").replace('"', '\\"')
        )
    ),
    "unknown escapes not doubled": within(lambda text: re.sub(r'\\\\(?![\\"/bfnrtu])', r"\\", escaped(text))),
    "one not doubled, raw lines": within(
        lambda text: text.replace("\\", "\\\\").replace("\\\\", "\\", 1).replace('"', '\\"')
    ),
    "one not doubled": within(lambda text: escaped(text).replace("\\\\", "\\", 1)),
    "the last not doubled": within(lambda text: "\\".join(escaped(text).rsplit("\\\\", 1))),
    "doubled twice": within(lambda text: escaped(text.replace("\\", "\\\\"))),
    "doubled twice, raw lines": within(lambda text: text.replace("\\", "\\\\\\\\").replace('"', '\\"')),
    "between back-ticks": within(lambda text: f"\x00{text}\x00" if not set("`$") & set(text) else escaped(text)),
    "between triple quotes": within(
        lambda text: f"\x01{text}\x01" if '""' not in text and text[0] != '"' != text[-1] else escaped(text)
    ),
    "single quotes": lambda value, rng: strings(
        value, lambda text: "'" + text.replace("'", "\\'").replace("\n", "\\n") + "'"
    ),
}


def unescape_some(text: str, share: float, rng: random.Random) -> str:
    """Return the inside of a string in which that share of its quotation marks is not escaped, at least one."""
    parts = re.split(r'(?<!\\)((?:\\\\)*)\\"', escaped(text))
    if len(parts) < 3:
        return escaped(text)
    marks = (len(parts) - 1) // 2
    chosen = set(rng.sample(range(marks), max(1, round(marks * share))))
    out = parts[0]
    for number in range(marks):
        out += parts[2 * number + 1] + ('"' if number in chosen else '\\"') + parts[2 * number + 2]
    return out


def quotes(share: float, *, raw: bool = False) -> Callable[[dict[str, Any], random.Random], str]:
    """Return the operator that leaves a share of the quotation marks unescaped, line ends raw or not."""

    def operator(value: dict[str, Any], rng: random.Random) -> str:
        def write(text: str) -> str:
            inside = unescape_some(text, share, rng)
            return inside.replace("\\n", "\n") if raw and "\\" not in text else inside

        return within(write)(value, rng)

    return operator


QUOTE = {
    "none escaped": quotes(1.0),
    "none escaped, raw lines": quotes(1.0, raw=True),
    "half escaped": quotes(0.5),
    "one not escaped": quotes(0.0),
    "one not escaped, raw lines": quotes(0.0, raw=True),
    "nothing escaped but line ends": within(lambda text: text.replace("\n", "\\n").replace("\t", "\\t")),
    "nothing escaped": within(str),
    "all doubled, none escaped, raw lines": within(lambda text: text.replace("\\", "\\\\")),
    "a pair not escaped": within(lambda text: re.sub(r'(?<!\\)\\"([^"\\\n]*)\\"', r'"\1"', escaped(text), count=1)),
}
CLASSES = {"structure": STRUCTURE, "backslash": BACKSLASH, "quote": QUOTE, "other": OTHER}


def rows(count: int, seed: int) -> Iterator[Row]:
    """Yield every damaged block of ``count`` pieces that differs from the block as JSON has it."""
    rng = random.Random(seed)
    for piece in pieces(count, rng):
        value = calls(piece, rng)
        held = "".join(texts(value))
        clean = dumped(value, rng).count('\\"')
        for kind, operators in CLASSES.items():
            if (kind == "backslash" and "\\" not in held) or (kind == "quote" and '"' not in held):
                continue
            for name, operator in operators.items():
                block = operator(value, rng).replace('"\x00', "`").replace('\x00"', "`")
                block = block.replace('"\x01', '"""').replace('\x01"', '"""').replace("\x00", "`")
                if strict(block) != value and not (kind == "quote" and block.count('\\"') == clean):
                    yield Row(kind, name, block, value, piece)


def texts(value: Any) -> list[str]:
    """Return the strings of a value."""
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts(item)]
    return [value]


def strict(block: str) -> Any:
    """Return the value of a block that is JSON; None for one that is not."""
    try:
        return json.loads(block)
    except (ValueError, RecursionError):
        return None


def python_value(block: str) -> Any:
    """Return the value of a block that is a literal of Python: single quotation marks, its own escapes."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # an escape that Python does not know
            return ast.literal_eval(block)
    except (ValueError, SyntaxError, MemoryError, RecursionError, Warning):
        return None


# -- what a row can be read as ------------------------------------------------------------------------


def knowable(row: Row) -> str:
    """Return which of the four a row is, without asking the reader under test."""
    if row.kind == "structure":
        return "one reading"
    if strict(row.block) is not None or (row.kind == "backslash" and python_value(row.block) is not None):
        return "unknowable"
    if row.kind == "other" or not one_text(row):
        return "two readings"
    return "several ends" if row.kind == "quote" and not one_end(row) else "one reading"


def one_end(row: Row) -> bool:
    """Say whether no unescaped quotation mark but the last one of each string could end it."""
    return not any('"' in text and re.search(r'"\s*[,}\]]', text) for text in texts(row.value))


def one_text(row: Row) -> bool:
    """Say whether no usual way to read the backslashes of a string but the right one gives a text of its language."""
    parameters = row.value.get("arguments", row.value)
    text = parameters.get("content")
    language = source.language_of(parameters["file_path"]) if text is not None else ""
    raw = inside(row)
    if text is None or source.parses(text, language) is None:
        marks = re.findall(r'(?<!\\)(?:\\\\)*"', raw) if row.kind == "quote" else []
        paired = len(marks) % 2 == 0 and not re.search(r'(?<!\\)""', "" if row.kind != "quote" else raw)
        return paired and not re.search(r"\\[^n]", raw) and not ("\n" in raw and "\\n" in raw)
    others = [] if re.search(r"\\[xuU]", raw) else [*other_texts(raw)]
    if re.search(r"\\[^nrtbfu\"'/\\]", raw) and "\\n" in raw and "\n" not in raw:  # each line end may be an escape
        ends = [at for at, char in enumerate(text) if char == "\n"]
        others += [f"{text[:at]}\\n{text[at + 1 :]}" for at in ends[:80]]
    return text in others and not any(other != text and source.parses(other, language) is not False for other in others)


def inside(row: Row) -> str:
    """Return the inside of the string that was damaged, or of several with all between them."""
    first = "content" if "content" in row.value.get("arguments", row.value) else "old_string"
    found = re.search(rf'"{first}": (?:"""(.*)"""|"(.*)"|`(.*)`|\'(.*)\')[\s}}]*\Z', row.block, re.S)
    return next((one for one in found.groups() if one is not None), "") if found else row.block


def other_texts(raw: str) -> Iterator[str]:
    """Yield what a string could be: each choice of which kinds of its escapes are decoded."""
    kinds = {**dict.fromkeys("nrt", 0), **dict.fromkeys("bf/", 1), "\\": 2, '"': 3, "'": 4, "\n": 5}
    known = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": ""}
    there = sorted({kinds[one[1]] for one in re.findall(r"\\.", raw, re.S) if one[1] in kinds})
    for choice in range(2 ** len(there)):
        keep = {kind for bit, kind in enumerate(there) if choice >> bit & 1}
        yield re.sub(
            r"\\(.)",
            lambda one, keep=keep: one[0] if kinds.get(one[1], -1) in keep | {-1} else known.get(one[1], one[1]),
            raw,
            flags=re.S,
        )


# -- results ------------------------------------------------------------------------------------------


def ours(row: Row) -> str:
    """Read the block as an answer and name the result."""
    fence = "~~~" if F in row.block else F
    found = parse(f"Ok.\n{fence}json\n{row.block}\n{fence}\n", SHAPES)
    if not found.requests:
        return "refused" if found.refusals else "SILENT"
    (call,) = found.requests if len(found.requests) == 1 else (None,)
    return "exact" if call is not None and {"tool": call.tool_name, **call.parameters} == flat(row.value) else "WRONG"


def flat(value: dict[str, Any]) -> dict[str, Any]:
    """Return a call without its inner object."""
    return {"tool": value["tool"], **value["arguments"]} if "arguments" in value else value


def table(name: str, results: dict[tuple[str, str], Counter[str]]) -> None:
    """Print one line for each class and each group of readings."""
    for (kind, group), counts in sorted(results.items()):
        total = sum(counts.values())
        shares = ", ".join(f"{result} {100 * n / total:.2f} % ({n})" for result, n in sorted(counts.items()))
        print(f"  {name:22} {kind:10} {group:13} {total:6}  {shares}")


def main() -> int:
    """Run the benchmark. Returns 1 if the reader under test was silently wrong."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--pieces", type=int, default=800, help="texts (800: over 20,000 blocks)")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--operators", action="store_true", help="a line for each operator, too")
    options.add_argument("--show", default="", help="print blocks with this result, such as WRONG")
    options.add_argument("--limit", type=int, default=5)
    chosen = options.parse_args()
    if not JAVASCRIPT.is_dir():
        print("  (no JavaScript folder: Python's standard library alone)")
    results: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    operators: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    seconds = 0.0
    shown = total = 0
    for row in rows(chosen.pieces, chosen.seed):
        group = knowable(row)
        total += 1
        began = time.thread_time()
        result = ours(row)
        seconds += time.thread_time() - began
        results[row.kind, group][result] += 1
        operators[row.kind, row.operator, group][result] += 1
        if chosen.show and result == chosen.show and group != "unknowable" and shown < chosen.limit:
            shown += 1
            print(f"--- {row.kind}, {row.operator}, {group}, {row.piece.path}\n{row.block}\n")
    print(f"{total} damaged blocks, seed {chosen.seed}")
    table("rails", results)
    print(f"  {'rails':22} {seconds:.1f} s of this thread's CPU time")
    if chosen.operators:
        for (kind, operator, group), counts in sorted(operators.items()):
            print(f"  {kind:10} {operator:28} {group:13} {dict(counts)}")
    wrong = {group: counts["WRONG"] + counts["SILENT"] for group, counts in results.items() if group[1] != "unknowable"}
    return int(any(wrong.values()))


if __name__ == "__main__":
    sys.exit(main())
