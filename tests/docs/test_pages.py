"""What the pages say is so: every command is typed as it stands there, in the page's order, and shows what is shown."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rails.commands.options import verb_parser
from rails.commands.verbs import VERBS

from ..golden.running import committed, rails
from .pages import ROOT, ChangeFile, TypeCommand, WriteFile, is_plain, page_of, pages, words_of

PAGES = [path for path in pages() if path.parent != ROOT]
ANSWERS = Path(__file__).parent / "answers"
#: What a page may type beside ai-rails, as it is there on every machine that has what AI-Rails needs.
PROGRAMS = {"git", "cat", "cd", "ls", "mkdir", "cp", "rm", "mv", "echo", "printf", "sed", "head", "export", "python"}


#: Pages whose commands tests/integrations/test_pages.py types, in processes of their own.
TYPED_THERE = {
    "acp.md",
    "ci.md",
    "mcp.md",
    "hooks-claude-code.md",
    "hooks-codex.md",
    "hooks-gemini.md",
}


@pytest.fixture
def reader(tmp_path, monkeypatch, shared_workers):
    """A reader of pages, with a home and a project of their own."""

    class Reader:
        home = tmp_path / "home"
        project = tmp_path / "project"

        def open(self, page):
            self.home.mkdir()
            self.project.mkdir()
            if page.project == "todo":
                shutil.copytree(ROOT / "workspace/todo", self.project, dirs_exist_ok=True)
            if page.project == "source":
                for name in ("rails", "mcp_definitions", "agent_templates"):
                    ignored = shutil.ignore_patterns("__pycache__")
                    shutil.copytree(ROOT / name, self.project / name, ignore=ignored)
                shutil.copy(ROOT / "pyproject.toml", self.project)
                monkeypatch.setenv("PYTHONPATH", str(self.project))
            for name in ("ANTHROPIC_API_KEY", "AI_RAILS_MODEL", "AI_RAILS_LANG", "XDG_STATE_HOME"):
                monkeypatch.delenv(name, raising=False)
            for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "AI_RAILS_CONFIG_DIR"):
                monkeypatch.delenv(name, raising=False)
            monkeypatch.setenv("HOME", str(self.home))
            monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
            monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
            answers = ANSWERS / f"{page.path.stem}.jsonl"
            if answers.exists():
                monkeypatch.setenv("AI_RAILS_MODEL", f"recorded:{answers}")
            committed(self.project)
            monkeypatch.chdir(self.project)

        def do(self, step):
            if isinstance(step, WriteFile):
                file = self.home / step.name[2:] if step.name.startswith("~/") else self.project / step.name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(step.text, "utf-8")
                return
            if isinstance(step, ChangeFile):
                file = self.project / step.name
                text = file.read_text("utf-8")
                assert text.count(step.old) == 1, f"line {step.line}: {step.name} does not have these lines once"
                file.write_text(text.replace(step.old, step.new), "utf-8")
                return
            if step.not_run:
                return
            code, said = self.typed(step)
            assert code == step.exit, f"line {step.line}: {step.command} ended with {code}:\n{said[-4000:]}"
            if step.pattern:
                assert re.fullmatch(step.pattern, said), (
                    f"line {step.line}: {step.command} shows something else:\n{said[-6000:]}"
                )

        def typed(self, step):
            words = words_of(step.command)
            if len(words) == 1 and is_plain(step.command):
                result = rails(*words[0], keys=step.keys)
                return result.code, result.out + result.err
            first = step.command.split()[0]
            assert words or first in PROGRAMS, f"line {step.line}: say why {step.command!r} is not run"
            if first == "cd":
                os.chdir(Path(step.command.split()[1]).expanduser())
                return 0, ""
            done = subprocess.run(
                ["bash", "-c", step.command],
                check=False,
                capture_output=True,
                text=True,
                timeout=100,
                stdin=subprocess.DEVNULL,
            )
            return done.returncode, done.stdout + done.stderr

    return Reader()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_command_of_a_page_does_what_the_page_shows(path, reader):
    page = page_of(path)
    reader.open(page)
    for step in page.steps:
        reader.do(step)


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_every_verb_and_option_that_is_written_exists(path):
    for step in page_of(path).steps:
        # A page that changes the source may add options; those are typed.
        for words in (
            words_of(step.command) if isinstance(step, TypeCommand) and page_of(path).project != "source" else []
        ):
            if words and words[0] not in ("--help", "--version"):
                assert words[0] in VERBS, f"{path.name}:{step.line}: {step.command}"
                assert_options(words, f"{path.name}:{step.line}: {step.command}")


def assert_options(words, where):
    import importlib

    verb = words[0]
    parser = verb_parser(verb, VERBS[verb], importlib.import_module(f"rails.commands.{verb}"))
    known = {one for action in parser._actions for one in action.option_strings}
    for word in words[1 : words.index("--") if "--" in words else None]:
        if word.startswith("--"):
            assert word.split("=")[0] in known, f"{where}: there is no {word}"


def test_what_is_not_run_is_little_and_says_why():
    found = [
        (path.name, step.command, step.not_run)
        for path in PAGES
        for step in page_of(path).steps
        if isinstance(step, TypeCommand) and step.not_run
    ]
    assert all(len(reason.split()) >= 3 for _, _, reason in found)
    assert len(found) <= 7, "a page that nobody types is a page that nobody knows to be true"


def test_a_page_that_shows_something_else_is_seen(reader, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ ai-rails prompt\nNothing of the kind\n```\n", "utf-8")
    reader.open(page_of(page))
    with pytest.raises(AssertionError, match="shows something else"):
        reader.do(page_of(page).steps[0])


def test_a_command_that_is_no_fence_of_a_console_is_seen():
    """A command in a fence of another kind would be run by nobody."""
    loose = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in PAGES
        if path.name not in TYPED_THERE
        for fence in re.findall(r"^```(?!console)\w*\n(.*?)^```", path.read_text("utf-8"), re.MULTILINE | re.DOTALL)
        for line in fence.splitlines()
        if re.match(r"\$? ?ai-rails \w", line)
    ]
    assert loose == []
