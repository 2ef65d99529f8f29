"""ESLint and Prettier of the project or the user, warm in one Node process.

Configuration programs run only if the person allows it. Else ESLint looks for errors only, which the verdict reports.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import PurePosixPath
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from rails.core import limits
from rails.core.errors import CheckError
from rails.core.text import main_eol, one_line, plain_text
from rails.core.tool_request import Json
from rails.core.verdict import Finding
from rails.gate.baseline import split_lines
from rails.gate.languages.javascript import node_worker
from rails.gate.languages.javascript.config import ScriptSettings
from rails.gate.support import executed_config
from rails.gate.support.check import CheckContext, ExcludedError, NotNeededError
from rails.gate.support.diagnostics import RULE, Diagnostic, not_listed
from rails.gate.support.fix_and_lint import Language
from rails.gate.support.parse_hints import with_cause, wrapping_fence
from rails.sandbox.probe import label
from rails.sandbox.values import NONE

#: A line and a column, both 1-based.
_Place = tuple[int, int]
#: Breaks rules that nearly every configuration has.
_LINT_CANARY: Final = (
    "debugger;\nconsole.log(1);\nvar x = 1, y = 'a' + \"b\"\nif (x = 2) {}\nx = x;\nfoo == bar\n"
    "switch (x) { case 1: break; case 1: break }\nfunction f(a) { return; y() }\n"
)
_FORMAT_CANARY: Final = "const  x = {a:1}\n"
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

    def __init__(self, context: CheckContext, config: ScriptSettings) -> None:
        self.context = context
        self.config = config
        self._eslint_in = cache(self._eslint_of_folder)
        self._options = cache(lambda path: self._ask("options", path))
        self._digest = cache(lambda folder: executed_config.digest_of(self.context.project / folder))

    @cached_property
    def worker(self) -> node_worker.NodeWorker:
        """The Node process. Raises CheckError without Node.js."""
        kept: node_worker.NodeWorker | None = self.context.resources.get("node")
        if kept is None or kept.packages != self.may_run:
            if kept is not None:
                kept.close()
            node = node_worker.find_node(self.context.project)
            if node is None:
                raise CheckError("Node.js is not installed, so JavaScript cannot be checked")
            kept = node_worker.NodeWorker(node, self.context.project, self.context.home, packages=self.may_run)
            self.context.resources["node"] = kept
        return kept

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
            return self._versions[tool] or ""
        except CheckError:
            return ""

    @cached_property
    def _versions(self) -> dict[str, Any]:
        return self.worker.ask({"op": "about"})

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
            raise CheckError("it is not UTF-8 text")
        if fence := wrapping_fence(split_lines(text)):
            # Backquotes are template literals to a parser: a fenced file can be valid JavaScript.
            return unparsed_finding(path, text, (fence, 1), self.parser, "The file is not code alone.")
        return self._parsed(path, text)

    def _parsed(self, path: str, text: str) -> Finding | None:
        try:
            found = self._ask("syntax", path, text=text)["found"]
        except CheckError:  # no installed package parses it, or Node.js is missing
            return parsed_by_tree_sitter(path, text)
        if found is None:
            return None
        place = (found["line"], found["column"])
        message = one_line(found["message"], 200)
        return unparsed_finding(path, text, place, "node", message, remedy=found.get("remedy", ""))

    def excused(self, text: str) -> bool:
        """Return whether a comment excuses the file."""
        return _EXCUSED.search(text[:2_000]) is not None

    def lint(self, path: str, text: str) -> tuple[Diagnostic, ...]:
        """Return ESLint's findings. Raises CheckError, also NotNeededError."""
        if not self.version("eslint"):
            raise (CheckError if self.config.eslint else NotNeededError)(self.missing("ESLint"))
        found = self._eslint(path, text)
        # What found something looks; only silence needs proof. Our own rules go by the ending alone.
        place = path if self._eslint_config(path)[1] else f"canary{PurePosixPath(path).suffix}"
        if not _rules(found) and not _rules(self._eslint(place, _LINT_CANARY)):
            raise NotNeededError("ESLint's configuration selects no rule for this file")
        return found

    def formatter(self, _path: str, /) -> str:
        """Return the formatter's name."""
        return "prettier"

    def format(self, path: str, text: str) -> str:
        """Return ``text`` formatted by Prettier. Raises CheckError, also NotNeededError."""
        if not self.version("prettier"):
            raise (CheckError(self.missing("Prettier")) if self.config.prettier else NotNeededError())
        how = self._options(path)
        if not self.config.prettier and not how["config"]:
            raise NotNeededError
        if how["program"]:
            name = one_line(str(how["config"]).removeprefix(self._place("")), 200)
            raise NotNeededError(f"{name} is a program or loads plugins, which are not executed")
        wanted = self._prettier(path, text)
        if wanted == text and self._prettier(path, _FORMAT_CANARY) == _FORMAT_CANARY:
            if how["options"].get("requirePragma"):
                raise ExcludedError
            raise CheckError("Prettier does not format this file")
        return wanted

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
        return self._eslint_in(path[: path.rfind("/") + 1])

    def _eslint_of_folder(self, folder: str) -> tuple[str, bool]:
        """Only ESLint 10 has nested configuration."""
        nearest = self.config.eslint_for(folder)
        if "/" in nearest and int(self.version("eslint").partition(".")[0] or 0) >= _NESTED:
            inner = nearest.rpartition("/")[0]
            home = self.context.home or self.context.project
            return nearest, bool(
                executed_config.may_execute(
                    self.context.project / inner,
                    home=home / inner,
                )
            )
        return self.config.eslint_code, self.context.trusted and self.config.eslint

    def _place(self, path: str) -> str:
        return f"{self.context.project}/{path}"

    def _eslint(self, path: str, text: str) -> tuple[Diagnostic, ...]:
        config, own = self._eslint_config(path)
        folder, _, name = config.rpartition("/")
        stamp = self._stamp(folder) if own else ""
        how: dict[str, Json] = {
            "root": self._place(folder),
            "own": own,
            "stamp": stamp,
            "most": limits.FINDINGS_LISTED,
        }

        def look() -> tuple[Diagnostic, ...]:
            answer = self._ask(
                "eslint",
                path,
                text=text,
                config=name if folder else "",
                **how,
            )
            if answer["fatal"]:
                raise CheckError(f"ESLint could not parse it: {one_line(answer['fatal'], 160)}")
            found = msgspec.convert(answer["findings"], list[Diagnostic])
            return (*(replace(one, message=one_line(one.message, 300)) for one in found), *not_listed(answer["more"]))

        key = ("eslint", self.version("eslint"), stamp, config if own else "", path, text)
        return self.context.once(key, look)

    def _stamp(self, folder: str) -> str:
        """Return the digest of a folder's configuration; a process that loaded another one is stopped."""
        stamp = self._digest(folder)
        if self.worker.stamps.setdefault(folder, stamp) != stamp:
            self.worker.close()
            self.worker.stamps = {folder: stamp}
        return stamp

    def _prettier(self, path: str, text: str) -> str:
        options = dict(self._options(path)["options"])
        if "endOfLine" not in options and main_eol(text)[0] == "\r\n":
            options["endOfLine"] = "crlf"
        ignores: list[Json] = [self._place(one) for one in self.config.prettier_ignores(path)]
        how: dict[str, Json] = {"text": text, "options": options, "ignorePath": ignores}
        key = ("prettier", self.version("prettier"), repr(options), path, text)
        return self.context.once(key, lambda: str(self._ask("prettier", path, **how)["text"]))

    def _ask(self, op: str, path: str, **more: Json) -> dict[str, Any]:
        """Return the worker's answer about a file. Raises CheckError, also ExcludedError."""
        answer = self.worker.ask({"op": op, "path": self._place(path), **more})
        if answer.get("ignored"):
            raise ExcludedError
        return answer


def parsed_by_tree_sitter(path: str, text: str) -> Finding | None:
    """Return the syntax error that the parser beside AI-Rails finds."""
    from rails.data_formats.source import first_error

    place = first_error(text, "tsx" if path.lower().endswith("x") else "typescript")
    return unparsed_finding(path, text, place, "tree-sitter", "The syntax is invalid.") if place else None


def unparsed_finding(path: str, text: str, place: _Place, tool: str, message: str, *, remedy: str = "") -> Finding:
    """Return a parser's finding, with the cause and its remedy where they are known."""
    line, column = place
    words, advice = with_cause(text, line, message)
    return Finding(
        path,
        line,
        column,
        RULE,
        words,
        tool,
        end_line=line,
        end_column=column,
        remedy=remedy or advice,
    )


def _rules(found: Sequence[Diagnostic]) -> bool:
    return any(one.rule not in (RULE, _NO_RULE) for one in found)
