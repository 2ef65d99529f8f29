"""From an ``agent_templates/*.md`` file to an :class:`Agent`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Final, Literal, NoReturn

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
_NAME: Final = lazy(r"[a-z0-9]+(-[a-z0-9]+){0,8}", re.ASCII)
#: Front matter keys of Claude Code and Gemini CLI subagents; we read five of them and let the rest be.
_KNOWN_KEYS: Final = frozenset(
    {"name", "description", "tools", "disallowedTools", "model", "permissionMode", "maxTurns", "max_turns", "skills"}
    | {"mcpServers", "hooks", "memory", "background", "isolation", "color", "kind", "temperature", "timeout_mins"}
    | {"x-rails"}
)
#: How an agent may be asked: as the model is best at, or in one way (``rails.agents.prompt.Protocol``).
PROTOCOLS: Final = ("auto", "native", "json", "edits", "whole")
_OUR_KEYS: Final = frozenset(
    {"aliases", "dialects", "max_attempts", "model", "output", "protocol", "shown", "stronger_model", "tests", "title"}
    | {"verdict"}
)
#: A model of one of our providers. A template names no server: the key would be sent there.
_MODEL: Final = lazy(r"(anthropic|openai|recorded):[^\s@]{1,200}")

#: Where a template comes from. Only a project's own has to be read and accepted by a human first.
TemplateOrigin = Literal["shipped", "user", "project"]


class Agent(Struct, frozen=True):
    """A role. ``tools`` is ``None`` when the role may use all that the definitions allow it.

    ``model`` is the subagent's model as Claude Code reads it; ``runs_on`` is ours (``PROVIDER:NAME``), and
    ``stronger`` the one that may take over when attempts run out; ``""`` means the session's and none.
    ``body`` is the template's text; ``source`` is the file. ``max_attempts`` bounds failures in a row.
    ``headings`` are the Markdown headings that the role's final answer must have, ``schema`` what its JSON must
    satisfy. ``given_tests_only``: it changes no test that its task does not name; ``gives_verdict``: its answer is a
    review. ``aliases`` are further names, ``dialects`` the wire formats that its model writes.
    ``shown`` are the built-in tools that it is told of (``None``: all that it may use), ``protocol`` how it is asked.
    ``digest`` is the SHA-256 of the whole file, ``text``; ``trusted`` is whether a human has accepted exactly that, or
    need not.
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
    """Agents by name. ``left_out`` has a sentence for each template that cannot be used, by each name it may mean."""

    def __init__(self, agents: Mapping[str, Agent], left_out: Mapping[str, str]) -> None:
        super().__init__(agents)
        self.left_out = left_out

    @property
    def notes(self) -> tuple[str, ...]:
        """What is left out, each once."""
        return tuple(dict.fromkeys(self.left_out.values()))


def load_agents(
    folders: Sequence[Path], *, trusted: Collection[str] = (), trusted_folders: Collection[Path] = (), only: str = ""
) -> Agents:
    """Load every ``*.md`` of ``folders`` whose name does not start with ``_``; later folders override.

    ``trusted_folders`` are the user's own, where no agent can write; ``trusted`` are digests of templates
    that a human has read and accepted (``rails.agents.acceptance``). A template from anywhere else, except a shipped
    one, is loaded as not trusted: it may not run. A folder that does not exist is skipped. Where a file has the name
    ``only``, no other file is read; an alias is looked for in all. A template that cannot be used is left out, and so
    is another one of its name. Raises DefinitionError for a shipped one.
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
    """Take away what a broken template may mean, and say so."""
    gone = [name for name in agents if name in _claimed(file)]
    with_it = "".join(f", and with it {name}" for name in gone if name != file.stem)
    left_out |= dict.fromkeys((file.stem, *gone), f"the agent {one_line(file.stem)} is left out{with_it}: {error}")
    for name in gone:
        del agents[name]


def _claimed(file: Path) -> set[str]:
    """Return the agents that a broken template may mean: it may be there to allow one less than another file does."""
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
    """Return the agent with this name, title or alias ("planner", "Planning Agent"). Raises UsageError.

    A file's own name comes first, so that an alias never takes another agent's place.
    """
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


def read_template(file: Path) -> str:
    """Return the text of a template or protocol file. Raises DefinitionError."""
    try:
        if len(data := read_ordinary(file, limits.DEFINITION_BYTES)) > limits.DEFINITION_BYTES:
            raise DefinitionError(f"{file}: more than {limits.DEFINITION_BYTES} bytes. Make the template smaller.")
        return data.decode("utf-8")
    except OSError as error:
        raise DefinitionError(f"{file}: cannot be read: {error.strerror}. Check its permissions.") from error
    except UnicodeDecodeError as error:
        raise DefinitionError(f"{file}: not UTF-8. Save it as UTF-8.") from error


def read_agent(text: str, source: str) -> Agent:
    """Read one template. Raises DefinitionError with file, line and fix."""
    front, body = split_front_matter(text.replace("\r\n", "\n"), source)
    fields = _Fields(front_matter_values(front, source), source)
    agent = replace(fields.agent(body), text=text, digest=sha256(b"agent template\0" + text.encode()))
    if agent.name != Path(source).stem:
        fields.fail(f"the name {agent.name!r} is not the file's name", f"Rename the file to {agent.name}.md.")
    _check_body(body, source)
    return agent


def _check_body(body: str, source: str) -> None:
    if not body.strip():
        raise DefinitionError(f"{source}: the prompt after the front matter is empty. Say what the agent does.")
    if body != printable(body):
        raise DefinitionError(f"{source}: the prompt has control or invisible characters. Remove them.")
    left = _MARKER.search(body.replace(COMPONENTS_MARKER, ""))
    if left:
        fix = f"Only {COMPONENTS_MARKER!r} is filled in; tools and guidance come with it."
        raise DefinitionError(f"{source}: the marker {left[0]!r} would stay in the prompt. {fix}")


class _Fields:
    """The front matter's fields, checked one by one; the first mistake ends it."""

    def __init__(self, raw: Mapping[str, Json], source: str) -> None:
        self.raw, self.source = raw, source

    def fail(self, message: str, fix: str) -> NoReturn:
        """Raise DefinitionError that names the file."""
        raise DefinitionError(f"{self.source}: {message}. {fix}")

    def agent(self, body: str) -> Agent:
        for key in self.raw:
            if key not in _KNOWN_KEYS:
                fix = did_you_mean(key, _KNOWN_KEYS, "Put it under x-rails.")
                self.fail(f"the key {one_line(key)!r} is not known", fix)
        ours = self.ours()
        name = self.text("name")
        if not _NAME.fullmatch(name):
            self.fail(f"{one_line(name)!r} is not an agent name", "Use lower-case words joined by dashes.")
        description = self.text("description")
        if not description.strip():
            self.fail("the description is missing", "Say in a sentence when to use this agent.")
        return Agent(
            name=name,
            description=description,
            tools=self.names(self.raw, "tools"),
            model=self.text("model"),
            max_turns=self.number(self.raw, "maxTurns" if "maxTurns" in self.raw else "max_turns", limits.MAX_TURNS),
            body=body,
            source=self.source,
            max_attempts=self.number(ours, "max_attempts", limits.MAX_ATTEMPTS),
            headings=self.headings(ours),
            title=str(ours.get("title", "")) or name.replace("-", " ").title(),
            schema=self.schema(ours),
            aliases=self.names(ours, "aliases") or (),
            dialects=self.names(ours, "dialects") or (),
            runs_on=self.own_model(ours, "model"),
            stronger=self.own_model(ours, "stronger_model"),
            given_tests_only=ours.get("tests") == "given",
            gives_verdict=ours.get("verdict") == "required",
            shown=self.names(ours, "shown"),
            protocol=self.protocol(ours),
        )

    def ours(self) -> Mapping[str, Json]:
        value = self.raw.get("x-rails", {})
        if not isinstance(value, dict):
            self.fail("x-rails must be a map", "Write x-rails: {max_attempts: 3}.")
        for key in value:
            if key not in _OUR_KEYS:
                fix = did_you_mean(key, _OUR_KEYS, f"Known: {', '.join(sorted(_OUR_KEYS))}.")
                self.fail(f"x-rails has no key {one_line(key)!r}", fix)
        if value.get("verdict", "required") != "required":
            self.fail("x-rails.verdict must be 'required'", "Leave it out where the role gives none.")
        if value.get("tests", "given") != "given":
            self.fail("x-rails.tests must be 'given'", "Leave it out where the role may change every test.")
        return value

    def text(self, key: str) -> str:
        value = self.raw.get(key, "")
        if not isinstance(value, str):
            self.fail(f"{key} must be a text", "Put it in quotes.")
        if value != printable(value):
            self.fail(f"{key} has control or invisible characters", "Remove them.")
        return value

    def names(self, raw: Mapping[str, Json], key: str) -> tuple[str, ...] | None:
        """Read a list of names, or one text with commas as Claude Code allows; ``None`` when absent."""
        if key not in raw:
            return None
        value = raw[key]
        items = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else [value]
        if not all(isinstance(item, str) and re.fullmatch(r"[\w.:/*() -]{1,128}", item.strip()) for item in items):
            self.fail(f"{key} must be a list of names", f"Write {key}: [one, two].")
        return tuple(str(item).strip() for item in items)

    def number(self, raw: Mapping[str, Json], key: str, most: int) -> int:
        """Read a bound; a template can only lower it."""
        value = raw.get(key, most)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            self.fail(f"{key} must be a whole number from 1 to {most}", "A template can only lower this bound.")
        return value

    def headings(self, ours: Mapping[str, Json]) -> tuple[str, ...]:
        value = self.output(ours).get("headings", [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.fail("x-rails.output.headings must be a list of texts", "Write headings: [Title, Plan].")
        return tuple(str(item) for item in value)

    def output(self, ours: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return the contract of the role's final answer."""
        output = ours.get("output", {})
        if not isinstance(output, dict) or set(output) - {"headings", "schema"}:
            fix = "Write output: {headings: [Title, Plan]}, or schema: | and a JSON Schema below it."
            self.fail("x-rails.output must be a map with 'headings' or 'schema'", fix)
        return output

    def schema(self, ours: Mapping[str, Json]) -> Mapping[str, Json] | None:
        """Read the JSON Schema of the role's answer: a map, JSON in a block of text, or the name of a shipped one."""
        value = self.output(ours).get("schema")
        if isinstance(value, str):
            if (shipped := _CONTRACTS / f"{value.strip()}.schema.json") in _CONTRACTS.glob("*.schema.json"):
                value = shipped.read_text("utf-8")
            try:
                value = parse_document(value).value
            except JsonError as error:
                self.fail(f"x-rails.output.schema is not JSON: {error.message} (its line {error.line})", error.fix)
        if value is None:
            return None
        if problem := next(check_schema(value), None):
            place = ".".join(map(str, problem.place)) or "its root"
            self.fail(f"x-rails.output.schema at {place}: {problem.message}", problem.fix)
        return value if isinstance(value, dict) else self.fail("x-rails.output.schema must be an object", "Use a map.")

    def protocol(self, ours: Mapping[str, Json]) -> str:
        value = ours.get("protocol", PROTOCOLS[0])
        if value not in PROTOCOLS:
            self.fail(f"x-rails.protocol must be one of {', '.join(PROTOCOLS)}", "Leave it out where any fits.")
        return str(value)

    def own_model(self, ours: Mapping[str, Json], key: str) -> str:
        """Read a model of one of our providers."""
        value = ours.get(key, "")
        if not isinstance(value, str) or (value and not _MODEL.fullmatch(value)):
            fix = "Write PROVIDER:NAME, for example anthropic:NAME or openai:NAME, without a server's address."
            self.fail(f"x-rails.{key} is not a model", fix)
        return value
