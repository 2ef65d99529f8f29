"""Text that does not belong in a file: conflict and edit markers, Markdown fences, chat around the code.

For a file with a parser of its own, ``rails.gate.support.parse_hints`` says why the parser stopped. For every other
text file this module is the check.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rails.core.text import decode_text, why_not_text
from rails.core.verdict import Finding, NotChecked
from rails.gate.baseline import split_lines
from rails.gate.support.check import CheckContext, CheckJob, CheckReport, CheckResult
from rails.gate.support.parse_hints import marker_blocks, wrapping_fence

#: Files whose meaning is prose: a fence in them is content.
_PROSE: Final = frozenset({".md", ".markdown", ".mdx", ".rst", ".adoc", ".txt"})
#: Text without a syntax that a check could look at. Of every other kind the verdict says that nothing parsed it.
_PLAIN: Final = _PROSE | {".text", ".log", ".csv", ".tsv", ".diff", ".patch", ".lock", ".env", ".example", ".sample"}
_PLAIN_NAMES: Final = frozenset(
    (
        *("license", "licence", "copying", "notice", "authors", "contributors", "changelog", "changes", "readme"),
        *("version", "py.typed", ".gitignore", ".gitattributes", ".gitkeep", ".keep", ".dockerignore", ".nvmrc"),
        *(".eslintignore", ".prettierignore", ".npmignore", ".agent-restrictions", ".mailmap", "codeowners"),
    )
)


def run_check(jobs: Sequence[CheckJob], _context: CheckContext) -> CheckReport:
    """Look for markers and fences; say which files nothing else could check."""
    return CheckReport(tuple(_outcome(job) for job in jobs))


def _outcome(job: CheckJob) -> CheckResult:
    decoded = decode_text(job.after)
    if decoded is None:
        return CheckResult(
            job.path, job.after, not_checked=(NotChecked(job.path, "text", why_not_text(job.after), False),)
        )
    missing: tuple[NotChecked, ...] = ()
    name = job.path.rpartition("/")[2].lower()
    stem, dot, ending = name.rpartition(".")
    if name not in _PLAIN_NAMES and f".{ending}" not in _PLAIN:
        what = f".{ending} files" if dot and stem else "files of this name"
        missing = (NotChecked(job.path, "syntax", f"there is no check for {what}", False),)
    old = decode_text(job.before) if job.before is not None else None
    before = tuple(marker_findings(job.path, old.text)) if old else ()
    return CheckResult(job.path, job.after, tuple(marker_findings(job.path, decoded.text)), before, not_checked=missing)


def marker_findings(path: str, text: str) -> Iterator[Finding]:
    """Yield conflict and edit markers, and a fence around the whole file where that is no prose."""
    lines = split_lines(text)
    name = path.rpartition("/")[2].lower()
    prose = any(name.endswith(suffix) for suffix in _PROSE)
    for number, words in marker_blocks(lines, skip_fenced=prose):
        yield Finding(path, number, 1, "conflict-marker", words, "text", end_line=number)
    if not prose and (number := wrapping_fence(lines)):
        words = "The file is wrapped in a Markdown code fence."
        yield Finding(
            path, number, 1, "markdown-fence", words, "text", end_line=number, remedy="Leave the fence lines out."
        )
