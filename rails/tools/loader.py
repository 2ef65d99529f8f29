"""Definition files: read, judged, and made a registry.

Each is a JSON object with the original AI-Rails' fields (``tool_name``, ``description``, ``api_endpoint``,
``request_schema``, ``response_format``, ``access_control``, ``agent_specific_guidance``), a Model Context Protocol
``Tool``'s, and ours. This module decides; ``definition.schema.json`` is for editors.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from rails.core import limits
from rails.core.app_dirs import builtin_folder
from rails.core.errors import DefinitionError
from rails.core.plain_file import read_ordinary
from rails.core.text import counted
from rails.data_formats.json_document import JsonDocument, JsonError, parse_document
from rails.data_formats.positions import JsonPlace
from rails.json_schema.explain import place_in_words
from rails.json_schema.metaschema import SchemaProblem
from rails.json_schema.quick_check import properties
from rails.tools.definition_file import definition_of, make_definition, spelling
from rails.tools.registry import (
    ANY_ROLE,
    ROLES,
    Access,
    Builtin,
    Command,
    Definition,
    Http,
    Mcp,
    Registry,
    role_slug,
)


class Mistake(Struct, frozen=True, order=True):
    """A definition file's mistake; ``line`` from 1, 0: none."""

    file: str
    line: int
    field: str
    message: str
    fix: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.field + ': ' if self.field else ''}{self.message}. {self.fix}"


def load_definitions(
    folders: Sequence[Path],
    *,
    roles: Collection[str] = (),
    trusted: Collection[str] = (),
    trusted_folders: Collection[Path] = (),
) -> Registry:
    """Load every ``*.json`` of ``folders``; later folders replace tools by name.

    ``roles`` are beyond the shipped ones and those of ``agent_templates`` beside a folder. ``trusted`` are accepted
    digests (``rails.trust.record``), ``trusted_folders`` the user's, where no agent writes. Others, except the shipped,
    always ask and may not move a trusted tool elsewhere. Missing folders are skipped; a file with a mistake is left
    out, with every tool that it may mean, and noted.

    Raises DefinitionError if a shipped file or a whole folder cannot be used.
    """
    found, mistakes = _read_folders(folders, roles, frozenset(trusted), trusted_folders)
    by_file: dict[Path, list[Mistake]] = {}
    for mistake in mistakes:
        by_file.setdefault(Path(mistake.file), []).append(mistake)
    for file, wrong in by_file.items():
        if file in folders or _is_shipped(file.parent):
            raise DefinitionError("No tool was loaded:\n" + "\n".join(f"  {mistake}" for mistake in wrong))
        found = _without(found, file, wrong)
    return found


def _without(registry: Registry, file: Path, wrong: Sequence[Mistake]) -> Registry:
    """Leave out what a broken file may mean: it might allow less than another."""
    names = _claimed(file)
    kept = {name: one for name, one in registry.definitions.items() if name.casefold() not in names}
    gone = ", ".join(sorted(registry.definitions.keys() - kept.keys()))
    more = f" ({counted(len(wrong) - 1, 'more mistake')}: ai-rails tools check)" if len(wrong) > 1 else ""
    note = f"left out{f', and with it {gone}' if gone else ''}: {wrong[0]}{more}"
    return replace(registry, definitions=kept, notes=(*registry.notes, note))


def _claimed(file: Path) -> set[str]:
    names: list[object] = [file.stem]
    try:
        value = json.loads(read_ordinary(file, limits.DEFINITION_BYTES))
        names += [value.get("tool_name"), value.get("name")]
    except (OSError, ValueError, AttributeError, RecursionError):
        pass  # what it is called is all that is known of it
    return {name.casefold() for name in names if isinstance(name, str)}


def check_folder(paths: Sequence[Path], *, roles: Collection[str] = ()) -> tuple[Mistake, ...]:
    """Return every mistake in these folders or files, in file and line order; a missing or empty one, too."""
    mistakes = []
    for path in paths:
        if not path.exists():
            mistakes.append(_unusable(path, "there is no such file or folder", "Correct the path."))
        elif not _files(path):
            fix = "Add one with a name that ends in .json."
            mistakes.append(_unusable(path, "the folder has no definition file", fix))
    _, wrong = _read_folders([path for path in paths if path.exists()], roles, frozenset(), (), thorough=True)
    return tuple(sorted((*mistakes, *wrong)))


def read_definition(
    text: str, source: str, *, roles: Collection[str] = ROLES, check_schemas: bool = True
) -> tuple[Definition | None, tuple[Mistake, ...]]:
    """Return a text's definition, or None and all mistakes."""
    try:
        document = parse_document(text)
    except JsonError as error:
        return None, (Mistake(source, error.line, "", f"the file is not JSON: {error.message}", error.fix),)
    if not check_schemas and isinstance(document.value, dict):
        with suppress(KeyError, AttributeError, TypeError, ValueError):  # what is wrong is found out below
            return make_definition(document.value, source, text), ()
    found = definition_of(document.value, source, text, frozenset(map(role_slug, roles)))
    if isinstance(found, Definition):
        return found, ()
    return None, tuple(_locate(source, document, problem) for problem in found)


def _locate(source: str, document: JsonDocument, problem: SchemaProblem) -> Mistake:
    line = document.line(problem.place)
    return Mistake(source, line, place_text(problem.place), problem.message, problem.fix)


def place_text(place: JsonPlace) -> str:
    """Return ``("a", 0, "b")`` as ``a[0].b``, ``()`` as ""."""
    return place_in_words(place) if place else ""


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path] if path.exists() else []
    return sorted(file for file in path.glob("*.json") if not file.name.startswith("."))


def _known_roles(folders: Sequence[Path], extra: Collection[str]) -> frozenset[str]:
    beside = {file.stem for folder in folders for file in (folder.parent / "agent_templates").glob("*.md")}
    return frozenset(role_slug(role) for role in {*ROLES, *extra, *beside})


def _read_folders(
    folders: Sequence[Path],
    roles: Collection[str],
    trusted: frozenset[str],
    trusted_folders: Collection[Path],
    *,
    thorough: bool = False,
) -> tuple[Registry, list[Mistake]]:
    known = _known_roles(folders, roles)
    loaded: dict[str, Definition] = {}
    notes: list[str] = []
    mistakes: list[Mistake] = []
    for folder in folders:
        shipped = _is_shipped(folder)
        own = shipped or folder in trusted_folders
        links = [] if own else _links(folder)
        notes += [
            f"{file} was left out: it is a link, and links are not followed. Put the file there." for file in links
        ]
        found, wrong = _read_folder(folder, known, frozenset(links), check_values=thorough or not shipped)
        mistakes += wrong
        for definition in found:
            one = replace(definition, trusted=own or definition.digest in trusted)
            if isinstance(one.transport, Command | Mcp) and not own:
                # Nobody but the project says what this starts, so it starts in the sandbox, trusted or not.
                one = replace(one, transport=replace(one.transport, contained=True))
            old = loaded.get(one.tool_name)
            if _seizes(one, old):
                notes.append(_seizure_note(one))
            else:
                loaded[one.tool_name] = _narrowed(one, old) if old is not None else one
                notes += _notes(one)
    mistakes += _collisions(loaded)
    return Registry(loaded, tuple(notes)), mistakes


def _is_shipped(folder: Path) -> bool:
    try:
        return folder.resolve() == builtin_folder("mcp_definitions").resolve()
    except FileNotFoundError:
        return False


def _links(folder: Path) -> list[Path]:
    """Return links among definitions and folders: nobody reviews their targets."""
    return [file for file in _files(folder) if folder.is_symlink() or file.is_symlink()]


def _read_folder(
    folder: Path, roles: frozenset[str], without: frozenset[Path], *, check_values: bool
) -> tuple[list[Definition], list[Mistake]]:
    found: dict[str, Definition] = {}
    mistakes: list[Mistake] = []
    files = [file for file in _files(folder) if file not in without]
    if len(files) > limits.DEFINITION_FILES:
        message = f"the folder has more than {limits.DEFINITION_FILES} definition files"
        return [], [_unusable(folder, message, "Split it.")]
    for file in files:
        text = _read_text(file)
        if isinstance(text, Mistake):
            mistakes.append(text)
            continue
        definition, wrong = read_definition(text, str(file), roles=roles, check_schemas=check_values)
        mistakes += wrong
        if definition is None:
            continue
        if check_values:
            mistakes += _wrong_values(definition, text)
        first = found.setdefault(definition.tool_name.casefold(), definition)
        if first is not definition:
            message = f"the tool {definition.tool_name!r} is already defined in {Path(first.source).name}"
            mistakes.append(Mistake(str(file), 1, "tool_name", message, "Give one of the two another name."))
    return list(found.values()), mistakes


def _read_text(file: Path) -> str | Mistake:
    try:
        data = read_ordinary(file, limits.DEFINITION_BYTES)
    except OSError as error:
        return _unusable(file, f"the file cannot be read: {error.strerror}", "Check its permissions.")
    if len(data) > limits.DEFINITION_BYTES:
        fix = "A person must be able to read it: make it smaller."
        return _unusable(file, f"the file has more than {limits.DEFINITION_BYTES} bytes", fix)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return _unusable(file, "the file is not UTF-8", "Save it as UTF-8.", line)


def _unusable(place: Path, message: str, fix: str, line: int = 0) -> Mistake:
    return Mistake(str(place), line, "", message, fix)


def _wrong_values(definition: Definition, text: str) -> Iterator[Mistake]:
    from rails.json_schema.validator import faults

    document = parse_document(text)
    schema = definition.request_schema
    key = spelling(document.value, "request_schema") if isinstance(document.value, dict) else ""
    found: list[SchemaProblem] = []
    for index, example in enumerate(definition.examples):
        for fault in faults(schema, dict(example)):
            message = f"the example does not satisfy the request schema: {fault.detail}"
            found.append(SchemaProblem(("examples", index, *fault.place), message, fault.hint))
    for name, inner in properties(schema).items():
        if isinstance(inner, dict) and "default" in inner:
            for fault in faults(inner, inner["default"], root=schema):
                message = f"the default does not satisfy its own schema: {fault.detail}"
                found.append(SchemaProblem((key, "properties", name, "default"), message, fault.hint))
    return (_locate(definition.source, document, problem) for problem in found)


def _seizes(new: Definition, old: Definition | None) -> bool:
    """Return whether an untrusted definition redirects a trusted tool's name."""
    if old is None or not old.trusted or new.trusted:
        return False
    return not isinstance(new.transport, Builtin) or new.transport != old.transport


def _narrowed(new: Definition, old: Definition) -> Definition:
    """Return an untrusted definition with no more than the trusted one gives a role."""
    if new.trusted or not old.trusted:
        return new
    order: tuple[Access, ...] = ("none", "ask", "free")
    roles = {*new.access, *old.access, ANY_ROLE}
    levels = {role: min(new.access_of(role), old.access_of(role), key=order.index) for role in roles}
    return replace(new, access=levels)


def _seizure_note(definition: Definition) -> str:
    return (
        f"{definition.source} was left out: it would replace the trusted tool {definition.tool_name!r} by "
        "something else. Read it and trust it, or give it another tool_name."
    )


def _notes(definition: Definition) -> Iterator[str]:
    if not definition.trusted:
        name = definition.tool_name
        yield f"{name}: no agent may use it before you accept its definition: ai-rails tools trust {name}"
    if not definition.access:
        yield f"{definition.tool_name}: no access_control, so no agent can use it ({definition.source})"
    if isinstance(definition.transport, Http) and not definition.transport.endpoint:
        name = definition.transport.endpoint_env
        yield f"{definition.tool_name}: no api_endpoint, so it cannot be called until {name} is set"


def _collisions(loaded: Mapping[str, Definition]) -> Iterator[Mistake]:
    """Yield aliases that are another tool's name or alias, in the later file."""
    owners: dict[str, Definition] = {}
    for definition in loaded.values():
        for name in (definition.tool_name, *definition.tool_aliases):
            owner = owners.setdefault(name, definition)
            if owner is not definition:
                field = "tool_name" if name == definition.tool_name else "tool_aliases"
                message = f"the name {name!r} already belongs to the tool {owner.tool_name!r}"
                yield Mistake(definition.source, 0, field, message, "Choose another name.")
