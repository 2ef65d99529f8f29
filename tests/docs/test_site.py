"""The pages as a site: generated pages are current, it builds without a network, and no page asks another host."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .pages import ROOT


def test_the_generated_pages_are_as_the_program_says():
    done = subprocess.run(
        [sys.executable, ROOT / "docs/generate.py", "--check"], check=False, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    shutil.copy(ROOT / ".mkdocs.yml", folder)
    program = Path(sys.executable).with_name("zensical")
    done = subprocess.run(
        [program, "build", "-f", ".mkdocs.yml"], cwd=folder, check=False, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No issues found" in done.stdout + done.stderr
    return folder / "build/site"


def test_every_page_is_built(site):
    built = {path.stem for path in site.glob("*.html")}
    assert {path.stem for path in (ROOT / "docs").glob("*.md")} <= built


def test_no_page_loads_anything_from_elsewhere(site):
    loads = re.compile(r"""<(?:script|link|img|iframe)[^>]*?(?:src|href)=["']?((?:https?:)?//[^"' >]+)""")
    addresses = {
        address
        for path in site.rglob("*.html")
        for address in loads.findall(path.read_text("utf-8"))
        if "canonical" not in address
    }
    assert addresses == set()
    styles = "".join(path.read_text("utf-8", "replace") for path in site.rglob("*.css"))
    assert re.findall(r"""(?:@import|url\()\s*["']?(?:https?:)?//[^)"']+""", styles) == []
