# ruff: noqa: E501
"""More ways to pass unseen than the gate's own tests know: in a turn, --diff, --staged and plain, 0 are silent."""

import os
import subprocess

import pytest

from tests.gate import conftest as world_of
from tests.gate import test_ways as helpers

ways, Way = helpers.ways, helpers.ways.Way
BAD = ways.BAD
RUFF = ways.RUFF
BASE = ways.BASE
own_config = world_of.own_config
pool = world_of.pool
commits = helpers.commits
planted = helpers.planted
changed = helpers.changed
world = world_of.world
project = world_of.project


def ruff(lines):
    return {"a.py": BAD, "pyproject.toml": f"{RUFF}{lines}\n"}


def top(lines):
    return {"a.py": BAD, "pyproject.toml": f"[tool.ruff]\n{lines}\n{RUFF}"}


WEAK = "[lint]\nselect = ['E9']\n"
STRONG = "[lint]\nselect = ['F']\n"
SCHEMA = {"s.json": '{"properties": {"a": {"type": "integer"}}}', "d.json": '{"$schema": "./s.json", "a": 1}\n'}
CALLED = {"s.json": '{"properties": {"a": {"$ref": "./t.json"}}}', "t.json": '{"type": "integer"}'}


def extended(line, name="base.toml"):
    """What the configuration extends is made weaker; ``line`` says in which way it is named."""
    base = {"pyproject.toml": f"[tool.ruff]\n{line}\n", name: STRONG}
    return Way(f"extended as {line}", {"a.py": BAD, name: WEAK}, "a.py", base)


def held(files, then):
    """What is committed first, and what is done to it."""

    def plant(project, git):
        for path, text in files.items():
            (project / path).parent.mkdir(exist_ok=True)
            (project / path).write_text(text)
        git("add", "-A")
        git("commit", "-qm", "more")
        then(project)

    return plant


def weaker_target(project):
    (project / "ruff.toml").symlink_to("conf/r.toml")
    subprocess.run(["git", "add", "-A"], cwd=project, check=True)
    words = ["-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false", "commit", "-qm", "link"]
    subprocess.run(["git", *words], cwd=project, check=True)
    (project / "conf/r.toml").write_text(WEAK)
    (project / "a.py").write_text(BAD)


def weaker_far_away(project):
    for number in range(1000):
        (project / f"d{number:04}").mkdir()
        (project / f"d{number:04}/x.py").write_text("x = 1\n")
    (project / "z/c.py").write_text(BAD)
    (project / "z/ruff.toml").write_text(WEAK)


def now_a_link(project):
    (project / "weak.toml").write_text("[tool.ruff.lint]\nselect = ['E9']\n")
    (project / "pyproject.toml").unlink()
    (project / "pyproject.toml").symlink_to("weak.toml")
    (project / "a.py").write_text(BAD)


def moved_up(project):
    (project / "pkg/ruff.toml").rename(project / "ruff.toml")
    (project / "ruff.toml").write_text(WEAK)
    (project / "pkg/b.py").write_text(BAD)


def through(line):
    """What the configuration extends is named by a way that leads over a link."""

    def plant(project):
        (project / "conf").symlink_to("real")
        (project / "real/r.toml").write_text(WEAK)
        (project / "a.py").write_text(BAD)

    return held({"pyproject.toml": f"[tool.ruff]\nextend = '{line}'\n", "real/r.toml": STRONG}, plant)


EXTENDING = {
    "tsconfig.json": '{"extends": "./e.json"}',
    "biome.json": '{"extends": ["./e.json"]}',
    ".eslintrc.json": '{"root": true, "extends": ["./e.json"]}',
    "eslint.config.cjs": "module.exports = [{rules: require('./e.json')}];\n",
}
LONG = "x = '" + "a" * 200 + "'\n"
CONFIGURATION = [
    Way("ignore ALL", ruff("ignore = ['ALL']"), "a.py"),
    Way("extend-ignore", ruff("extend-ignore = ['F']"), "a.py"),
    Way("negated per-file-ignores", ruff("per-file-ignores = {'!k.py' = ['F']}"), "a.py"),
    Way("extend-per-file-ignores", ruff("extend-per-file-ignores = {'*.py' = ['F', 'E']}"), "a.py"),
    Way("lint.exclude", ruff("exclude = ['*.py']"), "a.py"),
    Way("include of others", top("include = ['k.py']"), "a.py"),
    Way("force-exclude", top("force-exclude = true\nexclude = ['**']"), "a.py"),
    Way("extension", top("extension = { py = 'ipynb' }"), "a.py"),
    Way("required-version", top("required-version = '<0.1'"), "a.py"),
    Way("allowed-unused-imports", ruff("pyflakes.allowed-unused-imports = ['os']\nignore = ['F821']"), "a.py"),
    Way("dummy-variable-rgx", {"a.py": "def f():\n    unused = 1\n", "pyproject.toml": f"{RUFF}dummy-variable-rgx = '.*'\n"}, "a.py"),
    Way("line-length", {"a.py": LONG, "pyproject.toml": f"[tool.ruff]\nline-length = 320\n{RUFF}"}, "a.py"),
    Way("task-tags", {"a.py": "# X " + "a" * 200 + "\n", "pyproject.toml": f"{RUFF}task-tags = ['X']\npycodestyle.ignore-overlong-task-comments = true\n"}, "a.py"),
    Way("tox.ini", ways.both({"tox.ini": "[flake8]\nextend-ignore = F\n"}), "a.py"),
    Way("filename of flake8", ways.both({".flake8": "[flake8]\nfilename = *.foo\n"}), "a.py", ways.FLAKE8),
    Way("per-file-ignores of flake8", ways.both({".flake8": "[flake8]\nper-file-ignores = *:F\n"}), "a.py", ways.FLAKE8),
    Way("extend to outside", top("extend = '../outside.toml'"), "a.py"),
    Way("extend in a circle", top("extend = 'pyproject.toml'"), "a.py"),
    Way("ruff.toml is a folder", {"a.py": BAD, "ruff.toml/x": "y"}, "a.py"),
    Way("ruff.toml is not text", {"a.py": BAD, "ruff.toml": b"\xff\xfe\x00"}, "a.py"),
    Way("duplicate tables", {"a.py": BAD, "pyproject.toml": f"{RUFF}{RUFF}"}, "a.py"),
    Way("prettierignore", {"s.js": "const a = ;\n", ".prettierignore": "*\n"}, "s.js"),
    Way("eslintignore", {"s.js": "const a = ;\n", ".eslintignore": "*\n"}, "s.js"),
    Way("requirePragma", {"s.js": "const a = ;\n", ".prettierrc": '{"requirePragma": true}\n'}, "s.js"),
    Way("eslint.config ignores", {"s.js": "const a = ;\n", "eslint.config.js": "export default [{ignores: ['**']}]\n"}, "s.js"),
    Way("package.json", {"s.js": "const a = ;\n", "package.json": '{"eslintIgnore": ["*"], "prettier": {"requirePragma": true}}\n'}, "s.js"),
    Way("biome", {"s.js": "const a = ;\n", "biome.json": '{"files": {"includes": ["!**"]}}\n'}, "s.js"),
    Way("editorconfig", {"a.py": BAD, ".editorconfig": "[*]\nignore = true\n"}, "a.py"),
    Way("gitattributes encoding", {"a.py": BAD, ".gitattributes": "*.py working-tree-encoding=UTF-16 binary\n"}, "a.py", staged=False),
    *map(extended, ['extend = "b\\u0061se.toml"', 'extend = """base.toml"""', "extend = '''\nbase.toml'''", '"ext\\u0065nd" = "base.toml"', 'extend = "././base.toml"']),
    Way("a link's target", held({"conf/r.toml": STRONG}, weaker_target), "a.py"),
    Way("now a link", now_a_link, "a.py"),
    Way("moved to the folder above", held({"pkg/ruff.toml": STRONG}, moved_up), "pkg/b.py"),
    Way("behind 1,000 folders", held({"z/c.py": "x = 1\n", "z/ruff.toml": STRONG}, weaker_far_away), "z/c.py"),
    Way("schema that the data names", {"d.json": SCHEMA["d.json"].replace("1", "'x'".replace("'", '"')), "s.json": "{}"}, "d.json", SCHEMA),
    Way("schema is named no more", {"d.json": '{"a": "x"}\n'}, "d.json", SCHEMA),
    Way("schema is another", {"d.json": '{"$schema": "./n.json", "a": "x"}\n', "n.json": "{}"}, "d.json", SCHEMA),
    Way("schema of a schema", {"d.json": '{"$schema": "./s.json", "a": "x"}\n', "t.json": "{}"}, "d.json", {**SCHEMA, **CALLED}),
    Way("gitattributes generated", {"a.py": BAD, ".gitattributes": "*.py linguist-generated -text ident\n"}, "a.py"),
    *(Way(f"{base} extends", {"e.json": "{}"}, "e.json", {base: text, "e.json": '{"a": 1}'}) for base, text in EXTENDING.items()),
    *(Way(name, {name: "{}"}, name, {name: '{"a": 1}'}) for name in ("tsconfig.json", "tsconfig.build.json", ".pre-commit-config.yaml")),
    Way("through a linked folder", through("conf/r.toml"), "a.py"),
    Way("through a linked folder and back", through("conf/../real/r.toml"), "a.py"),
    Way("modules", {"a.py": BAD, ".gitmodules": '[submodule "p"]\n\tpath = pkg\n\turl = ./x\n\tignore = all\n'}, "a.py"),
]  # fmt: skip


def python(name, text):
    return Way(name, {"a.py": text}, "a.py")


def script(name, text, path="s.js"):
    return Way(name, {path: text}, path)


#: What Prettier leaves as it is where checkIgnorePragma is set.
PRAGMAS = {
    "s.css": "/** @noformat */\na   { b : c }\n",
    "s.md": "<!-- @noformat -->\n\n*  a\n",
    "s.yml": "# @noprettier\n\na:   1\n",
    "s.html": "<!-- @noprettier -->\n<p   >x</p>\n",
    "s.mjs": "/**\n * @noformat\n */\nconst a = 1\n",
}
COMMENTS = [
    python("noqa of a text", 'x = f"""\n{undefined}\n"""  # noqa\n'),
    python("noqa behind a line end", "import os, \\\n    sys  # noqa\n\nprint(1)\n"),
    python("#ruff:noqa at the end", f"{BAD}#ruff:noqa\n"),
    python("ruff disable at the end of a line", "x = 1  # ruff: disable[F]\nprint(undefined)\n"),
    python("isort", "# isort: skip_file\nimport sys\nimport os\n\nprint(os, sys)\n"),
    python("a check is only for types", "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import os\n\nprint(undefined)\n"),
    python("deep", f"x = {'(' * 150}1{')' * 150}\nprint(undefined)\n"),
    python("very long line", f"x = [{'1, ' * 100_000}]\nprint(undefined)\n"),
    python("end of file sign", "x = 1\n\x1aprint(undefined)\n"),
    python("isort of ruff", "# ruff: isort: skip_file\nimport sys\nimport os\n\nprint(os, sys)\n"),
    script("eslint on its own line", "/*\n eslint no-undef: 0\n*/\nfoo();\n"),
    script("global on its own line", "/*\r\n global foo\r\n*/\r\nfoo();\r\n"),
    script("prettier-ignore-start on its own line", "# T\n\n<!--\nprettier-ignore-start\n-->\n\n* a\n", "s.md"),
    script("prettier-ignore in Handlebars", "{{! prettier-ignore }}\n<p   >x</p>\n", "s.hbs"),
    script("prettier-ignore in JSX", "const a = (\n  <p>\n    {/* prettier-ignore */}\n    <b   />\n  </p>\n);\n", "s.jsx"),
    *(script(f"Prettier: {path}", text, path) for path, text in PRAGMAS.items()),
    script("shellcheck", "#!/bin/sh\n# shellcheck disable=all\nif\n", "s.sh"),
    script("generated", "// @generated\nconst a = ;\n", "s.min.js"),
]  # fmt: skip
NOTEBOOK = ways.NOTEBOOK
KINDS = [
    Way("kinds: " + path, {path: text}, path)
    for path, text in [
        ("s.cjs", "const a = ;\n"), ("s.mts", "let a: = 1\n"), ("s.vue", "<script>const a = ;</script>\n"), ("s.svelte", "<script>a = ;</script>\n"),
        ("n.json5", "{a: }\n"), ("n.jsonc", "{// x\n"), ("n.ini", "a\n"), ("Dockerfile", "FROMM x\n"),
        ("Makefile", "a:\nb\n"), ("s.ps1", "if (\n"), ("s.sql", "selec\n"), ("s.xml", "<a>\n"), ("s.go", "func {\n"),
        ("s.rs", "fn {\n"), ("t", "#!/usr/bin/env -S python3 -u\n" + BAD),
        ("t4", b"\xef\xbb\xbf#!/usr/bin/env python3\n" + BAD.encode()), ("SConstruct", BAD), ("x.pyx", BAD), ("x.py~", BAD),
        ("u32.py", BAD.encode("utf-32")), ("ebcdic.py", BAD.encode("cp500")), ("rot.py", "# coding: rot13\n" + BAD), ("vim.py", "# vim: set fileencoding=latin-1 :\n# \xe9\n".encode("latin-1") + BAD.encode()),
        ("hex.py", "# coding: hex\n" + BAD), ("second.py", "#!/x\n# -*- coding: cp1252 -*-\n" + BAD), ("idna.py", "# coding: idna\n" + BAD), ("only.py", b"\xff"),
        ("build/c.py", BAD), (".venv/c.py", BAD), ("node_modules/m/i.js", "const a = ;\n"), ("site-packages/c.py", BAD),
        ("__pycache__/c.py", BAD), (".hidden.py", BAD),
        (".github/workflows/x.yml", "a: [1\n"), ("vendor/c.py", BAD), ("pkg/__init__.py", BAD), ("conftest.py", BAD), ("a b.py", BAD), ("\u00e9.py", BAD), ("*.py", BAD), ("#a.py", BAD), ("!a.py", BAD),
        ("n1.ipynb", "{"), ("n2.ipynb", NOTEBOOK.replace("python", "R")), ("n3.ipynb", NOTEBOOK.replace('"nbformat": 4', '"nbformat": 3')), ("n5.ipynb", NOTEBOOK.replace('"print(undefined)"', '"%%bash\\n", "rm x"')),
        ("big.py", BAD + "# x\n" * 70_000), ("big.js", "const a = ;\n" + "// x\n" * 50_000),
    ]
]  # fmt: skip


def git_config(*words):
    def plant(project, git):
        git("config", *words)
        (project / "a.py").write_text(BAD)
        (project / "new.py").write_text(BAD)

    return plant


def case_only(project, git):
    git("mv", "a.py", "A.py")
    (project / "A.py").write_text(BAD)
    git("config", "core.ignorecase", "true")


def intent(project, git):
    (project / "new.py").write_text(BAD)
    git("add", "-N", "new.py")


def staged_good(project, git):
    (project / "a.py").write_text("x = 3\n")
    git("add", "a.py")
    (project / "a.py").write_text(BAD)


def staged_bad(project, git):
    (project / "a.py").write_text(BAD)
    git("add", "a.py")
    (project / "a.py").write_text("x = 1\n")


def untracked_again(project, git):
    git("rm", "-q", "--cached", "a.py")
    (project / "a.py").write_text(BAD)


def sparse(project, git):
    git("config", "core.sparseCheckout", "true")
    (project / ".git/info").mkdir(exist_ok=True)
    (project / ".git/info/sparse-checkout").write_text("/pkg/\n")
    (project / "a.py").write_text(BAD)


def replaced_commit(project, git):
    (project / "a.py").write_text(BAD)
    git("add", "a.py")

    def run(*words):
        return subprocess.run(["git", "-C", project, *words], check=True, capture_output=True, text=True).stdout.strip()

    tree = run("write-tree")
    new = run("-c", "user.name=x", "-c", "user.email=x@x", "commit-tree", tree, "-m", "x")
    git("replace", run("rev-parse", "HEAD"), new)


def grafted(project, git):
    (project / "a.py").write_text(BAD)
    (project / ".git/info/grafts").write_text("0" * 40 + "\n")


def broken_index(project, git):
    (project / "a.py").write_text(BAD)
    (project / ".git/index").write_bytes(b"DIRC\0\0\0\2garbage")


def locked_index(project, git):
    (project / "a.py").write_text(BAD)
    (project / ".git/index.lock").write_text("")


def gitdir(project):
    (project / "pkg/.git").write_text("gitdir: ../../elsewhere\n")
    (project / "pkg/c.py").write_text(BAD)


def split_index(project, git):
    git("update-index", "--split-index")
    (project / "a.py").write_text(BAD)
    git("config", "core.splitIndex", "true")


def linked_inside(project):
    (project / "bad.txt").write_text(BAD)
    (project / "link.py").symlink_to("bad.txt")


def loop(project):
    (project / "loop.py").symlink_to("loop.py")


def dangling(project):
    (project / "gone.py").symlink_to("nowhere.py")


def hard(project):
    (project.parent / "outside-hard.py").write_text(BAD)
    os.link(project.parent / "outside-hard.py", project / "hard.py")


def setuid(project):
    (project / "s.py").write_text(BAD)
    (project / "s.py").chmod(0o6755)


def future(project):
    (project / "a.py").write_text(BAD)
    os.utime(project / "a.py", (2**33, 2**33))


def ancient(project):
    (project / "a.py").write_text(BAD)
    os.utime(project / "a.py", (0, 0))


def submodule(project, git):
    git("update-index", "--add", "--cacheinfo", "160000," + "1" * 40 + ",sub")
    (project / "sub").mkdir()
    (project / "sub/c.py").write_text(BAD)


def emptied(project):
    (project / "a.py").write_bytes(b"")
    (project / "b.py").write_text(BAD)


def sparse_hole(project):
    with (project / "hole.py").open("wb") as file:
        file.truncate(30_000_000)


PLACES = [
    Way("showUntrackedFiles", git_config("status.showUntrackedFiles", "no"), "new.py", staged=False),
    Way("excludesFile", git_config("core.excludesFile", os.devnull), "new.py", staged=False),
    Way("ignoreSubmodules", git_config("diff.ignoreSubmodules", "all"), "new.py"),
    Way("orderFile", git_config("diff.orderFile", "/nonexistent"), "a.py"),
    Way("relative", git_config("diff.relative", "true"), "a.py"),
    Way("noprefix", git_config("diff.noprefix", "true"), "a.py"),
    Way("context of none", git_config("diff.context", "0"), "a.py"),
    Way("ignored white space", git_config("apply.ignoreWhitespace", "change"), "a.py"),
    Way("precomposed names", git_config("core.precomposeUnicode", "true"), "a.py"),
    Way("quotePath", git_config("core.quotePath", "false"), "a.py"),
    Way("safecrlf", git_config("core.autocrlf", "input"), "a.py"),
    Way("bare", git_config("core.bare", "true"), "a.py", staged=False),
    Way("alias", git_config("alias.diff", "!true"), "a.py"),
    Way("include", git_config("include.path", "/dev/null"), "a.py"),
    Way("extensions", git_config("extensions.worktreeConfig", "true"), "a.py"),
    Way("renames off", git_config("diff.renames", "false"), "a.py"),
    Way("case only", case_only, "A.py"),
    Way("intent to add", intent, "new.py"),
    Way("staged good, on disk bad", staged_good, "a.py", staged=False),
    Way("untracked again", untracked_again, "a.py", staged=False),
    Way("sparse", sparse, "a.py", staged=False),
    Way("replaced commit", replaced_commit, "a.py"),
    Way("grafts", grafted, "a.py"),
    Way("gitdir", gitdir, "pkg", staged=False),
    Way("split index", split_index, "a.py"),
    Way("link inside", linked_inside, "link.py"),
    Way("link to itself", loop, "loop.py"),
    Way("dangling link", dangling, "gone.py"),
    Way("hard link", hard, "hard.py"),
    Way("setuid", setuid, "s.py"),
    Way("from the future", future, "a.py"),
    Way("from 1970", ancient, "a.py"),
    Way("submodule", submodule, "sub", staged=False),
    Way("another is emptied", emptied, "b.py"),
    Way("hole", sparse_hole, "hole.py"),
]  # fmt: skip
ALL = [*CONFIGURATION, *COMMENTS, *KINDS, *PLACES]


@pytest.mark.parametrize("way", ALL, ids=repr)
def test_nothing_passes_unseen(way, changed, monkeypatch, capsys):
    project = changed(way)
    alone = [*KINDS, *PLACES]
    for words in [("--diff", "HEAD"), *([()] if way.plain and way in alone else [])]:
        code, report = helpers.gate(project.project, monkeypatch, capsys, *words)
        assert helpers.seen(report, way.path) or code not in (0, 1), (words, code, report)
    if way.staged:
        monkeypatch.undo()
        project.git("add", "-A", "-f")
        code, report = helpers.gate(project.project, monkeypatch, capsys, "--staged")
        assert helpers.seen(report, way.path) or code not in (0, 1), ("--staged", code, report)


@pytest.mark.parametrize("way", [way for way in ALL if way.turn], ids=repr)
def test_nothing_passes_unseen_in_a_turn(way, planted):
    assert helpers.judged_in_a_turn(planted(way), way)


@pytest.mark.parametrize("plant", [broken_index, locked_index], ids=lambda plant: plant.__name__)
def test_a_repository_that_cannot_be_read_is_no_pass(plant, changed, monkeypatch, capsys):
    project = changed(Way("x", plant, "a.py"))
    for words in (("--diff", "HEAD"), ("--staged",), ()):
        monkeypatch.chdir(project.project)
        from rails.cli import main

        code = main(["gate", *words])
        said = "".join(capsys.readouterr())
        if words == ("--staged",) and plant is locked_index:
            continue  # nothing is staged
        assert code != 0, (words, said)


@pytest.mark.parametrize("words", [("--staged",), ("--diff", "HEAD", "--staged")])
def test_what_is_staged_is_judged_whatever_is_on_the_disk(words, changed, monkeypatch, capsys):
    project = changed(Way("x", staged_bad, "a.py"))
    code, report = helpers.gate(project.project, monkeypatch, capsys, "--staged")
    assert helpers.seen(report, "a.py"), report
    assert code
