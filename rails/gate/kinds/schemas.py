"""Data against a JSON Schema, with places in the file.

The settings map paths to schemas; else the file names its own: ``$schema``, ``# yaml-language-server:`` or
``#:schema``. Nothing is fetched; validation runs in a worker, because patterns can take forever.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from rails.core.errors import CheckError
from rails.core.plain_file import real_path
from rails.core.text import one_line
from rails.core.verdict import Finding, NotChecked
from rails.data_formats import positions
from rails.gate.support import settings

if TYPE_CHECKING:
    from rails.gate.support.check import CheckContext

#: A schema file. Larger ones are no schema that anybody wrote for this project.
_BYTES: Final = 4_000_000
_COMMENT: Final = re.compile(r"^#(?:\s*yaml-language-server:\s*\$schema=|:schema\s+)(\S+)", re.M)
#: Addresses of JSON Schema's own meta-schemas, which come with the library that validates.
_META: Final = re.compile(
    r"https?://json-schema\.org/(?:draft-0[3467]/schema|draft/20(?:19-09|20-12)/schema)#?", re.ASCII
)


class SchemaDocument(Struct, frozen=True):
    """A parsed file: text without comments, value, and finder of places."""

    path: str
    text: str
    value: object
    locate: Callable[[], positions.Places]


def findings_of_schema(document: SchemaDocument, context: CheckContext) -> Iterator[Finding | NotChecked]:
    """Yield the schema's findings, and why it was not checked, if so."""
    try:
        schema = _schema_of(document, context)
        if schema is None:
            return
        if isinstance(schema, NotChecked):
            yield schema
            return
        value = json.dumps(document.value, default=str)
        base = context.project / schema if schema else Path()
        text = _read(context.project, schema) if schema else ""
        errors = context.once(("schema", text, value), lambda: _errors(context, text, base, json.loads(value)))
    except CheckError as error:
        yield _missing(document.path, str(error))
        return
    except (ValueError, RecursionError) as error:
        yield _missing(document.path, f"it cannot be compared with its schema: {one_line(str(error), 100)}")
        return
    places = document.locate() if errors else {}
    yield from (_finding(document.path, error, places) for error in errors)


def _missing(path: str, reason: str, *, required: bool = True) -> NotChecked:
    return NotChecked(path, "schema", reason, required)


def _schema_of(document: SchemaDocument, context: CheckContext) -> str | NotChecked | None:
    """Return a schema's path in the project, "" for a schema about schemas, or None."""
    for entry in context.options.schemas:
        if settings.matches(document.path, entry.path):
            return entry.schema
    named = document.value.get("$schema") if isinstance(document.value, Mapping) else None
    comment = _COMMENT.search(document.text[:2_000])
    name = named if isinstance(named, str) else comment[1] if comment else None
    if name is None:
        return None
    if mapped := next((entry.schema for entry in context.options.schemas if entry.url and entry.url == name), None):
        return mapped
    if _META.fullmatch(name):
        return ""
    if re.match(r"[a-z][a-z0-9+.-]*:", name, re.I):
        words = f"its schema is at {one_line(name, 100)}, which is never fetched"
        return _missing(
            document.path, f"{words}; map the address to a file: [[gate.schema]] in .rails.toml", required=False
        )
    return _local(document.path, name, context)


def _local(path: str, name: str, context: CheckContext) -> str | NotChecked:
    folder = path.rpartition("/")[0]
    schema = posixpath.normpath(f"./{folder}/{name.partition('#')[0]}")
    if f"{schema}/".startswith("../"):
        return _missing(path, f"its schema {one_line(name, 80)} is outside the project")
    if (context.project / schema).is_file():
        return schema
    if schema in context.created:
        return _missing(path, f"its schema {one_line(schema, 80)} comes with this change", required=False)
    installed = "node_modules" not in schema.split("/")
    return _missing(path, f"its schema {one_line(schema, 80)} does not exist", required=installed)


def _read(project: Path, schema: str) -> str:
    place = real_path(project / schema)
    if project not in place.parents:
        raise CheckError(f"the schema {one_line(schema, 80)} is outside the project")
    try:
        if place.stat().st_size > _BYTES:
            raise CheckError(f"the schema {one_line(schema, 80)} is larger than {_BYTES} bytes")
        return place.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CheckError(f"the schema {one_line(schema, 80)} cannot be read") from error


def _errors(context: CheckContext, schema: str, base: Path, value: object) -> list[dict[str, Any]]:
    request = {"op": "schema", "schema": schema, "base": str(base), "root": str(context.project), "value": value}
    errors: list[dict[str, Any]] = context.pool.ask(request)["errors"]
    return errors


def _finding(path: str, error: Mapping[str, Any], found: positions.Places) -> Finding:
    steps = tuple(error["path"])
    line, column = positions.place_of(found, steps)
    shown = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    words = f"{one_line(error['message'], 240)} (at ${one_line(shown, 120)})"
    advice = one_line(error["says"], 200)
    remedy = f"The schema says: {advice}" if advice else ""
    rule = f"schema-{error['keyword']}"
    shown = f"${one_line(shown, 200)}"
    return Finding(path, line, column, rule, words, "jsonschema", end_line=line, remedy=remedy, json_path=shown)
