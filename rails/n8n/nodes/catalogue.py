"""n8n's knowledge of its nodes: types, versions, ports, credentials, parameters.

Names, versions and ports ship. The rest is built from the user's n8n (``catalogue_build``) into the cache: its licence
forbids us to hand it on.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

#: Counted up when the shape of the file changes; another number means: build it again.
FORMAT: Final = 1
#: The packages whose list of types is closed. Everything else is a community node and not judged.
CORE_PACKAGES: Final = ("n8n-nodes-base", "@n8n/n8n-nodes-langchain")

_NAMES_FILE: Final = Path(__file__).with_name("names.json")
_FILE_NAME: Final = "catalogue.json.gz"
#: The catalogue of all of n8n is 4 MB as JSON; this stops a wrong or hostile file.
_MAX_BYTES: Final = 100_000_000


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output; ``filter``: the only connectable types, if any."""

    type: str
    required: bool = False
    only: tuple[str, ...] = ()
    never: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Credential:
    """A node's credential; ``display``: ``displayOptions``, ``None`` for always."""

    name: str
    required: bool
    display: Mapping[str, Any] | None


@dataclass(frozen=True, eq=False)
class Description:
    """A node type at some versions. Ports: ``None`` if code computes them. ``is_full``: parameters and credentials are
    known.
    """

    type: str
    versions: tuple[float, ...]
    inputs: tuple[Port, ...] | None
    outputs: tuple[Port, ...] | None
    credentials: tuple[Credential, ...]
    properties: tuple[Mapping[str, Any], ...]
    is_trigger: bool = False
    has_webhook: bool = False
    is_full: bool = True


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Types and versions; descriptions if full. ``tools``: types that exist as ``…Tool`` too."""

    n8n: str
    versions: Mapping[str, tuple[float, ...]]
    tools: frozenset[str]
    source: str = ""
    packages: frozenset[str] = frozenset(CORE_PACKAGES)
    _ports: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    _groups: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict, repr=False)
    _properties: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    _expanded: dict[int, Mapping[str, Any]] = field(default_factory=dict, init=False, repr=False)

    @property
    def is_full(self) -> bool:
        """Whether more than names is known."""
        return bool(self._groups)

    def known_versions(self, node_type: str) -> tuple[float, ...] | None:
        """Return a type's versions, also of tools; ``None``: unknown."""
        found = self.versions.get(node_type)
        if found is None:
            base = base_of_tool(node_type)
            found = self.versions.get(base) if base in self.tools else None
        return found

    def describe(self, node_type: str, version: float | None) -> Description | None:
        """Return a type at a version (``None``: n8n's choice)."""
        groups = self._groups.get(node_type)
        if not groups:
            return None if self.is_full else self._ports_only(node_type, version)
        if version is None:
            version = groups[0].get("default") or max(max(group["versions"]) for group in groups)
        for index, group in enumerate(groups):
            if version in group["versions"]:
                return _described(self, node_type, index)
        return None

    def _ports_only(self, node_type: str, version: float | None) -> Description | None:
        versions = self.known_versions(node_type)
        if versions is None or (version is not None and version not in versions):
            return None
        if node_type not in self.versions:
            return Description(node_type, versions, (), (Port("ai_tool"),), (), (), is_full=False)
        wanted = f"{versions[-1] if version is None else version:g}"
        found = self._ports.get(node_type, {})
        inputs, _, outputs = found.get(wanted, found.get("*", "main>main")).partition(">")
        return Description(node_type, versions, _written_ports(inputs), _written_ports(outputs), (), (), is_full=False)

    def property(self, number: int) -> Mapping[str, Any]:
        """Return a property with its children; equal ones once."""
        made = self._expanded.get(number)
        if made is None:
            raw = dict(self._properties[number])
            if "children" in raw:
                raw["children"] = list(map(self.property, raw["children"]))
            for name, children in raw.get("groups", {}).items():
                raw["groups"] = {**raw["groups"], name: list(map(self.property, children))}
            made = self._expanded[number] = raw
        return made


@cache
def _described(catalogue: Catalogue, node_type: str, index: int) -> Description:
    group = catalogue._groups[node_type][index]
    return Description(
        type=node_type,
        versions=tuple(group["versions"]),
        inputs=read_ports(group["inputs"]),
        outputs=read_ports(group["outputs"]),
        credentials=tuple(Credential(c["name"], c["required"], c["display"]) for c in group["credentials"]),
        properties=tuple(map(catalogue.property, group["properties"])),
        is_trigger=bool(group.get("trigger") or group.get("polling")),
        has_webhook=bool(group.get("webhook")),
    )


def read_ports(raw: Iterable[Any] | None) -> tuple[Port, ...] | None:
    """Return a catalogue file's ports; ``None`` where computed."""
    return None if raw is None else tuple(map(read_port, raw))


def read_port(raw: str | Mapping[str, Any]) -> Port:
    """Return a port from its type or object."""
    if isinstance(raw, str):
        return Port(raw)
    only, never = (tuple(raw.get(name, ())) for name in ("only", "never"))
    return Port(raw["type"], bool(raw.get("required")), only, never)


def _written_ports(written: str) -> tuple[Port, ...] | None:
    """Read "main,ai_memory,ai_languageModel!"; "?" is unknown."""
    if written == "?":
        return None
    return tuple(Port(kind.removesuffix("!"), kind.endswith("!")) for kind in written.split(",") if kind)


def base_of_tool(node_type: str) -> str:
    """Return a tool variant's type (``…Tool``, ``…HitlTool``), or ""."""
    for ending in ("HitlTool", "Tool"):
        if node_type.endswith(ending):
            return node_type.removesuffix(ending)
    return ""


def cache_file() -> Path:
    """Return the user's catalogue file, or ``AI_RAILS_N8N_CATALOGUE``."""
    import platformdirs

    named = os.environ.get("AI_RAILS_N8N_CATALOGUE")
    return Path(named) if named else platformdirs.user_cache_path("ai-rails", appauthor=False) / "n8n" / _FILE_NAME


def current() -> Catalogue:
    """Return the user's catalogue if readable, else the shipped."""
    file = cache_file()
    try:
        stat = file.stat()
    except OSError:
        return names_only()
    return _cached(file, stat.st_mtime_ns, stat.st_size) or names_only()


@cache
def names_only() -> Catalogue:
    """Return the shipped types, versions and ports."""
    raw = json.loads(_NAMES_FILE.read_text(encoding="utf-8"))
    versions = {
        f"{package}.{name}": tuple(float(version) for version in numbers)
        for package, types in raw["types"].items()
        for name, numbers in types.items()
    }
    return Catalogue(raw["n8n"], versions, frozenset(raw["tools"]), source="names only", _ports=raw["ports"])


@cache
def _cached(file: Path, _changed: int, _size: int) -> Catalogue | None:
    return load_catalogue(file)


def load_catalogue(file: Path) -> Catalogue | None:
    """Read a catalogue; ``None`` if damaged or of another format."""
    try:
        with gzip.open(file) as stream:
            raw = json.loads(stream.read(_MAX_BYTES))
        return catalogue_from_json(raw) if raw["format"] == FORMAT else None
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, RecursionError):
        return None


def catalogue_from_json(raw: Mapping[str, Any]) -> Catalogue:
    """Return the catalogue of ``catalogue_build.compact``'s JSON."""
    versions = {
        node_type: tuple(sorted(float(version) for group in groups for version in group["versions"]))
        for node_type, groups in raw["types"].items()
    }
    return Catalogue(
        raw["n8n"],
        versions,
        frozenset(raw["tools"]),
        raw["source"],
        frozenset(raw["packages"]),
        _groups=raw["types"],
        _properties=raw["properties"],
    )
