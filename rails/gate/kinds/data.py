"""JSON, YAML and TOML: syntax, duplicate keys and JSON Schemas."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from rails.core.lazy_pattern import lazy
from rails.core.text import decode_text, line_column, one_line
from rails.core.verdict import CheckRun, Finding, NotChecked
from rails.data_formats import positions
from rails.data_formats.strict_json import JsonRules, ParsedJson, read_json
from rails.gate.kinds import schemas
from rails.gate.kinds.schemas import SchemaDocument
from rails.gate.support.check import CheckContext, CheckJob, CheckReport, CheckResult, Kind, suffix_of
from rails.gate.support.parse_hints import cause

if TYPE_CHECKING:
    from yaml import Node

#: What is found in a file and, where it could not be checked, why.
DataFindings: TypeAlias = tuple[Sequence[Finding], NotChecked | None]
DataCheck: TypeAlias = Callable[[str, bytes, CheckContext], DataFindings]

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
#: What readers of JSON take, we take; but keys that stand twice are told, and nesting is bounded by Python only.
_RULES: Final = JsonRules(repeated=True, surrogates=True, any_number=True, depth=sys.maxsize)
_COMMENT: Final = lazy(
    r'"(?:[^"\\\n]|\\.)*+"?|//[^\n]*|/\*.*?(?:\*/|\Z)|,(?=(?:\s++|//[^\n]*+|/\*.*?\*/)*+[}\]])', re.S
)
_TOML_PLACE: Final = lazy(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def run_check(jobs: Sequence[CheckJob], context: CheckContext) -> CheckReport:
    """Parse each file, before and after."""
    return CheckReport.of_files(
        CheckRun("data", "", 0, "syntax, duplicate keys, JSON Schemas"),
        jobs,
        lambda job: data_outcome(job, context, _check),
    )


def data_outcome(job: CheckJob, context: CheckContext, check: DataCheck) -> CheckResult:
    """Return ``check``'s findings for both sides; the file stays unchanged."""
    found, missing = check(job.path, job.after, context)
    before, _ = check(job.path, job.before, context) if job.before is not None else ((), None)
    not_checked = (missing,) if missing else ()
    return CheckResult(job.path, job.after, tuple(found), tuple(before), not_checked=not_checked)


def _check(path: str, data: bytes, context: CheckContext) -> DataFindings:
    if suffix_of(path) == ".json5":
        return (), NotChecked(path, "data", "there is no check for JSON5", required=False)
    if suffix_of(path) in _JSON:
        return json_findings(path, data, context)
    text, missing = _text(path, data)
    if missing is not None:
        return (), missing
    if suffix_of(path) in _TOML:
        value, found = _toml(path, text)
        return _judged(found, SchemaDocument(path, text, value, lambda: positions.in_toml(text)), context)
    if "{{" in text and "/templates/" in f"/{path}":
        return (), NotChecked(path, "data", "it is a template, not YAML yet", required=False)
    found = list(_yaml(path, text))
    return (found, None) if found or not _has_schema(text, context) else _yaml_schema(path, text, context)


def _text(path: str, data: bytes) -> tuple[str, NotChecked | None]:
    decoded = decode_text(data)
    if decoded is None:
        return "", NotChecked(path, "data", "it is not UTF-8 text")
    if decoded.encoding != "utf-8" and not data.isascii():
        return "", NotChecked(path, "data", f"it is {decoded.label}, not UTF-8")
    return decoded.text, None


def json_findings(path: str, data: bytes, context: CheckContext) -> DataFindings:
    """Return syntax errors, else the schema's findings, and what could not be checked."""
    text, missing = _text(path, data)
    if missing is not None:
        return (), missing
    if suffix_of(path) in (".jsonl", ".ndjson"):
        return list(_json_lines(path, text)), None
    commented = _WITH_COMMENTS.fullmatch(path.rpartition("/")[2])
    source = _COMMENT.sub(_blank, text) if commented else text
    value, found = parse_json(path, source)
    return _judged(found, SchemaDocument(path, text, value, lambda: positions.in_json(source)), context)


def schema_findings(path: str, text: str, context: CheckContext) -> DataFindings:
    """Return the schema's findings, like :func:`json_findings`."""
    value, _ = parse_json(path, text)
    return _judged((), SchemaDocument(path, text, value, lambda: positions.in_json(text)), context)


def _judged(found: Sequence[Finding], document: SchemaDocument, context: CheckContext) -> DataFindings:
    if found or not _has_schema(document.text, context):
        return found, None
    return schemas.findings_of_schema(document, context)


def _has_schema(text: str, context: CheckContext) -> bool:
    return "$schema" in text or ":schema" in text or bool(context.options.schemas)


def _yaml_schema(path: str, text: str, context: CheckContext) -> DataFindings:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        # Not for types of its own: an unknown tag stands for itself, and dates are texts, as in JSON.
        values = list(yaml.load_all(text, Loader=loader))
        nodes = list(yaml.compose_all(text, Loader=loader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return (), NotChecked(path, "schema", f"its values cannot be read: {one_line(str(error), 100)}", required=False)
    findings: list[Finding] = []
    for value, node in zip(values, nodes, strict=False):
        found, missing = schemas.findings_of_schema(
            SchemaDocument(path, text, value, partial(positions.in_yaml, node)), context
        )
        if missing:
            return findings, missing
        findings += found
    return findings, None


def _blank(found: re.Match[str]) -> str:
    """Positions stay right."""
    text = found[0]
    return text if text.startswith('"') else re.sub(r"[^\n]", " ", text)


def _json_lines(path: str, text: str) -> Iterator[Finding]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            for finding in parse_json(path, line)[1]:
                yield Finding(path, number, finding.column, finding.rule, finding.message, "json", end_line=number)


def parse_json(path: str, text: str) -> tuple[object, list[Finding]]:
    """Parse strictly; return findings for syntax or duplicate keys."""
    read = read_json(text, _RULES)
    if isinstance(read, ParsedJson):
        return read.value, list(_duplicates(path, text)) if read.repeats_keys else []
    place = line_column(text, read.offset)
    if read.code == "depth":
        return None, [_at(path, (1, 1), "json-syntax", "the value is nested too deeply")]
    if read.code == "not_a_number":
        name = read.message.partition(" ")[0]
        return None, [_at(path, place, "json-syntax", f"{name} is not JSON", "Use null or a string.")]
    return None, [_broken(path, text, place, "json-syntax", read.message)]


def _duplicates(path: str, text: str) -> Iterator[Finding]:
    lines = positions.LineIndex(text)
    for key in positions.repeated_keys(text):
        shown = one_line(text[key.start : key.end], 60)
        first = lines.at(key.first)[0]
        words = f"The key {shown} is given twice in one object (first on line {first})."
        yield _at(path, lines.at(key.start), "json-duplicate-key", words, "Keep one of them.")


def _yaml(path: str, text: str) -> Iterator[Finding]:
    import yaml

    try:
        for document in yaml.compose_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            yield from _yaml_duplicates(path, document, set())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        parts = (getattr(error, "context", None), getattr(error, "problem", None))
        message = one_line(", ".join(filter(None, parts)) or str(error), 160)
        yield _broken(path, text, place, "yaml-syntax", message)
    except RecursionError:
        yield _at(path, (1, 1), "yaml-syntax", "the value is nested too deeply")


def _yaml_duplicates(path: str, node: Node | None, seen: set[int]) -> Iterator[Finding]:
    import yaml

    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    lines: dict[tuple[str, str], int] = {}
    for item in node.value if isinstance(node, yaml.CollectionNode) else ():
        key, value = item if isinstance(node, yaml.MappingNode) else (None, item)
        yield from _yaml_duplicates(path, value, seen)
        if isinstance(key, yaml.ScalarNode) and key.value != "<<":
            line = key.start_mark.line + 1
            if first := lines.get((key.tag, key.value)):
                words = f"The key {one_line(key.value, 60)!r} is given twice in one mapping (first on line {first})."
                place = (line, key.start_mark.column + 1)
                yield _at(path, place, "yaml-duplicate-key", words, "Keep one of them.")
            lines.setdefault((key.tag, key.value), line)


def _toml(path: str, text: str) -> tuple[object, Sequence[Finding]]:
    import tomllib

    try:
        return tomllib.loads(text), ()
    except tomllib.TOMLDecodeError as error:
        place = _TOML_PLACE.search(str(error))
        message = _TOML_PLACE.sub("", str(error))
        at = (int(place[1]), int(place[2])) if place and place[1] else line_column(text, len(text))
        return None, [_broken(path, text, at, "toml-syntax", message)]
    except RecursionError:
        return None, [_at(path, (1, 1), "toml-syntax", "the value is nested too deeply")]


def _broken(path: str, text: str, place: tuple[int, int], rule: str, message: str) -> Finding:
    why, remedy = cause(text, place[0])
    return _at(path, place, rule, f"{message}. {why}" if why else message, remedy)


def _at(path: str, place: tuple[int, int], rule: str, message: str, remedy: str = "") -> Finding:
    (line, column), tool = place, rule.partition("-")[0]
    return Finding(path, line, column, rule, message, tool, end_line=line, end_column=column, remedy=remedy)


KIND = Kind("data", suffixes=_JSON | _YAML | _TOML, place=70)
