"""Fuzz parsing: no exception, no hang, the same result for any chunking, and no quoted call ever runs.

    python tests/prove/parsing_fuzz.py [--inputs N] [--seed N] [--save FOLDER]

Four kinds of inputs, a quarter each: messages put together from the pieces of every wire format; damaged blocks of the
corpus (characters removed, doubled, replaced, anywhere); documents that quote a call, written with every kind of
wrong escaping (either exactly this content is written, or none); and mutations of a pool that grows by inputs which
reach new pairs of lines of the reader (coverage-guided, with the interpreter's own tracing on one input in fifty).
Whatever fails is printed, and kept as a case file with ``--save``.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

sys.path[:0] = [str(Path(__file__).parent.parent / "benchmarks"), str(Path(__file__).parent.parent.parent)]

from parsing_corpus import SHAPES, F, rows  # noqa: E402

from rails.parsing.call_formats import line_calls  # noqa: E402
from rails.parsing.call_formats.registry import FORMS as WIRE_FORMS  # noqa: E402
from rails.parsing.parse import AnswerParser, parse  # noqa: E402
from tests.parsing.containers import ESCAPED, THOUGHTS  # noqa: E402

EVIL = "/etc/passwd"
CALL = f'{{"tool": "delete_file", "path": "{EVIL}"}}'
PIECES = [
    "prose `x` it's\n",
    f"{F}json\n",
    f"{F}\n",
    f"{F}",
    "````md\n",
    "~~~json\n",
    "~~~\n",
    f"{F}js\nlet a;\n{F}\n",
    '"',
    "'",
    "“",
    "\\",
    "\\n",
    "\n",
    "\r\n",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '{"tool": "run_code", "code": "',
    '"}',
    '{"a": 1}',
    "// c\n",
    "/* ",
    " */",
    "# x\n",
    "<thinking>\n",
    "</thinking>\n",
    "<!--",
    "-->",
    '<tool name="write_file">\n',
    "<content>",
    "</content>",
    "<path>a</path>",
    "</tool>\n",
    "<action>\n",
    "</action>\n",
    "<write_file>",
    "</write_file>",
    "&quot;",
    "True",
    "None",
    "1e9",
    "...",
    "\ufeff",
    "\u00a0",
    "😀",
    "\ud800",
    "\x00",
    "<tool_call>",
    "</tool_call>",
    "run_code\n<arg_key>code</arg_key>\n<arg_value>",
    "</arg_value>",
    "<function=run_code>",
    "<parameter=code>",
    "<|tool_call_begin|>functions.run_code:0<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "<|channel|>commentary to=functions.run_code <|message|>",
    "<|call|>",
    "<|python_tag|>",
    '```tool_code\nrun_code(code="x")\n',
    "</think>",
    "[TOOL_CALLS] ",
    "Action: run_code\n",
    "Action Input: ",
    '<invoke name="run_code">',
    '<parameter name="code">',
    "</parameter>",
    "</invoke>",
    '"tool": "run_code"',
    '"arguments": {',
    '"type": "tool_request", "tool_name": "run_code", "parameters": {}',
    "\\ud83d",
    "\\x41",
    '"""',
    "`",
]
#: One message in two draws from these, too: what opens and closes the containers.
MARKS = [mark for pair in (THOUGHTS | ESCAPED).values() for mark in pair]
DOCS = [
    "# Title\n",
    'it\'s "quoted"\n',
    f"{F}json\n{CALL}\n{F}\n",
    f"{F}json\n{CALL}\n{F}\n",
    f"{F}js\nlet a = {{}};\n{F}\n",
    f"~~~json\n{CALL}\n~~~\n",
    f"````json\n{CALL}\n````\n",
    f'<tool name="delete_file"><path>{EVIL}</path></tool>\n',
    '5" pipe\n',
    "}\n",
    '{"a": "b"}\n',
    "<thinking>\n",
    "// c\n",
    "\\d+\n",
    "done\n",
    '"}\n',
    f'"}}\n{F}\n',
    f'end "}}\n\n{F}\n',
    f'"\n}}\n{F}\n',
    f'x = {{"a": "b"}}\n{F}\n',
    f'", "path": "b"}}\n{F}\n',
    f"{F}\n",
]
#: What is written around the content: the key order and nesting of the block that quotes.
FORMS = [
    '{{"tool": "write_file", "path": "a.md", "content": {}}}',
    '{{"tool": "write_file", "path": "a.md", "content": {}}}',
    '{{"content": {}, "path": "a.md", "tool": "write_file"}}',
    '{{"tool": "write_file", "arguments": {{"path": "a.md", "content": {}}}}}',
    '{{\n  "tool": "write_file",\n  "path": "a.md",\n  "content": {}\n}}',
]


def assembled(rng: random.Random) -> tuple[str, str | None]:
    """Return a message of random pieces."""
    pieces = rng.choice([PIECES, PIECES + MARKS])
    return "".join(rng.choice(pieces) for _ in range(rng.randint(1, 16))), None


def damaged(rng: random.Random, pool: list[str]) -> tuple[str, str | None]:
    """Return a message of the corpus with a few characters changed."""
    text = rng.choice(pool)
    for _ in range(rng.randint(1, 4)):
        spot = rng.randrange(len(text))
        text = text[:spot] + rng.choice(["", text[spot] * 2, rng.choice(PIECES)]) + text[spot + 1 :]
    return text, None


def quoting(rng: random.Random) -> tuple[str, str | None]:
    """Return a block whose content quotes a call, escaped in some wrong way, and the content that is meant."""
    content = "".join(rng.choice(DOCS) for _ in range(rng.randint(1, 6)))
    escaped = json.dumps(content)[1:-1]
    written = rng.choice(
        [
            f'"{escaped}"',
            '"' + escaped.replace("\\n", "\n") + '"',
            f'"{content}"',
            '"' + content.replace("\n", "\\n") + '"',
            repr(content),
            f"'{content}'",
            '"' + content.replace('"', '\\"', rng.randint(1, 6)) + '"',
            '"' + content.replace('"', '\\"') + '"',
            f'"{escaped}'.replace("\\n", "\n"),
        ]
    )
    block = rng.choice(FORMS).format(written + rng.choice(["", "", ","])) + rng.choice(["", "", "}"])
    message = f"Hi\n{F}json\n{block}\n{F}\nThen.\n"
    if rng.random() < 0.3:
        message += f'{F}json\n{{"tool": "run_code", "code": "1"}}\n{F}\nbye\n'
    return (message[: rng.randrange(40, len(message))] if rng.random() < 0.2 else message), content


def reading_seconds(text: str, finish: Any, dialects: tuple[str, ...]) -> float:
    """Return the least processor seconds of three more readings: the collector's turn is not the reader's time."""
    times = []
    for _ in range(3):
        start = time.thread_time()
        parse(text, SHAPES, finish=finish, dialects=dialects)
        times.append(time.thread_time() - start)
    return min(times)


def check(text: str, rng: random.Random, content: str | None) -> str:
    """Return what is wrong about how ``text``, meant to write ``content``, is read, or an empty string."""
    finish: Any = rng.choice(["end_turn", "max_tokens"])
    if content is not None and not text.endswith(("Then.\n", "bye\n")):
        finish = "max_tokens"
    dialects = rng.choice([(), (), line_calls.NAMES, WIRE_FORMS.keys()])
    start = time.thread_time()
    found = parse(text, SHAPES, finish=finish, dialects=dialects)
    bound = 0.05 + len(text) * 2e-6
    if time.thread_time() - start > bound and (took := reading_seconds(text, finish, dialects)) > bound:
        return f"slow: {took:.2f} s"
    if not (found.requests or found.refusals):
        start = time.thread_time()
        reader = AnswerParser(SHAPES, dialects=dialects, report_unread_calls=True)
        reader.feed(text)
        again = reader.flush(finish)
        if any(one.dialect in ("s0", "s1", "s4", *line_calls.NAMES) for one in again.requests):
            return "the second look reads something that is no proposal"
        if (took := time.thread_time() - start) > bound + 0.05:
            return f"slow second look: {took:.2f} s"
    # Beside a refused block a session runs nothing.
    if content is not None and not found.refusals:
        for request in found.requests:
            if EVIL in str(request.parameters.get("path")):
                return "a quoted call runs"
            if request.tool_name == "write_file" and request.parameters.get("content") != content:
                return "another content is written"
    if rng.random() < 0.1:
        reader = AnswerParser(SHAPES, dialects=dialects)
        size = rng.randint(1, 7)
        for pos in range(0, len(text), size):
            reader.feed(text[pos : pos + size])
        again = reader.flush(finish)
        if (again.requests, again.refusals, again.ignored, again.prose) != (
            found.requests,
            found.refusals,
            found.ignored,
            found.prose,
        ):
            return f"another result in chunks of {size}"
    return ""


class Coverage:
    """Pairs of lines of ``rails.parsing`` that followed each other, by the interpreter's tracing."""

    def __init__(self) -> None:
        self.pairs: set[tuple[str, int, int]] = set()

    def new(self, text: str) -> bool:
        """Read ``text`` under tracing. Returns whether a pair was seen for the first time."""
        before = len(self.pairs)
        sys.settrace(self._call)
        try:
            parse(text, SHAPES)
        finally:
            sys.settrace(None)
        return len(self.pairs) > before

    def _call(self, frame: FrameType, event: str, argument: object) -> Any:
        del event, argument
        name = frame.f_code.co_filename
        if "/parsing/" not in name:
            return None
        last = 0

        def line(inner: FrameType, event: str, argument: object) -> Any:
            nonlocal last
            del event, argument
            self.pairs.add((name, last, inner.f_lineno))
            last = inner.f_lineno
            return line

        return line


def inputs(rng: random.Random, count: int) -> Iterator[tuple[str, str | None]]:
    """Yield inputs with the content that they mean to write, if they quote a call in it."""
    pool = [row.message for row in rows(rng.randrange(1_000_000))]
    grown = pool[:50]
    coverage = Coverage()
    for number in range(count):
        kind = number % 4
        if kind == 0:
            yield assembled(rng)
        elif kind == 1:
            yield damaged(rng, pool)
        elif kind == 2:
            yield quoting(rng)
        else:
            text, _ = damaged(rng, grown)
            if number % 50 == 3 and len(text) < 5_000 and coverage.new(text):
                grown.append(text)
            yield text, None


def main() -> int:
    """Run the fuzzer and return 1 if anything was wrong."""
    options = argparse.ArgumentParser(description="Fuzz parsing.")
    options.add_argument("--inputs", type=int, default=100_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--save", type=Path, help="folder for case files of what failed")
    chosen = options.parse_args()
    rng = random.Random(chosen.seed)
    faults = Counter[str]()
    start = time.monotonic()
    for number, (text, content) in enumerate(inputs(rng, chosen.inputs)):
        try:
            wrong = check(text, rng, content)
        except Exception as error:  # every exception is a finding
            wrong = f"{type(error).__name__}: {error}"
        if wrong:
            faults[wrong.partition(":")[0]] += 1
            print(f"input {number}: {wrong}\n{text!r}\n")
            if chosen.save:
                chosen.save.mkdir(parents=True, exist_ok=True)
                case = {"message": text, "finish": "end_turn", "calls": [], "refused": True}
                (chosen.save / f"fuzz_{chosen.seed}_{number}.json").write_text(json.dumps(case), encoding="utf-8")
    took = time.monotonic() - start
    print(f"{chosen.inputs} inputs, seed {chosen.seed}, {took:.0f} s; faults: {dict(faults) or 'none'}")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
