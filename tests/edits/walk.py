"""A random walk of two agents' sessions and a human over one project, beside a model of what must come of it."""

import random
import stat
from pathlib import Path

from rails.core.errors import WorkspaceError
from rails.edits.checkpoints import History
from rails.edits.merge import merge3

from .helpers import change, step

FILES = ("a.txt", "b.txt", "sub/c.txt", "sub/deep/d.txt", "other/e.txt")
LINES = 12


class Walk:
    """Every step asserts; ``done`` counts what happened."""

    def __init__(self, project, seed):
        self.project = Path(project)
        self.random = random.Random(seed)
        self.history = History(self.project)
        self.count = 0
        self.order = 0
        self.steps = {}  # (session, number) -> {"undone", "order", "back": path -> (from, to), "folders"}
        self.done = dict.fromkeys(("apply", "exact", "merged", "refused", "nothing", "human"), 0)

    def run(self, count):
        for _ in range(count):
            self.random.choice([self.apply, self.apply, self.human, self.back, self.back, self.forth])()

    # -- what is there ------------------------------------------------------------------------------

    def now(self, name):
        path = self.project / name
        return (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) if path.is_file() else None

    def tree(self):
        return {
            str(path.relative_to(self.project)): self.now(path.relative_to(self.project))
            for path in self.project.rglob("*")
            if ".rails" not in path.parts
        }

    def fresh(self, word):
        self.count += 1
        return f"{word} {self.count}\n"

    def missing(self, names):
        wanted = {str(parent) for name in names for parent in Path(name).parents if str(parent) != "."}
        return sorted((name for name in wanted if not (self.project / name).exists()), key=lambda n: n.count("/"))

    # -- what happens -------------------------------------------------------------------------------

    def apply(self):
        session = self.random.choice(["s1", "s2"])
        changes = []
        back = {}
        for name in self.random.sample(FILES, self.random.randint(1, 2)):
            now = self.now(name)
            if now is None:
                data = "".join(self.fresh("agent") for _ in range(LINES)).encode()
                mode = 0o755
            elif self.random.random() < 0.15:
                data = None
                mode = now[1]
            else:
                lines = now[0].decode().splitlines(keepends=True) or [""]
                lines[self.random.randrange(len(lines))] = self.fresh("agent")
                data = "".join(lines).encode()
                mode = now[1]
            changes.append(change(name, now and now[0], data, mode))
            back[name] = (None if data is None else (data, mode), now)
        folders = self.missing(str(c.path) for c in changes if c.after is not None)
        number = step(self.project, *changes, session=session).step
        self.order += 1
        self.steps[session, number] = {"undone": False, "order": self.order, "back": back, "folders": folders}
        self.done["apply"] += 1

    def human(self):
        name = self.random.choice(FILES)
        path = self.project / name
        now = self.now(name)
        if now is None:
            return
        what = self.random.random()
        lines = now[0].decode().splitlines(keepends=True)
        if what < 0.4:
            lines.insert(self.random.randint(0, len(lines)), self.fresh("human"))
            path.write_text("".join(lines))
        elif what < 0.6 and lines:
            lines[self.random.randrange(len(lines))] = self.fresh("human")
            path.write_text("".join(lines))
        elif what < 0.8:
            path.chmod(self.random.choice([0o600, 0o644, 0o755]))
        elif what < 0.9:
            path.unlink()
            if path.parent != self.project and not list(path.parent.iterdir()) and self.random.random() < 0.5:
                path.parent.rmdir()
        self.done["human"] += 1

    def back(self):
        self.move(undone=False)

    def forth(self):
        self.move(undone=True)

    def move(self, *, undone):
        session = self.random.choice([None, None, None, "s1", "s2"])
        fitting = [k for k, s in self.steps.items() if s["undone"] == undone and session in (None, k[0])]
        go = self.history.redo if undone else self.history.undo
        before = self.tree()
        if not fitting:
            self.refused(go, (session,), before, "nothing")
            return
        key = max(fitting, key=lambda k: self.steps[k]["order"])
        number = None
        if session and self.random.random() < 0.3:
            key = self.random.choice(fitting)
            number = key[1]
        target = self.steps[key]
        wanted, certain, exact = self.foresee(target)
        if wanted is None:
            self.refused(go, (session, number), before, "refused")
            return
        try:
            done = go(session, number)
        except WorkspaceError:
            assert not certain, "nothing was in the way"
            assert self.tree() == before
            self.done["refused"] += 1
            return
        assert (done.session, done.step) == key
        assert not done.unrecorded
        self.arrived(target, before, wanted if certain else None, undone)
        self.done["exact" if exact else "merged"] += 1

    def refused(self, go, arguments, before, why):
        try:
            go(*arguments)
        except WorkspaceError:
            assert self.tree() == before
            self.done[why] += 1
        else:
            raise AssertionError(f"{why} was expected")

    def foresee(self, target):
        """Return the files as they must be afterwards (None: refused), whether that is certain, and whether exact."""
        wanted = {}
        certain = True
        exact = True
        for name, (old, new) in target["back"].items():
            now = self.now(name)
            mode = new and (new[1] if now is None or old is None or now[1] == old[1] else now[1])
            datas = [side and side[0] for side in (old, now, new)]
            if datas[1] in (datas[0], datas[2]):
                wanted[name] = new and (new[0], mode)
                continue
            exact = False
            if None in datas:
                return None, True, False
            merged = merge3(*datas)
            if isinstance(merged, bytes):
                wanted[name] = (merged, mode)
            else:
                certain = False
        return wanted, certain, exact

    def arrived(self, target, before, wanted, undone):
        after = self.tree()
        touched = set(target["back"])
        for name in FILES:
            if name not in touched:
                assert after.get(name) == before.get(name), name
            elif wanted is not None:
                assert after.get(name) == wanted[name], name
            elif after.get(name) and before.get(name):
                kept = {line for line in before[name][0].splitlines() if line.startswith(b"human")}
                recorded = {line for side in target["back"][name] if side for line in side[0].splitlines()}
                assert kept - recorded <= set(after[name][0].splitlines()), name
        folders = {name for name, facts in before.items() if facts is None}
        made = {str(p) for n in touched if after.get(n) for p in Path(n).parents if str(p) != "."} - folders
        expected = folders | made
        for name in reversed(target["folders"]):
            if not any(other.startswith(f"{name}/") for other in after if other in expected or after[other]):
                expected.discard(name)
        assert {name for name, facts in after.items() if facts is None} == expected
        self.order += 1
        back = {n: (after.get(n), before.get(n)) for n in touched if after.get(n) != before.get(n)}
        folders = sorted(made, key=lambda n: n.count("/"))
        target.update(undone=not undone, order=self.order, back=back, folders=folders)
