"""A generated corpus for intake: messages whose right answer is known by construction.

Every row starts from a value. A writer serialises it, well or with named damage, and the row keeps the value. Nothing
here looks at how the reader under test works.

    exact    the calls are these, byte for byte
    either   the calls are these, or the message is refused; another value is silently wrong
    refuse   nothing may run, and at least one refusal must say why
    ignore   nothing may run, and nothing is refused
    quotes   as either; rows of which one reading alone fits the tool's schema are counted by themselves
    coerce   exact, with a text turned into what the schema wants
    stay     exact, with a text that looks like something else and stays
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

F = "```"
STRING = {"type": "string"}
EDIT = {
    "type": "object",
    "properties": {"file_path": STRING, "old_string": STRING, "new_string": STRING, "replace_all": {"type": "boolean"}},
    "required": ["file_path", "old_string", "new_string"],
    "additionalProperties": False,
}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


SHAPES: dict[str, dict[str, Any]] = {
    "write_file": _object(["path", "content"], path=STRING, content=STRING),
    "delete_file": _object(["path"], path=STRING),
    "edit_file": _object(
        ["path", "old_string", "new_string"],
        path=STRING,
        old_string=STRING,
        new_string=STRING,
        replace_all={"type": "boolean"},
        occurrence={"type": "integer"},
    ),
    "multi_edit": _object(
        ["edits"], edits={"type": "array", "items": EDIT, "minItems": 1}, dry_run={"type": "boolean"}
    ),
    "run_code": _object(["code"], code=STRING, timeout={"type": "integer"}, language={"enum": ["python", "js", "sh"]}),
    "search_files": _object(
        ["pattern"], pattern=STRING, globs={"type": "array", "items": STRING}, limit={"type": "integer"}
    ),
}

_PIECES = json.loads((Path(__file__).parent / "parsing_corpus.json").read_text("utf-8"))
CONTENTS, PATHS, XML_VALUES, INNER, REFUSED, DATA, STAY = (
    _PIECES[name]
    for name in (
        "contents",
        "paths",
        "values of elements",
        "with quotation marks",
        "to be refused; PATH is any",
        "data and no calls",
        "texts that stay texts",
    )
)


@dataclass(frozen=True)
class Row:
    """One message, what it means, and the block alone for libraries that cannot read messages."""

    kind: str
    expect: str
    message: str
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    finish: str = "end_turn"
    block: str = ""


@dataclass
class Style:
    """How to write JSON: every field is one way of getting it wrong."""

    indent: int | None = None
    key_quote: str = '"'
    quote: str = '"'
    bare_keys: bool = False
    python: bool = False
    trailing_comma: bool = False
    raw: bool = False
    comment: str = ""
    newline: str = "\n"
    no_comma: str = ""
    keep_backslash: bool = False
    escape_single: bool = False
    comments: list[str] = field(default_factory=list)


def text(value: str, style: Style, quote: str) -> str:
    """Write one string."""
    if style.keep_backslash:
        return f"{quote}{value}{quote}"
    body = json.dumps(value, ensure_ascii=False)[1:-1]
    if quote == "'":
        body = body.replace('\\"', '"').replace("'", "\\'")
    elif style.escape_single:
        body = body.replace("'", "\\'")
    if style.raw:
        body = re.sub(r"(?<!\\)((?:\\\\)*)\\n", r"\1" + "\n", body)
        body = re.sub(r"(?<!\\)((?:\\\\)*)\\t", r"\1" + "\t", body)
        body = re.sub(r"(?<!\\)((?:\\\\)*)\\r", r"\1" + "\r", body)
    closing = {"“": "”"}.get(quote, quote)
    return f"{quote}{body}{closing}"


def dump(value: Any, style: Style, depth: int = 0) -> str:
    """Write a value in the given style."""
    if isinstance(value, str):
        return text(value, style, style.quote)
    if value is None or isinstance(value, bool):
        return repr(value) if style.python else json.dumps(value)
    if not isinstance(value, dict | list):
        return json.dumps(value)
    pad = "" if style.indent is None else style.newline + " " * style.indent * (depth + 1)
    end = "" if style.indent is None else style.newline + " " * style.indent * depth
    if isinstance(value, dict):
        items = [f"{_key(k, style)}: {dump(v, style, depth + 1)}" for k, v in value.items()]
        opening, closing = "{}"
    else:
        items = [dump(item, style, depth + 1) for item in value]
        opening, closing = "[]"
    if not items:
        return opening + closing
    comma = "," if not style.no_comma else ""
    between = comma + (style.comment and f" {style.comment}") + (pad or " ")
    last = "," if style.trailing_comma else ""
    return opening + pad + between.join(items) + last + end + closing


def _key(key: str, style: Style) -> str:
    if style.bare_keys and key.isidentifier():
        return key
    return text(key, Style(), style.key_quote)


def call_value(rng: random.Random, content: str | None = None) -> tuple[dict[str, Any], tuple[str, dict[str, Any]]]:
    """Return a block's value in one of the dialects, and the call it means."""
    body = rng.choice(CONTENTS) if content is None else content
    path = rng.choice(PATHS)
    name, parameters = rng.choice(
        [
            ("write_file", {"path": path, "content": body}),
            (
                "edit_file",
                {"path": path, "old_string": body or "x", "new_string": rng.choice(CONTENTS), "replace_all": True},
            ),
            ("run_code", {"code": body, "timeout": rng.randint(1, 90), "language": "python"}),
            (
                "multi_edit",
                {
                    "edits": [
                        {"file_path": path, "old_string": body, "new_string": ""},
                        {"file_path": "b.py", "old_string": "a", "new_string": rng.choice(CONTENTS)},
                    ],
                    "dry_run": False,
                },
            ),
            ("search_files", {"pattern": body, "globs": ["*.py", path], "limit": 5}),
        ]
    )
    return frame(rng, name, parameters), (name, parameters)


def frame(rng: random.Random, name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Put a call into one of the JSON wire formats."""
    form = rng.randrange(3)
    if form == 0:
        return {"tool": name, **parameters}
    if form == 1:
        return {"tool": name, "arguments": parameters}
    return {"type": "tool_request", "tool_name": name, "parameters": parameters, "explanation": "because"}


def fenced(block: str, *, before: str = "I will do this.\n\n", after: str = "\n\nThat is all.\n") -> str:
    """Put a block into a message."""
    return f"{before}{F}json\n{block}\n{F}{after}"


def _row(kind: str, expect: str, block: str, call: Any, finish: str = "end_turn") -> Row:
    return Row(kind, expect, fenced(block), (call,), finish, block)


# -- good -------------------------------------------------------------------------------------------


def good(rng: random.Random, count: int) -> Iterator[Row]:
    """Yield valid messages in many forms."""
    for number in range(count):
        value, call = call_value(rng)
        block = json.dumps(value, indent=rng.choice([None, 2, 4]), ensure_ascii=rng.random() < 0.5)
        form = number % 12
        kind = "valid"
        message = fenced(block)
        calls = [call]
        if form == 1:
            message = fenced(block).replace("\n", "\r\n")
            kind = "valid, CRLF message"
        elif form == 2:
            message = f"- step:\n  ~~~ JSON\n  {block}\n  ~~~\n"
            kind = "valid, tildes in a list"
        elif form == 3:
            message = f"````json\n{block}\n````\n"
            kind = "valid, longer fence"
        elif form == 4:
            message = f"{F}json\n{json.dumps(value)}{F}"
            kind = "valid, closed on its line"
        elif form == 5:
            message = f"{F}json\n{block}"
            kind = "valid, no closing fence"
        elif form == 6:
            second, more = call_value(rng)
            message = fenced(block) + fenced(json.dumps(second))
            calls = [call, more]
            kind = "valid, two blocks"
        elif form == 7:
            second, more = call_value(rng)
            message = fenced(json.dumps([value, second]))
            calls = [call, more]
            kind = "valid, an array of calls"
        elif form == 8:
            message = fenced('{"status": "ok", "items": [1, 2]}', after="\n") + fenced(block)
            kind = "valid, data before"
        elif form == 9:
            quoted = json.dumps({"tool": "delete_file", "path": "x"})
            message = f"<thinking>\nPerhaps\n{F}json\n{quoted}\n{F}\n</thinking>\n" + fenced(block)
            kind = "valid, after thinking"
        elif form == 10:
            quoted = json.dumps({"tool": "delete_file", "path": "x"})
            message = f"````markdown\n{F}json\n{quoted}\n{F}\n````\nIt`s odd: ``x.\n" + fenced(block)
            kind = "valid, after a quotation"
        yield Row(kind, "exact", message, tuple(calls), block=block)


def xml(rng: random.Random, count: int) -> Iterator[Row]:
    """Yield valid XML calls."""
    for number in range(count):
        value = rng.choice(XML_VALUES)
        opening, closing = rng.choice([('<tool name="{}">', "</tool>"), ("<{}>", "</{}>")])
        if number % 2:
            name = "write_file"
            parameters = {"path": rng.choice(PATHS), "content": value}
            body = f"<path>{parameters['path']}</path>\n<content>\n{value}\n</content>"
        else:
            name = "multi_edit"
            edits = [{"file_path": "a.ts", "old_string": value, "new_string": rng.choice(XML_VALUES)}]
            written = json.dumps(edits, ensure_ascii=False, indent=rng.choice([None, 2]))
            form = rng.randrange(3)
            if form == 1:
                written = f"{F}json\n{written}\n{F}"
            elif form == 2:
                written = written.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
            parameters = {"edits": edits}
            body = f"<edits>\n{written}\n</edits>"
        block = opening.format(name) + "\n" + body + "\n" + closing.format(name)
        if rng.random() < 0.3:
            block = f"<action>\n{block}\n</action>"
        yield Row("valid, XML", "exact", f"Now:\n{block}\nDone.\n", ((name, parameters),), block=block)


# -- broken, one right answer ---------------------------------------------------------------------------


def styled(rng: random.Random, kind: str, **style: Any) -> Row:
    """Return a damaged row; beside raw line ends or needless escapes, backslashes can be read in two ways."""
    value, call = call_value(rng)
    doubtful = (style.get("raw") or style.get("escape_single")) and "\\\\" in json.dumps(value)
    return _row(kind, "either" if doubtful else "exact", dump(value, Style(**style)), call)


def broken(rng: random.Random, each: int) -> Iterator[Row]:
    """Yield damaged blocks that have exactly one right answer."""
    for _ in range(each):
        indent = rng.choice([None, 2])
        yield styled(rng, "trailing comma", trailing_comma=True, indent=indent)
        yield styled(rng, "raw line ends in strings", raw=True, indent=indent)
        yield styled(rng, "Python literals", python=True, indent=indent)
        yield styled(rng, "bare keys", bare_keys=True, indent=indent)
        yield styled(rng, "single quotes", quote="'", key_quote="'", indent=indent)
        yield styled(rng, "single-quoted keys", key_quote="'", indent=indent)
        yield styled(rng, "// comments", comment="// why not", indent=2)
        yield styled(rng, "# comments", comment="# it's a note", indent=2)
        yield styled(rng, "/* */ comments", comment='/* a "note" */', indent=indent)
        yield styled(rng, "missing commas", no_comma="x", indent=2)
        yield styled(rng, "escaped apostrophes", escape_single=True, trailing_comma=True)
        yield styled(rng, "literal \\n between tokens", indent=2, newline="\\n")
        yield styled(rng, "raw and trailing comma", raw=True, trailing_comma=True, indent=2)
        yield styled(rng, "JavaScript object", bare_keys=True, quote="'", trailing_comma=True, comment="// x", indent=2)
        yield from _text_damage(rng)


def _text_damage(rng: random.Random) -> Iterator[Row]:
    value, call = call_value(rng)
    block = json.dumps(value, indent=rng.choice([None, 2]), ensure_ascii=False)
    yield _row("Python repr", "exact", repr(value), call)
    yield _row("extra closers", "exact", block + rng.choice(["}", "}}", "\n}", "]}", "}\n}"]), call)
    yield _row("trailing tokens", "exact", block + rng.choice([";", ",;"][:1]), call)
    yield _row("trailing prose", "exact", block + "\nThis does what you asked for.", call)
    yield _row("byte-order mark and odd blanks", "exact", "\ufeff" + block.replace('{"', '{\u00a0"', 1), call)
    escaped = json.dumps(json.dumps(value))[1:-1]
    yield _row("escaped once more", "exact", escaped, call)
    yield _row("sent as one string", "exact", json.dumps(json.dumps(value, indent=2)), call)
    name, parameters = call
    yield _row(
        "double-encoded arguments", "exact", json.dumps({"tool": name, "arguments": json.dumps(parameters)}), call
    )
    closers = len(block) - len(block.rstrip("}] \n"))
    yield _row("missing closers", "exact", block.rstrip("}] \n") + "}" * 0 if closers else block, call)
    smart = {"tool": "run_code", "code": rng.choice(["x = 1", "a\nb", "it's", "漢字", "C:/x"])}
    call = ("run_code", {"code": smart["code"]})
    yield _row("typographic quotes", "exact", dump(smart, Style(quote="“", key_quote="“")), call)
    pattern = rng.choice([r"^\d+\.\w{2,}\s*$", r"[\w.-]+@\w+", r"C:\Projects\App\Data", r"\(\d\)", r"D:\Games\Quake"])
    block = '{"tool": "search_files", "pattern": "' + pattern + '"}'
    yield _row("unknown escapes", "exact", block, ("search_files", {"pattern": pattern}))


# -- one right answer or a refusal ------------------------------------------------------------------------


def quotes(rng: random.Random, each: int) -> Iterator[Row]:
    """Yield blocks with unescaped quotation marks; which of them have one reading is for the reader to find out."""
    for _ in range(each):
        for inner in INNER:
            raw = inner if rng.random() < 0.5 else inner.replace("\n", "\\n")
            path = rng.choice(PATHS)
            name, parameters, body = rng.choice(
                [
                    ("write_file", {"path": path, "content": inner}, f'"path": "{path}", "content": "{raw}"'),
                    ("write_file", {"path": path, "content": inner}, f'"content": "{raw}", "path": "{path}"'),
                    ("run_code", {"code": inner, "timeout": 5}, f'"code": "{raw}", "timeout": 5'),
                    (
                        "edit_file",
                        {"path": path, "old_string": inner, "new_string": "x"},
                        f'"path": "{path}", "old_string": "{raw}", "new_string": "x"',
                    ),
                ]
            )
            block = f'{{"tool": "{name}", {body}}}'
            if rng.random() < 0.4:
                block = f'{{"tool": "{name}", "arguments": {{{body}}}}}'
            expect = "quotes"
            yield Row("unescaped inner quotes", expect, fenced(block), ((name, parameters),), block=block)


def either(rng: random.Random, each: int) -> Iterator[Row]:
    """Yield blocks for which refusing is fine, and any other value than the intended one is wrong."""
    for _ in range(each):
        path = rng.choice(PATHS)
        body = rng.choice(["x = 1\ny = 2\n", "a `b`", "print('x')", "C:\\temp\\new"])
        name = "write_file"
        parameters = {"path": path, "content": body}

        def block(written: str, path: str = path) -> str:
            return f'{{"tool": "write_file", "path": "{path}", "content": {written}}}'

        call = (name, parameters)
        yield _row("triple quotes", "either", block(f'"""{body}"""'), call)
        yield _row("triple quotes", "either", block(f"'''{body}'''"), call)
        if "`" not in body and "\\" not in body:
            yield _row("back-tick strings", "either", block(f"`{body}`"), call)
        windows = rng.choice(["C:\\Users\\new\\table.txt", "C:\\temp\\Data\\readme.md", "D:\\build\\x\\foo"])
        call = (name, {"path": path, "content": windows})
        yield _row("Windows path, mixed escapes", "either", block(f'"{windows}"'), call)
        yield _row("Windows path, mixed escapes", "either", block(f'"{windows}"')[:-1] + ",}", call)
        content = rng.choice(CONTENTS)
        call = (name, {"path": path, "content": content})
        doubled = (
            content.replace('"', '""')
            .replace("\\", "\\\\")
            .replace("\n", "\\n")
            .replace("\r", "\\r")
            .replace("\t", "\\t")
        )
        if '"' in content:
            yield _row("doubled quotes", "either", block(f'"{doubled}"'), call)
        half = json.dumps(content)[1:-1].replace('\\"', '"', 1)
        if '"' in content:
            yield _row("one quote not escaped", "either", block(f'"{half}"'), call)
        value, call = call_value(rng)
        damaged = json.dumps(value, indent=2, ensure_ascii=False)
        for times in (1, 1, 2):
            cut = damaged
            for _ in range(times):
                spots = [n for n in range(len(cut)) if _loses_structure(cut, n)]
                spot = rng.choice(spots)
                changes = ["", "", cut[spot] * 2, rng.choice("{}[],:\"'")]
                if cut[spot] != '"':
                    changes += ["\n" + cut[spot], cut[spot] + "x", cut[spot] + "\n", cut[spot] + '"', '"' + cut[spot]]
                new = rng.choice(changes)
                cut = cut[:spot] + new + cut[spot + 1 :]
            if not _same_json(cut, value):
                yield _row(f"structural characters changed ({times})", "either", cut, call)


def _same_json(cut: str, value: Any) -> bool:
    try:
        return bool(json.loads(cut) == value)
    except ValueError:
        return False


def _loses_structure(block: str, spot: int) -> bool:
    """Return whether the character at ``spot`` is outside strings, so that losing it loses no value."""
    if block[spot] not in '{}[],:"':
        return False
    return not _in_string(block[:spot]) or (block[spot] == '"' and not _in_string(block[: spot + 1]))


# -- must refuse, must ignore ----------------------------------------------------------------------------


def refuse(rng: random.Random, each: int) -> Iterator[Row]:
    """Yield blocks that must not run and must not be passed over in silence."""
    for _ in range(each):
        value, call = call_value(rng, content=rng.choice([c for c in CONTENTS if c]))
        block = json.dumps(value, indent=rng.choice([None, 2]))
        least = block.index('"', block.index("tool")) + 12
        cut = rng.randrange(least, len(block) - 1)
        if '"tool' in block[:cut] and not _same_json(block[:cut], value):
            yield Row("cut off, no fence", "refuse", f"Ok.\n{F}json\n{block[:cut]}", (call,), "max_tokens", block[:cut])
            inside = not _loses_structure(block[: cut + 1], cut) and block[:cut].count("{") > 0
            if inside and _in_string(block[:cut]):
                yield Row("cut off in a string", "refuse", fenced(block[:cut]), (call,), "end_turn", block[:cut])
        short = block.rstrip("}] \n")
        yield Row("closers missing after a cut", "refuse", fenced(short, after=""), (call,), "max_tokens", short)
        yield Row(
            "whole, but the fence is open after a cut", "refuse", f"{F}json\n{block}", (call,), "max_tokens", block
        )
        path = rng.choice(PATHS)
        for kind, written in REFUSED:
            text_ = written.replace("PATH", path)
            yield Row(kind, "refuse", fenced(text_), (), "end_turn", text_)
        yield Row("XML cut off", "refuse", '<tool name="write_file">\n<path>a</path>\n<content>\nabc', (), "end_turn")
        bad = '<tool name="multi_edit">\n<edits>[{"file_path": oops}]</edits>\n</tool>'
        yield Row("XML, bad JSON in it", "refuse", bad, (), "end_turn")
        own = "<content>\nuse </content>\n</write_file>\nhere\n</content>\n</write_file>"
        yield Row(
            "XML, own closing tags in the value", "refuse", f"<write_file>\n<path>a</path>\n{own}\n", (), "end_turn"
        )


def _in_string(cut: str) -> bool:
    return len(re.findall(r'(?<!\\)(?:\\\\)*"', cut)) % 2 == 1


def ignore(rng: random.Random, each: int) -> Iterator[Row]:
    """Yield messages without any call."""
    call = json.dumps({"tool": "delete_file", "path": "/etc/passwd"})
    for _ in range(each):
        for data in DATA:
            yield Row("data", "ignore", fenced(data))
        language = rng.choice(["python", "js", "text", "", "xml", "yaml", "md"])
        yield Row("another language", "ignore", f"{F}{language}\n{call}\n{F}\n")
        yield Row("raw braces", "ignore", f"Use {call} or\n{call}\nfor that.\n")
        yield Row("inline code", "ignore", f"Use `{call}` or ``{call}``.\n")
        yield Row("block quote", "ignore", f"> {F}json\n> {call}\n> {F}\n")
        yield Row("thinking", "ignore", f"<thinking>\n{F}json\n{call}\n{F}\n</thinking>\nNo.\n")
        yield Row("longer fence", "ignore", f"````md\n{F}json\n{call}\n{F}\n````\n")
        yield Row("same-length Markdown fence", "ignore", f"{F}markdown\n{F}json\n{call}\n{F}\n{F}\nDone.\n")
        yield Row("a mention of a tag", "ignore", '<write_file> is the tool to use.\nAlso `<tool name="x">`.\n')
        yield Row("prose", "ignore", f'The "tool" key: it\'s {{odd}} and `stray.\n{rng.choice(CONTENTS)[:3]}\n')


# -- coercion --------------------------------------------------------------------------------------------


def coercions(rng: random.Random, each: int) -> Iterator[Row]:
    """Yield calls with a text where the schema wants something else, and texts that must stay texts."""
    for _ in range(each):
        path = rng.choice(PATHS)
        number = rng.randint(-5, 5000)
        edits = [{"file_path": path, "old_string": rng.choice(CONTENTS), "new_string": "b"} for _ in range(2)]
        globs = ["*.py", path, "a, b"]
        indent = rng.choice([None, 2])
        for name, sent, meant in (
            ("run_code", {"code": "x", "timeout": str(number)}, {"code": "x", "timeout": number}),
            ("search_files", {"pattern": "x", "limit": str(number)}, {"pattern": "x", "limit": number}),
            ("multi_edit", {"edits": json.dumps(edits, indent=indent)}, {"edits": edits}),
            ("multi_edit", {"edits": f"{F}json\n{json.dumps(edits)}\n{F}"}, {"edits": edits}),
            ("multi_edit", {"edits": repr(edits)}, {"edits": edits}),
            ("multi_edit", {"edits": json.dumps(edits)[:-1] + ",]"}, {"edits": edits}),
            ("multi_edit", {"edits": f" {json.dumps(edits)}\n", "dry_run": "true"}, {"edits": edits, "dry_run": True}),
            ("multi_edit", {"edits": edits, "dry_run": "false"}, {"edits": edits, "dry_run": False}),
            ("search_files", {"pattern": "x", "globs": json.dumps(globs)}, {"pattern": "x", "globs": globs}),
            ("search_files", {"pattern": "x", "globs": repr(globs)}, {"pattern": "x", "globs": globs}),
            ("search_files", {"pattern": "x", "globs": "[]"}, {"pattern": "x", "globs": []}),
        ):
            block = json.dumps(frame(rng, name, sent))
            yield Row("text to what the schema wants", "coerce", fenced(block), ((name, meant),), block=block)
        edit = {"path": path, "old_string": "a", "new_string": "b", "replace_all": "true"}
        block = json.dumps(frame(rng, "edit_file", edit))
        call = ("edit_file", {**edit, "replace_all": True})
        yield Row("text to what the schema wants", "coerce", fenced(block), (call,), block=block)
        for content in (*STAY, json.dumps(edits), json.dumps(globs, indent=2), f"{F}json\n{{}}\n{F}"):
            parameters = rng.choice([{"path": path, "content": content}, {"path": content or "x", "content": content}])
            block = json.dumps(frame(rng, "write_file", parameters))
            yield Row("text that stays text", "stay", fenced(block), (("write_file", parameters),), block=block)


def rows(seed: int = 1, scale: int = 1) -> list[Row]:
    """Return the corpus: about 650 good and 900 broken messages for ``scale`` 1."""
    rng = random.Random(seed)
    return [
        *good(rng, 540 * scale),
        *xml(rng, 120 * scale),
        *broken(rng, 24 * scale),
        *quotes(rng, 10 * scale),
        *either(rng, 30 * scale),
        *refuse(rng, 6 * scale),
        *ignore(rng, 6 * scale),
        *coercions(rng, 30 * scale),
    ]
