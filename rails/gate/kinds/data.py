"""JSON, YAML and TOML: syntax, duplicate keys and JSON Schemas."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from rails.core.errors import CheckError
from rails.core.lazy_pattern import lazy
from rails.core.text import decode_text, line_column, one_line
from rails.core.verdict import CheckRun, Finding, NotChecked
from rails.data_formats import positions
from rails.data_formats.strict_json import JsonRules, ParsedJson, read_json
from rails.gate.kinds.schemas import SchemaDocument, findings_of_schema
from rails.gate.support.check import CheckContext, CheckJob, CheckReport, CheckResult, Kind, NotNeededError, suffix_of
from rails.gate.support.parse_hints import with_cause

if TYPE_CHECKING:
    from yaml import Node

_YAML: Final = frozenset({".yaml", ".yml"})
_TOML: Final = frozenset({".toml"})
_JSON: Final = frozenset(
    {".json", ".jsonc", ".json5", ".jsonl", ".ndjson", ".ipynb", ".webmanifest", ".geojson", ".har"}
)
#: Files called .json whose readers allow comments and trailing commas.
_WITH_COMMENTS: Final = lazy(
    r"(?:ts|js)config(?:\..*)?\.json|\.(?:eslintrc|babelrc|swcrc)(?:\.json)?|devcontainer\.json|(?:biome|deno|renovate)\.jsonc?"
    r"|(?:settings|launch|tasks|extensions|keybindings)\.json|.*\.jsonc",
    re.I,
)
_TOO_DEEP: Final = "the value is nested too deeply"
#: What readers of JSON take, we take; but keys that stand twice are told, and nesting is bounded by Python only.
_RULES: Final = JsonRules(repeated=True, surrogates=True, any_number=True, depth=sys.maxsize)
_COMMENT: Final = lazy(
    r'"(?:[^"\\\n]|\\.)*+"?|//[^\n]*|/\*.*?(?:\*/|\Z)|,(?=(?:\s++|//[^\n]*+|/\*.*?\*/)*+[}\]])', re.S
)
_TOML_PLACE: Final = lazy(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def run_check(jobs: Sequence[CheckJob], context: CheckContext) -> CheckReport:
    """Parse each file, before and after."""
    run = CheckRun("data", "", 0, "syntax, duplicate keys, JSON Schemas")
    look = partial(_look, context)
    return CheckReport.of_files(run, jobs, lambda job: CheckResult.of_look(job, "data", look))


def _look(context: CheckContext, path: str, data: bytes) -> Iterator[Finding | NotChecked]:
    suffix = suffix_of(path)
    if suffix == ".json5":
        raise NotNeededError("there is no check for JSON5")
    if suffix in _JSON:
        yield from json_findings(context, path, data)
        return
    text = _utf8(data)
    tool = "toml" if suffix in _TOML else "yaml"
    if tool == "yaml" and "{{" in text and "/templates/" in f"/{path}":
        raise NotNeededError("it is a template, not YAML yet")
    try:
        yield from (_toml if tool == "toml" else _yaml)(context, path, text)
    except RecursionError:
        yield _at(path, (1, 1), f"{tool}-syntax", _TOO_DEEP)


def _utf8(data: bytes) -> str:
    decoded = decode_text(data)
    if decoded is None:
        raise CheckError("it is not UTF-8 text")
    if decoded.encoding != "utf-8" and not data.isascii():
        raise CheckError(f"it is {decoded.label}, not UTF-8")
    return decoded.text


def json_findings(context: CheckContext, path: str, data: bytes) -> Iterator[Finding | NotChecked]:
    """Yield syntax errors, else the schema's findings, and what could not be checked. Raises CheckError."""
    text = _utf8(data)
    if suffix_of(path) in (".jsonl", ".ndjson"):
        for number, line in enumerate(text.split("\n"), 1):
            found = parse_json(path, line)[1] if line.strip() else []
            yield from (replace(one, line=number, end_line=number) for one in found)
        return
    commented = _WITH_COMMENTS.fullmatch(path.rpartition("/")[2])
    source = _COMMENT.sub(_blank, text) if commented else text
    value, found = parse_json(path, source)
    yield from found
    if not found:
        yield from findings_of_schema(SchemaDocument(path, text, value, partial(positions.in_json, source)), context)


def _blank(found: re.Match[str]) -> str:
    """Positions stay right."""
    text = found[0]
    return text if text.startswith('"') else re.sub(r"[^\n]", " ", text)


def parse_json(path: str, text: str) -> tuple[object, list[Finding]]:
    """Parse strictly; return findings for syntax or duplicate keys."""
    read = read_json(text, _RULES)
    if isinstance(read, ParsedJson):
        return read.value, list(_duplicates(path, text)) if read.repeats_keys else []
    if read.code == "depth":
        return None, [_at(path, (1, 1), "json-syntax", _TOO_DEEP)]
    place = line_column(text, read.offset)
    if read.code == "not_a_number":
        name = read.message.partition(" ")[0]
        return None, [_at(path, place, "json-syntax", f"{name} is not JSON", "Use null or a string.")]
    return None, [_broken(path, text, place, "json-syntax", read.message)]


def _duplicates(path: str, text: str) -> Iterator[Finding]:
    lines = positions.LineIndex(text)
    for key in positions.repeated_keys(text):
        yield _repeated(path, "json", text[key.start : key.end], lines.at(key.first), lines.at(key.start))


def _repeated(path: str, tool: str, key: str, first: tuple[int, int], place: tuple[int, int]) -> Finding:
    words = f"The key {one_line(key, 60)} is given twice in one object (first on line {first[0]})."
    return _at(path, place, f"{tool}-duplicate-key", words, "Keep one of them.")


def _yaml(context: CheckContext, path: str, text: str) -> Iterator[Finding | NotChecked]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        nodes = list(yaml.compose_all(text, Loader=loader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        parts = (getattr(error, "context", None), getattr(error, "problem", None))
        yield _broken(path, text, place, "yaml-syntax", one_line(", ".join(filter(None, parts)) or str(error), 160))
        return
    found = [one for node in nodes for one in _yaml_duplicates(path, node, set())]
    yield from found
    if found or not (":schema" in text or "$schema" in text or context.options.schemas):
        return
    try:
        # Not for types of its own: an unknown tag stands for itself, and dates are texts, as in JSON.
        values = list(yaml.load_all(text, Loader=loader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        yield NotChecked(path, "schema", f"its values cannot be read: {one_line(str(error), 100)}", required=False)
        return
    for value, node in zip(values, nodes, strict=False):
        yield from findings_of_schema(SchemaDocument(path, text, value, partial(positions.in_yaml, node)), context)


def _yaml_duplicates(path: str, node: Node | None, seen: set[int]) -> Iterator[Finding]:
    import yaml

    if id(node) in seen or not isinstance(node, yaml.CollectionNode):
        return
    seen.add(id(node))
    known: dict[tuple[str, str], tuple[int, int]] = {}
    for item in node.value:
        key, value = item if isinstance(node, yaml.MappingNode) else (None, item)
        yield from _yaml_duplicates(path, value, seen)
        if isinstance(key, yaml.ScalarNode) and key.value != "<<":
            place = (key.start_mark.line + 1, key.start_mark.column + 1)
            first = known.setdefault((key.tag, key.value), place)
            if first is not place:
                yield _repeated(path, "yaml", key.value, first, place)


def _toml(context: CheckContext, path: str, text: str) -> Iterator[Finding | NotChecked]:
    import tomllib

    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _TOML_PLACE.search(str(error))
        message = _TOML_PLACE.sub("", str(error))
        at = (int(place[1]), int(place[2])) if place and place[1] else line_column(text, len(text))
        yield _broken(path, text, at, "toml-syntax", message)
    else:
        yield from findings_of_schema(SchemaDocument(path, text, value, partial(positions.in_toml, text)), context)


def _broken(path: str, text: str, place: tuple[int, int], rule: str, message: str) -> Finding:
    return _at(path, place, rule, *with_cause(text, place[0], message))


def _at(path: str, place: tuple[int, int], rule: str, message: str, remedy: str = "") -> Finding:
    (line, column), tool = place, rule.partition("-")[0]
    return Finding(path, line, column, rule, message, tool, end_line=line, end_column=column, remedy=remedy)


KIND = Kind("data", suffixes=_JSON | _YAML | _TOML, place=70)
