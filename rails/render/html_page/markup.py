"""HTML that its content cannot break: functions make elements, text is always escaped.

Texts go through :func:`rails.core.text.printable`, so that invisible and reordering characters show. No raw markup.
"""

from __future__ import annotations

import re
from html import escape
from typing import TypeAlias

from rails.core.text import printable


class Html(str):
    """Markup made here. Any other text is escaped inside an element."""

    __slots__ = ()


Child: TypeAlias = "str | int | list[Html] | None"

#: Neither escaped nor made printable: most of what the pages are made of.
_SAFE = re.compile(r"[A-Za-z0-9_ .,:;/#+*=()@-]*")
_VOID = frozenset({"meta", "br", "hr", "input"})


def el(name: str, /, *children: Child, **attributes: str | int | float | bool | None) -> Html:
    """Return an element. ``class_``: ``class``; ``aria_label``: ``aria-label``; ``None`` and ``False`` drop out."""
    head = "".join(
        _attribute(key, value) for key, value in attributes.items() if value is not None and value is not False
    )
    if name in _VOID:
        return Html(f"<{name}{head}>")
    return Html(f"<{name}{head}>{join(*children)}</{name}>")


def join(*children: Child) -> Html:
    """Concatenate the children."""
    return Html("".join(_child(child) for child in children))


def titled(name: str, title: Child, *children: Child, class_: str) -> Html:
    """Return a section with a heading that names it."""
    return el("section", el("h2", title, id=name), *children, aria_labelledby=name, class_=class_)


def _child(child: Child) -> str:
    if child is None or isinstance(child, Html):
        return child or ""
    if isinstance(child, list):
        return "".join(map(_child, child))
    shown = printable(str(child))
    return shown if _SAFE.fullmatch(shown) else escape(shown, quote=False)


def _attribute(key: str, value: str | int | float | bool) -> str:
    name = key.rstrip("_").replace("_", "-")
    if isinstance(value, str) and _SAFE.fullmatch(value):
        return f' {name}="{value}"'
    return f" {name}" if value is True else f' {name}="{escape(printable(str(value), keep=""))}"'
