"""``ai-rails doctor``: what works here, what is missing, what to do."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from rails import __version__
from rails.commands import common
from rails.core.errors import EXIT_BROKEN, EXIT_OK, CheckError, ModelError, RailsError, UsageError
from rails.core.json_text import to_json
from rails.core.text import one_line
from rails.gate.languages.javascript.node_worker import tool_folder
from rails.models.providers import PROVIDERS
from rails.processes import programs
from rails.session.project import agents_of, registry_of
from rails.tools.health import check_health
from rails.tools.registry import Registry

#: The tools for projects that have none of their own, at the versions that the gate is tested with.
JAVASCRIPT: Final = ("eslint@10.15.0", "prettier@3.10.1", "typescript@5.9.3", "typescript-eslint@8.73.0")
#: Where Ollama, llama.cpp, LM Studio and vLLM listen unless they are told otherwise.
_OLLAMA: Final = 11434
_PORTS: Final = (_OLLAMA, 8080, 1234, 8000)


class Probe(Struct, frozen=True):
    """A result: ``ok``, ``missing`` (optional) or ``broken``."""

    name: str
    state: Literal["ok", "missing", "broken"]
    found: str
    advice: str = ""


OPTIONS = """
--install javascript  install pinned tools for the gate (needs npm)
--into DIR  with --install: where (default: your cache folder)
--json  the result as JSON
@project
"""


def run(options: argparse.Namespace) -> int:
    """Probe everything; exit 3 if something required does not work."""
    if options.into and not options.install:
        raise UsageError("--into goes with --install javascript. Nothing was installed.")
    if options.install:
        return _install((Path(options.into) if options.into else tool_folder()).resolve())
    probes = list(_probes(options))
    if options.json:
        common.print_json([to_json(probe) for probe in probes])
    else:
        width = max(len(probe.name) for probe in probes)
        for probe in probes:
            common.print_row(f"{probe.name:{width}}  {probe.state:8}  ", probe.found)
            if probe.advice:
                common.print_row(f"{'':{width}}            ", probe.advice)
    return EXIT_BROKEN if any(probe.state == "broken" for probe in probes) else EXIT_OK


def _install(folder: Path) -> int:
    npm = shutil.which("npm")
    if npm is None:
        raise UsageError("npm was not found. Install Node.js, then run this again; nothing was changed.")
    folder.mkdir(parents=True, exist_ok=True)
    command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    command += ["--prefix", str(folder), *JAVASCRIPT]
    if code := programs.run_attached(command, str(folder), timeout=600):
        raise CheckError(f"npm ended with code {code}. The JavaScript tools are not installed.")
    print(f"Installed {', '.join(JAVASCRIPT)} in {folder}")
    return EXIT_OK


def _probes(options: argparse.Namespace) -> Iterator[Probe]:
    yield Probe("ai-rails", "ok", f"{__version__}, Python {platform.python_version()}, {platform.platform()}")
    for tool in ("ruff", "black", "flake8"):
        yield _program(tool, f"Install AI-Rails again; {tool} belongs to it.", sys.executable, "-I", "-m", tool)
    yield _program("git", "Install git: checkpoints and undo need it.")
    yield _program("node", "Install Node.js to check JavaScript and TypeScript.", needed=False)
    yield _javascript()
    yield _known_tools()
    yield _sandbox()
    yield from _project(options)
    yield _keys()
    yield from _local_servers()


def _program(name: str, advice: str, *command: str, needed: bool = True) -> Probe:
    path = shutil.which(command[0] if command else name)
    if path is None:
        return Probe(name, "broken" if needed else "missing", "not found", advice)
    ran = programs.run_tool([path, *command[1:], "--version"], timeout=60)
    if ran.code:
        return Probe(name, "broken", ran.complaint, advice)
    version = ran.out.decode(errors="replace").strip().partition("\n")[0]
    return Probe(name, "ok", f"{version} ({path})")


def _javascript() -> Probe:
    folder = tool_folder()
    found = sorted(name for name in ("eslint", "prettier", "typescript") if (folder / "node_modules" / name).is_dir())
    if found:
        return Probe("javascript", "ok", f"{', '.join(found)} in {folder}, for projects without their own")
    advice = "ai-rails doctor --install javascript, or let the project install its own."
    return Probe("javascript", "missing", "no ESLint and Prettier of your own", advice)


def _known_tools() -> Probe:
    from rails.gate.support.known_tools import known_rows

    found = (name for name, row in known_rows().items() if row["run"][0] != "python" and shutil.which(row["run"][0]))
    return Probe("checks", "ok", ", ".join(found) or "none of the tools in docs/gate.md")


def _sandbox() -> Probe:
    from rails.sandbox.probe import label

    found = label(fresh=True)
    before = "A stronger sandbox is not available: " if found.level else ""
    advice = found.why and f"{before}{found.why}."
    return Probe("sandbox", "ok" if found.contained else "missing", str(found), advice)


def _project(options: argparse.Namespace) -> Iterator[Probe]:
    project = common.project_of(options)
    for name, load in (("tools", registry_of), ("agents", agents_of)):
        try:
            loaded = load(project)
            count = len(loaded.definitions if isinstance(loaded, Registry) else loaded)
            yield Probe(name, "ok", f"{count} loaded for {project}")
            for words in loaded.notes:
                yield Probe(name, "missing", one_line(words, 300), f"ai-rails {name} lists what is there.")
            if isinstance(loaded, Registry):
                for tool, found in check_health(loaded.definitions.values(), project).items():
                    yield Probe(f"tool {tool}", "ok" if found.ok else "missing", found.text, found.fix)
        except RailsError as error:
            yield Probe(name, "broken", str(error), "ai-rails tools check lists every mistake.")


def _keys() -> Probe:
    names = {name for one in PROVIDERS.values() for name in (one.key, one.url_key) if name and os.environ.get(name)}
    if names:
        return Probe("model", "ok", f"set in the environment: {', '.join(sorted(names))}")
    advice = (
        "Set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY, or OPENAI_BASE_URL for a server "
        "of your own; --model ollama:MODEL needs neither, nor does the demo."
    )
    return Probe("model", "missing", "no key and no address in the environment", advice)


def _local_servers() -> Iterator[Probe]:
    from rails.models.http import ModelServer

    for port in _PORTS:
        url = f"http://127.0.0.1:{port}/v1"
        listed: object = None
        with suppress(ModelError):
            listed = ModelServer(url, {}, 1.0).document(f"{url}/models").get("data")
        if not isinstance(listed, list):
            continue
        models = [str(one["id"]) for one in listed if isinstance(one, dict) and "id" in one]
        name = models[0] if models else "MODEL"
        use = f"--model ollama:{name}" if port == _OLLAMA else f"--model openai:{name} --base-url {url}"
        yield Probe(
            "local model",
            "ok",
            f"{url} has {', '.join(models[:5]) or 'no model'}",
            f"Use it with {one_line(use, 200)}",
        )
