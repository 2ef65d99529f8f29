"""Every link of the pages leads somewhere: to a file of the repository, to a heading of it, or outside by https."""

import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from .pages import ROOT, pages


def slug(heading):
    """Return a heading's anchor, as GitHub and the site make it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors_of(path):
    tokens = MarkdownIt("commonmark").parse(path.read_text("utf-8"))
    return {slug(re.sub(r"[`*]", "", tokens[i + 1].content)) for i, t in enumerate(tokens) if t.type == "heading_open"}


def links_of(path):
    for token in MarkdownIt("commonmark").parse(path.read_text("utf-8")):
        for child in token.children or []:
            address = child.attrGet("href") or child.attrGet("src")
            if address:
                yield address


@pytest.mark.parametrize("path", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_every_link_leads_somewhere(path):
    for address in links_of(path):
        if address.startswith("https://"):
            continue
        assert not re.match(r"\w+:", address), f"{path.name}: {address}"
        name, _, anchor = address.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), f"{path.name}: {address} is not there"
        inside = ROOT / "docs" if path.is_relative_to(ROOT / "docs") else ROOT
        assert target.is_relative_to(inside), f"{path.name}: {address} is no page of the site"
        if anchor:
            assert anchor in anchors_of(target), f"{path.name}: {address}: there is no such heading"


def test_every_page_is_in_the_site_s_table():
    table = (ROOT / ".mkdocs.yml").read_text("utf-8")
    listed = set(re.findall(r"([\w/-]+\.md)", table))
    assert listed == {str(path.relative_to(ROOT / "docs")) for path in Path(ROOT / "docs").rglob("*.md")}
