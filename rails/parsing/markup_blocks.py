"""Blocks of markup languages other than fences and tags: what stands in one is shown, and so is never run.

    directives     ``::: note`` … ``:::`` (Docusaurus, Pandoc); ``!!! note``, ``??? note`` and ``.. note::`` with what
                   is indented below them (MkDocs, reStructuredText)
    LaTeX          ``\\begin{verbatim}`` … ``\\end{verbatim}``, ``\\[`` … ``\\]``, ``$$`` … ``$$``
    tags           ``[quote]`` … ``[/quote]`` and ``{quote}``, in any brackets; those between back-ticks, in comments
    templates      ``{% raw %}`` … ``{% endraw %}``, ``{{#each}}`` … ``{{/each}}``, ``{{< note >}}`` …
    comments       ``/* … */``, ``{# … #}``, ``{{! … }}``, ``<%-- … --%>``, ``(* … *)``, ``--[[ … ]]``, ``=begin``
    strings        three quotation marks, alone or behind the name that they are assigned to
    rulers         ``--- BEGIN EXAMPLE ---`` … ``--- END EXAMPLE ---``, ``--8<--`` … ``--8<--``, ``#+begin_src``
    here-documents ``cat > notes.md <<'EOF'`` … ``EOF``

Each begins on a line of its own, behind the marks of a list at most, and counts only where it is closed.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.parsing.quoted import COMMENT, INDENTED, OPEN, Container, find_mark, has_mark

#: What a line begins with, behind blanks and the marks of a list, on which such a block could open.
OPENINGS: Final = (
    r"`</?[A-Za-z]|<(?:!--|%|[|｜]?\w{0,40}(?i:begin|start)|<<[ \t]*\r?\n)|:::|\$\$|\\(?:\[|begin\{)"
    r"|[\[{(«‹⟨《【『]{1,3}[ \t]*\w|\{(?:[%{#]|/\*)"
    r"|/\*|\(\*|=begin\b|#(?:[+|]|if |region)|//[ \t]*#|!!![ \t]|\?\?\?|\.\.[ \t]\w|@start|>>>|%%|\|\|"
    r"|[-=]{2,40}[ \t]*[A-Za-z8>\[✂%]|[#*~_+/(\[]{1,40}[ \t]*(?:\w{1,40}[ _-])?(?:BEGIN|START|[Bb]egin|[Ss]tart)\b"
)
_OPENING: Final = lazy(rf"([ \t\ufeff]*(?:(?:[-*+]|\d{{1,9}}[.)])[ \t]+){{0,4}})(?:{OPENINGS})")
_EOL: Final = r"[ \t]*\r?(?:\n|\Z)"
#: A here-document (POSIX shell, 2.7.4), at the end of a line.
_HERE: Final = lazy(
    r"<<<?[-~]?[ \t]?(?:'(\w{1,40})'|\"(\w{1,40})\"|\\?([A-Z][A-Z0-9_]{0,40}))(?:[ \t]*[>|&;)][^\n]*)?" + _EOL
)
_QUOTES: Final = ('"' * 3, "'" * 3)
_OF: Final = r"(?:[ \t_-]?OF\b|[ \t_-]of_)?[ \t_:.-]*"
_TITLED: Final = lazy(r"(?:!!!|\?\?\?\+?)[ \t]+[\w\"]|\.\.[ \t]+[\w:.-]{1,60}::")

#: A block's name, what opens it, and what closes it: ``NAME`` stands for what the first group of the opening holds,
#: and a pattern with a group finds openings, too, without the group.
_FORMS: Final = (
    ("a block between :::", r":::+(?=[^\S\n]*[\w{.])", rf"^[ \t]*(?:(:::+)(?={_EOL})|:::+)"),
    ("<NAME>", rf"`<([A-Za-z][\w:-]{{0,40}})[^<>`\n]{{0,200}}>`(?={_EOL})", r"`<(/)?NAME[^<>`\n]*>`"),
    ("a LaTeX environment", r"\\begin\{([\w*-]{1,40})\}", r"\\(?:(end)|begin)\{NAME\}"),
    ("a formula", r"\$\$(?![^\n]*\$\$)", r"\$\$"),
    ("a formula", r"\\\[(?![^\n]*\\\])", r"\\\]"),
    ("a template", r"\{%[-+]?[ \t]*([A-Za-z]\w{0,40})\b(?![^\n]*%\}[^\n]*\{%)", r"\{%[-+]?[ \t]*(end_?)?NAME\b"),
    (
        "a template",
        r"\{\{[#<%][ \t]*([A-Za-z][\w-]{0,40})(?![^\n]*\}\}[^\n]*\{\{)",
        r"\{\{[#<%]?[ \t]*(/)?[ \t]*NAME\b",
    ),
    *(
        ("a comment", rf"{start}(?![^\n]*{end})", end)
        for start, end in (
            (r"\{?/\*", r"\*/"),
            (r"\{#", r"#\}"),
            (r"\{\{!", r"\}\}"),
            (r"<%", r"%>"),
            (r"\(\*", r"\*\)"),
            (r"--\[\[", r"\]\]"),
            (r"#\|", r"\|#"),
            (r"=begin\b", r"^=end\b"),
        )
    ),
    ("an Org block", r"#\+begin_(\w{1,40})", r"#\+(?:(end)|begin)_NAME\b"),
    ("a PlantUML diagram", r"@start(\w{1,20})", r"@end(?:NAME)"),
    ("code that is left out", r"#[ \t]*if[ \t]+(?:0|false)\b", r"^[ \t]*#[ \t]*endif\b"),
    ("a region", r"(?://[ \t]*)?#region\b", r"#endregion\b"),
    *(
        ("a quotation", rf"{mark}(?={_EOL})", rf"^[ \t]*{end}(?={_EOL})")
        for mark, end in ((r">>>", r">>>"), (r"<<<", r">>>"), (r"%%", r"%%"), (r"\|\|", r"\|\|"))
    ),
    ("a quotation", r"\{\{[A-Za-z][\w ]{0,40}\|(?![^\n]*\}\})", r"\}\}"),
    ("a cutting", r"[-=]{2,40}[ \t]*(?:8<|>8|%<|>%|✂)", r"(?:8<|>8|%<|>%|✂)"),
    *(
        ("a marked block", rf"{opening}[^\w\n]{{0,40}}{_EOL}", rf"^[^\w\n]{{1,40}}{end}(?![^\W_])")
        for opening, end in (
            (rf"[^\w\n]{{1,40}}(?:BEGIN|START){_OF}(\w[^\n]{{0,60}}?)", rf"(?:END|STOP){_OF}NAME"),
            (r"[^\w\n]{1,40}(\w[^\n]{0,60}?)[ \t_:.-]+(?:BEGIN|START)S?", r"NAME[ \t_:.-]+(?:END|STOP)S?"),
            (r"[-=]{3,40}[ \t]*(\w[^\n]{0,60}?)(?=[ \t]*[-=]{3})", rf"(?:END|/){_OF}NAME"),
        )
    ),
    (
        "a block between comments",
        rf"<!--[ \t]*(?:begin|start)\b[^\n]{{0,80}}-->(?={_EOL})",
        r"<!--[ \t]*(?:end|stop)\b",
    ),
    ("a block of Jira", rf"\{{(code|noformat|quote|panel)(?::[^}}\n]{{0,200}})?\}}(?={_EOL})", r"\{NAME\}"),
    (
        "[NAME]",
        rf"(?:[\[{{(«‹⟨《【『]{{1,3}}|<!--)[ \t]*#?([A-Za-z][\w-]{{1,40}})"
        rf"(?:(?:[=:]|[ \t]+[\w-]+=)[^\n\[\]{{}}()<>]{{0,200}})?"
        rf"[ \t]*(?:[\]}})»›⟩》】』]{{1,3}}|-->)(?={_EOL})",
        r"(?:[\[{(«‹⟨《【『]|<!--)[ \t]*#?(?=(/|end[ _-]?NAME\b|NAME[ \t:_-]+end\b)?)(?:/[ \t]*|end[ _-]?)?NAME\b",
    ),
)
_OPENERS: Final = tuple(lazy(opening, re.IGNORECASE) for _, opening, _ in _FORMS)


def find_markup(line: str, ours: Collection[str]) -> Container | None:
    """Return the block that this line, its opening, begins. ``ours`` are the names of tags that are read."""
    opening = _OPENING.match(line)
    if opening is None or (line[opening.end(1)] != "`" and _is_marked(line, ours)):
        return None
    start = opening.end(1)
    if _TITLED.match(line, start):
        indent = len(line) - len(line.lstrip(" \t\ufeff"))
        return Container(
            "quote", INDENTED, 0, len(line), lines=re.compile(rf"[ \t]{{{indent + 1},}}\S|[ \t]*\r?(?:\n|\Z)")
        )
    for (label, _, closing), opener in zip(_FORMS, _OPENERS, strict=True):
        if found := opener.match(line, start):
            name = found[1] if found.re.groups else ""
            if name.lower() in OPEN or name in ours:
                return None
            end = re.compile(closing.replace("NAME", re.escape(name)), re.M | re.IGNORECASE)
            return Container("element", label.replace("NAME", name), 0, len(line), end, word=name)
    return None


def _is_marked(line: str, ours: Collection[str]) -> bool:
    """Return whether a container of another kind begins or ends on this line, other than a comment that it closes."""
    mark = find_mark(line, ours) if has_mark(line) >= 0 else None
    return mark is not None and not (mark.label == COMMENT and "-->" in line)


def find_open_end(line: str) -> Container | None:
    """Return the here-document, or the string between three quotation marks, that goes on behind this line."""
    for quotes in _QUOTES:
        if line.count(quotes) % 2:
            return Container("element", "a string", line.rfind(quotes), len(line), re.compile(quotes), quotes)
    found = _HERE.search(line)
    if found is None:
        return None
    word = found[1] or found[2] or found[3]
    end = re.compile(rf"^[ \t]*(?:>>>)?{word}(?:>>>)?(?![^\n]*\w)[^\n]*$", re.M)
    return Container("element", "a here-document", found.start(), len(line), end, word, word=word)
