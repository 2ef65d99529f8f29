"""The page that begins a piece of work, and where its plan is found later.

    output/new_project_plans/NAME/initial_project_idea.md      ai-rails new NAME
    output/feature_update_plans/NAME/feature_update_idea.md    ai-rails feature NAME
    output/takeover_plans/NAME/takeover_idea.md                ai-rails takeover DIR

Names and search order are the original's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from rails.agents.template import read_template
from rails.core import paths
from rails.core.app_dirs import builtin_folder
from rails.core.errors import Refusal, UsageError, WorkspaceError
from rails.core.text import one_line
from rails.core.user_files import UserFile
from rails.session.job import facts_of

PlanKind = Literal["new", "feature", "takeover"]

#: Of each kind: the plans' folder, the page to fill in, and the planner's first document.
PLACES: Final[Mapping[PlanKind, tuple[str, str, str]]] = {
    "new": ("new_project_plans", "initial_project_idea.md", "initial_plan.md"),
    "feature": ("feature_update_plans", "feature_update_idea.md", "initial_feature_plan.md"),
    "takeover": ("takeover_plans", "takeover_idea.md", "initial_plan.md"),
}
#: Which file of a plan's folder is the plan: the first that is there, else the newest Markdown file.
PLAN_ORDER: Final = ("final_plan.md", "initial_plan.md", "initial_feature_plan.md")
#: The words of the original; what follows them is ours.
EXISTS: Final = "A project/directory with this name already exists. Please choose another name,"

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MARK: Final = re.compile(r"\{\{(name|summary|survey)\}\}")
_EMPTY: Final = "(fill in)"


class NameTaken(UsageError):
    """A project or plan of this name exists."""

    def __init__(self, place: Path) -> None:
        super().__init__(f"{EXISTS} {place} is there. Nothing was changed.")


class PlanFile(Struct, frozen=True):
    """A plan: its kind (``None``: a file of its own), name and text."""

    path: Path
    text: str
    kind: PlanKind | None = None


def begin(kind: PlanKind, project: Path, name: str, summary: str = "") -> Path:
    """Write and return a work's first page; ``summary`` fills its first section.

    Raises NameTaken, UsageError for an invalid name, and WorkspaceError; nothing existing is changed.
    """
    folder = project / "output" / PLACES[kind][0] / checked_name(name)
    if os.path.lexists(folder):
        raise NameTaken(folder)
    facts = {
        "name": name,
        "summary": summary.strip() or _EMPTY,
        "survey": facts_of(project)["files"].strip() if kind == "takeover" else "",
    }
    template = (builtin_folder("agent_templates") / f"_kickoff_{kind}.md").read_text("utf-8")
    # One pass: what is filled in is not looked at again.
    return _write(folder / PLACES[kind][1], _MARK.sub(lambda mark: facts[mark[1]], template), project)


def new_project(place: Path, name: str, summary: str = "") -> Path:
    """Make the folder ``place/name`` with its first page; return the page."""
    project = place / checked_name(name)
    try:
        project.mkdir(parents=True)
    except FileExistsError as error:
        raise NameTaken(project) from error
    except OSError as error:
        raise WorkspaceError(f"{project} cannot be made: {error.strerror}. Nothing was changed.") from error
    return begin("new", project, name, summary)


def checked_name(name: str) -> str:
    """Return ``name`` if it can be a folder anywhere. Raises UsageError."""
    if not _NAME.fullmatch(name) or isinstance(paths.parse_path(name), Refusal):
        raise UsageError(
            f"{one_line(name)!r} is not a name. Use letters, digits, dots, dashes and underscores, up to 64. "
            "Nothing was changed."
        )
    return name


def find_plan(project: Path, name: str) -> PlanFile:
    """Return the plan of this name, or the file or folder. Raises UsageError that says where it looked.

    In a folder, the first of ``final_plan.md``, ``initial_plan.md``, ``initial_feature_plan.md``, the newest ``*.md``.
    """
    for kind, (plans, _, _) in PLACES.items():
        folder = project / "output" / plans / name
        if _NAME.fullmatch(name) and folder.is_dir():
            return _read(_chosen(folder), kind)
    given = project / name
    if given.is_file():
        return _read(given)
    if given.is_dir():
        return _read(_chosen(given))
    plans = ", ".join(f"output/{plans}/{one_line(name, 80)}" for plans, _, _ in PLACES.values())
    raise UsageError(f"There is no plan {one_line(name)!r}: looked for {plans} and for a file of that name.")


def save_plan(found: PlanFile, text: str) -> Path:
    """Put the plan beside ``found``, as the kind's first or named by time."""
    assert found.kind is not None, "only a kick-off has a place for a plan"
    file = found.path.parent / PLACES[found.kind][2]
    if os.path.lexists(file):
        file = file.with_name(datetime.now(UTC).strftime("planning_output_%Y%m%d_%H%M%S_%f.md"))
    return _write(file, f"{text.rstrip()}\n", found.path.parent)


def _chosen(folder: Path) -> Path:
    for name in PLAN_ORDER:
        if (folder / name).is_file():
            return folder / name
    found = [file for file in folder.glob("*.md") if file.is_file()]
    if not found:
        raise UsageError(
            f"There is no plan in {folder}: it has none of {', '.join(PLAN_ORDER)} and no other *.md file."
        )
    return max(found, key=lambda file: (file.stat().st_mtime_ns, file.name))


def _read(file: Path, kind: PlanKind | None = None) -> PlanFile:
    return PlanFile(file, read_template(file, not_done="Nothing was started."), kind)


def _write(file: Path, text: str, inside: Path) -> Path:
    """Overwrite nothing, and follow no link out of ``inside``."""
    for folder in file.parents[: len(file.relative_to(inside).parts) - 1]:
        if folder.is_symlink():
            raise WorkspaceError(f"{folder} is a link. Nothing was written; remove it or choose another folder.")
    try:
        plan = UserFile(file)
        if os.path.lexists(file):  # what comes later is seen by the write
            raise NameTaken(file)
        plan.write((text.encode(),))
    except FileExistsError as error:
        raise NameTaken(file) from error
    except OSError as error:
        raise WorkspaceError(f"{file} cannot be written: {error.strerror}.") from error
    return file
