"""The catalogue: what ships, how the full one is built, and what is done with a bad one."""

import gzip
import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import n8n_nodes
import pytest

from rails.core.errors import UsageError
from rails.n8n.nodes import catalogue
from rails.n8n.nodes.build import build_catalogue, catalogue_info


def test_without_one_the_list_of_names_and_versions_is_used():
    info = catalogue_info()
    assert (info.is_full, info.file) == (False, "")
    assert info.types > 500
    assert catalogue.current().known_versions("n8n-nodes-base.if") == (1.0, 2.0, 2.1, 2.2, 2.3)


def test_it_is_built_from_any_folder_that_holds_the_packages(package):
    info = build_catalogue(package)
    assert info == catalogue_info()
    assert (info.n8n, info.is_full, info.packages) == ("9.8.7", True, ("n8n-nodes-base",))
    assert catalogue.current().known_versions("n8n-nodes-base.post") == (1.0, 2.0, 2.1)


def test_it_is_built_from_a_packed_package(package, tmp_path):
    archive = tmp_path / "n8n-nodes-base-9.8.7.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(tmp_path / "node_modules" / "n8n-nodes-base", "package")
    assert build_catalogue(archive).n8n == "9.8.7"


def test_it_is_built_from_what_n8n_exports(tmp_path):
    nodes = [{**node, "name": f"n8n-nodes-base.{node['name']}"} for node in n8n_nodes.NODES]
    nodes.append({**n8n_nodes.NODES[3], "name": "n8n-nodes-mine.thing"})
    file = tmp_path / "nodes.json"
    file.write_text(json.dumps(nodes))
    assert build_catalogue(file).packages == ("n8n-nodes-base", "n8n-nodes-mine")
    assert catalogue.current().known_versions("n8n-nodes-mine.thing") == (1.0,)


def test_a_node_that_an_agent_can_use_exists_as_a_tool_too(catalogue_of_ours):
    tool = catalogue_of_ours.describe("n8n-nodes-base.postTool", 2)
    assert [port.type for port in tool.outputs] == ["ai_tool"]
    assert tool.inputs == ()
    assert catalogue_of_ours.known_versions("n8n-nodes-base.setTool") is None


@pytest.fixture
def catalogue_of_ours(catalogue):
    from rails.n8n.nodes.catalogue import current

    return current()


def test_each_version_has_its_own_description_and_a_missing_one_means_the_default(catalogue_of_ours):
    assert catalogue_of_ours.describe("n8n-nodes-base.post", 2.1).versions == (2, 2.1)
    assert catalogue_of_ours.describe("n8n-nodes-base.post", 1).versions == (1,)
    assert catalogue_of_ours.describe("n8n-nodes-base.set", None).versions == (1,)
    assert catalogue_of_ours.describe("n8n-nodes-base.post", 7) is None


@pytest.mark.parametrize("content", [b"", b"[]", b"nothing", b'[{"name": "x"}]'])
def test_a_source_without_descriptions_is_refused(tmp_path, content):
    file = tmp_path / "nodes.json"
    file.write_bytes(content)
    with pytest.raises(UsageError):
        build_catalogue(file)
    with pytest.raises(UsageError):
        build_catalogue(tmp_path)
    broken = tmp_path / "p.tgz"
    broken.write_bytes(content)
    with pytest.raises(UsageError):
        build_catalogue(broken)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not gzip",
        gzip.compress(b"{", mtime=0),
        gzip.compress(b"[]", mtime=0),
        gzip.compress(b'{"format": 0}', mtime=0),
        gzip.compress(b"[" * 100_000, mtime=0),
    ],
)
def test_a_damaged_catalogue_is_not_used(tmp_path, monkeypatch, data):
    file = tmp_path / "catalogue.json.gz"
    file.write_bytes(data)
    monkeypatch.setenv("AI_RAILS_N8N_CATALOGUE", str(file))
    assert not catalogue_info().is_full


def test_prose_is_not_kept(package):
    nodes = json.loads((package / "node_modules/n8n-nodes-base/dist/types/nodes.json").read_text())
    nodes[0]["properties"][0]["description"] = nodes[0]["description"] = "a sentence of theirs"
    (package / "node_modules/n8n-nodes-base/dist/types/nodes.json").write_text(json.dumps(nodes))
    build_catalogue(package)
    with gzip.open(io.BytesIO(catalogue.cache_file().read_bytes())) as stream:
        assert b"sentence" not in stream.read()


NAMES = Path(catalogue.__file__).with_name("names.json")


def test_the_names_that_ship_are_rebuilt_from_packages(package):
    script = Path(__file__).parents[1] / "benchmarks" / "n8n_names.py"
    ran = subprocess.run([sys.executable, script, str(package)], capture_output=True, text=True, check=True, timeout=60)
    made = json.loads(ran.stdout)
    assert list(made) == list(json.loads(NAMES.read_text("utf-8")))
    assert made["n8n"] == "9.8"
    assert made["types"]["n8n-nodes-base"]["post"] == [1, 2, 2.1]
    assert "postTool" not in made["types"]["n8n-nodes-base"]
    assert made["tools"] == ["n8n-nodes-base.post"]
