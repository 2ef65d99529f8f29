"""Every pattern of ``rails/``, how it is used, and the texts that it takes longest for.

Such a text is made of the pattern's own letters: what may stand before one of its repetitions, then what the
repetition takes, many times, then something that it does not take, so that every way to read it is tried.
"""

import ast
import importlib
import pkgutil
import re
import signal
import time
from functools import cache
from pathlib import Path
from re import _constants, _parser

import rails
from rails.core.errors import UsageError
from rails.core.lazy_pattern import LazyPattern

FOLDER = Path(rails.__file__).parent
PACKAGES = sorted(one.name for one in FOLDER.iterdir() if (one / "__init__.py").exists())
METHODS = ("match", "search", "fullmatch", "finditer", "findall", "sub", "subn", "split")
#: One of each letter that patterns for text, code and data are written about, the worst first.
UNITS = ("a", " ", "\n", '\\"', "`", "[", "a ", "aB1_", "\r\n", "\t", "\\", "```\n", "~", "(", "{", "<", '"', "'", "1")
UNITS += (
    "-",
    "=",
    "/",
    "a/",
    ".",
    "a.",
    "#",
    "*",
    "|",
    "@",
    "$",
    ":",
    ": ",
    "a,",
    "a=",
    '"a',
    "\n ",
    "\n-",
    "a\n",
    "é",
)
ENDS = ("", "\x01", "\n<]}\"'`x")
#: How a pattern is used whose name is not beside its method, and of inline ones that are part of a table.
USES = {
    "rails.data_formats.source._LINES": "match",
    "rails.data_formats.source._PYTHON_LINE": "match",
    "rails.data_formats.source._JAVASCRIPT_LINE": "match",
    "rails.gate.scratch_files._COPIES": "fullmatch",
    "rails.parsing.call_formats.line_calls._MARKERS": "match",
}
#: Patterns that only ever see so many characters, and where that is so.
BOUNDED = {
    "rails.commands.options.format_help": (2_000, "the usage of a command of ours"),
    "rails.gate.pins._ROWS": (1_000, "pins._CHARS, of a line"),
    "rails.parsing.lenient_json._LEADING": (400, "the line before it"),
    "rails.session.outcome._FILE_CHANGE": (1_000, "outcome._SENTENCE"),
    "rails.parsing.uncertain_blocks._LEAD": (200, "uncertain_blocks._LEAD_CHARS"),
}
#: Seconds for the longer of two texts, eight times as long, below which nothing is judged; and the largest quotient.
FLOOR, GROWTH = 0.001, 12
SHORT = 256
LIMIT = 4.0


@cache
def index(package):
    """Return each pattern of a package once, as its text, its flags, its name and the methods that it is used by."""
    found = {}
    for module in pkgutil.walk_packages([str(FOLDER / package)], f"rails.{package}."):
        try:
            loaded = importlib.import_module(module.name)
        except (ImportError, UsageError):  # an optional library
            continue
        for name, value in list(vars(loaded).items()):
            for pattern, flags in of(value):
                found.setdefault((pattern, flags), f"{module.name}.{name}")
    patterns = [(*key, name, uses(name)) for key, name in found.items()]
    return patterns + [row for row in inline(FOLDER / package) if row[:2] not in found]


def of(value, depth=0):
    """Yield the patterns in a value, in what it holds, and in the attributes of our own classes."""
    if isinstance(value, re.Pattern):
        yield value.pattern, value.flags & ~re.UNICODE
    elif isinstance(value, LazyPattern):
        yield value.pattern() if callable(value.pattern) else value.pattern, int(value.asked)
    elif depth < 5:
        inner = list(value) if isinstance(value, (dict, list, tuple, set, frozenset)) else []
        inner += value.values() if isinstance(value, dict) else ()
        if isinstance(value, type) and value.__module__.startswith("rails"):
            inner += [one for name, one in vars(value).items() if not name.startswith("__")]
        for one in inner:
            yield from of(one, depth + 1)


@cache
def source(path):
    return path.read_text(encoding="utf-8")


def uses(name):
    """Return the methods by which a pattern is used, as its module says, or all modules of one without a ``_``."""
    if name in USES:
        return {USES[name]}
    module, _, short = name.rpartition(".")
    path = FOLDER.parent.joinpath(*module.split("."))
    own = [place for place in (path.with_suffix(".py"), path / "__init__.py") if place.exists()]
    texts = map(source, own if short.startswith("_") else FOLDER.rglob("*.py"))
    found = re.compile(rf"\b{re.escape(short)}\.({'|'.join(METHODS)})\b")
    return {match[1] for text in texts for match in found.finditer(text)} or {"finditer"}


def inline(folder):
    """Yield the patterns that are written where they are used, named by their function or class."""
    for path in sorted(folder.rglob("*.py")):
        tree = ast.parse(source(path))
        owners = [one for one in ast.walk(tree) if isinstance(one, (ast.FunctionDef, ast.ClassDef))]
        compiled = {id(one.value): one.attr for one in ast.walk(tree) if isinstance(one, ast.Attribute)}
        for call in ast.walk(tree):
            if not isinstance(call, ast.Call) or not ast.unparse(call.func).startswith("re."):
                continue
            pattern, method = (call.args or [None])[0], call.func.attr
            if not isinstance(getattr(pattern, "value", None), (str, bytes)) or method not in (*METHODS, "compile"):
                continue
            given = [ast.unparse(one) for one in [*call.args[1:], *(word.value for word in call.keywords)]]
            flags = int(eval(next((one for one in given if one.startswith("re.")), "0"), {"re": re}))
            method = compiled.get(id(call), "finditer") if method == "compile" else method
            owner = next((one.name for one in reversed(owners) if one.lineno <= call.lineno <= one.end_lineno), "")
            name = ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts) + f".{owner or call.lineno}"
            yield pattern.value, flags, name, {method if method in METHODS else "finditer"}


def sample(parts, choice=0, full=False):
    """Return a short text that a parsed pattern matches, as far as its looks around do not matter."""
    return "".join(one(kind, value, choice, full) for kind, value in parts)


def one(kind, value, choice, full):
    match kind:
        case _constants.LITERAL:
            return chr(value)
        case _constants.NOT_LITERAL | _constants.ANY:
            return "a" if value != ord("a") else "b"
        case _constants.IN:
            return letters(value)[0]
        case _constants.BRANCH:
            return sample(value[1][choice % len(value[1])], choice, full)
        case _constants.SUBPATTERN:
            return sample(value[3], choice, full)
        case _constants.ATOMIC_GROUP:
            return sample(value, choice, full)
        case _constants.MAX_REPEAT | _constants.MIN_REPEAT | _constants.POSSESSIVE_REPEAT:
            return sample(value[2], choice, full) * max(value[0], full)
    return ""


def letters(members):
    """Return up to five letters of a set, of the wide ones those that patterns are written about."""
    inside = re.compile(f"[{''.join(map(written, members))}]")
    known = [letter for letter in 'a1 \n-"\\`._/:é' if inside.match(letter)]
    return known[:4] or [chr(value[0] if isinstance(value, tuple) else value) for _, value in members[-1:]]


def written(member):
    kind, value = member
    if kind is _constants.NEGATE:
        return "^"
    if kind is _constants.CATEGORY:
        letter = str(value).removeprefix("CATEGORY_").replace("NOT_", "")[0]
        return "\\" + (letter.upper() if "NOT" in str(value) else letter.lower())
    return "-".join(f"\\U{code:08x}" for code in (value if isinstance(value, tuple) else (value,)))


def repeated(parts, before=""):
    """Yield what stands before each repetition without a narrow bound, and what it repeats."""
    for number, (kind, value) in enumerate(parts):
        start = before + sample(parts[:number])
        if kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT):
            yield from ((start, unit) for unit in inside(value[2]) if value[1] > 50)
            yield from repeated(value[2], start)
        for inner in nested(kind, value):
            yield from repeated(inner, start)


def inside(body):
    if len(body) == 1 and body[0][0] is _constants.IN:
        return letters(body[0][1])
    return {sample(body, choice, full) for choice in range(4) for full in (False, True)} - {""}


def nested(kind, value):
    match kind:
        case _constants.SUBPATTERN:
            return [value[3]]
        case _constants.ATOMIC_GROUP:
            return [value]
        case _constants.BRANCH:
            return value[1]
        case _constants.ASSERT | _constants.ASSERT_NOT:
            return [value[1]]
    return []


def texts(pattern, flags, *, every=True):
    """Return beginnings, units and ends of the texts for a pattern; without ``every``, a few dozen of them."""
    parsed = _parser.parse(pattern, flags)
    pairs = list(dict.fromkeys(repeated(parsed)))
    pairs = pairs if every else pairs[:: 1 + len(pairs) // 30]
    pairs += [("", start + unit) for start, unit in pairs if every] + [("", unit) for _, unit in pairs]
    pairs += [("", sample(parsed, choice, full)) for choice in range(3) for full in (False, True)]
    pairs += [("", unit) for unit in (UNITS if every else UNITS[:6])]
    ends = ENDS if every else ENDS[1:2]
    return dict.fromkeys((start, unit, end) for start, unit in pairs if unit for end in ends)


class TooLong(Exception):
    """A pattern had no end after the limit."""


def seconds(pattern, methods, text):
    """Return the processor seconds of all uses of a pattern on a text."""
    if isinstance(pattern.pattern, bytes):
        text = text.encode("utf-8", "replace")
    start = time.thread_time()
    for method in methods:
        if method in ("match", "search", "fullmatch"):
            getattr(pattern, method)(text)
        else:
            for _ in pattern.finditer(text):
                pass
    return time.thread_time() - start


def slow(pattern, flags, name, methods, *, every=True):
    """Return the first text for which eight times as much takes more than twelve times as long, or ``""``."""
    compiled, bound = re.compile(pattern, flags), BOUNDED.get(name, (0, ""))[0]
    for start, unit, end in texts(pattern, flags, every=every):

        def cost(size, rounds=1):
            text = start + unit * (size // len(unit)) + end  # noqa: B023 - used at once
            return min(seconds(compiled, methods, text) for _ in range(rounds))

        def grows(size, rounds=1):
            large = cost(8 * size, rounds)
            return large > FLOOR and large > GROWTH * cost(size, rounds)

        before = signal.signal(signal.SIGVTALRM, too_long)
        signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
        try:
            if cost(bound) > 0.1 if bound else grows(SHORT) and grows(SHORT, 3) and grows(8 * SHORT, 9):
                return f"{name} by {methods}: {start!r}, then {unit!r}, then {end!r}"
        except TooLong:
            return f"{name} by {methods} without an end: {start!r}, then {unit!r}, then {end!r}"
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)
    return ""


def too_long(*_):
    raise TooLong
