"""0 silent: each way to pass unseen is a finding, a note or a refusal by name: turn, --diff, --staged and plain."""

import importlib.util
import inspect
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from rails.cli import main
from rails.core.changes import ChangeSet, FileChange
from rails.core.paths import WorkspacePath
from rails.gate.approved_state import extended_by
from rails.gate.changed_files import read_changed_files
from rails.git.revisions import EMPTY_TREE

pytestmark = pytest.mark.usefixtures("shared_workers")
SPEC = importlib.util.spec_from_file_location("ways", Path(__file__).parent / "ways.py")
ways = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(ways)


@pytest.fixture(scope="session")
def commits():
    """Folders ``.git`` with a first commit, by what is in it."""
    return {}


@pytest.fixture
def planted(world, commits, tmp_path_factory):
    def plant(way):
        files = {**ways.BASE, **way.base}
        for path, text in files.items():
            world.put(path, text)
        if (made := commits.get(tuple(files.items()))) is None:
            world.git("init", "-q")
            world.git("add", "-A")
            world.git("commit", "-qm", "base")
            made = commits[tuple(files.items())] = tmp_path_factory.mktemp("base") / ".git"
            shutil.copytree(world.project / ".git", made)
        else:
            shutil.copytree(made, world.project / ".git")
        return world

    return plant


@pytest.fixture
def changed(planted):
    def change(way):
        world = planted(way)
        done(way, world)
        return world

    return change


def done(way, world):
    if callable(way.change):
        wanted = [world.project, world.git][: len(inspect.signature(way.change).parameters)]
        way.change(*wanted)
        return
    for path, text in way.change.items():
        world.put(path, text) if text is not None else (world.project / path).unlink()


def seen(report, path):
    """What a report says of a path, or of one above or below it."""
    said = [*report["findings"], *report["not_checked"]]
    return [one for one in said if one["path"].startswith(path.rstrip("/")) or f"{one['path']}/".startswith(f"{path}/")]


def gate(project, monkeypatch, capsys, *words):
    monkeypatch.chdir(project)
    code = main(["gate", "--format", "json", *words])
    return code, json.loads(capsys.readouterr().out or '{"findings": [], "not_checked": []}')


@pytest.mark.parametrize("way", ways.WAYS, ids=repr)
def test_nothing_passes_unseen(way, planted, monkeypatch, capsys):
    """Nor in a turn; and what configuration would excuse is found beside the change of that configuration."""
    world = planted(way)
    if way.turn:
        assert judged_in_a_turn(world, way)
    done(way, world)
    configures = way in ways.CONFIGURATION
    runs = [("--diff", "HEAD")]
    runs += [()] if way.plain and not configures and way not in [*ways.COMMENTS, *ways.KEPT] else []
    for words in runs:
        code, report = gate(world.project, monkeypatch, capsys, *words)
        found = seen(report, way.path)
        assert found, (words, code, report)
        judged = [one for one in found if one.get("severity") == "error" or one.get("required")]
        assert bool(judged) <= (code != 0), (words, code, report)
        if configures:
            rules = {one["rule"] for one in report["findings"] if one["path"] == way.path}
            assert (code != 0, bool(rules - {"gate-config-changed"})) == (True, True), report
    if way.staged:
        world.git("add", "-A")
        code, report = gate(world.project, monkeypatch, capsys, "--staged")
        assert seen(report, way.path), ("--staged", code, report)


def judged_in_a_turn(world, way):
    changes = []
    for path, text in way.change.items():
        place = world.project / path
        before = place.read_bytes() if place.exists() else None
        after = text.encode() if isinstance(text, str) else text
        changes.append(FileChange(WorkspacePath(path), before, after))
    verdict = world.gate.judge(ChangeSet(tuple(changes)))
    return [one for one in (*verdict.findings, *verdict.not_checked, *verdict.fixed) if one.path == way.path]


def test_no_program_that_the_repository_names_is_run(changed, monkeypatch, capsys):
    world = changed(ways.KINDS[0])
    marker = world.project.parent / "ran"
    program = world.project.parent / "evil"
    program.write_text(f"#!/bin/sh\ntouch {marker}\ncat\n")
    program.chmod(0o755)
    (world.project / "bin").mkdir()
    (world.project / "bin" / "git").write_text(program.read_text())
    (world.project / "bin" / "git").chmod(0o755)
    for key in (
        "core.fsmonitor",
        "diff.external",
        "filter.x.clean",
        "filter.x.smudge",
        "filter.x.process",
        "core.pager",
    ):
        subprocess.run(["git", "-C", world.project, "config", key, str(program)], check=True)
    (world.project / ".git" / "info" / "attributes").write_text("* filter=x diff=x\n")
    monkeypatch.setenv("PATH", f"bin{os.pathsep}{world.project / 'bin'}{os.pathsep}{os.environ['PATH']}")
    for words in (["--diff", "HEAD"], ["--staged"], []):
        gate(world.project, monkeypatch, capsys, *words)
    assert not marker.exists()


def test_what_differs_counts_from_where_the_branches_parted(planted, monkeypatch, capsys):
    world = planted(ways.KINDS[0])
    world.git("checkout", "-qb", "mine")
    world.put("mine.py", "x = 1\n")
    world.git("add", "-A")
    world.git("commit", "-qm", "mine")
    world.git("checkout", "-q", "-")
    world.put("a.py", "x = 1\nprint(undefined)\n")
    world.git("commit", "-qam", "theirs")
    asked = ["git", "-C", world.project, "branch", "--show-current"]
    trunk = subprocess.run(asked, capture_output=True, text=True, check=True)
    world.git("checkout", "-q", "mine")
    assert gate(world.project, monkeypatch, capsys, "--diff", trunk.stdout.strip())[0] == 0


def test_a_file_that_was_moved_keeps_its_old_findings(planted, monkeypatch, capsys):
    world = planted(ways.Way("x", {}, "", {"old.py": "import os\n" + "x = 1\n" * 5}))
    (world.project / "old.py").rename(world.project / "sub.py")
    assert gate(world.project, monkeypatch, capsys, "--diff", "HEAD")[0] == 0


def test_a_link_to_what_is_ignored_has_to_be_looked_at(changed, monkeypatch, capsys):
    world = changed(next(way for way in ways.PLACES if way.name == "link to what is ignored"))
    for words in (("--diff", "HEAD"), ("--staged",)):
        world.git(*(("add", "-A") if "--staged" in words else ("status",)))
        code, report = gate(world.project, monkeypatch, capsys, *words)
        assert (code, [one["required"] for one in seen(report, "a.py")]) == (3, [True]), words
    (world.project / "b.py").symlink_to("pkg/b.py")
    assert [one["required"] for one in seen(gate(world.project, monkeypatch, capsys, "--diff", "HEAD")[1], "b.py")] == [
        False
    ], "a link to what is checked by itself"


def test_an_ignored_file_that_is_named_is_checked(planted, monkeypatch, capsys):
    world = planted(ways.Way("x", {}, "", {".gitignore": "build/\n*.log\n"}))
    world.put("build/c.py", ways.BAD)
    assert seen(gate(world.project, monkeypatch, capsys, "build/c.py")[1], "build/c.py")
    assert seen(gate(world.project, monkeypatch, capsys, "build")[1], "build")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from m import a  # noqa: F401\n", "from m import a, b  # noqa: F401\n"),
        ("import os  # noqa\n", "import os, sys  # noqa\n"),
        ("import os  # noqa\nx = 1\n", "x = 1\nimport os  # noqa\n"),
        (
            "x = 1  # noqa\n",
            "x = 'a line that is longer than its project wants, and may' + 'be longer'  # noqa\n",
        ),
        ('x = """\nundefined\n"""  # noqa\n', 'x = """\nundefined too\n"""  # noqa\n'),
        ("# ruff: disable[F821]\nx = 1\n# ruff: enable[F821]\n", "x = 1\n"),
    ],
)
def test_what_a_comment_hid_before_it_may_hide_again(world, before, after):
    world.put("pyproject.toml", ways.RUFF)
    verdict = world.judge(("a.py", before, after))
    assert verdict.status == "pass", verdict.findings


def test_code_findings_stand_where_git_says_that_the_base_held_them(changed, monkeypatch, capsys):
    world = changed(next(way for way in ways.PLACES if way.name == "replaced blob"))
    code, report = gate(world.project, monkeypatch, capsys, "--diff", "HEAD")
    assert code == 1
    assert "F821" in {one["rule"] for one in report["findings"]}


def test_a_commit_is_judged_by_the_index_that_git_makes_for_it(planted, monkeypatch, capsys):
    world = planted(ways.KINDS[0])
    world.put("a.py", ways.BAD)
    hook = world.put(".git/hooks/pre-commit", '#!/bin/sh\ncp "$GIT_INDEX_FILE" .git/asked\nexit 1\n')
    hook.chmod(0o755)
    for words in (["-am", "all"], ["-m", "one", "a.py"]):
        with pytest.raises(subprocess.CalledProcessError):
            world.git("commit", *words)
        monkeypatch.setenv("GIT_INDEX_FILE", ".git/asked")
        code, report = gate(world.project, monkeypatch, capsys, "--staged", "a.py")
        assert (code, {one["rule"] for one in report["findings"]}) == (1, {"F401", "F821"})
        monkeypatch.delenv("GIT_INDEX_FILE")
    monkeypatch.setenv("GIT_INDEX_FILE", str(shutil.copy(world.project / ".git/asked", world.project.parent / "index")))
    monkeypatch.delenv("CI", raising=False)
    assert gate(world.project, monkeypatch, capsys, "--staged")[0] == 0, "an index elsewhere is not git's"


def test_no_file_of_the_repository_says_where_branches_parted(planted, monkeypatch, capsys):
    world = planted(ways.KINDS[0])

    def name():
        asked = ["git", "-C", world.project, "rev-parse", "HEAD"]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()

    trunk = name()
    world.git("branch", "trunk")
    world.put("a.py", ways.BAD)
    world.git("commit", "-qam", "mine")
    world.put(".git/info/grafts", f"{trunk} {name()}\n")
    code, report = gate(world.project, monkeypatch, capsys, "--diff", "trunk")
    assert (code, {one["rule"] for one in report["findings"]}) == (1, {"F401", "F821"})


EXTENDED = {**ways.NESTED, "other.toml": "[lint]\nselect = ['F']\n"}
WEAKER = b"[lint]\nselect = ['W']\n"


def test_what_configuration_extends_is_configuration_by_any_name(changed, monkeypatch, capsys):
    world = changed(ways.Way("x", {"conf/two.toml": WEAKER, "other.toml": WEAKER}, "", EXTENDED))
    code, report = gate(world.project, monkeypatch, capsys, "--diff", "HEAD")
    told = [(one["path"], one["rule"]) for one in report["findings"]]
    assert (code, told) == (1, [("conf/two.toml", "gate-config-changed")])
    world.git("checkout", "-q", ".")
    changes = [
        FileChange(WorkspacePath(path), EXTENDED[path].encode(), WEAKER) for path in ("conf/two.toml", "other.toml")
    ]
    verdict = world.gate.judge(ChangeSet(tuple(changes)))
    assert [(one.path, one.rule) for one in verdict.findings] == [("conf/two.toml", "gate-config-changed")]
    changes = [FileChange(WorkspacePath("conf/two.toml"), EXTENDED["conf/two.toml"].encode(), None)]
    assert [one.rule for one in world.gate.judge(ChangeSet(tuple(changes))).findings] == ["gate-config-changed"]


#: Folder, configuration in it, and what it extends by another name.
SPEAKS = [
    ("a", "ruff.toml", 'extend = "../shared/a.toml"\n', "shared/a.toml"),
    ("b", "package.json", '{"eslintConfig": {"extends": ["./conf/b.json"]}}', "b/conf/b.json"),
    ("c", "package.json", '{"prettier": "./conf/c.json"}', "c/conf/c.json"),
    ("d", ".eslintrc.yml", "extends: ./conf/d.yml  # ours\n", "d/conf/d.yml"),
    ("e", ".eslintrc", "root: true\nextends:\n  - ../shared/e.yaml\n  - other\n", "shared/e.yaml"),
    ("f", ".prettierrc", "link: ../shared/f.json", "shared/f.json"),
    ("g", "tsconfig.json", '{"extends": "./conf/g.json"}', "g/real/g.json"),
]


def test_every_road_by_which_checks_are_configured_is_known_and_a_link_on_it_is_asked_about(tmp_path):
    for folder, name, text, _ in SPEAKS:
        (tmp_path / folder).mkdir()
        if text.startswith("link: "):
            (tmp_path / folder / name).symlink_to(text.removeprefix("link: "))
        else:
            (tmp_path / folder / name).write_text(text)
    for path in (*(path for *_, path in SPEAKS), "b/data.json"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
    (tmp_path / "g/conf").symlink_to("real")
    (tmp_path / "g/other").symlink_to("real")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, "add", "-A"], check=True)
    paths = [*(path for *_, path in SPEAKS), "b/data.json"]
    assert extended_by(tmp_path, tmp_path, paths) == {path for *_, path in SPEAKS}
    required = {
        miss.path: miss.required for miss in read_changed_files(tmp_path, [], base=EMPTY_TREE, staged=True).missed
    }
    assert required == {"f/.prettierrc": True, "g/conf": True, "g/other": False}
