"""Biome of the project's ``node_modules``, on text that is not on disk.

Its report excludes standard input, so texts go into a scratch folder with the configuration. The binary runs, not its
Node script (seven times slower). Unknown shapes of the experimental JSON are "not checked".
"""

from __future__ import annotations

import json
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from rails.core import limits
from rails.core.errors import CheckError
from rails.core.plain_file import real_path
from rails.core.scratch import scratch_folder
from rails.core.text import one_line
from rails.core.verdict import Finding
from rails.gate.languages.javascript.config import ScriptSettings
from rails.gate.languages.javascript.node_tools import NOT_EXECUTED, NodeTools, parsed_by_tree_sitter, unparsed_finding
from rails.gate.support import config_files
from rails.gate.support.check import CheckContext, ExcludedError, NotNeededError
from rails.gate.support.diagnostics import SYNTAX, Diagnostic
from rails.sandbox import probe
from rails.sandbox.places import own_packages
from rails.sandbox.run import run
from rails.sandbox.values import Result, SandboxLimits, SandboxView

_CONFIGS: Final = ("biome.json", "biome.jsonc", ".biome.json", ".biome.jsonc")
#: What Biome reads beside its configuration.
_BESIDE: Final = ("package.json", ".editorconfig")
_IN_FOLDERS: Final = (*_CONFIGS, ".gitignore", ".ignore")
_NAMED: Final = re.compile(r'"((?:\.{1,2}/)?[^"\n]+\.(?:jsonc?|grit))"')
_EXCUSED: Final = re.compile(r"^[ \t]*+(?://|/\*)\s*biome-ignore-all\s+lint[:\s]", re.M)
_VERSION: Final = re.compile(rb'"version":\s*"([^"]+)"')
#: What Biome may print: one file can hold ten thousand findings.
_OUTPUT: Final = 64_000_000


class BiomeTools(NodeTools):
    """Biome, for what the project has no ESLint or Prettier for."""

    parser: str = "biome"

    def __init__(self, context: CheckContext, config: ScriptSettings) -> None:
        super().__init__(context, config)
        self.linter = "eslint" if config.eslint else "biome"

    def version(self, tool: str) -> str:
        """Return a tool's version, "" if missing."""
        return self._version if tool.startswith("biome") else super().version(tool)

    @cached_property
    def _version(self) -> str:
        found = _VERSION.search(config_files.read_config_file(self._packages / "biome" / "package.json"))
        return found[1].decode() if found else ""

    @property
    def _packages(self) -> Path:
        return self.context.project / "node_modules" / "@biomejs"

    @cached_property
    def _binary(self) -> Path:
        machine = "x64" if platform.machine() == "x86_64" else "arm64"
        found = sorted(self._packages.glob(f"cli-{sys.platform}-{machine}*/biome"))
        if not found:
            raise CheckError("the project uses Biome, which is not installed in its node_modules; run: npm install")
        if not self.may_run:
            raise CheckError(f"Biome of the project {NOT_EXECUTED}")
        return real_path(found[0])

    def _parsed(self, path: str, text: str) -> Finding | None:
        try:
            reported = self._reported(path, text)
        except NotNeededError:  # excluded or switched off, which excuses nobody from writing a program
            return parsed_by_tree_sitter(path, text)
        found = next((one for one in reported if one.rule == SYNTAX), None)
        return unparsed_finding(path, text, found.start, "biome", found.message) if found else None

    def excused(self, text: str) -> bool:
        """Return whether a comment excuses the file."""
        return super().excused(text) if self.config.eslint else bool(_EXCUSED.search(text[:2_000]))

    def lint(self, path: str, text: str) -> tuple[Diagnostic, ...]:
        """Return the linter's findings. Raises CheckError."""
        if self.config.eslint:
            return super().lint(path, text)
        return tuple(one for one in self._reported(path, text) if one.rule != SYNTAX)

    def formatter(self, _path: str, /) -> str:
        """Return the formatter's name."""
        return "prettier" if self.config.prettier else "biome format"

    def format(self, path: str, text: str) -> str:
        """Return ``text`` formatted. Raises CheckError, also NotNeededError."""
        if self.config.prettier:
            return super().format(path, text)
        # Biome asks its lists of files only about a file that is there.
        ran = self._ran("format", path, text, f"--stdin-file-path={path}")
        if "is ignored" in ran.err:
            raise ExcludedError
        if "is currently disabled" in ran.err:
            raise NotNeededError("the project's configuration switches Biome's formatter off")
        if ran.exit_code or not ran.out:
            raise CheckError(f"Biome did not format it: {_complaint(ran)}")
        return ran.out

    def left_out(self, path: str) -> tuple[tuple[str, str], ...]:
        """Return the ignored parts of the project's configuration."""
        return super().left_out(path) if self.config.eslint else ()

    # -- asking -----------------------------------------------------------------------------------

    def _configuration(self, path: str) -> dict[str, bytes]:
        """Return what Biome reads for a file: of each folder on the way, beside it at the top, and what is extended."""
        project = self.context.project
        names = [f"{folder}{name}" for folder in config_files.folders_to(path) for name in _IN_FOLDERS]
        found: dict[str, bytes] = {}
        for name in (*names, *_BESIDE):
            found[name] = config_files.read_config_file(project / name)
            for other in _NAMED.findall(found[name].decode(errors="replace")) if name in _CONFIGS else ():
                place = real_path(project / other)
                if project in place.parents:
                    found[place.relative_to(project).as_posix()] = config_files.read_config_file(place)
        return {name: data for name, data in found.items() if data}

    def _reported(self, path: str, text: str) -> list[Diagnostic]:
        ran = self._ran(
            "lint",
            path,
            text,
            "--reporter=json",
            "--max-diagnostics=none",
            f"./{path}",
        )
        if "No files were processed" in ran.err:
            raise ExcludedError
        try:
            report = json.loads(ran.out)
            found = [_diagnostic(item) for item in report["diagnostics"]]
            looked = report["summary"]["changed"] or report["summary"]["unchanged"] or found
        except (ValueError, LookupError, TypeError) as error:
            raise CheckError(f"Biome ended with code {ran.exit_code}: {_complaint(ran)}") from error
        if not looked:
            raise CheckError("Biome does not look at this file")
        return found

    def _ran(self, verb: str, path: str, text: str, *options: str) -> Result:
        """Run Biome on a text, on its disk and as its input."""
        files = self._configuration(path)
        key = (
            "biome" if verb == "lint" else "biome format",
            self._version,
            tuple(files.items()),
            path,
            text,
        )
        words = (str(self._binary), verb, "--colors=off", *options)
        return self.context.once(
            key,
            lambda: self._run(words, {**files, path: text.encode()}, path),
        )

    def _run(self, words: Sequence[str], files: dict[str, bytes], path: str) -> Result:
        packages = (self.context.home or self.context.project) / "node_modules"
        bounds = SandboxLimits(seconds=limits.CHECK_SECONDS, output=_OUTPUT)
        if files.keys().isdisjoint((".gitignore", ".ignore")):
            files[".gitignore"] = b"\n"  # Biome wants one where it is to leave out what git ignores
        with scratch_folder("biome") as name:
            folder = Path(name)
            for one, content in files.items():
                (folder / one).parent.mkdir(parents=True, exist_ok=True)
                (folder / one).write_bytes(content)
            (folder / "node_modules").symlink_to(
                real_path(self.context.project / "node_modules"),
                True,
            )
            view = SandboxView(folder, None, (self._binary, *own_packages(packages)))
            ran = run(
                words,
                view,
                limits=bounds,
                label=probe.label(),
                stdin=files[path],
            )
        if ran.timed_out:
            raise CheckError(f"Biome did not finish within {limits.CHECK_SECONDS:g} seconds and was stopped.")
        return ran


def _complaint(ran: Result) -> str:
    return one_line(" ".join(ran.err[-600:].split()), 300)


def _diagnostic(item: Mapping[str, Any]) -> Diagnostic:
    category = str(item["category"])
    start, end = ((int(place["line"]), int(place["column"])) for place in map(item["location"].get, ("start", "end")))
    return Diagnostic(
        SYNTAX if category.startswith("parse") else category.removeprefix("lint/"),
        one_line(str(item["message"]), 300),
        start,
        end,
        severity="error" if item["severity"] in ("error", "fatal") else "warning",
    )
