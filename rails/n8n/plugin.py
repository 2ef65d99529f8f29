"""The plug-in, all that others import: the gate's kind, n8n's verb."""

from __future__ import annotations

from rails.core.change_summary import ChangeSummary
from rails.core.errors import FAULT
from rails.core.plugins import KindPlugin
from rails.core.text import one_line
from rails.core.verdict import Fixed
from rails.n8n.check import check_workflow, unjudged, version
from rails.n8n.draw.picture import stylesheet, svg
from rails.n8n.facts import RULES
from rails.n8n.formatting import canonical, tidied
from rails.n8n.info.describe import answer
from rails.n8n.nodes.build import build_catalogue, catalogue_info
from rails.n8n.nodes.catalogue import current as current_catalogue
from rails.n8n.recognise import looks_like_workflow
from rails.n8n.rules.destination import PROFILES
from rails.n8n.summary import workflow_summary
from rails.n8n.whole_file import workflow_edit

__all__ = [
    "PLUGIN",
    "PROFILES",
    "RULES",
    "build_catalogue",
    "catalogue_info",
    "check_workflow",
    "looks_like_workflow",
    "svg",
    "tidied_change",
    "unjudged",
    "version",
    "workflow_outline",
    "workflow_summary",
]  # fmt: skip

PLUGIN = KindPlugin(edit=workflow_edit, answer=answer, picture=svg, style=stylesheet)


def tidied_change(before: bytes | None, after: bytes, path: str) -> tuple[bytes, tuple[Fixed, ...]]:
    """Return a workflow repaired, completed, in n8n's form, and what was done.

    A file of another form keeps it: small edits must stay small.
    """
    if before is not None and canonical(before) != before:
        return after, ()
    return tidied(after, path, current_catalogue())


def workflow_outline(before: bytes | None, after: bytes | None, path: str) -> ChangeSummary | None:
    """Return a change's outline, or why none; None if neither side is a workflow."""
    try:
        return workflow_summary(before, after, path)
    except FAULT as error:  # what only helps to read must not keep the verdict from anybody
        words = f"no outline could be made: {type(error).__name__}: {one_line(str(error))}"
        return ChangeSummary(path, words, ())
