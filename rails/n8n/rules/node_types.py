"""Types and versions: known, misspelt, gone, or community's (not judged)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from rails.core.similarity import most_alike
from rails.n8n.facts import FACTS
from rails.n8n.model import Issue, Names, Node, Workflow, issue, listed, shown_value
from rails.n8n.nodes.catalogue import Catalogue

#: What n8n loads: community packages must be named so; ``CUSTOM`` are a user's own files.
_COMMUNITY: Final = re.compile(r"(?:@[^/]+/)?n8n-nodes-.+|CUSTOM")

#: Old node types, and what n8n says to use.
_REPLACED: Final[Mapping[str, str]] = FACTS["replaced_types"]
#: Installed, but switched off unless the operator allows them (n8n's ``NODES_EXCLUDE`` default).
_EXCLUDED: Final = frozenset({"n8n-nodes-base.executeCommand", "n8n-nodes-base.localFileTrigger"})


def check(workflow: Workflow, catalogue: Catalogue) -> Iterator[Issue]:
    """Yield the issues of enabled nodes' types and versions."""
    for node in workflow.nodes:
        versions = catalogue.known_versions(node.type)
        if versions is not None:
            yield from _known(node, versions, catalogue)
        elif not node.disabled:
            yield _unknown(node, catalogue)
        if node.version is None and "typeVersion" not in node.raw and not node.is_sticky:
            newest = f"; the newest is {versions[-1]:g}" if versions else ""
            yield issue("N8N043", node.path, node=node, newest=newest)


def _known(node: Node, versions: tuple[float, ...], catalogue: Catalogue) -> Iterator[Issue]:
    path = (*node.path, "type")
    if node.version is not None and node.version not in versions and not node.disabled:
        yield issue(
            "N8N041",
            (*node.path, "typeVersion"),
            node=node,
            catalogue=catalogue,
            listed=listed((f"{version:g}" for version in versions), 20),
        )
    if node.type in _REPLACED:
        yield issue("N8N044", path, node=node, value=_REPLACED[node.type])
    if node.type in _EXCLUDED and not node.disabled:
        yield issue("N8N045", path, node=node)


def _unknown(node: Node, catalogue: Catalogue) -> Issue:
    path = (*node.path, "type")
    package, _, short = node.type.rpartition(".")
    if node.type in _REPLACED:
        message = f"{node.title}: n8n {catalogue.n8n} no longer has the type {shown_value(node.type)}"
        return Issue("N8N040", path, message, f"Use {_REPLACED[node.type]}.")
    if package not in catalogue.packages and _COMMUNITY.fullmatch(package) and not _means_core(package):
        message = f"{node.title} is of the community package {shown_value(package)}: its parameters are not checked"
        return Issue("N8N042", path, message, "Check that the n8n it goes to has this package installed.", "info")
    message = f"{node.title}: n8n {catalogue.n8n} has no node type {shown_value(node.type)}"
    right = _short_names(catalogue).get(short.casefold())
    if right is not None:
        return Issue("N8N040", path, message, f"Did you mean {shown_value(right)}?")
    own = package if package in catalogue.packages else ""
    nearest = Names(_same_package(catalogue, own)).nearest(node.type)
    remedy = f"Did you mean {shown_value(nearest)}?" if nearest else "Look the type up in n8n's list of nodes."
    return Issue("N8N040", path, message, remedy)


def _means_core(package: str) -> bool:
    return most_alike(package, ("n8n-nodes-base", "n8n-nodes-langchain"), least=0.92) is not None


@cache
def _same_package(catalogue: Catalogue, package: str) -> tuple[str, ...]:
    names = tuple(name for name in catalogue.versions if name.rpartition(".")[0] == package)
    return names or tuple(catalogue.versions)


@cache
def _short_names(catalogue: Catalogue) -> Mapping[str, str]:
    return {name.rpartition(".")[2].casefold(): name for name in sorted(catalogue.versions, reverse=True)}
