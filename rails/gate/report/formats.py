"""A verdict as SARIF 2.1.0, GitHub annotations or JUnit XML."""

from __future__ import annotations

import json
from typing import Final
from urllib.parse import quote

import rails
from rails.core.text import printable, sha256
from rails.core.tool_request import Json
from rails.core.verdict import Finding, NotChecked, Verdict
from rails.gate.baseline import without_numbers
from rails.gate.registry import CHECKS

_SARIF_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif(verdict: Verdict) -> str:
    """Return SARIF 2.1.0 (OASIS, errata 01): one run, skipped checks as notifications."""
    first = {finding.rule: finding for finding in reversed(verdict.findings)}
    rules = sorted(first)
    driver: Json = {
        "name": "AI-Rails",
        "version": rails.__version__,
        "rules": [_sarif_rule(first[rule]) for rule in rules],
    }
    extensions: Json = [
        {"name": run.name, **({"version": run.version} if run.version else {})} for run in verdict.checks
    ]
    invocation: Json = {
        "executionSuccessful": verdict.status != "error",
        "toolExecutionNotifications": [_notification(miss) for miss in verdict.not_checked],
    }
    run: Json = {
        "tool": {"driver": driver, "extensions": extensions},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"PROJECT": {"description": {"text": "The project folder."}}},
        "results": [_result(finding, rules.index(finding.rule)) for finding in verdict.findings],
    }
    return json.dumps({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _sarif_rule(first: Finding) -> Json:
    """Return what is said of the rule of a finding."""
    kind = CHECKS.get(first.tool)
    about, more = without_numbers(first.message), first.remedy
    if kind is not None and kind.rules is not None:
        about, example = kind.rules()[first.rule]
        more = f"For example: {example}"
    described: dict[str, Json] = {"id": first.rule, "shortDescription": {"text": about or first.rule}}
    return {**described, "help": {"text": more}} if more else described


def _notification(miss: NotChecked) -> Json:
    where: Json = [{"physicalLocation": {"artifactLocation": _artifact(miss.path)}}]
    level = "error" if miss.required else "note"
    return {"level": level, "message": {"text": _why(miss)}, "locations": where}


def _why(miss: NotChecked) -> str:
    return f"{miss.check} did not check it: {miss.reason}"


def _artifact(path: str) -> Json:
    return {"uri": quote(path), "uriBaseId": "PROJECT"}


def _result(finding: Finding, rule_index: int) -> Json:
    place: dict[str, Json] = {"artifactLocation": _artifact(finding.path)}
    if finding.line > 0:
        place["region"] = _region(finding)
    source = "".join(finding.source.split())
    named = f"{finding.path}\0{finding.rule}\0{without_numbers(finding.message)}\0{source}"
    return {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        "level": finding.severity.replace("info", "note"),
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"aiRailsIdentity/v1": sha256(named.encode())},
        "baselineState": "updated" if finding.worse_than is not None else "new" if finding.new else "unchanged",
    }


def _region(finding: Finding) -> Json:
    end_line = max(finding.end_line, finding.line)
    has_end = (end_line, finding.end_column) > (finding.line, finding.column)
    places = {
        "startLine": finding.line,
        "startColumn": finding.column,
        "endLine": end_line if end_line > finding.line else 0,
        "endColumn": finding.end_column if has_end else 0,
    }
    return {name: value for name, value in places.items() if value > 0}


def github(verdict: Verdict) -> str:
    """Return GitHub Actions workflow commands."""
    lines = [_annotation(finding) for finding in verdict.findings]
    for miss in verdict.not_checked:
        kind = "error" if miss.required else "notice"
        lines.append(f"::{kind} title=not checked,file={_property(miss.path)}::{_data(_why(miss))}")
    return "\n".join(lines)


def _annotation(finding: Finding) -> str:
    places = {"line": finding.line, "endLine": finding.end_line, "col": finding.column, "endColumn": finding.end_column}
    known = "".join(f",{name}={value}" for name, value in places.items() if value > 0)
    where = f"title={_property(finding.rule)},file={_property(finding.path)}{known}"
    kind = finding.severity.replace("info", "notice")
    return f"::{kind} {where}::{_data(f'{finding.rule} {finding.with_remedy}')}"


def _data(text: str) -> str:
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def junit(verdict: Verdict) -> str:
    """Return JUnit XML: a test case per file with findings or misses, and the verdict's."""
    cases: dict[str, list[str]] = {}
    for finding in verdict.blocking:
        message = f"{finding.line}:{finding.column} {finding.rule} {finding.message}"
        part = f'<failure type="{_xml(finding.rule)}" message="{_xml(message)}"/>'
        cases.setdefault(finding.path, []).append(part)
    for miss in verdict.not_checked:
        if miss.required:
            cases.setdefault(miss.path, []).append(f'<error type="not checked" message="{_xml(_why(miss))}"/>')
    parts = {path: "".join(sorted(part)) for path, part in sorted(cases.items())}
    lines = [f'    <testcase classname="gate" name="{_xml(path)}">{part}</testcase>' for path, part in parts.items()]
    if not lines:
        lines = ['    <testcase classname="gate" name="every required check ran and found nothing new"/>']
    failures, errors = (sum(name in part for part in parts.values()) for name in ("<failure", "<error"))
    seconds = sum(run.duration_ms for run in verdict.checks) / 1000
    counts = f'tests="{len(lines)}" failures="{failures}" errors="{errors}" time="{seconds:.3f}"'
    suite = f'<testsuites {counts}>\n  <testsuite name="ai-rails gate" {counts}>'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', suite, *lines, "  </testsuite>", "</testsuites>"])


def _xml(text: str) -> str:
    from html import escape

    return escape(printable(text, keep=""), quote=True)
