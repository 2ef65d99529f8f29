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
from rails.core.plain_file import read_ordinary, real_path
from rails.core.text import one_line
from rails.core.verdict import Finding, NotChecked
from rails.data_formats import positions
from rails.gate.support import settings
from rails.gate.support.check import NotNeededError

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
        text = _read(context.project, schema) if schema else ""
        place = (context.project / schema).as_uri() if schema else ""
        value = json.dumps(document.value, default=str)
        request = {
            "op": "schema",
            "schema": text,
            "place": place,
            "root": str(context.project),
            "value": value,
        }
        errors = context.once(
            ("schema", text, place, value),
            lambda: context.pool.ask(request)["errors"],
        )
    except CheckError as error:
        yield NotChecked(
            document.path,
            "schema",
            str(error),
            not isinstance(error, NotNeededError),
        )
        return
    except (ValueError, RecursionError) as error:
        words = f"it cannot be compared with its schema: {one_line(str(error), 100)}"
        yield NotChecked(document.path, "schema", words)
        return
    places = document.locate() if errors else {}
    yield from (_finding(document.path, error, places) for error in errors)


def _schema_of(document: SchemaDocument, context: CheckContext) -> str | None:
    """Return a schema's path in the project, "" for a schema about schemas, or None. Raises CheckError."""
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
        raise NotNeededError(f"{words}; map the address to a file: [[gate.schema]] in .rails.toml")
    return _local(document.path, name, context)


def _local(path: str, name: str, context: CheckContext) -> str:
    folder = path.rpartition("/")[0]
    schema = posixpath.normpath(f"./{folder}/{name.partition('#')[0]}")
    words = f"its schema {one_line(schema, 80)}"
    if f"{schema}/".startswith("../"):
        raise CheckError(f"{words} is outside the project")
    if (context.project / schema).is_file():
        return schema
    if schema in context.created:
        raise NotNeededError(f"{words} comes with this change")
    missing = NotNeededError if "node_modules" in schema.split("/") else CheckError
    raise missing(f"{words} does not exist")


def _read(project: Path, schema: str) -> str:
    place = real_path(project / schema)
    words = f"the schema {one_line(schema, 80)}"
    if project not in place.parents:
        raise CheckError(f"{words} is outside the project")
    try:
        data = read_ordinary(place, _BYTES)
        if len(data) <= _BYTES:
            return data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        pass
    raise CheckError(f"{words} cannot be read, or has more than {_BYTES} bytes")


def _finding(path: str, error: Mapping[str, Any], found: positions.Places) -> Finding:
    steps = tuple(error["path"])
    line, column = positions.place_of(found, steps)
    shown = "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    shown = one_line(shown, 200)
    words = f"{one_line(error['message'], 240)} (at {shown})"
    advice = one_line(error["says"], 200)
    remedy = f"The schema says: {advice}" if advice else ""
    rule = f"schema-{error['keyword']}"
    return Finding(
        path,
        line,
        column,
        rule,
        words,
        "jsonschema",
        end_line=line,
        remedy=remedy,
        json_path=shown,
    )
