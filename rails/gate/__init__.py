"""The gate: what linters, formatters and parsers say about proposed bytes, before anyone approves them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rails.gate.gate import Gate

__all__ = ["Gate"]


def __getattr__(name: str) -> object:
    """Import the gate when it is first asked for: whoever needs one room of this floor does not wait for all."""
    if name == "Gate":
        from rails.gate.gate import Gate

        return Gate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
