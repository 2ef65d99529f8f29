"""Plug-ins: kinds of files that have a package of their own."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from rails.core.errors import Refusal

_MODULES: Final = {"n8n": "rails.n8n.plugin"}


class KindPlugin(Struct, frozen=True):
    """Offers of a kind of files beyond the gate's check.

    ``edit`` takes path, bytes and operations, returns the text before and after; ``answer`` is its tool for questions;
    ``picture`` draws a summary as SVG ("": none) in ``style``.
    """

    edit: Callable[..., tuple[str, str] | Refusal]
    answer: Callable[..., str]
    picture: Callable[..., str]
    style: Callable[..., str]


def plugin_of(kind: str) -> KindPlugin:
    """Return the plug-in of a kind ("n8n"), imported at the first use."""
    return importlib.import_module(_MODULES[kind]).PLUGIN  # type: ignore[no-any-return]
