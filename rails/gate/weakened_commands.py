"""Changes to the commands by which a project is checked: in a build file, a workflow of CI, a hook of git."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.core.text import counted, one_line, plain_text
from rails.gate.baseline import split_lines

_FILES: Final = lazy(
    r"(?:.*/)?(?:(?:gnu)?makefile|justfile|taskfile\.ya?ml|noxfile\.py|tox\.ini|jenkinsfile|lefthook\.ya?ml"
    r"|\.gitlab-ci\.ya?ml|\.travis\.ya?ml|(?:azure|bitbucket)-pipelines\.ya?ml|\.pre-commit-hooks\.yaml)"
    r"|(?:.*/)?\.(?:github/(?:workflows|actions)|gitlab|circleci|buildkite|husky|githooks)/.*",
    re.I,
)
#: What runs a check, as far as its name says so.
CHECKS: Final = (
    r"\b(?:ruff|flake8|black|isort|mypy|pyright|pylint|pytest|unittest|tox|nox|bandit|semgrep|pre-commit|prek|ai-rails"
    r"|eslint|prettier|biome|tsc|jest|vitest|mocha|playwright|cypress|stylelint|shellcheck|yamllint|markdownlint"
    r"|golangci-lint|clippy|(?:make|just|task|run|npm|pnpm|yarn|bun|cargo|go)\s+[\w:-]*(?:tests?|lint|check|vet)|coverage)\b"
)
_RUNS: Final = lazy(CHECKS)
#: What lets a check fail, or look at less, without anybody knowing.
EXCUSES: Final = lazy(
    r"\|\|\s*(?:true|:|exit 0)|continue-on-error:\s*true|allow_failure:\s*true|--exit-zero\b|--no-verify\b"
    r"|--deselect\b\S*|--ignore(?:-glob)?\b\S*|-p\s*no:\w+|(?<!\S)-k[\s=]\S+"
)
_VERSION: Final = re.compile(r"(?:[=<>~^!]=?|@)\s*v?\d[\w.*-]*")


def command_changes(path: str, before: bytes | None, after: bytes | None) -> Iterator[tuple[int, str, bool]]:
    """Yield line, words, and whether the checks are surely weaker, for what a change does to these commands."""
    if not _FILES.fullmatch(path):
        return
    old, new = (
        [_VERSION.sub("", line).strip() for line in split_lines(plain_text(data or b"") or "")]
        for data in (before, after)
    )
    known, excused = Counter(old), list[str]()
    for number, line in enumerate(new, 1):
        near = "\n".join(new[max(0, number - 4) : number])
        if EXCUSES.search(line) and _RUNS.search(near) and not known[line]:
            excused.append(line)
            yield number, f"It lets checks fail, or look at less: {one_line(line, 80)}", True
    lost = (line for line in Counter(old) - Counter(new) if not any(line in other for other in excused))
    gone = [line for line in lost if _RUNS.search(line) and not line.startswith(("#", "//", "["))]
    if gone:
        more = f", and {counted(len(gone) - 1, 'line')} more" if len(gone) > 1 else ""
        yield 1, f"It changes by which commands the project is checked: without {one_line(gone[0], 80)}{more}", False
