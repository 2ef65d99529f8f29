"""With n8n's own descriptions: the minimal node of every type and version passes our check.

``AI_RAILS_N8N_PACKAGES`` names a folder with the npm packages n8n-nodes-base and @n8n/n8n-nodes-langchain (or .tgz).
"""

import json
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "n8n"))

from n8n_workflows import minimal_workflow

from rails.gate.checks.n8n import check_workflow
from rails.n8n.nodes import catalogue
from rails.n8n.nodes.build import build_catalogue

PACKAGES = os.environ.get("AI_RAILS_N8N_PACKAGES", "")


@pytest.mark.skipif(not PACKAGES, reason="AI_RAILS_N8N_PACKAGES names no folder with n8n's packages")
def test_the_minimal_node_of_every_type_and_version_of_n8n_passes(tmp_path, monkeypatch):
    monkeypatch.setenv("AI_RAILS_N8N_CATALOGUE", str(tmp_path / "catalogue.json.gz"))
    assert build_catalogue(Path(PACKAGES)).type_versions > 1_300
    known = catalogue.current()
    faulty = {}
    for node_type, versions in known.versions.items():
        for version in versions:
            data = json.dumps(minimal_workflow(node_type, version, known)).encode()
            errors = [one.message for one in check_workflow(data, "f.json", known=known) if one.severity == "error"]
            faulty |= {(node_type, version): errors} if errors else {}
    assert faulty == {}
