"""The plug-in: the only module of this package that others import, namely the gate's kind and the verb of n8n."""

from __future__ import annotations

from rails.core.plugins import KindPlugin
from rails.n8n.check import check_workflow, unjudged, version
from rails.n8n.draw.picture import stylesheet, svg
from rails.n8n.formatting import canonical, tidied
from rails.n8n.info.describe import answer
from rails.n8n.json_file import WorkflowFile, read_workflow_file
from rails.n8n.nodes.build import build_catalogue, catalogue_info
from rails.n8n.nodes.catalogue import current as current_catalogue
from rails.n8n.recognise import looks_like_workflow
from rails.n8n.rules.all_rules import RULES
from rails.n8n.rules.destination import PROFILES
from rails.n8n.rules.project import Surroundings, WorkflowFacts, facts_in
from rails.n8n.summary import workflow_summary
from rails.n8n.whole_file import workflow_edit

__all__ = [
    "PLUGIN", "PROFILES", "RULES", "Surroundings", "WorkflowFacts", "WorkflowFile", "build_catalogue", "canonical",
    "catalogue_info", "check_workflow", "current_catalogue", "facts_in", "looks_like_workflow", "read_workflow_file",
    "svg", "tidied", "unjudged", "version", "workflow_summary",
]  # fmt: skip

PLUGIN = KindPlugin(edit=workflow_edit, answer=answer, picture=svg, style=stylesheet)
