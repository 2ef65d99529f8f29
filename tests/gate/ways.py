"""Ways in which a change could pass unseen: each prepares a repository, then hides something bad in it.

A way is (name, what the base commit holds, what the change does, the path that has to be named).
"""

import functools
import os
import subprocess

BAD = "import os\n\nprint(undefined)\n"
JS = "const a = ;\n"
RUFF = "[tool.ruff.lint]\nselect = ['F', 'E', 'W']\n"
BASE = {"pyproject.toml": RUFF, ".gitignore": ".rails/\n*.log\n", "a.py": "x = 1\n", "pkg/b.py": "y = 2\n"}

CELL = '{"cell_type": "code", "id": "a1", "execution_count": null, "metadata": {}, "outputs": [], "source": [%s]}'
NOTEBOOK = '{"cells": [%s], "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}\n'
NOTEBOOK = NOTEBOOK % (CELL % '"print(undefined)"')


class Way:
    """One way; ``base`` adds to the first commit, ``change`` is paths with contents (``None``: gone) or a function."""

    def __init__(self, name, change, path, base=None, *, turn=True, staged=True, plain=True):
        self.name = name
        self.change = change
        self.path = path
        self.base = base or {}
        self.turn = turn and isinstance(change, dict)
        self.staged = staged
        self.plain = plain

    def __repr__(self):
        return self.name


def both(config, **more):
    """Bad code, with configuration that would excuse it."""
    return {"a.py": BAD, **config, **more}


def suppressed(name, text, path="a.py"):
    return Way(name, {path: text}, path)


def linked(project):
    outside = project.parent / "outside.py"
    outside.write_text(BAD)
    (project / "link.py").symlink_to(outside)


def linked_folder(project):
    outside = project.parent / "outside"
    outside.mkdir(exist_ok=True)
    (outside / "c.py").write_text(BAD)
    (project / "lib").symlink_to(outside)


def linked_ignored(project):
    (project / "x.log").write_text(BAD)
    (project / "a.py").unlink()
    (project / "a.py").symlink_to("x.log")


def nested(project):
    (project / "inner" / ".git").mkdir(parents=True)
    (project / "inner" / "c.py").write_text(BAD)


def fake_nested(project):
    (project / "pkg" / ".git").write_text("")
    (project / "pkg" / "c.py").write_text(BAD)


def fake_nested_known(project):
    (project / "pkg" / ".git").write_text("")
    (project / "pkg" / "b.py").write_text(BAD)


def named(name):
    def plant(project):
        (project / name).write_text(BAD)

    return plant


def non_utf8(project):
    with open(os.path.join(os.fsencode(project), b"b\xff.py"), "w") as file:
        file.write(BAD)


def flagged(*words):
    def plant(project, git):
        git("update-index", *words, "a.py")
        (project / "a.py").write_text(BAD)

    return plant


def filtered(project, git):
    git("config", "filter.hide.clean", "cat .git/clean")
    (project / ".git" / "clean").write_text("x = 1\n")
    (project / ".git" / "info" / "attributes").write_text("*.py filter=hide\n")
    (project / "a.py").write_text(BAD)


def monitored(project, git):
    git("config", "core.fsmonitor", "true")
    git("config", "core.untrackedCache", "true")
    (project / "a.py").write_text(BAD)


def same_time(project, git):
    place = project / "a.py"
    git("update-index", "--refresh")
    facts = place.stat()
    place.write_text("1 + u\n")  # as many bytes as before
    os.utime(place, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    git("config", "core.trustctime", "false")
    git("config", "core.checkStat", "minimal")


def elsewhere(project, git):
    other = project.parent / "elsewhere"
    other.mkdir(exist_ok=True)
    git("config", "core.worktree", str(other))
    (project / "a.py").write_text(BAD)


def diff_driver(project, git):
    git("config", "diff.external", "true")
    git("config", "diff.hide.textconv", "echo")
    (project / ".gitattributes").write_text("*.py diff=hide -diff binary\n")
    (project / "a.py").write_text(BAD)


def deep(project):
    folder = project
    for _ in range(40):
        folder = folder / "d"
    folder.mkdir(parents=True)
    (folder / "c.py").write_text(BAD)


def closed(project):
    (project / "pkg" / "c.py").write_text(BAD)
    (project / "pkg" / "c.py").chmod(0o000)


def replaced_by_link(project):
    (project.parent / "other.py").write_text(BAD)
    (project / "a.py").unlink()
    (project / "a.py").symlink_to(project.parent / "other.py")


def replaced_by_folder(project):
    (project / "a.py").unlink()
    (project / "a.py").mkdir()
    (project / "a.py" / "c.py").write_text(BAD)


def replaced_blob(project, git):
    """Have git say that the base held what the change brings."""
    (project / "a.py").write_text(BAD)
    run = functools.partial(subprocess.run, cwd=project, check=True, capture_output=True, text=True)
    new = run(["git", "hash-object", "-w", "a.py"]).stdout.strip()
    git("replace", run(["git", "rev-parse", "HEAD:a.py"]).stdout.strip(), new)


def untracked_config(name, text):
    def plant(project):
        (project / "a.py").write_text(BAD)
        (project / ".gitignore").write_text(f".rails/\n*.log\n{name}\n")
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)

    return plant


EXTENDED = {"pyproject.toml": "[tool.ruff]\nextend = 'base.toml'\n", "base.toml": "[lint]\nselect = ['F']\n"}
NESTED = {"ruff.toml": "extend = 'conf/one.toml'\n", "conf/one.toml": "extend = 'two.toml'\n"}
NESTED |= {"conf/two.toml": "[lint]\nselect = ['F']\n", "pyproject.toml": "[project]\nname = 'x'\n"}
FLAKE8 = {"pyproject.toml": "[project]\nname = 'x'\n", ".flake8": "[flake8]\nmax-line-length = 88\n"}
HEADINGS = '[[gate.headings]]\npath = "*.md"\nheadings = ["# Title"]\n'

CONFIGURATION = [
    Way("rules taken away", both({"pyproject.toml": "[tool.ruff.lint]\nselect = ['W']\n"}), "a.py"),
    Way("ignore", both({"pyproject.toml": f"{RUFF}ignore = ['F']\n"}), "a.py"),
    Way("per-file-ignores", both({"pyproject.toml": f"{RUFF}per-file-ignores = {{'*' = ['F']}}\n"}), "a.py"),
    Way("exclude", both({"pyproject.toml": f"[tool.ruff]\nexclude = ['a.py']\n{RUFF}"}), "a.py"),
    Way("extend-exclude", both({"pyproject.toml": f"[tool.ruff]\nextend-exclude = ['*']\n{RUFF}"}), "a.py"),
    Way("builtins", both({"pyproject.toml": f"[tool.ruff]\nbuiltins = ['undefined']\n{RUFF}"}), "a.py"),
    Way("ruff.toml beside it", both({"ruff.toml": "[lint]\nselect = ['W']\n"}), "a.py"),
    Way(".ruff.toml beside it", both({".ruff.toml": "[lint]\nselect = ['W']\n"}), "a.py"),
    Way("new nested ruff.toml", {"pkg/b.py": BAD, "pkg/ruff.toml": "[lint]\nselect = ['W']\n"}, "pkg/b.py"),
    Way(
        "new nested pyproject", {"pkg/b.py": BAD, "pkg/pyproject.toml": "[tool.ruff.lint]\nselect=['W']\n"}, "pkg/b.py"
    ),
    Way("nested for a new file", {"new/c.py": BAD, "new/.ruff.toml": "exclude = ['*']\n"}, "new/c.py"),
    Way("what is extended", both({"base.toml": "[lint]\nselect = ['W']\n"}), "a.py", EXTENDED),
    Way("what is extended is gone", both({"base.toml": None}), "a.py", EXTENDED),
    Way("extended twice", both({"conf/two.toml": "[lint]\nselect = ['W']\n"}), "a.py", NESTED),
    Way(
        "extends something new",
        both({"pyproject.toml": "[tool.ruff]\nextend = 'n.toml'\n", "n.toml": "lint.select=['W']\n"}),
        "a.py",
    ),
    Way("broken configuration", both({"pyproject.toml": "[tool.ruff\n"}), "a.py"),
    Way("configuration is deleted", both({"pyproject.toml": None}), "a.py"),
    Way(
        "first configuration",
        both({"ruff.toml": "[lint]\nselect = ['W']\n"}),
        "a.py",
        {"pyproject.toml": "[project]\nname='x'\n"},
    ),
    Way("flake8 ignores", both({".flake8": "[flake8]\nextend-ignore = F\n"}), "a.py", FLAKE8),
    Way("flake8 excludes", both({".flake8": "[flake8]\nexclude = a.py\n"}), "a.py", FLAKE8),
    Way("setup.cfg", both({"setup.cfg": "[flake8]\nignore = F\n"}), "a.py", FLAKE8),
    Way(
        "target-version",
        {
            "a.py": "match 1:\n    case _:\n        print(undefined)\n",
            "pyproject.toml": f"[tool.ruff]\ntarget-version = 'py37'\n{RUFF}",
        },
        "a.py",
    ),
    Way(".rails.toml is advisory", both({".rails.toml": '[[gate.mode]]\nmode = "advisory"\n'}), "a.py"),
    Way(".rails.toml asks for less", {"n.md": "# Other\n", ".rails.toml": ""}, "n.md", {".rails.toml": HEADINGS}),
    Way(
        "ignored configuration",
        untracked_config("ruff.toml", "[lint]\nselect = ['W']\n"),
        "a.py",
        plain=False,
        staged=False,
    ),
    Way(
        "ignored nested configuration",
        untracked_config("pkg/x/ruff.toml", "[lint]\nselect = ['W']\n"),
        "a.py",
        staged=False,
    ),
    Way("pre-commit exclude", both({".pre-commit-config.yaml": "exclude: a.py\nrepos: []\n"}), "a.py"),
]
COMMENTS = [
    suppressed("noqa", "import os  # noqa\n\nprint(1)\n"),
    suppressed("ruff: noqa", f"# ruff: noqa\n{BAD}"),
    suppressed("type: ignore", "x: int = 'a'  # type: ignore\n"),
    suppressed("eslint-disable", "/* eslint-disable */\nvar a = 1\n", "s.js"),
    suppressed("globals", "/* global foo */\nfoo();\n", "s.js"),
    suppressed("ts-nocheck", "// @ts-nocheck\nlet a: number = 'x'\n", "s.ts"),
    suppressed("prettier-ignore in Markdown", "# T\n\n<!-- prettier-ignore-start -->\n\n* a\n", "s.md"),
    suppressed("prettier-ignore in YAML", "# prettier-ignore\na:    1\n", "s.yaml"),
]
#: What was excused before does not excuse something else.
KEPT = [
    Way("a kept noqa hides more", {"a.py": "print(undefined)  # noqa\n"}, "a.py", {"a.py": "import os  # noqa\n"}),
    Way(
        "a noqa is moved",
        {"a.py": "import os\n\nprint(os)\nprint(undefined)  # noqa\n"},
        "a.py",
        {"a.py": "import os  # noqa\n\nprint(os)\nprint(1)\n"},
    ),
    Way(
        "a check is not switched on again",
        {"a.py": "# ruff: disable[F821]\nx = 1\nprint(undefined)\n"},
        "a.py",
        {"a.py": "# ruff: disable[F821]\nx = 1\n# ruff: enable[F821]\nprint(1)\n"},
    ),
]
KINDS = [
    Way("new file", {"new.py": BAD}, "new.py"),
    Way("capital ending", {"NEW.PY": BAD}, "NEW.PY"),
    Way(".pyw", {"new.pyw": BAD}, "new.pyw"),
    Way("shebang", {"tool": f"#!/usr/bin/env python3\n{BAD}"}, "tool"),
    Way("shebang with options", {"bin/tool": f"#!/usr/bin/python3 -B\n{BAD}"}, "bin/tool"),
    Way("stub", {"new.pyi": "import os\n\nx: undefined\n"}, "new.pyi"),
    Way("Latin-1", {"new.py": f"# coding: latin-1\n# \xe9\n{BAD}".encode("latin-1")}, "new.py"),
    Way("UTF-16", {"new.py": BAD.encode("utf-16")}, "new.py"),
    Way("byte-order mark", {"new.py": b"\xef\xbb\xbf" + BAD.encode()}, "new.py"),
    Way("code in a comment", {"new.py": "# coding: unicode_escape\n# \\u000aprint(undefined)\n"}, "new.py"),
    Way("UTF-7", {"new.py": "# coding: utf-7\n# +AAo-print(undefined)\n"}, "new.py"),
    Way("NUL", {"new.py": b"x = 1\n\0\n"}, "new.py"),
    Way("carriage returns", {"new.py": BAD.replace("\n", "\r")}, "new.py"),
    Way("a kind without a check", {"new.kt": "fun undefined\n"}, "new.kt"),
    Way("no known kind", {"new.xyz": "whatever\n"}, "new.xyz"),
    Way("binary", {"new.bin": bytes(range(256))}, "new.bin"),
    Way(
        "notebook",
        {"n.ipynb": NOTEBOOK},
        "n.ipynb",
    ),
    Way("moved and made worse", {"a.py": None, "moved.py": "x = 1\nprint(undefined)\n"}, "moved.py"),
    Way("a used name is deleted", {"pkg/b.py": "print(y)\n"}, "pkg/b.py"),
]
PLACES = [
    Way("replaced blob", replaced_blob, "a.py"),
    Way("link to outside", linked, "link.py"),
    Way("linked folder", linked_folder, "lib"),
    Way("link to what is ignored", linked_ignored, "a.py"),
    Way("nested repository", nested, "inner", staged=False),
    Way("folder that claims to be a repository", fake_nested, "pkg", staged=False),
    Way("known file in such a folder", fake_nested_known, "pkg/b.py", staged=False),
    Way("name with a newline", named("b\nc.py"), r"b\x0ac.py"),
    Way("name with a dash", named("-c.py"), "-c.py"),
    Way("device name", named("aux.py"), "aux.py"),
    Way("name with a backslash", named("back\\slash.py"), "back"),
    Way("name with a colon", named("b:c.py"), "b:c.py"),
    Way("name with a blank at its end", named("c.py "), "c.py"),
    Way("invisible name", named("b\u200b.py"), r"b\u200b.py"),
    Way("name that is no UTF-8", non_utf8, "b"),
    Way("assume-unchanged", flagged("--assume-unchanged"), "a.py", staged=False),
    Way("skip-worktree", flagged("--skip-worktree"), "a.py", staged=False),
    Way("clean filter", filtered, "a.py", staged=False),
    Way("fsmonitor", monitored, "a.py"),
    Way("same size and time", same_time, "a.py", staged=False),
    Way("another work tree", elsewhere, "a.py", staged=False),
    Way("attributes and drivers", diff_driver, "a.py"),
    Way("deep folder", deep, "d/d/d"),
    Way("unreadable file", closed, "pkg/c.py", staged=False),
    Way("replaced by a link", replaced_by_link, "a.py"),
    Way("replaced by a folder", replaced_by_folder, "a.py"),
]
WAYS = [*CONFIGURATION, *COMMENTS, *KEPT, *KINDS, *PLACES]
