"""Any sequence of edits, human changes, crashes, undos and redos: files whole, human work kept, undo exact."""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from rails.core.errors import WorkspaceError
from rails.edits.apply import recover, write
from rails.edits.checkpoint_commits import StepFacts
from rails.edits.checkpoints import History
from rails.edits.plan import plan

from .disks import CountingDisk
from .helpers import edit, request, save, tree

FILES = st.sampled_from(["a.txt", "b.txt", "sub/c.txt", "sub/deep/d.txt"])
STEP = StepFacts("s", "step")


class Crash(BaseException):
    """The process is gone: nothing after this touches the disk."""


class DeadDisk(CountingDisk):
    def __init__(self, number):
        super().__init__()
        self.number = number

    def before(self, number, name):
        if number >= self.number:
            raise Crash


class Workshop(RuleBasedStateMachine):
    """An agent, a human and a power switch on one project."""

    @initialize()
    def begin(self):
        self.real_sync, os.fsync = os.fsync, lambda _: None
        self.project = Path(tempfile.mkdtemp(prefix="machine-"))
        self.history = History(self.project)
        self.count = 0
        self.human = {}  # line -> file, for every line that a human wrote and nobody was allowed to delete
        for name in ("a.txt", "b.txt"):
            save(self.project, name, "".join(f"{name} agent {n}\n\n\n" for n in range(6)))
        self.model = tree(self.project)

    def teardown(self):
        if hasattr(self, "project"):
            shutil.rmtree(self.project)
            os.fsync = self.real_sync

    def number(self):
        self.count += 1
        return self.count

    def requests(self, name, line):
        """An edit of one agent line where the file has it, else a new file."""
        text = (self.project / name).read_text() if (self.project / name).exists() else None
        if text is None:
            content = "".join(f"{name} agent {n}\n\n\n" for n in range(6))
            return [request("write_file", file_path=name, content=content)]
        old = next((item for item in text.split("\n") if item.startswith(f"{name} agent {line}")), None)
        return [] if old is None else [edit(name, f"{old}\n", f"{name} agent {line} v{self.number()}\n")]

    @rule(names=st.sets(FILES, min_size=1, max_size=3), line=st.integers(0, 5))
    def agent_changes(self, names, line):
        planned = plan([r for name in sorted(names) for r in self.requests(name, line)], self.project)
        assert not planned.refusals
        if planned.changes:
            write(planned.changes, self.project, step=STEP)
            self.model.update({str(c.path): (c.after, c.mode) for c in planned.changes.changes})

    @rule(names=st.sets(FILES, min_size=1, max_size=3), line=st.integers(0, 5), call=st.integers(1, 40))
    def agent_changes_and_the_power_goes(self, names, line, call):
        planned = plan([r for name in sorted(names) for r in self.requests(name, line)], self.project)
        after = self.model | {str(c.path): (c.after, c.mode) for c in planned.changes.changes}
        with suppress(Crash):
            write(planned.changes, self.project, step=STEP, disk=DeadDisk(call))
        recover(self.project)
        now = tree(self.project)
        assert now in (self.model, after)
        if now != self.model:
            assert self.history.restore_point(self.history.steps()[-1]).digest() == planned.changes.digest()
        self.model = now

    @rule(name=FILES, where=st.integers(0, 5))
    def human_adds_a_line(self, name, where):
        if name in self.model:
            line = f"human {self.number()}"
            lines = self.model[name][0].decode().split("\n")
            lines.insert(min(where * 3 + 1, len(lines) - 1), line)
            save(self.project, name, "\n".join(lines))
            self.human[line] = name
            self.model = tree(self.project)

    @rule(name=FILES)
    def human_rewrites_an_agent_line(self, name):
        if name in self.model:
            line = f"human {self.number()}"
            text = self.model[name][0].decode()
            old = next((item for item in text.split("\n") if " agent " in item), None)
            if old is not None:
                save(self.project, name, text.replace(old, line, 1))
                self.human[line] = name
                self.model = tree(self.project)

    @precondition(lambda self: self.count)
    @rule(data=st.data())
    def a_step_is_undone_or_redone(self, data):
        steps = [step for step in self.history.steps("s") if step.kind == "change"]
        if not steps:
            return
        step = data.draw(st.sampled_from(steps))
        before = tree(self.project)
        point = self.history.restore_point(step)
        exact = all(
            before.get(str(c.path), (None,))[0] == (c.before if step.undone else c.after) for c in point.changes
        )
        try:
            (self.history.redo if step.undone else self.history.undo)("s", step.step)
        except WorkspaceError:
            assert not exact, "nothing was in the way"
            assert tree(self.project) == before
            return
        now = tree(self.project)
        if exact:
            for change in point.changes:
                wanted = change.after if step.undone else change.before
                assert now.get(str(change.path), (None,))[0] == wanted
        touched = {str(path) for path in step.files}
        assert {name: now[name] for name in now if name not in touched} == {
            name: before[name] for name in before if name not in touched
        }
        self.model = now

    @invariant()
    def the_disk_is_what_everybody_thinks_it_is(self):
        if hasattr(self, "project"):
            assert tree(self.project) == self.model

    @invariant()
    def no_line_of_a_human_is_ever_lost(self):
        for line, name in getattr(self, "human", {}).items():
            assert line.encode() in self.model[name][0].split(b"\n"), f"{line} is gone from {name}"


Workshop.TestCase.settings = settings(
    max_examples=12, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)
test_any_sequence_keeps_the_promises = Workshop.TestCase
