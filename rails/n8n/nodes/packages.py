"""The node descriptions of npm packages: folder, archive or JSON file."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from rails.core.errors import UsageError

_NODES_FILE: Final = "dist/types/nodes.json"
_MAX_BYTES: Final = 200_000_000


class Package(Struct, frozen=True):
    """An npm package's descriptions; ``name`` is "" if they have full names."""

    name: str
    version: str
    nodes: Sequence[Mapping[str, Any]]


def packages_at(source: Path) -> Iterator[Package]:
    """Yield the packages at a folder, archive or JSON file. Raises UsageError otherwise."""
    if source.is_dir():
        yield from _in_folder(source)
    elif source.suffix in {".tgz", ".gz"}:
        yield from _in_archive(source)
    elif source.is_file():
        yield _from_file(source)


def _in_folder(folder: Path) -> Iterator[Package]:
    seen: set[str] = set()
    archived = (package for archive in sorted(folder.glob("*.tgz")) for package in _in_archive(archive))
    for package in chain(map(_from_file, sorted(folder.rglob(_NODES_FILE))), archived):
        if package.name not in seen:
            seen.add(package.name)
            yield package


def _from_file(file: Path) -> Package:
    nodes = _parsed(file.read_bytes(), str(file))
    manifest = file.parent.parent.parent / "package.json"
    described = _manifest(manifest.read_bytes()) if file.match(f"*/{_NODES_FILE}") and manifest.is_file() else ("", "")
    return Package(*described, nodes)


def _in_archive(archive: Path) -> Iterator[Package]:
    try:
        with tarfile.open(archive) as tar:
            texts = [_member(tar, f"package/{name}") for name in ("package.json", _NODES_FILE)]
    except (OSError, tarfile.TarError) as error:
        raise UsageError(f"{archive} cannot be read as an npm package: {error}") from error
    if texts[1] is not None:
        yield Package(*_manifest(texts[0] or b"{}"), _parsed(texts[1], str(archive)))


def _member(tar: tarfile.TarFile, name: str) -> bytes | None:
    try:
        stream = tar.extractfile(name)
    except KeyError:
        return None
    return stream.read(_MAX_BYTES) if stream else None


def _manifest(data: bytes) -> tuple[str, str]:
    try:
        manifest = json.loads(data)
        return str(manifest.get("name", "")), str(manifest.get("version", ""))
    except (ValueError, AttributeError):
        return "", ""


def _parsed(data: bytes, where: str) -> list[Mapping[str, Any]]:
    try:
        nodes = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where} is not JSON: {error}") from error
    if not isinstance(nodes, list):
        raise UsageError(f"{where} is not a list of node descriptions.")
    return [node for node in nodes if isinstance(node, dict) and "name" in node and "properties" in node]
