"""A model's Markdown as HTML: fixed elements, all text escaped.

HTML stays text. Links show words and address, not clickable, as a model wrote them; pictures show their description.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rails.core import limits
from rails.render.html_page.markup import Html, el, join

if TYPE_CHECKING:
    from markdown_it.token import Token

#: Tags that stay themselves.
_SAME: Final = "p ul ol li blockquote table thead tbody tr th td strong em s"
_NAMES: Final = {
    **{name: name for name in _SAME.split()},
    # Below the heading of the turn.
    **{"h1": "h3", "h2": "h4", "h3": "h5", "h4": "h6", "h5": "h6", "h6": "h6"},
}


def prose_html(text: str) -> Html | None:
    """Return Markdown as HTML, None if too long."""
    if len(text) > limits.FEEDBACK_CHARS:
        return None
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    return _drawn(reader.parse(text))


def _drawn(tokens: Sequence[Token]) -> Html:
    open_: list[tuple[str, str, list[Html]]] = [("", "", [])]
    for token in tokens:
        if token.nesting == 1:
            open_.append((_NAMES.get(token.tag, ""), str(token.attrs.get("href", "")), []))
        elif token.nesting == -1 and len(open_) > 1:
            name, href, inside = open_.pop()
            shown = el(name, inside) if name else join(inside)
            open_[-1][2].append(join(shown, f" ({href})") if href else shown)
        elif token.nesting == 0:
            open_[-1][2].append(_leaf(token))
    return join(open_[0][2])


def _leaf(token: Token) -> Html:
    match token.type:
        case "inline":
            return _drawn(token.children or ())
        case "code_inline":
            return el("code", token.content)
        case "fence" | "code_block":
            return el("pre", el("code", token.content), tabindex=0)
        case "hardbreak" | "hr":
            return el(token.tag)
        case "softbreak":
            return join("\n")
        case _:
            return join(token.content)
