"""One module for each kind of check, and one dict that lists them.

A check receives which files changed (both texts) and answers with what it found in them, before and
after, with what it repaired, and with what it could not check. What is *new* is decided in one place,
``rails.gate.baseline``; nothing here compares.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Final

from rails.gate.support.check import Check
from rails.gate.support.read_file import SHELLS, interpreter_of, run_by_python

#: Every check: the module of this folder and the endings of the files it wants, in the order of running.
CHECKS: Final[Mapping[str, frozenset[str]]] = {
    "python": frozenset({".py", ".pyi", ".pyw"}),
    "notebook": frozenset({".ipynb"}),
    "javascript": frozenset({".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"}),
    "shell": frozenset({".sh", ".bash"}),
    "markup": frozenset({".html", ".htm", ".css"}),
    "markdown": frozenset({".md", ".markdown", ".mdx"}),
    "data": frozenset(
        {
            ".json",
            ".jsonc",
            ".json5",
            ".jsonl",
            ".ndjson",
            ".ipynb",
            ".webmanifest",
            ".geojson",
            ".har",
            ".yaml",
            ".yml",
            ".toml",
        }
    ),
}
#: Looks at every text file that no other check wants.
FALLBACK: Final = "text"


def checks_for(path: str, data: bytes = b"") -> list[str]:
    """Return the names of the checks for ``path``; at least one for every file.

    What has no ending is what the first line of ``data`` says that runs it.
    """
    stem, dot, ending = path.rpartition("/")[2].rpartition(".")
    suffix = f".{ending.lower()}" if dot and stem else ""
    if not suffix and run_by_python(data):
        return ["python"]
    if not suffix and interpreter_of(data) in SHELLS:
        return ["shell"]
    return [name for name, suffixes in CHECKS.items() if suffix in suffixes] or [FALLBACK]


def load_check(name: str) -> Check:
    """Return the check called ``name``; only the checks that a change needs are imported."""
    module: Check = importlib.import_module(f"rails.gate.checks.{name}")
    return module
