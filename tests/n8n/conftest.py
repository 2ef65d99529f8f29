"""Lets the tests of this folder import their shared workflows by name, and keeps the user's catalogue out."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def no_catalogue_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("AI_RAILS_N8N_CATALOGUE", str(tmp_path / "none" / "catalogue.json.gz"))


@pytest.fixture
def package(tmp_path):
    """A folder that holds a package of nodes in the form of n8n's, with descriptions of our own."""
    import n8n_nodes

    folder = tmp_path / "node_modules" / "n8n-nodes-base"
    (folder / "dist" / "types").mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({"name": "n8n-nodes-base", "version": "9.8.7"}))
    (folder / "dist" / "types" / "nodes.json").write_text(json.dumps(n8n_nodes.NODES))
    return tmp_path


@pytest.fixture
def catalogue(package):
    """The user's catalogue, built from that package."""
    from rails.n8n.nodes.build import build_catalogue

    return build_catalogue(package)
