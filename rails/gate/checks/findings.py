"""From issues to findings: where each one is in the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from rails.core.text import line_column
from rails.core.tool_request import Json
from rails.core.verdict import Finding
from rails.n8n.issues import Issue, JsonPath, format_path, shown
from rails.n8n.json_file import Document, Unreadable
from rails.n8n.positions import Lines, Place, inside, locate, repeated_keys

TOOL: Final = "n8n"

_Span = tuple[int, int, int, int]


def at_offset(read: Unreadable, path: str) -> Finding:
    """Return the finding for a file that cannot be read."""
    return _finding(read.issue, path, (*line_column(read.text, read.offset), 0, 0))


def placed(read: Document, path: str, issues: Iterable[Issue]) -> Iterator[Finding]:
    """Yield a finding for each issue, and one for each key that its object already had.

    An issue about something that is not there is put on the first character of the nearest parent.
    """
    anchors = [(issue, _existing(read.value, issue.path)) for issue in issues]
    repeated = repeated_keys(read.text) if read.repeated_keys else []
    if not anchors and not repeated:
        return
    lines = Lines(read.text)
    wanted = {anchor for _, anchor in anchors if anchor}
    places = locate(read.text, wanted, unique=not read.repeated_keys)
    top = len(read.text) - len(read.text.lstrip())
    places[()] = Place(top, top + 1, top, top + 1)
    for issue, anchor in anchors:
        start, end = _span(read.text, places, issue, anchor)
        yield _finding(issue, path, (*lines.at(start), *lines.at(end)))
    for key_path, place in repeated:
        message = (
            f"The key {shown(key_path[-1])} occurs twice in one object: n8n keeps the last and drops what is before"
        )
        issue = Issue("N8N003", key_path, message, "Merge the two, or rename one.")
        yield _finding(issue, path, (*lines.at(place.start), *lines.at(place.end)))


def _existing(value: Json, path: JsonPath) -> JsonPath:
    """Return the longest start of ``path`` that is in the document."""
    for length, part in enumerate(path):
        if isinstance(value, dict):
            if not isinstance(part, str) or part not in value:
                return path[:length]
            value = value[part]
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return path[:length]
    return path


def _span(text: str, places: Mapping[JsonPath, Place], issue: Issue, anchor: JsonPath) -> tuple[int, int]:
    place = places.get(anchor, places[()])
    if anchor != issue.path:
        return place.start, place.start + 1
    if issue.start >= 0:
        return inside(text, place, issue.start), inside(text, place, max(issue.end, issue.start))
    return (place.key_start, place.key_end) if issue.on_key else (place.start, place.end)


def _finding(issue: Issue, path: str, span: _Span) -> Finding:
    code = f" ({issue.code})" if issue.code else ""
    return Finding(
        path=path,
        line=span[0],
        column=span[1],
        rule=issue.rule,
        message=f"{issue.message}{code}",
        tool=TOOL,
        severity=issue.severity,
        end_line=span[2],
        end_column=span[3],
        remedy=issue.remedy,
        json_path=format_path(issue.path),
    )
