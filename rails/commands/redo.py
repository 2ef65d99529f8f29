"""``ai-rails redo``: do an undone step again; it shares everything with ``undo``."""

from rails.commands.undo import run

__all__ = ["run"]
