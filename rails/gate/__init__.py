"""The gate: what linters, formatters and parsers say about proposed bytes, before anyone approves them."""

from rails.gate.gate import Gate

__all__ = ["Gate"]
