"""Build the node catalogue from an n8n that the user has.

Sources: ``n8n export:nodes --output=nodes.json`` (with tool variants and community nodes); a ``dist/types/nodes.json``;
an npm package, unpacked or ``.tgz``; a folder of such. Only facts are kept, no prose: names, versions, types, flags,
defaults, visibility, option values, ports.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from rails.core import atomic_file
from rails.core.errors import UsageError
from rails.n8n.nodes import catalogue
from rails.n8n.nodes.packages import Package, packages_at


class CatalogueInfo(Struct, frozen=True):
    """The coverage of a catalogue: n8n's version, file, source, numbers of types and versions."""

    n8n: str
    file: str
    source: str
    types: int
    type_versions: int
    is_full: bool
    packages: tuple[str, ...]


def catalogue_info() -> CatalogueInfo:
    """Return which catalogue is in force."""
    found = catalogue.current()
    file = str(catalogue.cache_file()) if found.is_full else ""
    versions = sum(map(len, found.versions.values()))
    packages = tuple(sorted(found.packages))
    return CatalogueInfo(found.n8n, file, found.source, len(found.versions), versions, found.is_full, packages)


def build_catalogue(source: Path) -> CatalogueInfo:
    """Build the full catalogue into the user's cache. Raises UsageError if ``source`` describes no node."""
    compacted = compact(packages_with_nodes(source), str(source))
    data = json.dumps(compacted, separators=(",", ":"), ensure_ascii=False).encode()
    atomic_file.replace_file(catalogue.cache_file(), gzip.compress(data, mtime=0), durable=False)
    return catalogue_info()


def packages_with_nodes(source: Path) -> list[Package]:
    """Return a place's packages. Raises UsageError if none describes nodes."""
    packages = list(packages_at(source))
    if not any(package.nodes for package in packages):
        raise UsageError(
            f"No n8n node descriptions at {source}: give the output of `n8n export:nodes`, "
            "a folder with the npm packages n8n-nodes-base and @n8n/n8n-nodes-langchain, or their .tgz files."
        )
    return packages


# -- reducing to facts -----------------------------------------------------------------------------


def compact(packages: Iterable[Package], source: str) -> dict[str, Any]:
    """Reduce descriptions to the catalogue file's JSON."""
    interned = _Interned()
    types: dict[str, list[dict[str, Any]]] = {}
    tools: set[str] = set()
    names: set[str] = set()
    version = ""
    for package in packages:
        if package.name in {"", "n8n-nodes-base"} or not version:
            version = package.version or version
        for node in package.nodes:
            full = f"{package.name}.{node['name']}" if package.name else str(node["name"])
            names.add(full.rpartition(".")[0])
            types.setdefault(full, []).append(_group(node, interned))
            if node.get("usableAsTool"):
                tools.add(full)
    for full in tools:
        types.setdefault(f"{full}Tool", [_as_tool(group, interned) for group in types[full]])
    return {
        "format": catalogue.FORMAT,
        "n8n": version or "unknown",
        "source": source,
        "packages": sorted(names),
        "tools": sorted(tools),
        "types": types,
        "properties": interned.values,
    }


class _Interned:
    """Keeps equal properties once: two thirds repeat."""

    def __init__(self) -> None:
        self.values: list[Mapping[str, Any]] = []
        self._numbers: dict[str, int] = {}

    def number(self, value: Mapping[str, Any]) -> int:
        key = json.dumps(value, sort_keys=True, separators=(",", ":"))
        number = self._numbers.setdefault(key, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


def _group(node: Mapping[str, Any], interned: _Interned) -> dict[str, Any]:
    version = node.get("version", 1)
    group = {
        "versions": version if isinstance(version, list) else [version],
        "inputs": _ports(node.get("inputs")),
        "outputs": _ports(node.get("outputs")),
        "credentials": [
            {"name": item["name"], "required": bool(item.get("required")), "display": item.get("displayOptions")}
            for item in node.get("credentials") or ()
        ],
        "properties": [_property(item, interned) for item in node["properties"]],
    }
    flags = {
        "trigger": "trigger" in node.get("group", ()),
        "webhook": bool(node.get("webhooks")),
        "polling": bool(node.get("polling")),
        "default": node.get("defaultVersion"),
    }
    return group | {name: value for name, value in flags.items() if value}


def _ports(ports: Any) -> list[Any] | None:  # noqa: ANN401 - a description may hold anything here
    if not isinstance(ports, list):
        return None
    return [_port(port) for port in ports]


def _port(port: Any) -> Any:  # noqa: ANN401
    if not isinstance(port, dict):
        return str(port)
    listed = port.get("filter") or {}
    facts = {
        "required": bool(port.get("required")),
        "only": listed.get("nodes"),
        "never": listed.get("excludedNodes"),
    }
    return {"type": str(port.get("type"))} | {name: value for name, value in facts.items() if value}


_KEPT_OPTIONS: Final = ("multipleValues", "minRequiredFields")


def _property(raw: Mapping[str, Any], interned: _Interned) -> int:
    options = raw.get("typeOptions") or {}
    kept: dict[str, Any] = {
        "name": raw["name"],
        "type": raw.get("type", "string"),
        "default": raw.get("default"),
        "required": bool(raw.get("required")),
        "display": raw.get("displayOptions"),
        "validate": raw.get("validateType"),
        "dynamic": bool(options.get("loadOptionsMethod") or options.get("loadOptions")),
        "free": bool(raw.get("allowArbitraryValues")),
        "modes": _modes(raw.get("modes")),
        "mapper": (options.get("resourceMapper") or {}).get("mode"),
        **{name: options.get(name) for name in _KEPT_OPTIONS},
    }
    # A default may be false or empty; whether `multipleValues` is false or absent makes a difference to n8n.
    kept = {
        name: value
        for name, value in kept.items()
        if value is not None and (value or name in {"default", "multipleValues"})
    }
    return interned.number(kept | _children(raw, interned))


def _children(raw: Mapping[str, Any], interned: _Interned) -> dict[str, Any]:
    options = raw.get("options")
    if not isinstance(options, list):
        return {}
    if raw.get("type") == "collection":
        return {"children": [_property(item, interned) for item in options if "name" in item]}
    if raw.get("type") == "fixedCollection":
        return {
            "groups": {
                item["name"]: [_property(value, interned) for value in item.get("values", ())] for item in options
            }
        }
    return {"values": [item["value"] for item in options if isinstance(item, dict) and "value" in item]}


def _modes(modes: Any) -> dict[str, list[str]] | None:  # noqa: ANN401
    if not isinstance(modes, list):
        return None
    return {
        mode["name"]: [
            rule["properties"]["regex"] for rule in mode.get("validation") or () if rule.get("type") == "regex"
        ]
        for mode in modes
    }


def _as_tool(group: Mapping[str, Any], interned: _Interned) -> dict[str, Any]:
    names = [interned.values[number]["name"] for number in group["properties"]]
    added: list[int] = []
    if "toolDescription" not in names:
        text: dict[str, Any] = {"name": "toolDescription", "type": "string", "default": "-", "required": True}
        if "resource" in names or "operation" in names:
            kind = {"name": "descriptionType", "type": "options", "default": "auto", "values": ["auto", "manual"]}
            text["display"] = {"show": {"descriptionType": ["manual"]}}
            added = [interned.number(kind)]
        added.append(interned.number(text))
    made = {**group, "inputs": [], "outputs": ["ai_tool"], "properties": [*added, *group["properties"]]}
    return {name: value for name, value in made.items() if name not in {"trigger", "webhook", "polling"}}
