"""Markdown: links to missing files, required headings, and stray markers."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from rails.core.lazy_pattern import lazy
from rails.core.text import one_line
from rails.core.verdict import CheckRun, Finding
from rails.gate.baseline import split_lines
from rails.gate.kinds.text import marker_findings
from rails.gate.support import settings
from rails.gate.support.check import CheckContext, CheckJob, CheckReport, CheckResult, Kind, text_to_check

_FENCE: Final = lazy(r"\s*(`{3,}|~{3,})")
_HEADING: Final = lazy(r" {0,3}#{1,6}\s+(.*?)(?:\s+#+)?\s*$")
_UNDERLINE: Final = lazy(r" {0,3}(?:=+|-+)\s*")
_CODE: Final = lazy(r"(?<!`)(`++)(?:(?!\1).)*+\1")
_INLINE: Final = lazy(
    r"\]\(\s*+(<[^<>]*>|[^\s()<>]++(?:\([^\s()]*\)[^\s()<>]*+)*+)"
    r"(?:\s++(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*\)"
)
_DEFINITION: Final = lazy(r"\s{0,3}\[[^\]^][^\]]*\]:\s*(<[^>]*>|\S+)")
#: A target with one of these endings means a file; others may be routes of a site that is built later.
_FILE: Final = lazy(
    r"\.(?:md|markdown|rst|txt|py|js|mjs|cjs|ts|tsx|jsx|json|ya?ml|toml|ini|cfg|csv|sh|css|html?|png|jpe?g|gif|svg|webp|pdf)$",
    re.I,
)
_ELSEWHERE: Final = lazy(r"[a-z][a-z0-9+.-]*:|//|/|#|\{|\$", re.I)


def run_check(jobs: Sequence[CheckJob], context: CheckContext) -> CheckReport:
    """Check each file before and after."""
    run = CheckRun("markdown", "", 0, "links to files, headings, markers")
    was = replace(context, created=frozenset(), gone=frozenset())
    looks = partial(_look, context), partial(_look, was)
    return CheckReport.of_files(run, jobs, lambda job: CheckResult.of_look(job, run.name, *looks))


def _look(context: CheckContext, path: str, data: bytes) -> Iterator[Finding]:
    text = text_to_check(data)
    yield from marker_findings(path, text)
    yield from _missing_headings(path, text, context)
    for line, column, target in _targets(text):
        if not _exists(path, target, context):
            words = f"The link leads to {one_line(target, 80)}, which does not exist."
            yield Finding(
                path, line, column, "broken-link", words, "markdown", end_line=line, remedy="Correct the path."
            )


def _missing_headings(path: str, text: str, context: CheckContext) -> Iterator[Finding]:
    for contract in context.options.headings:
        if not settings.matches(path, contract.path):
            continue
        present = set(_headings(text))
        wanted = settings.several(contract.headings)
        remedy = f"{settings.PROJECT_FILE} asks for: {', '.join(wanted)}."
        for heading in wanted:
            if _folded(heading) not in present:
                words = f"There is no heading {heading!r}."
                yield Finding(path, 1, 1, "missing-heading", words, "markdown", end_line=1, remedy=remedy)


def _headings(text: str) -> Iterator[str]:
    above = ""
    for _, line in _unfenced(text):
        if heading := _HEADING.match(line):
            yield _folded(heading[1])
        elif above.strip() and _UNDERLINE.fullmatch(line):
            yield _folded(above)
        above = line


def _unfenced(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line with its number; empty ones for code in a fence."""
    fence = ""
    for number, line in enumerate(split_lines(text), 1):
        mark = _FENCE.match(line)
        is_code = bool(fence)
        if mark and (not fence or line.strip().startswith(fence)):
            fence = "" if fence else mark[1]
            is_code = True
        yield number, "" if is_code else line


def _folded(heading: str) -> str:
    plain_text = heading.strip().strip("*_").strip()
    return re.sub(r"^[0-9]{1,3}[.)]\s+", "", plain_text).rstrip(":").strip("*_ ").casefold()


def _targets(text: str) -> Iterator[tuple[int, int, str]]:
    for number, line in _unfenced(text):
        visible = _CODE.sub(lambda found: " " * len(found[0]), line)
        definition = _DEFINITION.match(visible)
        for found in [definition] if definition else _INLINE.finditer(visible):
            target = found[1].strip("<>").split("#")[0].split("?")[0]
            if target and not _ELSEWHERE.match(target) and _FILE.search(target):
                yield number, found.start(1) + 1, target


def _exists(path: str, target: str, context: CheckContext) -> bool:
    folder = path.rpartition("/")[0]
    wanted = posixpath.normpath(f"./{folder}/{_unquoted(target)}")
    if f"{wanted}/".startswith("../"):
        return True  # outside the project: not ours to say
    if wanted in context.gone:
        return False
    return wanted in context.created or (context.project / wanted).exists()


def _unquoted(target: str) -> str:
    from urllib.parse import unquote

    return unquote(target) if "%" in target else target


KIND = Kind("markdown", suffixes=frozenset({".md", ".markdown", ".mdx"}), place=60)
