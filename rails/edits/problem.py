"""Why a request cannot be planned, on the way to becoming a refusal."""

from __future__ import annotations

from rails.edits.match import Miss


class Problem(Exception):
    """Why a request cannot be planned: the parts of a Refusal."""

    def __init__(self, code: str, message: str, hint: str = "", miss: Miss | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.miss = code, message, hint, miss
