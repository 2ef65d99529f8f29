"""Which JavaScript and TypeScript tools a project configures, read as data and never executed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from rails.core.errors import CheckError
from rails.gate.support import config_files
from rails.gate.support.config_files import folders_to

_ESLINT: Final = re.compile(r"eslint\.config\.[cm]?[jt]s|\.eslintrc(?:\.\w+)?")
_PRETTIER: Final = re.compile(r"\.prettierrc(?:\.\w+)?|prettier\.config\.\w+")


class ScriptSettings(Struct, frozen=True):
    """The configured tools. ``eslint_code`` is a top-level program."""

    project: Path
    eslint: bool
    eslint_code: str
    prettier: bool
    biome: bool

    def eslint_for(self, path: str) -> str:
        """Return the nearest ESLint configuration, or ``""``."""
        for folder in reversed(folders_to(path)):
            try:
                names = sorted(entry.name for entry in (self.project / folder).iterdir())
            except OSError:
                names = []
            if found := next(filter(_ESLINT.fullmatch, names), ""):
                return f"{folder}{found}"
        return ""

    def prettier_ignores(self, path: str) -> Iterator[str]:
        """Yield what Prettier reads where it is started: at the top, and in each package on the way."""
        for folder in folders_to(path):
            if not folder or (self.project / folder / "package.json").is_file():
                yield from (f"{folder}.gitignore", f"{folder}.prettierignore")


def read_script_settings(project: Path) -> ScriptSettings:
    """Read the project's files. Raises CheckError for an unreadable one."""
    try:
        names = sorted(entry.name for entry in project.iterdir())
        package = json.loads(config_files.read_config_file(project / "package.json").strip() or b"{}")
    except OSError as error:
        raise CheckError(f"The project folder cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise CheckError(f"package.json is not valid JSON: {error}") from error
    package = package if isinstance(package, dict) else {}
    wanted = {name for key in ("dependencies", "devDependencies") for name in config_files.table(package, key)}
    eslint_code = next(filter(_ESLINT.fullmatch, names), "")
    return ScriptSettings(
        project,
        eslint="eslint" in wanted or bool(eslint_code) or "eslintConfig" in package,
        eslint_code=eslint_code,
        prettier="prettier" in {*wanted, *package} or any(map(_PRETTIER.fullmatch, names)),
        biome="biome.json" in names or "biome.jsonc" in names or "@biomejs/biome" in wanted,
    )
