"""A person who saves at any call that touches the disk, and what must hold then: nothing of theirs is lost.

A case is a change set, a road (a write, one that is taken back, recovery, undo, redo), what a person does to which
of its files, and the number of the call before which they do it. Everything runs in this process and in the same
order each time: the calls are the :class:`~rails.edits.safe_files.Disk`.

The judge knows nothing of the journal. The person's bytes must be in their file, or in a place that was named in
words; every other file is as before the change or as after it, all alike and as was reported; nothing is left over.
"""

import itertools
import os
import shutil
import stat
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rails.core.changes import ChangeSet, FileChange
from rails.core.errors import WorkspaceError
from rails.edits.apply import recover, sole_writer, write_held
from rails.edits.checkpoint_commits import StepFacts
from rails.edits.checkpoints import History
from rails.edits.safe_files import DISK, Disk

from .disks import CALLS, StepwiseDisk
from .helpers import change, save

MARK = b"an hour of a person's work"


def _texts(number: int) -> tuple[bytes, bytes]:
    return b"old %d\n" % number * 3, b"new %d\n" % number * 4


def _modify(number: int, path: str) -> FileChange:
    return change(path, *_texts(number))


def _create(number: int, path: str) -> FileChange:
    return change(path, None, _texts(number)[1])


def _delete(number: int, path: str) -> FileChange:
    return change(path, _texts(number)[0], None)


def _mode(number: int, path: str) -> FileChange:
    return change(path, _texts(number)[0], _texts(number)[0], 0o755)


#: Change sets of 1 to 4 files.
SETS: dict[str, tuple[FileChange, ...]] = {
    "modify": (_modify(1, "a.txt"),),
    "create": (_create(1, "made/a.txt"),),
    "delete": (_delete(1, "a.txt"),),
    "move": (_delete(1, "from.txt"), _create(2, "to/here.txt")),
    "modify two": (_modify(1, "a.txt"), _modify(2, "b.txt")),
    "modify, create, delete": (_modify(1, "a.txt"), _create(2, "made/b.txt"), _delete(3, "c.txt")),
    "four": (_create(1, "a.txt"), _modify(2, "sub/b.txt"), _delete(3, "sub/c.txt"), _modify(4, "d.txt")),
    "mode": (_mode(1, "a.sh"),),
    "mode, modify, move": (_mode(1, "a.sh"), _modify(2, "b.txt"), _delete(3, "c.sh"), _create(4, "to/c.sh")),
    "create and delete": (_create(1, "a.txt"), _delete(2, "b.txt"), _create(3, "c.txt"), _delete(4, "d.txt")),
}


# -- what a person does ----------------------------------------------------------------------------


def _in_place(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(MARK)


def _by_rename(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name("saved by an editor~")
    beside.write_bytes(MARK)
    beside.replace(file)


def _append(file: Path) -> None:
    with file.open("ab") as stream:
        stream.write(MARK)


def _link(file: Path) -> None:
    file.unlink(missing_ok=True)
    file.symlink_to(os.fsdecode(MARK))


def _folder(file: Path) -> None:
    file.unlink(missing_ok=True)
    file.mkdir()
    (file / "inside").write_bytes(MARK)


DEEDS: dict[str, Callable[[Path], object]] = {
    "save in place": _in_place,
    "save by rename": _by_rename,
    "append": _append,
    "delete": Path.unlink,
    "link": _link,
    "folder": _folder,
    "chmod": lambda file: file.chmod(0o600),
}
#: After these the file, or what a person put in its place, must be found again.
_KEPT = frozenset(DEEDS) - {"delete", "chmod"}


def _do(deed: str, file: Path) -> bool:
    """Do it where a person can. Returns whether anything was done."""
    try:
        DEEDS[deed](file)
    except OSError:  # no such file, or no such folder
        return False
    return True


# -- the disk ---------------------------------------------------------------------------------------


class Dead(BaseException):
    """The process is gone: it touches nothing any more."""


class Stage(StepwiseDisk):
    """Counts every call; ``script`` says what happens before, or with "after", behind which one."""

    def __init__(self, script: dict[int, Callable[[], object]] | None = None) -> None:
        self.script = {} if script is None else script
        self.names: list[str] = []
        self.dead = False

    def _turn(self, name: str) -> None:
        self.names.append(name)
        if self.dead:
            raise Dead
        for act in [self.script[len(self.names)]] if len(self.names) in self.script else []:
            act()

    def die(self) -> None:
        self.dead = True
        raise Dead

    @staticmethod
    def fail() -> None:
        raise OSError(5, "Input/output error")


def _counted(name: str) -> Callable[..., object]:
    real = getattr(Disk, name)

    def call(self: Stage, *arguments: object) -> object:
        self._turn(name)
        result = real(self, *arguments)
        if not self.dead:
            self._turn(f"after {name}")
        return result

    return call


for _name in (*CALLS, "look"):
    if hasattr(Disk, _name):
        setattr(Stage, _name, _counted(_name))


class PlainStage(Stage):
    """A disk that cannot exchange two names."""

    def exchange(self, one: str, other: str, folder: int) -> bool:
        self._turn("exchange")
        return False


# -- the roads --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One thing that a person does, at one call on one road."""

    changes: str
    road: str
    deed: str
    path: str
    call: int
    #: At which call the process dies, or another file is saved, or the disk refuses; 0 where nothing of the kind.
    trouble: int = 0
    stage: type[Stage] = Stage

    def __str__(self) -> str:
        return f"{self.changes}, {self.road} ({self.trouble}), {self.deed} of {self.path} before call {self.call}"


SWAPS = ("exchange", "link", "rename")
ROADS = ("write", "taken back", "refused by the disk", "recovery", "killed", "undo", "redo")
_STEP = StepFacts("s", "step")
#: The file whose save lets a write be taken back, and what is saved in it.
_OTHER = "zz.txt"
_ANOTHER = b"another save"


def changes_of(name: str, road: str) -> ChangeSet:
    """Return a change set; where it is taken back because of another file, with that one."""
    found = SETS[name]
    return ChangeSet((*found, _modify(9, _OTHER)) if road == "taken back" else found)


def write(changes: ChangeSet, project: Path, disk: Disk = DISK, step: StepFacts | None = None) -> None:
    """Write changes, modes included: what an agent writes has the modes that are there, what an undo writes has not."""
    with sole_writer(project, disk) as workspace:
        write_held(workspace, changes, step=step)


def start(project: Path, changes: ChangeSet, road: str = "write") -> Path:
    """Make the files that are there before; where an undo or redo comes, with the step that it is about."""
    project.mkdir(parents=True)
    for one in changes.changes:
        if one.before is not None:
            save(project, str(one.path), one.before).chmod(0o644)
    if road in ("undo", "redo"):
        write(changes, project, step=_STEP)
    if road == "redo":
        History(project).undo()
    return project


def run(project: Path, changes: ChangeSet, road: str, disk: Disk) -> str:
    """Go down one road. Returns what is said of it."""
    if road == "recovery":
        return " ".join(recover(project, disk=disk))
    if road in ("undo", "redo"):
        getattr(History(project, disk), road)()
    else:
        write(changes, project, disk=disk)
    return ""


def act(case: Case, top: Path, begun: Path | None = None) -> str:
    """Do one case in the folder ``top``. Returns what is wrong then: "" if all is as promised.

    ``begun`` is a project where the road begins, made by :func:`start` or :func:`died`.
    """
    changes = changes_of(case.changes, case.road)
    project = top / "project"
    if begun is None:
        start(project, changes, case.road)
    else:
        shutil.copytree(begun, project, symlinks=True)
    done: list[bool] = []
    script: dict[int, Callable[[], object]] = {}
    disk = case.stage(script)

    def person() -> None:
        done.append(_do(case.deed, project / case.path))

    def then(first: Callable[[], object], second: Callable[[], object]) -> Callable[[], object]:
        return lambda: (first(), second())

    trouble: dict[str, Callable[[], object]] = {
        "taken back": lambda: (project / _OTHER).write_bytes(_ANOTHER),
        "refused by the disk": disk.fail,
        "killed": disk.die,
    }
    if case.road in trouble:
        script[case.trouble] = trouble[case.road]
    script[case.call] = then(person, script[case.call]) if case.call in script else person
    said = ""
    died = False
    try:
        said = run(project, changes, case.road, disk)
        outcome = "after"
    except WorkspaceError as error:
        outcome = "before"
        said = str(error)
    except Dead:
        outcome = ""
        died = True
    if died and not done:
        person()
    try:
        said += " ".join(recover(project))
    except WorkspaceError as error:
        return f"cannot be recovered: {error}"
    return judge(case, changes, project, outcome, said, touched=any(done))


def judge(case: Case, changes: ChangeSet, project: Path, outcome: str, said: str, *, touched: bool) -> str:
    """Return what is wrong with a project after a case, "" for nothing."""
    if touched and case.deed in _KEPT and not _found(project, case, said):
        return "lost"
    states = {_state(project, one) for one in changes.changes if str(one.path) not in (case.path, _OTHER)} - {""}
    if len(states) > 1 or "other" in states:
        return f"half done: {states}"
    reversed_ = {"before": "after", "after": "before", "": ""} if case.road == "undo" else {}
    wanted = reversed_.get(outcome, outcome)
    if case.road != "recovery" and wanted and states - {wanted} and "journal is kept" not in said:
        return f"reported as {wanted} and is {states}"
    left = [str(found.relative_to(project)) for found in project.rglob(".ai-rails-*")]
    journal = project / ".rails/journal"
    left += [name for name in os.listdir(journal) if name != "lock"] if journal.is_dir() else []
    if any(name not in said for name in left):
        return f"left over: {left}"
    return f"a second recovery: {again}" if (again := recover(project)) else ""


def _found(project: Path, case: Case, said: str) -> bool:
    """Whether the person's bytes are in their file, or in a file that is named in words."""
    name = case.path
    places = [project / name]
    for found in itertools.chain(project.rglob("*"), project.rglob(".*")):
        shown = str(found.relative_to(project))
        if shown in said and not shown.startswith(".rails/history.git"):
            places.append(found)
    return any(MARK in _content(place) for place in places)


def _content(place: Path) -> bytes:
    if place.is_symlink():
        return os.fsencode(place.readlink())
    if place.is_dir():
        return b"".join(one.read_bytes() for one in place.iterdir() if one.is_file())
    return place.read_bytes() if place.exists() else b""


def _state(project: Path, one: FileChange) -> str:
    file = project / str(one.path)
    now = _content(file) if os.path.lexists(file) else None
    if one.before == one.after == now:
        return {0o644: "before", 0o755: "after"}.get(stat.S_IMODE(file.lstat().st_mode), "other")
    return "before" if now == one.before else "after" if now == one.after else "other"


# -- all cases --------------------------------------------------------------------------------------


def counted(top: Path, name: str, road: str, stage: type[Stage] = Stage, begun: Path | None = None) -> list[str]:
    """Return the calls of a road on which nothing happens."""
    changes = changes_of(name, road)
    project = top / "counted"
    if begun is None:
        start(project, changes, road)
    else:
        shutil.copytree(begun, project, symlinks=True)
    disk = stage()
    run(project, changes, road, disk)
    shutil.rmtree(project)
    return disk.names


def with_trouble(top: Path, name: str, road: str, trouble: int, stage: type[Stage] = Stage) -> list[str]:
    """Return the calls of a road with trouble at one of them."""
    changes = changes_of(name, road)
    project = top / "counted"
    start(project, changes, road)
    disk = stage()
    disk.script[trouble] = (lambda: (project / _OTHER).write_bytes(_ANOTHER)) if road == "taken back" else disk.fail
    with suppress(WorkspaceError):
        run(project, changes, road, disk)
    shutil.rmtree(project)
    return disk.names


def died(top: Path, name: str, call: int, stage: type[Stage] = Stage) -> Path:
    """Return a project in which a write died at a call."""
    project = start(top / f"died {call}", changes_of(name, "recovery"))
    disk = stage()
    disk.script[call] = disk.die
    with suppress(Dead):
        write(changes_of(name, "recovery"), project, disk=disk)
    return project


def cases(
    top: Path, road: str, stage: type[Stage] = Stage, sets: Collection[str] = tuple(SETS)
) -> Iterator[tuple[Case, Path | None]]:
    """Yield every case of a road, each with the project in which it begins."""
    for name in sets:
        paths = [str(one.path) for one in SETS[name]]
        forward = "taken back" if road == "taken back" else "write"
        if road in ("write", "undo", "redo"):
            begun = start(top / f"{road} {name}", changes_of(name, road), road)
            for call in range(1, len(counted(top, name, road, stage, begun)) + 1):
                yield from _each(Case(name, road, "", "", call, 0, stage), paths, begun)
        elif road in ("taken back", "refused by the disk"):
            calls = counted(top, name, forward, stage)
            swaps = [n for n, call in enumerate(calls, start=1) if call in SWAPS]
            for trouble in swaps[-1:] if road == "taken back" else swaps:
                ends = len(with_trouble(top, name, road, trouble, stage))
                for call in range(trouble, ends + 1):
                    yield from _each(Case(name, road, "", "", call, trouble, stage), paths, None)
        elif road == "killed":
            for call in range(1, len(counted(top, name, forward, stage)) + 1):
                for at in (call - 1, call, call + 1):  # saved before the call at which it dies, or before recovery
                    yield from _each(Case(name, road, "", "", at, call, stage), paths, None)
        else:
            for trouble in range(1, len(counted(top, name, forward, stage)) + 1):
                begun = died(top / name, name, trouble, stage)
                for call in range(1, len(counted(top, name, road, stage, begun)) + 1):
                    yield from _each(Case(name, road, "", "", call, trouble, stage), paths, begun)


def _each(case: Case, paths: list[str], begun: Path | None) -> Iterator[tuple[Case, Path | None]]:
    for path, deed in itertools.product(paths, DEEDS):
        yield Case(case.changes, case.road, deed, path, case.call, case.trouble, case.stage), begun
