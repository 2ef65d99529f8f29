"""What a definition file says about where its tool runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeGuard

from rails.core.builtin_tools import BUILTIN_TOOLS
from rails.core.lazy_pattern import lazy
from rails.core.text import one_line
from rails.core.tool_request import Json
from rails.data_formats.positions import JsonPlace
from rails.json_schema.allowed import did_you_mean, kind_in_words, quoted_json
from rails.tools.definition_fields import VARIABLE, Fields
from rails.tools.registry import Builtin, Command, Http, Mcp, Transport

_TRANSPORTS: Final = ("builtin", "command", "http", "mcp-http", "mcp-stdio", "python")
_TRANSPORT_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "builtin": frozenset({"type", "name"}),
    "command": frozenset({"type", "command", "stdin", "env", "contained", "network"}),
    "http": frozenset({"type", "url", "method", "headers", "endpoint_env", "idempotent", "allow_private"}),
    "mcp-http": frozenset({"type", "url", "headers", "tool", "idempotent", "allow_private"}),
    "mcp-stdio": frozenset({"type", "command", "args", "env", "tool", "idempotent", "contained", "network"}),
    "python": frozenset({"type", "function", "env", "network"}),
}
_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
_PLACEHOLDER: Final = lazy(r"\{\{|\}\}|\{([^{}]*)\}")
_SERVER_TOOL: Final = lazy(r"[A-Za-z0-9._/-]{1,128}", re.ASCII)
_LIST_FIX: Final = 'Write ["program", "argument", "{parameter}"]; there is no shell.'


def placeholders(text: str) -> list[str]:
    """Return the names in ``{name}`` placeholders of ``text``; ``{{`` and ``}}`` are plain braces."""
    return [found[1] for found in _PLACEHOLDER.finditer(text) if found[1] is not None]


def fill(text: str, value_of: Callable[[str], str]) -> str:
    """Return ``text`` with every ``{name}`` replaced by ``value_of(name)``, and ``{{`` by a brace."""
    return _PLACEHOLDER.sub(lambda found: found[0][0] if found[1] is None else value_of(found[1]), text)


def variable_name(tool_name: str) -> str:
    """Return the environment variable that overrides a tool's address.

    ``CodebaseSummaryMCP`` gives ``CODEBASE_SUMMARY_MCP_URL``, as the original AI-Rails had it.
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", tool_name).replace("-", "_")
    return f"{words.upper()}_URL"


class TransportReader:
    """Reads the ``transport`` of one definition; mistakes go to its :class:`Fields`."""

    def __init__(self, fields: Fields, tool_name: str) -> None:
        self._fields, self._tool_name = fields, tool_name
        self._raw = fields.object("transport")
        self._endpoint = fields.text("api_endpoint")

    def read(self) -> Transport:
        """Return the transport; one with a mistake comes back as something that is never run."""
        raw = self._raw
        default = "builtin" if self._tool_name in BUILTIN_TOOLS and not self._endpoint else "http"
        kind_of = raw.get("type", default)
        if "transport" in self._fields.raw and "type" not in raw:
            self._fields.problem(("transport",), "the field 'type' is missing", f"Use one of {', '.join(_TRANSPORTS)}.")
        if not isinstance(kind_of, str) or kind_of not in _TRANSPORTS:
            fix = did_you_mean(str(kind_of), _TRANSPORTS, f"Known: {', '.join(_TRANSPORTS)}.")
            self._fields.problem(("transport", "type"), f"the transport {quoted_json(kind_of, 40)} is not known", fix)
            return Builtin("")
        for key in raw:
            if key not in _TRANSPORT_KEYS[kind_of]:
                known = _TRANSPORT_KEYS[kind_of]
                fix = did_you_mean(key, known, f"Known: {', '.join(sorted(known))}.")
                self._fields.problem(("transport", key), f"a {kind_of} transport has no field {one_line(key)!r}", fix)
        makers: Mapping[str, Callable[[], Transport]] = {
            "builtin": self._builtin,
            "command": self._command,
            "http": self._http,
            "mcp-http": self._mcp_http,
            "mcp-stdio": self._mcp_stdio,
            "python": self._python,
        }
        return makers[kind_of]()

    def _builtin(self) -> Builtin:
        name = self._raw.get("name", self._tool_name)
        if not isinstance(name, str) or name not in BUILTIN_TOOLS:
            names = ", ".join(sorted(BUILTIN_TOOLS))
            fix = f"Built-in tools: {names}. For a program of your own use a command transport."
            self._fields.problem(("transport",), f"there is no built-in tool {quoted_json(name, 60)}", fix)
            return Builtin("")
        return Builtin(name)

    def _command(self) -> Command:
        words = self._words("command")
        if not words and _is_strings(self._raw.get("command", [])):
            fix = 'Write the program and its arguments: ["python3", "-m", "unittest", "{target}"]. There is no shell.'
            self._fields.problem(("transport", "command"), "must be a list of at least one string", fix)
        elif words and placeholders(words[0]):
            fix = "Name the program; placeholders are for its arguments."
            self._fields.problem(("transport", "command", 0), "the program cannot come from a parameter", fix)
        stdin = self._raw.get("stdin", "none")
        if stdin not in ("none", "json"):
            self._fields.problem(
                ("transport", "stdin"), f"{quoted_json(stdin, 40)} is not allowed", 'Use "none" or "json".'
            )
        held, hosts = self._contained()
        return Command(words, "json" if stdin == "json" else "none", self._strings("env"), held, hosts)

    def _python(self) -> Command:
        """Read a function of the project: a command that calls it, contained wherever its definition lies."""
        function = self._raw.get("function", "")
        from rails.sandbox.functions import FUNCTION, function_argv

        if not isinstance(function, str) or not FUNCTION.fullmatch(function):
            fix = 'Write "package.module:function".'
            self._fields.problem(("transport", "function"), "is not the name of a function", fix)
            function = ""
        return Command(function_argv("python3", function), "json", self._strings("env"), True, self._contained()[1])

    def _http(self) -> Http:
        url = self._url()
        method = self._raw.get("method", "POST")
        if method not in _METHODS:
            self._fields.problem(
                ("transport", "method"), f"{quoted_json(method, 40)} is not allowed", f"Use {', '.join(_METHODS)}."
            )
        variable = self._raw.get("endpoint_env", variable_name(self._tool_name))
        if not isinstance(variable, str) or not VARIABLE.fullmatch(variable):
            self._fields.problem(
                ("transport", "endpoint_env"), "is not the name of an environment variable", "Use A_NAME."
            )
        idempotent = self._flag("idempotent") or method in ("GET", "PUT", "DELETE")
        return Http(url, str(method), self._strings("headers"), str(variable), idempotent, self._flag("allow_private"))

    def _mcp_http(self) -> Mcp:
        url = self._url()
        if not url:
            self._fields.problem(("transport",), "an mcp-http transport needs the server's address", 'Add "url".')
        headers = self._strings("headers")
        return Mcp(
            endpoint=url,
            headers=headers,
            tool=self._server_tool(),
            idempotent=self._flag("idempotent"),
            allow_private=self._flag("allow_private"),
        )

    def _mcp_stdio(self) -> Mcp:
        first = self._raw.get("command")
        program = (first,) if isinstance(first, str) else self._words("command")
        if not program:
            fix = 'Write "command": "npx", "args": ["-y", "a-server"].'
            self._fields.problem(("transport", "command"), "an mcp-stdio transport needs a program", fix)
        args = self._words("args") if "args" in self._raw else ()
        tool = self._server_tool()
        env, idempotent = self._strings("env"), self._flag("idempotent")
        held, hosts = self._contained()
        command = (*program, *args)
        return Mcp(command=command, env=env, tool=tool, idempotent=idempotent, contained=held, network=hosts)

    def _contained(self) -> tuple[bool, tuple[str, ...]]:
        """Return whether it says that it is to be contained, and the hosts it may reach then."""
        hosts = self._words("network")
        for index, host in enumerate(hosts):
            from rails.sandbox.view import HOST

            if not HOST.fullmatch(host):
                self._fields.problem(("transport", "network", index), "is not the name of a host", 'Use "example.org".')
        return self._flag("contained") or bool(hosts), hosts

    def _server_tool(self) -> str:
        tool = self._raw.get("tool", self._tool_name)
        if not isinstance(tool, str) or not _SERVER_TOOL.fullmatch(tool):
            self._fields.problem(
                ("transport", "tool"), "is not the name of a server's tool", "Use its name as the server says."
            )
            return self._tool_name
        return tool

    def _url(self) -> str:
        value = self._raw.get("url", self._endpoint)
        place: JsonPlace = ("transport", "url") if "url" in self._raw else ("api_endpoint",)
        if "url" in self._raw and self._endpoint:
            self._fields.problem(place, "'api_endpoint' and the transport's 'url' mean the same", "Keep one of them.")
        if not isinstance(value, str) or (value and not re.match(r"https?://[^\s/]", value)):
            self._fields.problem(
                place, f"{quoted_json(value, 80)} is not an http or https address", "Use http://… or https://…."
            )
            return ""
        if "{" in re.split(r"[/?#]", value.partition("://")[2])[0]:
            self._fields.problem(place, "a placeholder cannot choose the host", "Use placeholders after the host only.")
        return value

    def _flag(self, key: str) -> bool:
        value = self._raw.get(key, False)
        if not isinstance(value, bool):
            self._fields.problem(
                ("transport", key), f"must be true or false, not {kind_in_words(value)}", "Write true or false."
            )
        return value is True

    def _words(self, key: str) -> tuple[str, ...]:
        value = self._raw.get(key, [])
        if not _is_strings(value):
            self._fields.problem(
                ("transport", key), f"must be a list of strings, not {kind_in_words(value)}", _LIST_FIX
            )
            return ()
        for index, word in enumerate(value):
            if "\0" in word:
                self._fields.problem(("transport", key, index), "has a NUL character", "Remove it.")
        return tuple(value)

    def _strings(self, key: str) -> Mapping[str, str]:
        value = self._raw.get(key, {})
        if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
            self._fields.problem(("transport", key), "must be an object of strings", 'Write {"NAME": "value"}.')
            return {}
        for name, item in value.items():
            if any(ord(char) < 32 for char in f"{name}{item}"):
                self._fields.problem(("transport", key, name), "has a control character", "Remove it.")
        return {name: str(item) for name, item in value.items()}


def _is_strings(value: Json) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def filled_texts(transport: Transport, fields: Fields) -> Iterator[tuple[JsonPlace, str]]:
    """Yield the texts of a transport that may hold placeholders, with their places in the file."""
    if isinstance(transport, Command):
        for index, word in enumerate(transport.command):
            yield ("transport", "command", index), word
    elif isinstance(transport, Http):
        yield (("api_endpoint",) if "api_endpoint" in fields.raw else ("transport", "url")), transport.endpoint


def secret_texts(transport: Transport) -> Iterator[tuple[JsonPlace, str]]:
    """Yield the texts of a transport that may refer to secrets as ``${NAME}``."""
    headers: Mapping[str, str] = transport.headers if isinstance(transport, Http | Mcp) else {}
    env: Mapping[str, str] = transport.env if isinstance(transport, Command | Mcp) else {}
    for key, texts in (("headers", headers), ("env", env)):
        for name, text in texts.items():
            yield ("transport", key, name), text
