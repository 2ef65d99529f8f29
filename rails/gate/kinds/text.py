"""Stray text: conflict and edit markers, Markdown fences, chat around the code.

For files without a parser; for others see ``rails.gate.support.parse_hints``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rails.core.text import decode_text, why_not_text
from rails.core.verdict import Finding, NotChecked
from rails.gate.baseline import split_lines
from rails.gate.support.advice import name_list
from rails.gate.support.check import CheckContext, CheckJob, CheckReport, CheckResult, suffix_of
from rails.gate.support.parse_hints import marker_blocks, wrapping_fence

#: Files whose meaning is prose: a fence in them is content.
_PROSE: Final = frozenset({".md", ".markdown", ".mdx", ".rst", ".adoc", ".txt"})
#: Text without a syntax that a check could look at. Of every other kind the verdict says that nothing parsed it.
_PLAIN: Final = _PROSE | {".text", ".log", ".csv", ".tsv", ".diff", ".patch", ".lock", ".env", ".example", ".sample"}
#: As what these checks stand in the evidence: a file whose syntax nothing read was not checked.
_RAN: Final = ("syntax",)
#: Languages that are only parsed, where the grammar of the extra "grammars" is installed.
_PARSED: Final = {".go": "go", ".rs": "rust", ".java": "java", ".rb": "ruby"}


def run_check(jobs: Sequence[CheckJob], _context: CheckContext) -> CheckReport:
    """Find markers and fences; report files that nothing else could check."""
    return CheckReport(tuple(_outcome(job) for job in jobs))


def _outcome(job: CheckJob) -> CheckResult:
    decoded = decode_text(job.after)
    if decoded is None:
        return CheckResult.missed(job, "text", why_not_text(job.after), required=False)
    old = decode_text(job.before or b"")
    before = tuple(marker_findings(job.path, old.text)) if old else ()
    found = tuple(marker_findings(job.path, decoded.text))
    try:
        broken = tuple(_unparsed(job.path, decoded.text)) if not found else ()
        was_broken = bool(old and [*_unparsed(job.path, old.text)])
        return CheckResult(job.path, job.after, (*found, *broken), before, was_broken, ran=("tree-sitter",))
    except (ImportError, KeyError):
        return CheckResult(job.path, job.after, found, before, not_checked=_unread(job.path), ran=_RAN)


def _unread(path: str) -> tuple[NotChecked, ...]:
    name = path.rpartition("/")[2].lower()
    stem, dot, ending = name.rpartition(".")
    if name in name_list("plain_text") or f".{ending}" in _PLAIN:
        return ()
    what = f".{ending} files" if dot and stem else "files of this name"
    parsed = f"{what} are parsed with the extra grammars of ai-rails"
    return (NotChecked(path, "syntax", parsed if f".{ending}" in _PARSED else f"there is no check for {what}", False),)


def _unparsed(path: str, text: str) -> Iterator[Finding]:
    """Yield the syntax error, if any. Raises KeyError, ImportError for what is not parsed."""
    from rails.data_formats.source import first_error

    if place := first_error(text, _PARSED[suffix_of(path)]):
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
