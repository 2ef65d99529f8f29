"""Short ways to say what the tests of this package say often."""

from pathlib import Path

from rails.core import paths
from rails.core.changes import Approved, ChangeSet, FileChange
from rails.core.tool_request import ToolRequest
from rails.edits.apply import apply
from rails.edits.checkpoint_commits import StepFacts

EDIT_TOOLS = ("write_file", "edit_file", "multi_edit", "insert_lines", "delete_file", "move_file")


def at(text):
    path = paths.parse_path(text)
    assert isinstance(path, paths.WorkspacePath), path
    return path


def request(tool, number=1, **parameters):
    return ToolRequest(f"r{number}", tool, parameters, "", "edit", True, "0" * 64, "coder")


def edit(path, old, new, number=1, **more):
    return request("edit_file", number, file_path=path, old_string=old, new_string=new, **more)


def change(path, before, after, mode=0o644):
    return FileChange(at(path), before, after, mode)


def approved(changes):
    changes = changes if isinstance(changes, ChangeSet) else ChangeSet(tuple(changes))
    return Approved(changes, changes.digest(), "test", "2026-01-01T00:00:00Z")


def put(project, **files):
    """Write files; a double underscore in a name is a slash, one at the end is a dot."""
    for name, data in files.items():
        save(project, name.replace("__", "/").replace("_txt", ".txt").replace("_py", ".py"), data)


def save(project, name, data):
    path = Path(project) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def tree(project, but=(".rails", ".git")):
    """Every file of the project with its bytes and mode."""
    found = {}
    for path in sorted(Path(project).rglob("*")):
        relative = path.relative_to(project)
        if relative.parts[0] not in but and path.is_file() and not path.is_symlink():
            found[str(relative)] = (path.read_bytes(), path.stat().st_mode & 0o777)
    return found


def step(project, *changes, session="s1", message="step", **more):
    """Write changes as a step of a session. Returns what :func:`apply` does."""
    return apply(approved(changes), project, step=StepFacts(session, message), **more)
