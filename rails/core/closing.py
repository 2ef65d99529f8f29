"""What is closed at the end of a ``with``."""

from __future__ import annotations

from typing import Self


class Closing:
    """Gives ``with`` to a class that has ``close``."""

    def close(self) -> None:
        """Give back what is held. Closing twice is allowed."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
