"""Stray text: conflict and edit markers, Markdown fences, chat around the code.

For files without a parser; for others see ``rails.gate.support.parse_hints``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from rails.core.text import decode_text, why_not_text
from rails.core.verdict import Finding, NotChecked
from rails.gate.baseline import split_lines
from rails.gate.support.advice import name_list
from rails.gate.support.check import CheckContext, CheckJob, CheckReport, CheckResult, NotNeededError, suffix_of
from rails.gate.support.parse_hints import marker_blocks, wrapping_fence

#: Files whose meaning is prose: a fence in them is content.
_PROSE: Final = frozenset({".md", ".markdown", ".mdx", ".rst", ".adoc", ".txt"})
#: Text without a syntax that a check could look at. Of every other kind the verdict says that nothing parsed it.
_PLAIN: Final = _PROSE | {".text", ".log", ".csv", ".tsv", ".diff", ".patch", ".lock", ".env", ".example", ".sample"}
#: Languages that are only parsed, where the grammar of the extra "grammars" is installed.
_PARSED: Final = {".go": "go", ".rs": "rust", ".java": "java", ".rb": "ruby"}


def run_check(jobs: Sequence[CheckJob], _context: CheckContext) -> CheckReport:
    """Find markers and fences; report files that nothing else could check."""
    return CheckReport(tuple(_outcome(job) for job in jobs))


def _outcome(job: CheckJob) -> CheckResult:
    result = CheckResult.of_look(job, "text", _look).after_broken()
    # Evidence: a file whose syntax nothing read was not checked.
    name = "tree-sitter" if suffix_of(job.path) in _PARSED else "syntax"
    return replace(result, ran=(*(missed.check for missed in result.not_checked), name)[:1])


def _look(path: str, data: bytes) -> Iterator[Finding | NotChecked]:
    decoded = decode_text(data)
    if decoded is None:
        raise NotNeededError(why_not_text(data))
    markers = [*marker_findings(path, decoded.text)]
    yield from markers
    if suffix_of(path) in _PARSED and not markers:
        yield from _parsed(path, decoded.text)
    name = path.rpartition("/")[2].lower()
    ending = f".{name.rpartition('.')[2]}"
    if not (ending in _PARSED or ending in _PLAIN or name in name_list("plain_text")):
        what = f"{suffix_of(path)} files" if suffix_of(path) else "files of this name"
        yield NotChecked(path, "syntax", f"there is no check for {what}", required=False)


def _parsed(path: str, text: str) -> Iterator[Finding | NotChecked]:
    from rails.data_formats.source import first_error

    suffix = suffix_of(path)
    try:
        place = first_error(text, _PARSED[suffix])
    except ImportError:
        words = f"{suffix} files are parsed with the extra grammars of ai-rails"
        yield NotChecked(path, "syntax", words, required=False)
        return
    if place:
        line, column = place
        yield Finding(path, line, column, "syntax-error", "The syntax is invalid.", "tree-sitter", end_line=line)


def marker_findings(path: str, text: str) -> Iterator[Finding]:
    """Yield conflict and edit markers, and a fence around a whole non-prose file."""
    lines = split_lines(text)
    prose = suffix_of(path) in _PROSE
    for number, words in marker_blocks(lines, skip_fenced=prose):
        yield Finding(path, number, 1, "conflict-marker", words, "text", end_line=number)
    if not prose and (number := wrapping_fence(lines)):
        words = "The file is wrapped in a Markdown code fence."
        yield Finding(
            path, number, 1, "markdown-fence", words, "text", end_line=number, remedy="Leave the fence lines out."
        )
