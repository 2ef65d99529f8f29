"""Disks that fail, die and lose power, in place of the real one. All of them really write, too."""

import os
import random
import signal

from rails.edits.safe_files import Disk

CALLS = (
    "create",
    "write",
    "set_owner",
    "set_mode",
    "sync",
    "rename",
    "exchange",
    "link",
    "unlink",
    "make_folder",
    "remove_folder",
)


class StepwiseDisk(Disk):
    """Names what moves in two calls of its own, as the real one does where there are second names."""

    def move(self, old, new, folder):
        try:
            self.link(old, new, folder, folder)
        except PermissionError:  # a folder
            super().move(old, new, folder)
        else:
            self.unlink(old, folder)


class CountingDisk(StepwiseDisk):
    """Calls ``before(number, name)`` before and ``after(number, name)`` after every call, numbered from 1."""

    def __init__(self):
        self.count = 0
        self.names = []

    def before(self, number, name):
        pass

    def after(self, number, name):
        pass


def _counted(name):
    real = getattr(Disk, name)

    def call(self, *arguments):
        self.count += 1
        number = self.count
        self.names.append(name)
        self.before(number, name)
        result = real(self, *arguments)
        self.after(number, name)
        return result

    return call


for _name in CALLS:
    setattr(CountingDisk, _name, _counted(_name))


class FailingDisk(CountingDisk):
    """The n-th call fails; with ``stays``, so does every later call that needs room."""

    def __init__(self, number, error, *, late=False, stays=False):
        super().__init__()
        self.number = number
        self.error = error
        self.late = late
        self.stays = stays

    def _fail(self):
        raise OSError(self.error, os.strerror(self.error))

    def before(self, number, name):
        full = self.stays and number > self.number and name in ("create", "write", "make_folder", "link")
        if full or (number == self.number and not self.late):
            self._fail()

    def after(self, number, name):
        if number == self.number and self.late:
            self._fail()


class DyingDisk(CountingDisk):
    """The process is killed at the n-th call: before it, after it, or with half of a write done."""

    def __init__(self, number, moment):
        super().__init__()
        self.number = number
        self.moment = moment

    def before(self, number, name):
        if number == self.number and self.moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)

    def after(self, number, name):
        if number == self.number and self.moment == "after":
            os.kill(os.getpid(), signal.SIGKILL)

    def write(self, descriptor, data):
        if self.count + 1 == self.number and self.moment == "half":
            os.write(descriptor, data[: len(data) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        CountingDisk.write(self, descriptor, data)


class WriteFreeDisk(CountingDisk):
    """A disk without the atomic exchange: other systems and some file systems."""

    def exchange(self, one, other, folder):
        return False


class PowerCut(BaseException):
    """The lights go out. Not an Exception: nothing may catch it and tidy up."""


class PowerDisk(StepwiseDisk):
    """Knows what would survive if the power went at call ``cut``.

    Bytes survive if their file was synced since, else any part of them, cut at 512 bytes or left as
    zeros. Names survive if their folder was synced since, else the first few changes of that folder,
    each folder for itself, which is what a file system that reorders may do.
    """

    def __init__(self, root, cut=None):
        self.count = 0
        self.cut = cut
        self.ids = {}
        self.files = {}  # id -> [bytes now, bytes synced, mode]
        self.folders = {}  # id -> (names synced, changes since)
        self.root = self._load(root)

    def _load(self, path):
        facts = path.lstat()
        number = self.ids[facts.st_ino] = len(self.ids) + 1
        if path.is_dir():
            self.folders[number] = ({p.name: self._load(p) for p in path.iterdir()}, [])
        else:
            data = path.read_bytes()
            self.files[number] = [data, data, facts.st_mode & 0o777]
        return number

    def _step(self):
        self.count += 1
        if self.cut is not None and self.count > self.cut:
            raise PowerCut

    def _id(self, descriptor):
        return self.ids[os.fstat(descriptor).st_ino]

    def _change(self, folder, *change):
        self.folders[self._id(folder)][1].append(change)

    def create(self, name, folder):
        self._step()
        descriptor = super().create(name, folder)
        number = self.ids[os.fstat(descriptor).st_ino] = 10_000 + self.count
        self.files[number] = [b"", b"", 0o600]
        self._change(folder, "set", name, number)
        return descriptor

    def write(self, descriptor, data):
        self._step()
        super().write(descriptor, data)
        self.files[self._id(descriptor)][0] += data

    def set_mode(self, descriptor, mode):
        self._step()
        super().set_mode(descriptor, mode)
        self.files[self._id(descriptor)][2] = mode

    def sync(self, descriptor):
        self._step()
        number = self._id(descriptor)
        if number in self.files:
            self.files[number][1] = self.files[number][0]
        else:
            names, changes = self.folders[number]
            replay(names, changes)
            changes.clear()

    def rename(self, old, new, folder):
        self._step()
        super().rename(old, new, folder)
        self._change(folder, "rename", old, new)

    def exchange(self, one, other, folder):
        self._step()
        done = super().exchange(one, other, folder)
        if done:
            self._change(folder, "swap", one, other)
        return done

    def link(self, old, new, folder, target):
        self._step()
        super().link(old, new, folder, target)
        self._change(target, "set", new, self.ids[os.stat(new, dir_fd=target, follow_symlinks=False).st_ino])

    def unlink(self, name, folder):
        self._step()
        super().unlink(name, folder)
        self._change(folder, "drop", name, None)

    def make_folder(self, name, folder):
        self._step()
        super().make_folder(name, folder)
        made = os.stat(name, dir_fd=folder)
        number = self.ids[made.st_ino] = 10_000 + self.count
        self.folders[number] = ({}, [])
        self._change(folder, "set", name, number)

    def remove_folder(self, name, folder):
        self._step()
        super().remove_folder(name, folder)
        self._change(folder, "drop", name, None)

    def survive(self, target, seed):
        """Write one possible state after the cut into ``target``."""
        self._survive(self.root, target, random.Random(seed))

    def _survive(self, number, target, rng):
        target.mkdir()
        names, changes = self.folders[number]
        names = dict(names)
        replay(names, changes[: rng.randint(0, len(changes))])
        for name, child in names.items():
            if child in self.folders:
                self._survive(child, target / name, rng)
            else:
                now, synced, mode = self.files[child]
                (target / name).write_bytes(synced if now == synced else torn(now, synced, rng))
                (target / name).chmod(mode)


def replay(names, changes):
    for kind, one, other in changes:
        if kind == "set":
            names[one] = other
        elif kind == "drop":
            names.pop(one, None)
        elif one in names:
            if kind == "rename":
                names[other] = names.pop(one)
            elif kind == "copy":
                names[other] = names[one]
            elif other in names:
                names[one], names[other] = names[other], names[one]


def torn(now, synced, rng):
    kept = now[: len(synced) + 512 * rng.randint(0, (len(now) - len(synced)) // 512 + 1)]
    return kept + b"\0" * (len(now) - len(kept)) if rng.random() < 0.5 else kept
