"""Find every request in a model's answer; repair only what is safe; never be silently wrong.

:func:`read` takes a whole answer, :class:`Reader` takes it piece by piece. Both return an
:class:`Intake`: requests, refusals, what was ignored, and the prose around them.
"""

from __future__ import annotations

from rails.intake.reader import Reader, read
from rails.intake.results import Completed, Ignored, Intake, Shapes, Signal, Started
from rails.intake.shape import PATH_KEYS
from rails.intake.unread import unread

__all__ = ["PATH_KEYS", "Completed", "Ignored", "Intake", "Reader", "Shapes", "Signal", "Started", "read", "unread"]
