"""JSON, YAML and TOML: does it parse, where not, and is a key given twice. n8n workflows go to their own check."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from rails.core.dataclass import NamedTuple
from rails.core.text import decode_text, line_column, one_line
from rails.core.verdict import CheckRun, Finding, Fixed, NotChecked
from rails.data_formats import positions
from rails.data_formats.strict_json import JsonRules, ParsedJson, read_json
from rails.gate.support import settings
from rails.gate.support.check import CheckContext, CheckJob, CheckReport, CheckResult
from rails.gate.support.parse_hints import cause
from rails.gate.support.workflow_files import WorkflowFiles

if TYPE_CHECKING:
    from yaml import Node

_YAML: Final = frozenset({".yaml", ".yml"})
_TOML: Final = frozenset({".toml"})
#: Files called .json whose readers allow comments and trailing commas.
_WITH_COMMENTS: Final = re.compile(
    r"(?:ts|js)config(?:\..*)?\.json|\.(?:eslintrc|babelrc|swcrc)(?:\.json)?|devcontainer\.json|(?:biome|deno|renovate)\.jsonc?"
    r"|(?:settings|launch|tasks|extensions|keybindings)\.json|.*\.jsonc",
    re.I,
)
#: What readers of JSON take, we take; but keys that stand twice are told, and nesting is bounded by Python only.
_RULES: Final = JsonRules(repeated=True, surrogates=True, any_number=True, depth=sys.maxsize)
#: Elements of an array that are looked at before saying that it holds no workflow.
_LISTED: Final = 20
_COMMENT: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=\s*(?://[^\n]*\s*|/\*.*?\*/\s*)*[}\]])', re.S)
_TOML_PLACE: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def run_check(jobs: Sequence[CheckJob], context: CheckContext) -> CheckReport:
    """Parse each file, before and after."""
    start = time.perf_counter()
    workflows = WorkflowFiles(jobs, context)
    outcomes = tuple(_outcome(job, context, workflows) for job in jobs)
    duration = round((time.perf_counter() - start) * 1000, 2)
    runs = [CheckRun("data", "", duration, "syntax, duplicate keys, JSON Schemas", len(jobs))]
    if workflows.judged:
        from rails.gate.checks.n8n import version

        # The time is in the line above: a workflow is parsed and judged in one go.
        runs.append(CheckRun("n8n", version(), 0.0, f"profile {context.profile}", len(workflows.judged)))
    return CheckReport(outcomes, tuple(runs))


def _outcome(job: CheckJob, context: CheckContext, workflows: WorkflowFiles) -> CheckResult:
    found, missing = _check(job.path, job.after, context, workflows)
    after, fixed = job.after, tuple[Fixed, ...]()
    if context.fix and job.path in workflows.judged:
        after, fixed = _tidied(job, unsafe=context.unsafe_fixes)
        found, missing = _check(job.path, after, context, workflows) if fixed else (found, missing)
    before, _ = _check(job.path, job.before, context, workflows.aside()) if job.before is not None else ((), None)
    not_checked = [NotChecked(job.path, missing.check, missing.reason, missing.required)] if missing else []
    if job.path in workflows.judged:
        from rails.gate.checks.n8n import unjudged

        not_checked += [
            NotChecked(job.path, "n8n parameters", why, required=False) for why in unjudged(context.options.account)
        ]
    return CheckResult(job.path, after, tuple(found), tuple(before), fixed=fixed, not_checked=tuple(not_checked))


def _tidied(job: CheckJob, *, unsafe: bool) -> tuple[bytes, tuple[Fixed, ...]]:
    """Return an n8n workflow repaired, in n8n's own form, with what is missing filled in, and what was done.

    An older file of another form is left as it is: a small edit must not become a change of every line.
    """
    from rails.n8n import formatting
    from rails.n8n.nodes import catalogue

    if job.before is not None and formatting.canonical(job.before) != job.before:
        return job.after, ()
    return formatting.tidied(job.after, job.path, catalogue.current(), unsafe=unsafe)


class _Missing(NamedTuple):
    reason: str
    check: str = "data"
    required: bool = True


def _check(
    path: str, data: bytes, context: CheckContext, workflows: WorkflowFiles
) -> tuple[Sequence[Finding], _Missing | None]:
    """Return the findings of one file and, when it could not be checked, why.

    The path of a file that was judged as an n8n workflow is added to those of ``workflows``.
    """
    decoded = decode_text(data)
    if decoded is None or (decoded.encoding != "utf-8" and not data.isascii()):
        return (), _Missing(f"it is {decoded.label}, not UTF-8" if decoded else "it is not UTF-8 text")
    suffix, text = _suffix(path), decoded.text
    if suffix in _YAML:
        if "{{" in text and "/templates/" in f"/{path}":
            return (), _Missing("it is a template, not YAML yet")
        found = list(_yaml(path, text))
        return (found, None) if found else _yaml_schema(path, text, context)
    if suffix in _TOML:
        found = list(_toml(path, text))
        return (found, None) if found else _toml_schema(path, text, context)
    if suffix == ".json5":
        return (), _Missing("there is no check for JSON5")
    return _json_file(path, data, text, context, workflows)


def _json_file(
    path: str, data: bytes, text: str, context: CheckContext, workflows: WorkflowFiles
) -> tuple[Sequence[Finding], _Missing | None]:
    if _suffix(path) in (".jsonl", ".ndjson"):
        return list(_json_lines(path, text)), None
    commented = _WITH_COMMENTS.fullmatch(path.rpartition("/")[2]) is not None
    source = _COMMENT.sub(_blank, text) if commented else text
    value, findings = parse_json(path, source)
    if not commented and _may_be_workflow(value):
        found, missing = _n8n(path, data, value, context.profile, workflows)
        if missing:
            return found or findings, missing
        if path in workflows.judged:
            return _with_schema(path, text, value, found or findings, context)
    if findings:
        return findings, None
    return _schema(path, text, value, context, lambda: positions.in_json(source))


def _with_schema(
    path: str, text: str, value: object, findings: Sequence[Finding], context: CheckContext
) -> tuple[Sequence[Finding], _Missing | None]:
    """Add what the user's own schema says of a workflow. One that the workflow itself names is not looked at."""
    if not any(settings.matches(path, pattern) for entry in context.options.schemas for pattern in entry.path):
        return findings, None
    more, missing = _schema(path, text, value, context, lambda: positions.in_json(text))
    return [*findings, *more], missing


def _has_schema(text: str, context: CheckContext) -> bool:
    return "$schema" in text or ":schema" in text or bool(context.options.schemas)


def _yaml_schema(path: str, text: str, context: CheckContext) -> tuple[Sequence[Finding], _Missing | None]:
    if not _has_schema(text, context):
        return (), None
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        # Not for types of its own: an unknown tag stands for itself, and dates are texts, as in JSON.
        values = list(yaml.load_all(text, Loader=loader))
        nodes = list(yaml.compose_all(text, Loader=loader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return (), _Missing(f"its values cannot be read: {one_line(str(error), 100)}", "schema", required=False)
    findings: list[Finding] = []
    for value, node in zip(values, nodes, strict=False):
        found, missing = _schema(path, text, value, context, partial(positions.in_yaml, node))
        if missing:
            return findings, missing
        findings += found
    return findings, None


def _toml_schema(path: str, text: str, context: CheckContext) -> tuple[Sequence[Finding], _Missing | None]:
    if not _has_schema(text, context):
        return (), None
    import tomllib

    return _schema(path, text, tomllib.loads(text), context, lambda: positions.in_toml(text))


def _schema(
    path: str, text: str, value: object, context: CheckContext, locate: Callable[[], positions.Places]
) -> tuple[Sequence[Finding], _Missing | None]:
    """Compare with the file's JSON Schema, if it has one."""
    if not _has_schema(text, context):
        return (), None
    from rails.gate.checks import schemas

    found, missing = schemas.findings_of_schema(schemas.SchemaDocument(path, text, value, locate), context)
    return found, _Missing(missing.reason, "schema", missing.required) if missing else None


def _n8n(
    path: str, data: bytes, value: object, profile: str, workflows: WorkflowFiles
) -> tuple[Sequence[Finding], _Missing | None]:
    """Give a workflow to the n8n check, which reports repeated keys itself and judges the last of them, as n8n does."""
    try:
        from rails.gate.checks.n8n import check_workflow
        from rails.n8n.recognise import looks_like_workflow
    except ImportError as error:
        return (), _Missing(f"the n8n checks cannot be loaded: {error}")
    if not looks_like_workflow(value, path):
        return (), None
    workflows.judged.add(path)
    return list(check_workflow(data, path, profile, around=workflows.around(path))), None


def _may_be_workflow(value: object) -> bool:
    """A look that needs no import: a workflow, or a list of them as n8n exports it."""
    items = value[:_LISTED] if isinstance(value, list) else [value]
    return any(isinstance(item, dict) and bool({"nodes", "connections"} & item.keys()) for item in items)


def _blank(found: re.Match[str]) -> str:
    """Replace a comment or trailing comma by spaces, so that every position stays right."""
    text = found[0]
    return text if text.startswith('"') else re.sub(r"[^\n]", " ", text)


def _json_lines(path: str, text: str) -> Iterator[Finding]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            for finding in parse_json(path, line)[1]:
                yield Finding(path, number, finding.column, finding.rule, finding.message, "json", end_line=number)


def parse_json(path: str, text: str) -> tuple[object, list[Finding]]:
    """Parse JSON strictly. Returns the value and, when there are any, the findings: syntax or duplicate keys."""
    read = read_json(text, _RULES)
    if isinstance(read, ParsedJson):
        return read.value, list(_duplicates(path, text)) if read.repeats_keys else []
    place = line_column(text, read.offset)
    if read.code == "depth":
        return None, [_at(path, (1, 1), "json-syntax", "the value is nested too deeply")]
    if read.code == "not_a_number":
        name = read.message.partition(" ")[0]
        return None, [_at(path, place, "json-syntax", f"{name} is not JSON", "Use null or a string.")]
    why, remedy = cause(text, place[0], "")
    message = f"{read.message}. {why}" if why else read.message
    return None, [_at(path, place, "json-syntax", message, remedy)]


def _duplicates(path: str, text: str) -> Iterator[Finding]:
    """Yield the second and further uses of a key in one object. ``text`` is valid JSON."""
    lines = positions.LineIndex(text)
    for key in positions.repeated_keys(text):
        shown, first = one_line(text[key.start : key.end], 60), lines.at(key.first)[0]
        words = f"The key {shown} is given twice in one object (first on line {first})."
        yield _at(path, lines.at(key.start), "json-duplicate-key", words, "Keep one of them.")


def _yaml(path: str, text: str) -> Iterator[Finding]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for document in yaml.compose_all(text, Loader=loader):
            yield from _yaml_duplicates(path, document, set())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        parts = (getattr(error, "context", None), getattr(error, "problem", None))
        message = one_line(", ".join(part for part in parts if part) or str(error), 160)
        why, remedy = cause(text, line, "")
        yield _at(path, (line, column), "yaml-syntax", f"{message}. {why}" if why else message, remedy)
    except RecursionError:
        yield _at(path, (1, 1), "yaml-syntax", "the value is nested too deeply")


def _yaml_duplicates(path: str, root: Node, seen: set[int]) -> Iterator[Finding]:
    import yaml

    pending: list[Node | None] = [root]
    while pending:
        node = pending.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            pending += node.value
        elif isinstance(node, yaml.MappingNode):
            keys: dict[tuple[str, str], int] = {}
            for key, value in node.value:
                pending.append(value)
                if not isinstance(key, yaml.ScalarNode) or key.value == "<<":
                    continue
                line, name = key.start_mark.line + 1, (key.tag, key.value)
                if name in keys:
                    shown, first = one_line(key.value, 60), keys[name]
                    words = f"The key {shown!r} is given twice in one mapping (first on line {first})."
                    column = key.start_mark.column + 1
                    yield _at(path, (line, column), "yaml-duplicate-key", words, "Keep one of them.")
                keys.setdefault(name, line)


def _toml(path: str, text: str) -> Iterator[Finding]:
    import tomllib

    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _TOML_PLACE.search(str(error))
        message = _TOML_PLACE.sub("", str(error))
        line, column = (int(place[1]), int(place[2])) if place and place[1] else line_column(text, len(text))
        why, remedy = cause(text, line, "")
        yield _at(path, (line, column), "toml-syntax", f"{message}. {why}" if why else message, remedy)
    except RecursionError:
        yield _at(path, (1, 1), "toml-syntax", "the value is nested too deeply")


def _at(path: str, place: tuple[int, int], rule: str, message: str, remedy: str = "") -> Finding:
    (line, column), tool = place, rule.partition("-")[0]
    return Finding(path, line, column, rule, message, tool, end_line=line, end_column=column, remedy=remedy)


def _suffix(path: str) -> str:
    stem, dot, ending = path.rpartition("/")[2].rpartition(".")
    return f".{ending.lower()}" if dot and stem else ""
