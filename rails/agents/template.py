"""From an ``agent_templates/*.md`` file to an :class:`Agent`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rails.agents.front_matter import front_matter_values, split_front_matter
from rails.core import limits
from rails.core.app_dirs import builtin_folder
from rails.core.errors import DefinitionError, UsageError
from rails.core.lazy_pattern import lazy
from rails.core.plain_file import read_ordinary
from rails.core.text import one_line, printable, sha256
from rails.core.tool_request import Json
from rails.data_formats.json_document import JsonError, parse_document
from rails.json_schema.allowed import did_you_mean
from rails.json_schema.metaschema import check_schema
from rails.tools.registry import role_slug

#: Where a template wants the protocol, the tools and the guidance; without it they follow the template.
COMPONENTS_MARKER: Final = "--- COMMON_AGENT_COMPONENTS_PLACEHOLDER ---"
_MARKER: Final = lazy(r"^--- [A-Z_]+(_PLACEHOLDER|_START|_END) ---$", re.MULTILINE)
#: Contracts that a template may name instead of writing them.
_CONTRACTS: Final = Path(__file__).parent / "contracts"
#: What a front matter that may be broken gives as its name.
_NAMES: Final = lazy(rb"""^[ \t]*["']?name["']?[ \t]*:[ \t]*["']?([\w-]+)""", re.MULTILINE)
#: Front matter keys of Claude Code and Gemini CLI subagents; we read five of them and let the rest be.
_KNOWN_KEYS: Final = frozenset(
    {"name", "description", "tools", "disallowedTools", "model", "permissionMode", "maxTurns", "max_turns", "skills"}
    | {"mcpServers", "hooks", "memory", "background", "isolation", "color", "kind", "temperature", "timeout_mins"}
    | {"x-rails"}
)
#: How an agent may be asked: as the model is best at, or in one way (``rails.agents.prompt.Protocol``).
PROTOCOLS: Final = ("auto", "native", "json", "edits", "whole")
#: The shipped contract whose answer is a review.
VALIDATION: Final = "validation_result"
#: Its items have no constraint of their own: msgspec 0.22 then crashes at Python's end, now and then.
_Names = tuple[str, ...] | str
_NAME: Final = lazy(r"[\w.:/*() -]{1,128}")
#: A model of one of our providers. A template names no server: the key would be sent there.
_OwnModel = Annotated[str, msgspec.Meta(pattern=r"\A((anthropic|openai|recorded):[^\s@]{1,200})?\Z")]
#: What to write, by the key that is wrong.
_FIXES: Final[Mapping[str, str]] = {
    "name": "Use lower-case words joined by dashes.",
    "description": "Say in a sentence when to use this agent.",
    "maxTurns": "A template can only lower this bound.",
    "max_attempts": "A template can only lower this bound.",
    "x-rails": "Write x-rails: {max_attempts: 3}.",
    "output": "Write output: {headings: [Title, Plan]}, or schema: | and a JSON Schema below it.",
    "headings": "Write headings: [Title, Plan].",
    "model": "Write PROVIDER:NAME, for example anthropic:NAME or openai:NAME, without a server's address.",
    "stronger_model": "Write PROVIDER:NAME, for example anthropic:NAME or openai:NAME, without a server's address.",
    "tests": "Write tests: given, or leave it out where the role may change every test.",
    "verdict": "Write verdict: required, or leave it out where the role gives none.",
    "protocol": "Leave it out where any fits.",
}

#: Where a template comes from. Only a project's own has to be read and accepted by a human first.
TemplateOrigin = Literal["shipped", "user", "project"]


class Agent(Struct, frozen=True):
    """A role. ``tools`` is ``None`` when it may use all that the definitions allow.

    ``model`` is Claude Code's field; ``runs_on`` (``PROVIDER:NAME``) and ``stronger`` are ours ("": the session's,
    none). ``max_attempts`` bounds failures in a row. ``given_tests_only``: it changes only tests that its task names;
    ``gives_verdict``: it reviews. ``shown`` are the visible built-in tools (``None``: all). ``digest`` is the file's
    SHA-256; ``trusted``: a human accepted that, or need not.
    """

    name: str
    description: str
    tools: tuple[str, ...] | None
    model: str
    max_turns: int
    body: str
    source: str
    max_attempts: int = limits.MAX_ATTEMPTS
    headings: tuple[str, ...] = ()
    title: str = ""
    schema: Mapping[str, Json] | None = None
    aliases: tuple[str, ...] = ()
    dialects: tuple[str, ...] = ()
    runs_on: str = ""
    stronger: str = ""
    given_tests_only: bool = False
    gives_verdict: bool = False
    shown: tuple[str, ...] | None = None
    protocol: str = "auto"
    origin: TemplateOrigin = "user"
    trusted: bool = True
    digest: str = ""
    text: str = ""
    replaces: TemplateOrigin | None = None


class Agents(dict[str, Agent]):
    """Agents by name; ``left_out`` maps names of unusable templates to a sentence."""

    def __init__(self, agents: Mapping[str, Agent], left_out: Mapping[str, str]) -> None:
        super().__init__(agents)
        self.left_out = left_out

    @property
    def notes(self) -> tuple[str, ...]:
        """The templates left out, each once."""
        return tuple(dict.fromkeys(self.left_out.values()))


def load_agents(
    folders: Sequence[Path], *, trusted: Collection[str] = (), trusted_folders: Collection[Path] = (), only: str = ""
) -> Agents:
    """Load every ``*.md`` of ``folders`` without a leading ``_``; later folders override.

    Only shipped templates, those of ``trusted_folders`` (no agent can write there) and the digests ``trusted`` may run.
    Missing folders are skipped. A file named ``only`` is read alone. Unusable templates are left out, with others of
    their name. Raises DefinitionError for a shipped one.
    """
    agents: dict[str, Agent] = {}
    left_out: dict[str, str] = {}
    files = [(folder, file) for folder in folders if folder.is_dir() for file in sorted(folder.glob("*.md"))]
    files = [one for one in files if not one[1].name.startswith(("_", "."))]
    wanted = {only, role_slug(only)}
    chosen = [(folder, file) for folder, file in files if file.stem in wanted]
    if chosen:  # and what may mean the same agent, which is no shipped one
        chosen = [one for one in files if one in chosen or (one[0] != files[0][0] and wanted & _claimed(one[1]))]
    broken: list[tuple[Path, DefinitionError]] = []
    for (folder, file), following in zip_longest(chosen or files, (chosen or files)[1:]):
        origin = _origin(folder, trusted_folders)
        try:
            if origin == "project" and (file.is_symlink() or folder.is_symlink()):
                raise DefinitionError(f"{file} is a link, and links are not followed.")
            agent = read_agent(read_template(file), str(file))
            known, accepted = agents.get(agent.name), origin != "project" or agent.digest in trusted
            replaced = known.origin if known else None
            agents[agent.name] = replace(agent, origin=origin, trusted=accepted, replaces=replaced)
        except DefinitionError as error:
            if origin == "shipped":
                raise
            broken.append((file, error))
        if following is None or following[0] != folder:  # a later folder may have what is right
            for unreadable, why in broken:
                _leave_out(unreadable, why, agents, left_out)
            broken.clear()
    return Agents(agents, left_out)


def _leave_out(file: Path, error: DefinitionError, agents: dict[str, Agent], left_out: dict[str, str]) -> None:
    gone = [name for name in agents if name in _claimed(file)]
    with_it = "".join(f", and with it {name}" for name in gone if name != file.stem)
    left_out |= dict.fromkeys((file.stem, *gone), f"the agent {one_line(file.stem)} is left out{with_it}: {error}")
    for name in gone:
        del agents[name]


def _claimed(file: Path) -> set[str]:
    """Return the names that a broken template may have; none of them can be used."""
    try:
        named = _NAMES.findall(read_ordinary(file, limits.DEFINITION_BYTES))
    except OSError:
        named = []
    return {file.stem, *(name.decode().casefold() for name in named)}


def _origin(folder: Path, trusted_folders: Collection[Path]) -> TemplateOrigin:
    if folder.resolve() == builtin_folder("agent_templates").resolve():
        return "shipped"
    return "user" if folder.resolve() in {own.resolve() for own in trusted_folders} else "project"


def named(agents: Mapping[str, Agent], name: str) -> Agent:
    """Return the agent with this name, title or alias; no alias takes another's place. Raises UsageError."""
    slug = role_slug(name)
    found = agents.get(name) or agents.get(slug)
    found = found or next((one for one in agents.values() if slug in one.aliases), None)
    if found is None and isinstance(agents, Agents) and (why := agents.left_out.get(name) or agents.left_out.get(slug)):
        raise UsageError(f"{why[0].upper()}{why[1:]}")
    if found is None:
        known = ", ".join(sorted(agents))
        near = did_you_mean(name, agents, f"Known agents: {known}.")
        raise UsageError(f"There is no agent {one_line(name)!r}. {near}")
    return found


def read_template(file: Path, most: int = limits.DEFINITION_BYTES, not_done: str = "It is not used.") -> str:
    """Return an ordinary file of at most ``most`` bytes as text.

    Raises DefinitionError that ends with ``not_done``.
    """
    try:
        data = read_ordinary(file, most)
        if len(data) > most:
            raise DefinitionError(f"{file}: more than {most} bytes. Make it smaller. {not_done}")
        return data.decode("utf-8")
    except OSError as error:
        raise DefinitionError(f"{file}: cannot be read: {error.strerror}. Check its permissions. {not_done}") from error
    except UnicodeDecodeError as error:
        raise DefinitionError(f"{file}: not UTF-8. Save it as UTF-8. {not_done}") from error


class _Output(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A final answer's contract."""

    headings: tuple[str, ...] = ()
    schema: str | dict[str, Any] | None = None


class _Ours(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The ``x-rails`` fields."""

    aliases: _Names = ()
    dialects: _Names = ()
    max_attempts: Annotated[int, msgspec.Meta(ge=1, le=limits.MAX_ATTEMPTS)] = limits.MAX_ATTEMPTS
    model: _OwnModel = ""
    output: _Output = _Output()
    protocol: Literal["auto", "native", "json", "edits", "whole"] = "auto"
    shown: _Names | None = None
    stronger_model: _OwnModel = ""
    tests: Literal["", "given"] = ""
    title: str = ""
    verdict: Literal["", "required"] = ""


class _Front(msgspec.Struct, frozen=True):
    """The front matter's fields; a template can only lower a bound."""

    name: Annotated[str, msgspec.Meta(pattern=r"\A[a-z0-9]+(-[a-z0-9]+){0,8}\Z")]
    description: Annotated[str, msgspec.Meta(pattern=r"\S")]
    tools: _Names | None = None
    model: str = ""
    turns: Annotated[int, msgspec.Meta(ge=1, le=limits.MAX_TURNS)] = msgspec.field(
        name="maxTurns", default=limits.MAX_TURNS
    )
    ours: _Ours = msgspec.field(name="x-rails", default_factory=_Ours)


def read_agent(text: str, source: str) -> Agent:
    """Read one template. Raises DefinitionError with file, line or key, and fix."""
    matter, body = split_front_matter(text.replace("\r\n", "\n"), source)
    front = _checked(front_matter_values(matter, source), source)
    ours = front.ours
    if front.name != Path(source).stem:
        raise DefinitionError(
            f"{source}: the name {front.name!r} is not the file's name. Rename the file to {front.name}.md."
        )
    _check_body(body, source)
    return Agent(
        name=front.name,
        description=front.description,
        tools=None if front.tools is None else _names(front.tools, source),
        model=front.model,
        max_turns=front.turns,
        body=body,
        source=source,
        max_attempts=ours.max_attempts,
        headings=ours.output.headings,
        title=ours.title or front.name.replace("-", " ").title(),
        schema=_schema(ours.output.schema, source),
        aliases=_names(ours.aliases, source),
        dialects=_names(ours.dialects, source),
        runs_on=ours.model,
        stronger=ours.stronger_model,
        given_tests_only=bool(ours.tests),
        gives_verdict=bool(ours.verdict) or ours.output.schema == VALIDATION,
        shown=None if ours.shown is None else _names(ours.shown, source),
        protocol=ours.protocol,
        text=text,
        digest=sha256(b"agent template\0" + text.encode()),
    )


def _checked(raw: dict[str, Json], source: str) -> _Front:
    ours = raw.get("x-rails")
    _check_keys(raw, _KNOWN_KEYS, f"{source}: the key", "Put it under x-rails.")
    _check_keys(ours if isinstance(ours, dict) else {}, _Ours.__struct_fields__, f"{source}: the key of x-rails", "")
    try:
        front = msgspec.convert({"maxTurns": raw.get("max_turns", limits.MAX_TURNS), **raw}, _Front)
    except msgspec.ValidationError as error:
        key = re.findall(r"[\w-]+", f"{error}")[-1]
        fix = _FIXES.get(key, "Write what docs/agents.md has.")
        raise DefinitionError(f"{source}: {one_line(str(error), 300)}. {fix}") from error
    for value in (front.description, front.model):
        if value != printable(value):
            raise DefinitionError(f"{source}: {value!r} has control or invisible characters. Remove them.")
    return front


def _check_keys(raw: Mapping[str, Json], known: Collection[str], what: str, otherwise: str) -> None:
    for key in raw:
        if key not in known:
            fix = did_you_mean(key, known, otherwise or f"Known: {', '.join(known)}.")
            raise DefinitionError(f"{what} {one_line(key)!r} is not known. {fix}")


def _names(value: _Names, source: str) -> tuple[str, ...]:
    """Return names of a list or, as Claude Code allows, a text with commas. Raises DefinitionError."""
    items = value.split(",") if isinstance(value, str) else value
    names = tuple(item.strip() for item in items if item.strip())
    if wrong := next((name for name in names if not _NAME.fullmatch(name)), ""):
        raise DefinitionError(f"{source}: {one_line(wrong)!r} is not a name. Write a list of names: [one, two].")
    return names


def _schema(value: str | dict[str, Json] | None, source: str) -> Mapping[str, Json] | None:
    place = f"{source}: x-rails.output.schema"
    if isinstance(value, str):
        if (shipped := _CONTRACTS / f"{value.strip()}.schema.json") in _CONTRACTS.glob("*.schema.json"):
            value = shipped.read_text("utf-8")
        try:
            value = msgspec.convert(parse_document(value).value, dict[str, Any])
        except JsonError as error:
            raise DefinitionError(
                f"{place} is not JSON: {error.message} (its line {error.line}). {error.fix}"
            ) from error
        except msgspec.ValidationError as error:
            raise DefinitionError(f"{place} must be an object. Use a map.") from error
    if value is not None and (problem := next(check_schema(value), None)):
        where = ".".join(map(str, problem.place)) or "its root"
        raise DefinitionError(f"{place} at {where}: {problem.message}. {problem.fix}")
    return value


def _check_body(body: str, source: str) -> None:
    if not body.strip():
        raise DefinitionError(f"{source}: the prompt after the front matter is empty. Say what the agent does.")
    if body != printable(body):
        raise DefinitionError(f"{source}: the prompt has control or invisible characters. Remove them.")
    left = _MARKER.search(body.replace(COMPONENTS_MARKER, ""))
    if left:
        fix = f"Only {COMPONENTS_MARKER!r} is filled in; tools and guidance come with it."
        raise DefinitionError(f"{source}: the marker {left[0]!r} would stay in the prompt. {fix}")
