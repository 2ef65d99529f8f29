"""ESLint and Prettier of the project or the user, warm in one Node process.

Configuration programs run only if the person allows it. Else ESLint looks for errors only, which the verdict reports.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from rails.core import limits
from rails.core.errors import CheckError
from rails.core.text import decode_text, one_line, plain_text
from rails.core.tool_request import Json
from rails.core.verdict import Finding
from rails.gate.baseline import split_lines
from rails.gate.languages.javascript import node_worker
from rails.gate.languages.javascript.config import ScriptSettings
from rails.gate.support import executed_config
from rails.gate.support.check import CheckContext
from rails.gate.support.diagnostics import RULE, Diagnostic, FixEdit, not_listed
from rails.gate.support.fix_and_lint import ExcludedError, Language, NotCheckedError, NotNeededError
from rails.gate.support.parse_hints import cause, wrapping_fence
from rails.sandbox.probe import label
from rails.sandbox.values import NONE

T = TypeVar("T")
#: A line and a column, both 1-based.
_Place = tuple[int, int]
#: Breaks rules that nearly every configuration has.
_LINT_CANARY: Final = (
    "debugger;\nconsole.log(1);\nvar x = 1, y = 'a' + \"b\"\nif (x = 2) {}\nx = x;\nfoo == bar\n"
    "switch (x) { case 1: break; case 1: break }\nfunction f(a) { return; y() }\n"
)
_FORMAT_CANARY: Final = b"const  x = {a:1}\n"
#: What is said under no rule of the configuration.
_NO_RULE: Final = "eslint"
_EXCUSED: Final = re.compile(r"/\*\s*eslint-disable\s*(?:--[^*]*)?\*/")
#: The first ESLint that reads the configuration nearest to a file.
_NESTED: Final = 10
#: Where nothing contains what nobody has read.
NOT_EXECUTED: Final = (
    "was not executed: nothing contains it here (ai-rails doctor says what to install); "
    "to let it run as you, read it, then: ai-rails gate --trust"
)
_INSTALL: Final = "install it in the project, or run: ai-rails doctor --install javascript"


class NodeTools(Language):
    """JavaScript tools for one state of a project's configuration."""

    parser: str = "node"
    linter: str = "eslint"
    formatter_name: str = "prettier"
    other_format: str = ""

    def __init__(self, context: CheckContext, config: ScriptSettings) -> None:
        self.context = context
        self.config = config
        self._eslint_configs: dict[str, tuple[str, bool]] = {}
        self._stamps: dict[str, str] = {}
        self._prettier_known: dict[str, _Options] = {}

    @cached_property
    def worker(self) -> node_worker.NodeWorker:
        """The Node process. Raises CheckError without Node.js."""
        kept = self.context.resources.get("node")
        if isinstance(kept, node_worker.NodeWorker):
            if kept.alive and kept.packages == self.may_run:
                return kept
            kept.close()
        node = node_worker.find_node(self.context.project)
        if node is None:
            raise CheckError("Node.js is not installed, so JavaScript cannot be checked")
        made = self.context.resources["node"] = node_worker.NodeWorker(
            node, self.context.project, self.context.home, packages=self.may_run
        )
        return made

    @cached_property
    def may_run(self) -> bool:
        """Whether installed packages may run: contained, or agreed to by a person."""
        return self.context.trusted or label().level > NONE

    def missing(self, tool: str) -> str:
        """Return why a tool is missing."""
        return f"{tool} is not installed; {_INSTALL}" if self.may_run else f"{tool} of the project {NOT_EXECUTED}"

    def version(self, tool: str) -> str:
        """Return the version of "node", "eslint" or "prettier", "" if missing."""
        try:
            return str(self.worker.about.get(tool) or "")
        except CheckError:
            return ""

    def about(self, name: str) -> tuple[str, str, str]:
        """Return a tool's version, where its rules are from, and its command."""
        own = self.context.trusted and self.config.eslint_code
        origins = {
            "eslint": own or "no configuration that may run: errors only",
            "prettier": "the project's options",
            "node": "",
        }
        command = f"{node_worker.find_node(self.context.project)} {name}".removesuffix(" node")
        return self.version(name), origins.get(name, "the project's Biome configuration"), command

    def syntax(self, path: str, data: bytes) -> Finding | None:
        """Return the parse error."""
        text = plain_text(data)
        if text is None:
            raise NotCheckedError("it is not UTF-8 text")
        if fence := wrapping_fence(split_lines(text)):
            # Backquotes are template literals to a parser: a fenced file can be valid JavaScript.
            words = "The file is wrapped in a Markdown code fence."
            return Finding(
                path, fence, 1, RULE, words, self.parser, end_line=fence, remedy="Leave the fence lines out."
            )
        return self._parsed(path, data, text)

    def _parsed(self, path: str, _data: bytes, text: str) -> Finding | None:
        try:
            answer = self.worker.ask({"op": "syntax", "path": self._place(path), "text": text})
        except CheckError:
            answer = {"error": "NO_PARSER"}
        if answer.get("error") == "NO_PARSER":
            return parsed_by_tree_sitter(path, text)
        found = self._ok(answer, "syntax").get("error")
        if not isinstance(found, dict):
            return None
        place = _number(found.get("line")), _number(found.get("column"))
        message = one_line(str(found.get("message")), 200)
        return _broken(path, text, place, "node", message, remedy=str(found.get("remedy") or ""))

    def excused(self, data: bytes) -> bool:
        """Return whether a comment excuses the file."""
        return _EXCUSED.search((plain_text(data) or "")[:2_000]) is not None

    def lint(self, path: str, data: bytes) -> tuple[Diagnostic, ...]:
        """Return ESLint's findings. Raises CheckError, NotCheckedError or NotNeededError."""
        if not self.version("eslint"):
            raise (CheckError if self.config.eslint else NotNeededError)(self.missing("ESLint"))
        found = self._eslint(path, data)
        # What found something looks; only silence needs proof. Our own rules go by the ending alone.
        place = path if self._eslint_config(path)[1] else f"canary{PurePosixPath(path).suffix}"
        if not _rules(found) and not _rules(self._eslint(place, _LINT_CANARY.encode())):
            raise NotNeededError("ESLint's configuration selects no rule for this file")
        return tuple(found)

    def format(self, path: str, data: bytes) -> bytes:
        """Return ``data`` formatted by Prettier. Raises CheckError, NotCheckedError or NotNeededError."""
        if not self.version("prettier"):
            raise (CheckError(self.missing("Prettier")) if self.config.prettier else NotNeededError())
        how = self._options(path)
        if not self.config.prettier and not how.config:
            raise NotNeededError
        if how.program:
            name = one_line(str(how.config).removeprefix(self._place("")), 200)
            raise NotNeededError(f"{name} is a program or loads plugins, which are not executed")
        wanted = self._prettier(path, data)
        if wanted == data and self._prettier(path, _FORMAT_CANARY) == _FORMAT_CANARY:
            if how.options.get("requirePragma"):
                raise ExcludedError
            raise NotCheckedError("Prettier does not format this file")
        return wanted

    def same_program(self, path: str, one: str, other: str) -> bool:
        """Say whether both are formatted to the same text."""
        try:
            return self.format(path, one.encode()) == self.format(path, other.encode())
        except (CheckError, NotCheckedError, NotNeededError):
            return False

    def left_out(self, path: str) -> tuple[tuple[str, str], ...]:
        """Report an ESLint configuration that was not executed."""
        config, own = self._eslint_config(path)
        if not config or own:
            return ()
        words = (
            f"{config} is a program and was not executed, only errors were looked for; "
            "to let it run, read it, then: ai-rails gate --trust"
        )
        return (("eslint", words),)

    def _eslint_config(self, path: str) -> tuple[str, bool]:
        """Only ESLint 10 has nested configuration."""
        folder = path.rpartition("/")[0]
        if folder not in self._eslint_configs:
            found = self.config.eslint_code
            own = self.context.trusted and self.config.eslint
            nearest = self.config.eslint_for(path)
            if "/" in nearest and int(self.version("eslint").partition(".")[0] or 0) >= _NESTED:
                inner = nearest.rpartition("/")[0]
                home = self.context.home or self.context.project
                found = nearest
                own = bool(executed_config.may_execute(self.context.project / inner, home=home / inner))
            self._eslint_configs[folder] = found, own
        return self._eslint_configs[folder]

    def _options(self, path: str) -> _Options:
        if path not in self._prettier_known:
            answer = self._ok(self.worker.ask({"op": "options", "path": self._place(path)}), "Prettier")
            self._prettier_known[path] = _converted(answer, _Options)
        return self._prettier_known[path]

    def _place(self, path: str) -> str:
        return f"{self.context.project}/{path}"

    def _eslint(self, path: str, data: bytes) -> list[Diagnostic]:
        config, own = self._eslint_config(path)
        folder, _, name = config.rpartition("/")
        request: dict[str, Json] = {
            "op": "eslint",
            "path": self._place(path),
            "root": self._place(folder),
            "own": own,
            "most": limits.FINDINGS_LISTED,
            "config": name if folder else "",
            "stamp": self._stamp(folder) if own else "",
        }
        key = ("eslint", self.version("eslint"), request["stamp"], config if own else "", path, data)
        return self.context.once(key, lambda: self._eslint_now({**request, "text": plain_text(data) or ""}))

    def _stamp(self, folder: str) -> str:
        if folder not in self._stamps:
            stamp = self._stamps[folder] = executed_config.digest_of(self.context.project / folder)
            if self.worker.stamps.setdefault(folder, stamp) != stamp:
                self.worker.close()
                del self.worker
                self.worker.stamps[folder] = stamp
        return self._stamps[folder]

    def _eslint_now(self, request: Mapping[str, Json]) -> list[Diagnostic]:
        answer = self._ok(self.worker.ask(request), "ESLint")
        found = _converted(answer, _Messages)
        fatal = next((one for one in found.messages if one.fatal), None)
        if fatal is not None:
            raise NotCheckedError(f"ESLint could not parse it: {one_line(fatal.message, 160)}")
        return [*map(_diagnostic, found.messages), *not_listed(found.more)]

    def _prettier(self, path: str, data: bytes) -> bytes:
        decoded = decode_text(data)
        if decoded is None:
            raise NotCheckedError("it is not UTF-8 text")
        options = dict(self._options(path).options)
        if "endOfLine" not in options and decoded.eol == "\r\n":
            options["endOfLine"] = "crlf"
        request: dict[str, Json] = {
            "op": "prettier",
            "path": self._place(path),
            "text": decoded.text,
            "options": options,
            "ignorePath": [self._place(one) for one in self.config.prettier_ignores(path)],
        }

        def formatted() -> bytes:
            answer = self._ok(self.worker.ask(request), "Prettier")
            return decoded.encode(str(answer["text"]))

        key = ("prettier", self.version("prettier"), repr(options), path, data)
        return self.context.once(key, formatted)

    def _ok(self, answer: dict[str, Json], tool: str) -> dict[str, Json]:
        if not answer.get("ok"):
            words = " ".join(str(answer.get("error")).split())
            raise CheckError(f"{tool} failed: {one_line(words, 200)}")
        if answer.get("ignored"):
            raise ExcludedError
        return answer


def parsed_by_tree_sitter(path: str, text: str) -> Finding | None:
    """Return the syntax error that the parser beside AI-Rails finds."""
    from rails.data_formats.source import first_error

    place = first_error(text, "tsx" if path.lower().endswith("x") else "typescript")
    return _broken(path, text, place, "tree-sitter", "The syntax is invalid.") if place else None


def _broken(path: str, text: str, place: _Place, tool: str, message: str, *, remedy: str = "") -> Finding:
    line, column = place
    why, advice = cause(text, line, message)
    words = f"{message.rstrip('.')}. {why}" if why else message
    return Finding(path, line, column, RULE, words, tool, end_line=line, end_column=column, remedy=remedy or advice)


def _converted(answer: dict[str, Json], kind: type[T]) -> T:
    try:
        return msgspec.convert(answer, kind)
    except msgspec.ValidationError as error:
        raise CheckError("The Node worker answered something unknown.") from error


def _rules(found: Sequence[Diagnostic]) -> bool:
    """Return whether a rule reported; ESLint's messages about directives have none."""
    return any(one.rule not in (RULE, _NO_RULE) for one in found)


class _Options(Struct):
    """Prettier's options for a file, and the path of what they are from; with ``program`` they are not known."""

    config: str | None
    program: bool
    options: dict[str, Any]


class _Fix(Struct):
    start: _Place
    end: _Place
    text: str


class _Message(Struct):
    message: str
    start: _Place
    end: _Place
    rule: str | None = None
    fatal: bool = False
    fix: _Fix | None = None


class _Messages(Struct):
    messages: list[_Message]
    more: dict[str, int]


def _diagnostic(found: _Message) -> Diagnostic:
    edits = (FixEdit(found.fix.start, found.fix.end, found.fix.text),) if found.fix else ()
    return Diagnostic(found.rule or _NO_RULE, one_line(found.message, 300), found.start, found.end, edits, bool(edits))


def _number(value: Json) -> int:
    return value if isinstance(value, int) else 0
