"""Exit codes, and the exception that ends a command."""

from __future__ import annotations

from typing import Final

EXIT_OK: Final = 0
EXIT_FINDINGS: Final = 1
EXIT_USAGE: Final = 2
EXIT_BROKEN: Final = 3


class RailsError(Exception):
    """Something the operator must know: what happened, what was not changed, what to do."""

    exit_code: int = EXIT_BROKEN
