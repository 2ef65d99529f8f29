"""``ai-rails hook``: what other agents call at their edits, and its installation."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rails.core.errors import EXIT_FINDINGS, EXIT_OK, UsageError

if TYPE_CHECKING:
    import argparse
    from pathlib import Path


HOSTS: Final = ("claude-code", "codex", "gemini")
#: The second is of earlier versions: it stands in settings, and nothing is done about it.
_SWITCHES = ("--strict", "--rewrite")
_TRUST: Final = {
    "claude-code": "Claude Code reads them at its next start; /hooks shows them.",
    "codex": "Codex runs a hook only after you trusted it: start codex, open /hooks, and trust these once.",
    "gemini": "Gemini CLI reads them at its next start, once the folder is trusted there.",
}


def without_options(words: Sequence[str]) -> int | None:
    """Answer a host's two-word call with few imports; ``None`` for others."""
    if not words or words[0] not in HOSTS or not set(words[1:]) <= set(_SWITCHES):
        return None
    from rails.integrations.daemon.client import answer_call

    answer = answer_call(words[0], sys.stdin.buffer.read(), os.environ, strict="--strict" in words)
    sys.stdout.write(answer.out)
    sys.stderr.write(answer.err)
    return answer.code


_WHOSE = """
--project  the project's settings, shared with others
--user  your own settings, for all projects (the default)
"""
_ACTIONS = {
    "install": "add the hooks to a host's settings; the rest stays byte for byte",
    "uninstall": "remove them",
    "test": "show the hook's answer to a clean edit and to one with a mistake",
}


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    from rails.commands.options import add_options

    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for action, help_text in _ACTIONS.items():
        one = actions.add_parser(action, help=help_text, description=help_text)
        add_options(one, "host claude-code|codex|gemini  claude-code, codex or gemini")
        if action == "test":
            continue
        whose = one.add_mutually_exclusive_group()
        add_options(whose, _WHOSE)
        add_options(one, "--dry-run  show the change and write nothing")
        if action == "install":
            add_options(one, "--strict  deny what cannot be judged")
            add_options(whose, "--plugin FOLDER  make a plug-in of the host in a new folder instead")
    actions.add_parser("status", help="which hosts call AI-Rails")
    for host in HOSTS:
        actions.add_parser(host)  # what they call is answered before this


def run(options: argparse.Namespace) -> int:
    """Return the exit code."""
    if options.action == "status":
        return _status()
    if options.action == "test":
        return _test(options.host)
    return _change(options)


def _change(options: argparse.Namespace) -> int:
    from rails.integrations.hooks import install

    settings = install.settings_of(options.host, _project(), shared=options.project)
    adding = options.action == "install"
    words = ["--strict"] if adding and options.strict else []
    if adding and options.plugin is not None:
        if options.dry_run:
            raise UsageError("--plugin makes a new folder and has no dry run. Leave one of the two out.")
        print(f"Install it: {install.write_plugin(options.host, options.plugin, words)}")
        return EXIT_OK
    text = install.installed(settings, words) if adding else install.removed(settings)
    if text == settings.text:
        print(f"{settings.file}: {'the hooks are there already' if adding else 'no hook of AI-Rails is there'}.")
        return EXIT_OK
    if options.dry_run:
        from rails.core.changes import unified_diff

        before = settings.text.encode() or None
        print("\n".join(unified_diff(before, text.encode() or None, settings.file.place.name)))
        print("Nothing was written: this is a dry run.")
        return EXIT_OK
    install.write_settings(settings, text)
    print(f"{settings.file}: {'hooks added' if adding else 'hooks removed'}; the rest of the file is unchanged.")
    if adding:
        print(_TRUST[options.host])
        print(f"Try it: ai-rails hook test {options.host}     Remove it: ai-rails hook uninstall {options.host}")
    return EXIT_OK


def _status() -> int:
    from rails.integrations.hooks import install

    project = _project()
    for host in HOSTS:
        for shared in (False, True):
            settings = install.settings_of(host, project, shared=shared)
            for command in settings.commands or ("not installed",):
                print(f"{host:<12} {('user', 'project')[shared]:<8} {settings.file}: {command}")
    print("What they have judged: ai-rails review")
    return EXIT_OK


def _test(host: str) -> int:
    from pathlib import Path

    from rails.core.scratch import scratch_folder
    from rails.integrations.daemon.warm import WarmGate
    from rails.integrations.hooks.examples import CLEAN, MISTAKE, example

    denied = []
    with scratch_folder("hook-test") as folder:
        (Path(folder) / "ruff.toml").write_text("line-length = 100\n", encoding="utf-8")
        warm = WarmGate(Path(folder))
        try:
            for title, content in (("a clean edit", CLEAN), ("an edit with a mistake", MISTAKE)):
                answer = warm.answer({"host": host}, example(host, Path(folder), content))
                print(f"{title}:\n  {answer.out or '(no output: the edit is allowed)'}")
                denied.append("deny" in answer.out)
        finally:
            warm.close()
    works = denied == [False, True]
    print("The hook works here." if works else "The hook does NOT work here; run: ai-rails doctor")
    return EXIT_OK if works else EXIT_FINDINGS


def _project() -> Path:
    from pathlib import Path

    from rails.integrations.daemon.place import project_around

    return Path(project_around(str(Path.cwd())))
