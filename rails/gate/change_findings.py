"""Findings about a change itself: tests, configuration, temporary files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rails.core.changes import FileChange
from rails.core.verdict import Author, Finding
from rails.gate import scratch_files
from rails.gate.files import File

#: Endings of the files that tests are written in.
_CODE: Final = (".py", ".pyw", ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts")
_DATA: Final = (".toml", ".json", ".jsonc", ".yaml", ".yml")
_LOADED: Final = (".py", ".cfg", ".ini")


def of_the_change(
    project: Path, home: Path, files: Sequence[File], gone: Sequence[FileChange], author: Author | None
) -> Iterator[Finding]:
    """Yield the findings. ``project`` holds the configuration in force; ``home`` is the project."""
    sides: list[tuple[str, bytes | None, bytes | None]]
    sides = [(file.path, file.before, file.after) for file in files if file.compared]
    created = [path for path, before, _ in sides if before is None]
    sides += [(str(change.path), change.before, None) for change in gone]
    after = {path: data is not None for path, _, data in sides}
    yield from scratch_files.misplaced(created, lambda path: after.get(path, (home / path).exists()))
    paths = [path for path, _, _ in sides]
    if any(path.endswith(_CODE) for path in paths):
        from rails.gate import weakened_tests

        author = author or Author()
        yield from weakened_tests.findings(home, sides, author)
        yield from weakened_tests.dropped_definitions(sides, author)
    from rails.gate import check_settings

    configures: set[str] = set()
    if any(path.endswith((*_LOADED, *_DATA)) for path in paths):
        from rails.gate import approved_state

        if any(path.endswith(_DATA) for path in paths):
            configures = approved_state.extended_by(project, home, paths)
        configures |= approved_state.loaded_by(project, [path for path in paths if path.endswith(_LOADED)])
    yield from check_settings.findings(home, sides, configures)
    if not all(path.endswith(_CODE) for path in paths):
        from rails.gate import pins

        yield from pins.findings(sides)
