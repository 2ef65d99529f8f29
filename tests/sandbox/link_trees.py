"""A fake home full of tokens, and random trees of links in a project of it: what its commands read of all that."""

import os
from pathlib import Path

from hypothesis import strategies as st

from rails.sandbox.layer import Layer
from rails.sandbox.run import layer_for, run
from rails.sandbox.values import SandboxView

PROJECT = "src/p"
#: What a person's home holds here; no command may read any of it.
SECRET = (
    *(".local/share/opencode/auth.json", ".local/lib/python3.11/notes", ".local/bin/tool", ".aws/credentials"),
    *(".pyenv/version", ".pyenv/versions/3.11/etc/token", ".pyenv/versions/3.11/lib/token", ".virtualenvs/token"),
    *("other/node_modules/private/index.js", "dev/lib/python3.11/token", "dev/bin/tool", "dev/.env", ".env"),
    *("miniconda3/.condarc", ".local/share/pnpm/store/v10/files/00/token", ".npm/_cacache/token", "src/q/a.py"),
    *(".cache/uv/archive-v0/x/token", ".cache/pip/http/token", ".cache/pypoetry/token", "src/q/.git/config"),
    *(".local/share/uv/credentials/token", ".local/share/uv/tools/x/uv-receipt.toml", "src/node_modules/a/index.js"),
    *(".conda/envs/e/etc/token", ".ssh/id", "../elsewhere/lib/python3.11/token", f"{PROJECT}/.rails/masking.key"),
    *(f"{PROJECT}/pkg/.rails/history.git/x", ".virtualenvs/e/bin/postactivate"),
)
#: What lies in folders that are ours to show; it is shown where the project's environment leads there.
SHOWN = (
    *(".pyenv/versions/3.11/lib/python3.11/os.py", ".pyenv/versions/3.11/include/Python.h"),
    ".local/share/uv/python/cpython-3.12/lib/python3.12/os.py",
    *(".local/share/uv/tools/x/bin/x", ".conda/envs/e/lib/libz.so"),
)
PROGRAMS = (
    *(
        ".local/bin/python3.11",
        "dev/bin/python3.11",
        ".pyenv/versions/3.11/bin/python3.11",
        ".virtualenvs/e/bin/python",
    ),
    *(".local/share/uv/python/cpython-3.12/bin/python3.12", ".conda/envs/e/bin/python", "../elsewhere/bin/python3.11"),
)
#: Places of a project where a link, or a folder of links, means something to a tool.
PLACES = (
    *(".venv", ".venv/bin", ".venv/bin/python", ".venv/bin/python3", ".venv/lib", ".venv/lib64", ".venv/pyvenv.cfg"),
    *("venv", "venv/bin/python", "venv/lib/python3.11", "node_modules", "node_modules/a", "node_modules/@b/c", "tool"),
    *("node_modules/.bin/node", "node_modules/.pnpm", "node_modules/.pnpm/a@1/node_modules/a", "node_modules/.cache"),
    *(
        ".git",
        ".git/objects/info/alternates",
        ".cache",
        ".mypy_cache",
        "__pycache__",
        ".pnpm-store",
        ".uv",
        "pkg/.venv",
    ),
    *("pkg/node_modules", ".tox/py/bin/python", "data", "pkg/data.txt", ".rails", "pkg/.rails"),
)
#: Where they may lead: to everything in the home and the folders above it, and to nothing.
INTO_HOME = sorted(
    {str(one) for name in (*SECRET, *SHOWN, *PROGRAMS) for one in (Path(name), *Path(name).parents)} - {PROJECT}
)
LINKS = st.lists(
    st.tuples(
        st.sampled_from(PLACES),
        st.one_of(
            st.tuples(st.just("home"), st.sampled_from([*INTO_HOME, "nothing/bin/python3.11"])),
            st.tuples(st.just("project"), st.sampled_from(PLACES)),
        ),
        st.booleans(),
    ),
    max_size=7,
    unique_by=lambda link: link[0],
)


def furnish(home):
    """Fill a home and a project in it, each file with a word that says whose it is; return the project."""
    texts = {name: f"TOKEN {name}\n" for name in SECRET} | {name: f"PROGRAM {name}\n" for name in SHOWN}
    texts |= dict.fromkeys(PROGRAMS, "#!/bin/sh\n") | {f"{PROJECT}/a.py": "OWN\n", "dev/pyvenv.cfg": ""}
    for name, text in {**texts, ".conda/envs/e/conda-meta/history": ""}.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
        (home / name).chmod(0o755)
    return home / PROJECT


def link(project, name, target):
    """Make a link in the project, unless one of its folders is one already."""
    place = project / name
    above = place.relative_to(project).parents
    if any((project / one).is_symlink() for one in above) or os.path.lexists(place):
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)


def plant(home, links):
    """Make the links of a random tree: each leads to a place of the home or the project, by either kind of path."""
    for name, (root, goal), relative in links:
        target = home / goal if root == "home" else home / PROJECT / goal
        place = home / PROJECT / name
        link(home / PROJECT, name, os.path.relpath(target, place.parent) if relative else target)


def read_inside(project, names, label, *, writes=True):
    """Return what a command of the project can read of these files, and of all below the home and the project.

    Each file says itself whose it is. It is looked for by its own name, and through every link of the project.
    """
    line = (
        'for name in "$@"; do cat -- "$name" 2> /dev/null; done;'
        ' grep -Rhs -e TOKEN -e PROGRAM -e OWN "$HOME_OF_TEST" "$PROJECT_OF_TEST" .; true'
    )
    with layer_for(project, label) if writes else Layer(project) as layer:
        places = {"HOME_OF_TEST": str(project.parents[2]), "PROJECT_OF_TEST": str(project)}
        copies = [name.replace(str(project), str(layer.root)) for name in names if name.startswith(str(project))]
        view = SandboxView(project, layer, environment=places)
        result = run(("/bin/sh", "-c", line, "sh", *names, *copies), view, label=label, collect=False)
    assert result.ok, result
    return set(result.out.splitlines()) - {"#!/bin/sh", ""}


def leaks(home, links, label, *, writes=True):
    """Return what the commands of a project with such links can read that is neither its own nor ours to show."""
    project = furnish(home)
    plant(home, links)
    found = read_inside(project, [str(home / name) for name in (*SECRET, *SHOWN)], label, writes=writes)
    assert "OWN" in found, found
    return {line for line in found if line.startswith("TOKEN")}
