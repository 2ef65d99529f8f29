"""From a string that a model wrote to a :class:`WorkspacePath`, or a refusal.

Covered: traversal, absolute and home paths, drives, UNC, NUL and control characters, spaces at the ends of names,
alternate streams, over-long names, invisible characters, lookalikes of protected names (case, Unicode compatibility,
NTFS short names). Links, devices, races: ``rails.edits.apply``. Only :func:`forbidden` reads the disk.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from rails.core import limits
from rails.core.errors import Refusal
from rails.core.lazy_pattern import lazy
from rails.core.text import one_line, printable

_DEVICE: Final = lazy(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(\..*)?", re.I)
_DRIVE: Final = lazy(r"[A-Za-z]:(?:/|$)")
_SHORT_NAME: Final = lazy(r"(git|rails|env|claude|vscode)~[0-9]", re.I)

#: What :func:`kept_file` returns.
_KEPT: Final = lazy(r"\.rails/blobs/([0-9a-f]{2})/\1[0-9a-f]{62}")

#: Folders that are never shown: their content is not the project's text, or not the model's business.
HIDDEN_FOLDERS: Final = frozenset({".git", ".rails", ".hg", ".svn", ".ssh", ".gnupg", ".aws"})
#: What is hidden and no program does anything for.
_ORDINARY_HIDDEN: Final = frozenset({".gitkeep", ".keep", ".nojekyll", ".npmignore", ".dockerignore", ".changeset"})
#: Names that mean secrets by convention.
_SECRETS: Final = lazy(
    r"\.env(\..*)?(?<!\.example)(?<!\.sample)(?<!\.template)|\.netrc|\.pypirc|\.npmrc|\.git-credentials"
    r"|id_(rsa|ed25519|ecdsa|dsa)",
    re.S,
)


def _named(names_by_reason: Mapping[str, str]) -> dict[str, str]:
    return {name: reason for reason, names in names_by_reason.items() for name in names.split()}


#: Directory names whose content another program executes, or that hold our own state. Any depth.
PROTECTED_DIRECTORIES: Final = _named(
    {
        "version control: what is in it can run on the next git command": ".git",
        "this tool's own state": ".rails",
        "version control": ".hg .svn",
        "continuous integration: runs with the project's credentials": ".github",
        "continuous integration": ".gitlab .circleci .buildkite .woodpecker .teamcity",
        "git hooks": ".husky",
        "editor configuration that can execute": ".vscode .idea .devcontainer .zed .fleet",
        "agent configuration": (
            ".cursor .claude .codex .gemini .windsurf .continue .roo .cline .kiro .amazonq .opencode"
        ),
        "agent instructions": ".clinerules",
        "tool definitions: what an agent may run": "mcp_definitions",
        "agent templates: what an agent is told": "agent_templates",
        "installed packages that the checks load": "node_modules .venv venv site-packages .tox .nox",
        "compiled code that Python loads": "__pycache__",
        "shell configuration that executes": ".direnv",
        "keys": ".ssh .gnupg .aws .kube .docker",
    }
)
#: File names of the same kind. Any depth.
PROTECTED_FILES: Final = _named(
    {
        "version control: filters can execute": ".gitattributes",
        "version control": ".gitmodules .gitconfig",
        "decides what version control sees": ".gitignore",
        "secrets": ".git-credentials .netrc .pypirc",
        "continuous integration": (
            ".gitlab-ci.yml jenkinsfile .travis.yml azure-pipelines.yml bitbucket-pipelines.yml "
            "appveyor.yml .appveyor.yml .drone.yml cloudbuild.yaml"
        ),
        "hooks that execute": ".pre-commit-config.yaml .pre-commit-hooks.yaml lefthook.yml .lefthook.yml",
        "agent configuration that executes": ".aider.conf.yml",
        "agent instructions": ".cursorrules .windsurfrules agents.md claude.md gemini.md",
        "agent configuration": ".mcp.json",
        "package manager configuration that can execute": ".npmrc .yarnrc .yarnrc.yml bunfig.toml",
        "package manager configuration that executes": ".pnpmfile.cjs",
        "shell configuration that executes": ".envrc",
        "executed by every test run": "conftest.py",
        "executed at every Python start": "sitecustomize.py usercustomize.py",
        "executed by every installation": "setup.py",
        "executed by every test session": "noxfile.py",
        "gate configuration": (
            ".flake8 setup.cfg tox.ini ruff.toml .ruff.toml .editorconfig .eslintignore .prettierignore "
            "biome.json biome.jsonc .bandit"
        ),
        "gate and build configuration": "pyproject.toml",
        "decides what agents may see and change": ".agent-restrictions",
        "this tool's configuration": ".rails.toml rails.toml",
        "executed by every build": "makefile gnumakefile justfile rakefile taskfile.yml gulpfile.js gruntfile.js",
        "gate configuration that can load code": ".coveragerc .pylintrc",
        "scripts that execute on install": "package.json",
    }
)
#: Patterns over the folded file name. Any depth. Compiled when the first path is looked at.
PROTECTED_PATTERNS: Final = (
    (r"\.env(\..*)?", "secrets"),
    (r".*\.(pem|key|p12|pfx|kdbx)|id_(rsa|dsa|ecdsa|ed25519)", "keys"),
    (
        r"\.?eslint(rc)?(\.config)?\.(js|cjs|mjs|ts|json|ya?ml)|\.eslintrc",
        "gate configuration that executes",
    ),
    (
        r"\.?prettier(rc)?(\.config)?\.(js|cjs|mjs|ts|json5?|ya?ml|toml)|\.prettierrc",
        "gate configuration that executes",
    ),
    (
        r"\.?stylelint(rc)?(\.config)?\.(js|cjs|mjs|json|ya?ml)|\.stylelintrc",
        "gate configuration that executes",
    ),
    (
        r".+\.conf(ig)?\.(js|cjs|mjs|ts|cts|mts)|\.babelrc(\..*)?|(gulp|grunt)file\..+",
        "build configuration that executes",
    ),
    (
        r"(build|settings)\.gradle(\.kts)?|gradlew(\.bat)?|mvnw(\.cmd)?|pom\.xml|build\.(rs|sbt|zig|xml)|cargo\.toml"
        r"|cmakelists\.txt|.*\.(cmake|mk|gemspec|bazel)|meson\.build|build|workspace|configure(\.ac)?|sconstruct|wscript"
        r"|gemfile|podfile|mix\.exs|rebar\.config|package\.swift|composer\.json|(fabfile|dodo)\.py|vagrantfile"
        r"|(docker|container)file(\..+)?|.+\.dockerfile|(docker-)?compose(\..+)?\.ya?ml|procfile|.+\.nix|taskfile\.yaml",
        "executed by every build",
    ),
    (
        r"(package-lock|npm-shrinkwrap)\.json|(yarn|poetry|pdm|uv|cargo|gemfile|composer|pipfile)\.lock|pnpm-lock\.yaml"
        r"|(requirements|constraints)([._-].+)?\.(txt|in)|pipfile|go\.(mod|sum)|pip\.(conf|ini)",
        "decides what is installed",
    ),
    (
        r"action\.ya?ml|.+\.jenkinsfile|(renovate|vercel)\.json5?|netlify\.toml",
        "continuous integration",
    ),
    (
        r"((pre|post)-(commit|merge|push|rebase|receive|checkout|rewrite|applypatch)|(prepare-commit|commit|applypatch)-msg)"
        r"|lefthook\.(yaml|toml|json)",
        "hooks that execute",
    ),
    (r".+\.(code-workspace|iml|sublime-project)", "editor configuration that can execute"),
    (r"(skill|qwen|copilot-instructions)\.md", "agent instructions"),
    (r"mcp\.json", "agent configuration"),
    (r"crontab|sudoers|authorized_keys", "executed by the system"),
    (r"\.?(mypy|pytest|pylint|coverage).*\.ini|\.?pylintrc\..*", "gate configuration"),
    (r".*\.pth", "executed at every Python start"),
)


class WorkspacePath(Struct, frozen=True, order=True):
    """A path in the project, with ``/``, without ``.``, ``..`` or absolute start.

    Made only by :func:`parse_path`; every function that touches a file takes this type.
    """

    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def parts(self) -> tuple[str, ...]:
        """The names from the project folder down."""
        return tuple(self.text.split("/"))

    @property
    def name(self) -> str:
        """The last name."""
        return self.text.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """The last name's lower-case ending with dot, or ""."""
        return os.path.splitext(self.name)[1].lower()  # noqa: PTH122 - PurePath is ten times as slow


def parse_path(raw: object, *, exact: bool = False) -> WorkspacePath | Refusal:
    """Return a model's path as a :class:`WorkspacePath`, or why not. ``exact``: as :func:`exact_path`."""
    if not isinstance(raw, str):
        return _refuse(raw, "it is not a string", 'Send the path as a string, for example "src/app.py".')
    if not raw.strip():
        return _refuse(raw, "it is empty", 'Name a file inside the project, for example "src/app.py".')
    if len(raw) > limits.PATH_CHARS:
        return _refuse(raw, f"it has {len(raw)} characters; {limits.PATH_CHARS} are allowed", "Use a shorter path.")
    if raw != printable(raw, keep=""):
        return _refuse(raw, "it has control or invisible characters", "Write the path with visible characters only.")
    path = raw if exact else raw.replace("\\", "/")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    elsewhere = not exact and (_DRIVE.match(path) or "".join(parts[:1]).startswith("~"))
    if path.startswith("/") or elsewhere:
        return _refuse(
            raw, "it is not relative to the project folder", "Write it relative, without a leading / or ~ or drive."
        )
    if not parts or path.endswith("/"):
        return _refuse(raw, "it names a folder", "Name a file.")
    if len(parts) > limits.PATH_DEPTH:
        return _refuse(raw, f"it has more than {limits.PATH_DEPTH} levels", "Use a shallower path.")
    for part in parts:
        if reason := _bad_part(part, exact=exact):
            return _refuse(
                raw,
                reason,
                "Path traversal is not allowed: stay inside the project." if part == ".." else "Use a plain file name.",
            )
    return WorkspacePath("/".join(parts))


def exact_path(name: object) -> WorkspacePath | Refusal:
    """Return the path of a name that the disk, git or our own record has, or why none is worked with.

    A backslash, a colon, a tilde or a blank in it is what it is to this system.
    """
    return parse_path(name, exact=True)


def readings(raw: object) -> tuple[WorkspacePath | Refusal, ...]:
    """Return what a path may mean: a backslash in it is a slash, and only then a part of a name."""
    return tuple(dict.fromkeys((parse_path(raw), exact_path(raw))))


def path_in(project: Path, raw: object) -> WorkspacePath | Refusal:
    """Return the reading of a model's path under which there is something in ``project``, else the first."""
    found = readings(raw)
    there = (path for path in found if isinstance(path, WorkspacePath) and os.path.lexists(project / path.text))
    return next(there, found[0])


def kept_file(digest: str) -> str:
    """Return where a text too long for a message is kept, by its SHA-256."""
    return f".rails/blobs/{digest[:2]}/{digest}"


def is_kept_file(path: WorkspacePath) -> bool:
    """Return whether this is a kept text's path; only those who were told it can name it."""
    return _KEPT.fullmatch(str(path)) is not None


def protected(path: WorkspacePath) -> str | None:
    """Return why ``path`` needs its own approval, or ``None``."""
    names = [casefolded_name(part) for part in path.parts]
    name = names[-1]
    found = next((reason for part in names if (reason := PROTECTED_DIRECTORIES.get(part))), None)
    if known := found or PROTECTED_FILES.get(name):
        return known
    if any(map(_SHORT_NAME.fullmatch, names)):
        return "a short name of a protected file"
    if path.text.startswith("-"):
        return "a name that programs read as an option"
    found = next((reason for pattern, reason in PROTECTED_PATTERNS if re.fullmatch(pattern, name)), None)
    read_unasked = any(part[:1] == "." and part not in _ORDINARY_HIDDEN for part in names)
    return found or ("a hidden name: programs read it by themselves" if read_unasked else None)


#: What git looks for beside a file HEAD: a folder with these is a repository, whatever its name, and git runs what its
#: configuration says as soon as anybody asks for the state of files in it.
_OF_A_REPOSITORY: Final = frozenset({"objects", "refs", "hooks", "config", "config.worktree", "commondir"})


def forbidden(path: WorkspacePath, project: Path | None = None) -> str | None:
    """Return why no approval can allow a write (it could forge or run anything), or None.

    ``project``'s disk says which folders have a file HEAD.
    """
    parts = path.text.replace("\\", "/").split("/")  # elsewhere a backslash is a slash
    names = [casefolded_name(name) for name in parts]
    if {".git", ".rails"} & {*names} or any(map(_SHORT_NAME.fullmatch, names)):
        return "it is inside .git or .rails, which no agent may write"
    if parts[-1] == "HEAD" or (names[-1] == "head" and sys.platform != "linux"):
        return "a file HEAD makes its folder a git repository, whose configuration git runs"
    for depth, name in enumerate(names):
        folder = "/".join(parts[:depth]) or "."
        if project and name in _OF_A_REPOSITORY and os.path.lexists(project / folder / "HEAD"):
            return f"{folder} has a file HEAD, so it would be a git repository, whose configuration git runs"
    return None


def hidden(name: str) -> bool:
    """Return whether such a name means secrets by convention."""
    return _SECRETS.fullmatch(name.casefold()) is not None


def why_hidden(path: WorkspacePath) -> str:
    """Return why no agent is shown ``path``, or ""."""
    if is_kept_file(path):
        return ""
    for part in path.parts[:-1]:
        if part.casefold() in HIDDEN_FOLDERS:
            return f"{path} is inside {part}, which is not shown to agents."
    if hidden(path.name) or path.name.casefold() in HIDDEN_FOLDERS:
        return f"{path} may hold secrets and is not shown to agents. Ask the human for what you need."
    return ""


def casefolded_name(part: str) -> str:
    """Reduce a name as the most forgiving file system does."""
    visible = "".join(char for char in unicodedata.normalize("NFKC", part) if unicodedata.category(char) != "Cf")
    return visible.casefold().split(":", 1)[0].rstrip(". ")


def not_on_windows(path: WorkspacePath) -> bool:
    r"""Return whether Windows cannot have this name: ``\``, ``:`` and the like in it, a last dot, a device."""
    return any(
        {*part} & {*'\\:<>"|?*'} or part.endswith((".", " ")) or _DEVICE.fullmatch(casefolded_name(part))
        for part in path.parts
    )


def _bad_part(part: str, *, exact: bool) -> str | None:
    if part == "..":
        return "it leaves the project folder"
    if len(part.encode("utf-8", "surrogatepass")) > limits.PATH_PART_BYTES:
        return f"a name in it is longer than {limits.PATH_PART_BYTES} bytes"
    if exact:
        return None
    if part != part.strip():
        return "a name in it starts or ends with a space"
    if part.endswith(":") or "::" in part or ":$" in part:
        return "it has the colon of an address or a stream"
    if not casefolded_name(part):
        return "a name in it is nothing but dots to some systems"
    if set(unicodedata.normalize("NFKC", part)) & set("/\\:") - set(part):
        return "a name in it has a character that some systems take for a slash or a colon"
    return None


def _refuse(raw: object, why: str, hint: str) -> Refusal:
    shown = one_line(raw) if isinstance(raw, str) else type(raw).__name__
    return Refusal("path", f"Invalid file path {shown!r}: {why}.", hint, path=shown)
