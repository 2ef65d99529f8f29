"""Definitions for people: a tool, what waits, a starter."""

from __future__ import annotations

import json
from collections.abc import Iterator

from msgspec import Struct

from rails.core.errors import UsageError
from rails.core.text import one_line, printable
from rails.json_schema.explain import form_in_words
from rails.json_schema.quick_check import properties, required
from rails.sandbox.functions import function_of
from rails.tools.loader import read_definition
from rails.tools.registry import ANY_ROLE, Builtin, Command, Definition, Http, Registry, Transport
from rails.trust.record import TrustRecord, file_for_review

_ACCESS = {"free": "runs without asking", "ask": "asks a human", "none": "may not use it"}


def describe(definition: Definition) -> str:
    """Return what to know before trusting a tool."""
    return "\n".join(_lines(definition)) + "\n"


def _lines(definition: Definition) -> Iterator[str]:
    yield f"{definition.tool_name}{f' ({definition.title})' if definition.title else ''}"
    yield definition.description
    yield ""
    yield f"does        {what_runs(definition.transport)}"
    yield f"effect      {definition.effect}, time limit {definition.timeout_s:g} s"
    yield from _access_lines(definition)
    if definition.secrets:
        yield f"secrets     {', '.join(definition.secrets)}"
    if definition.tool_aliases:
        yield f"also called {', '.join(definition.tool_aliases)}"
    yield f"file        {definition.source}"
    yield f"digest      {definition.digest}{'' if definition.trusted else ' (not trusted yet: every use asks)'}"
    yield ""
    yield "parameters"
    yield from _parameter_lines(definition)
    for example in definition.examples:
        yield f"  example: {json.dumps(example, ensure_ascii=False)}"


def what_runs(transport: Transport) -> str:
    """Return in one line what the tool reaches."""
    match transport:
        case Builtin(name):
            return f"built-in {name}"
        case Command() if function := function_of(transport.command):
            return f"calls {function} of the project, contained"
        case Command():
            return f"runs {json.dumps(list(transport.command), ensure_ascii=False)} in the project folder"
        case Http():
            return (
                f"{transport.method} {transport.endpoint or '(no address)'} or the address in {transport.endpoint_env}"
            )
        case _:
            where = transport.endpoint or json.dumps(list(transport.command), ensure_ascii=False)
            return f"MCP server {where}, tool {transport.tool}"


def _access_lines(definition: Definition) -> Iterator[str]:
    if not definition.access:
        yield "access      no agent: the file has no access_control"
    for role in definition.access:
        who = role.replace(ANY_ROLE, "any other agent")
        yield f"access      {who}: {_ACCESS[definition.access_of(role)]}"


def _parameter_lines(definition: Definition) -> Iterator[str]:
    for name, schema in properties(definition.request_schema).items():
        needed = " (required)" if name in required(definition.request_schema) else ""
        yield f"  {name}{needed}: {form_in_words(schema)}"


_STARTER = """{
  "tool_name": NAME,
  "description": "Count the lines of a text file. Replace this sentence: it is what the agent reads.",
  "request_schema": {
    "type": "object",
    "properties": {
      "file_path": {
        "type": "string",
        "description": "Path of the file, relative to the project folder.",
        "minLength": 1
      }
    },
    "required": [
      "file_path"
    ],
    "additionalProperties": false
  },
  "response_format": "The number of lines and the path.",
  "transport": {
    "type": "command",
    "command": [
      "wc",
      "-l",
      "--",
      "{file_path}"
    ]
  },
  "access_control": {
    "*": "permissioned_access"
  },
  "agent_specific_guidance": {
    "coder": "Replace or remove this advice for one role."
  },
  "timeout_s": 10,
  "examples": [
    {
      "file_path": "README.md"
    }
  ]
}
"""


def starter(name: str) -> str:
    """Return a new definition of a working command tool. Raises UsageError for an impossible ``name``."""
    text = _STARTER.replace("NAME", json.dumps(name, ensure_ascii=False))
    _, mistakes = read_definition(text, f"{one_line(name, 80)}.json")
    if mistakes:
        raise UsageError("\n".join(f"{mistake.message}. {mistake.fix}" for mistake in mistakes))
    return text


# -- definitions that wait for a person; until one accepts a definition, no agent may use it -------------


class PendingDefinition(Struct, frozen=True):
    """A definition that waits for a human; ``before``: the last accepted text, or ""."""

    definition: Definition
    before: str = ""

    def question(self) -> str:
        """Return the text to review before accepting: what runs, diff, entire file."""
        one = self.definition
        first = f"{one.tool_name} ({one.source}) {what_runs(one.transport)}"
        return printable("\n".join((first, "", *file_for_review(self.before, one.text))))


def pending_definitions(registry: Registry, record: TrustRecord) -> tuple[PendingDefinition, ...]:
    """Return definitions not accepted as they are, by name. Raises UsageError."""
    waiting = [registry.definitions[name] for name in registry.names() if not registry.definitions[name].trusted]
    return tuple(PendingDefinition(one, record.accepted_text(one.tool_name)) for one in waiting)


def accept_definition(definition: Definition, record: TrustRecord) -> None:
    """Record a human's acceptance. Raises UsageError."""
    record.accept(definition.tool_name, definition.digest, definition.text)
