"""Results in a folder or a bucket: one folder a job, named by the hash of its spec, written whole or not at all.

``jobs/NAME/spec.json`` and ``result.json``; in a folder, ``sessions/NAME`` has the log, as in a project's own state.
A job that has a result is not run again. Who runs one holds its ``claim`` file, so that two machines that share the
folder do different jobs; a claim whose process has ended, or that nobody has renewed, is taken over. What two have run
all the same is written by both, and one of the two is kept: each is a whole result. A bucket has no claims.

``index.jsonl`` (the figures) and ``results.jsonl`` (everything) are made from the results, and made again when these
have changed: deleting them costs time only.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from rails.batch.job_spec import JobResult, JobSpec
from rails.core import atomic_file, lock
from rails.core.errors import RailsError, UsageError
from rails.core.extras import install_command
from rails.core.text import one_line

#: A claim that was not renewed for so long is nobody's.
LEASE_SECONDS: Final = 180.0
_LOCK_SECONDS: Final = 60.0
T = TypeVar("T", JobSpec, JobResult)
_INDEX: Final = "index.jsonl"
_RESULTS: Final = "results.jsonl"


class IndexRow(msgspec.Struct, frozen=True):
    """A result without its texts; ``stamp`` changes when its file does."""

    stamp: str
    result: JobResult


class LocalFiles(msgspec.Struct, frozen=True):
    """Files of a folder."""

    folder: Path

    def read(self, name: str) -> bytes | None:
        """Return a file's content."""
        try:
            return (self.folder / name).read_bytes()
        except FileNotFoundError:
            return None

    def put(self, name: str, data: bytes) -> None:
        """Write a file whole."""
        atomic_file.replace_file(self.folder / name, data)

    def results(self) -> dict[str, str]:
        """Return the stamps, from the times and sizes of the files."""
        found = {}
        with contextlib.suppress(FileNotFoundError), os.scandir(self.folder / "jobs") as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    facts = os.stat(f"{entry.path}/result.json")  # noqa: PTH116 - a hundred thousand of them
                    found[entry.name] = f"{facts.st_mtime_ns}-{facts.st_size}"
        return found


class UrlFiles:
    """Files behind any URL that fsspec knows (``s3://``, ``gs://``, ``memory://`` …)."""

    def __init__(self, url: str) -> None:
        try:
            fsspec: Any = import_module("fsspec")
        except ImportError as error:
            raise UsageError(f"A store behind a URL needs: {install_command('store')}. Nothing was run.") from error
        self._system, root = fsspec.core.url_to_fs(url)
        self._root = root.rstrip("/")

    def read(self, name: str) -> bytes | None:
        """Return a file's content."""
        try:
            data: bytes = self._system.cat_file(f"{self._root}/{name}")
        except FileNotFoundError:
            return None
        return data

    def put(self, name: str, data: bytes) -> None:
        """Write a file whole, as object stores do."""
        self._system.makedirs(f"{self._root}/{name}".rpartition("/")[0], exist_ok=True)
        self._system.pipe_file(f"{self._root}/{name}", data)

    def results(self) -> dict[str, str]:
        """Return the stamps, from whatever the file system says of a file."""
        self._system.invalidate_cache()
        try:
            found: Mapping[str, Mapping[str, Any]] = self._system.find(f"{self._root}/jobs", detail=True)
        except FileNotFoundError:
            return {}
        known = ("ETag", "etag", "mtime", "LastModified", "created", "size")
        return {
            path.split("/")[-2]: "-".join(str(facts[name]) for name in known if name in facts)
            for path, facts in found.items()
            if path.endswith("/result.json")
        }


class JobStore:
    """The jobs and results at ``place``: a folder, or a URL of fsspec. ``host`` names this machine."""

    def __init__(self, place: str, *, host: str = "") -> None:
        self.place, self.host = place, host or platform.node() or "here"
        local = place.removeprefix("file://")
        self.folder = None if "://" in local else Path(local).absolute()
        if self.folder and self.folder.is_file():
            raise UsageError(f"{one_line(place)} is a file; results are kept in a folder. Nothing was done.")
        self.files = LocalFiles(self.folder) if self.folder else UrlFiles(place)
        self._claimed: set[str] = set()

    # -- jobs and results ---------------------------------------------------------------------------

    def result(self, name: str) -> JobResult | None:
        """Return a job's result, ``None`` where there is none. Raises RailsError for one that cannot be read."""
        return self._read(name, "result", JobResult)

    def spec(self, name: str) -> JobSpec | None:
        """Return the spec of a job that was begun, or ``None``."""
        return self._read(name, "spec", JobSpec)

    def _read(self, name: str, what: str, kind: type[T]) -> T | None:
        data = self.files.read(f"jobs/{name}/{what}.json")
        if data is None:
            return None
        try:
            return msgspec.json.decode(data, type=kind)
        except msgspec.MsgspecError as error:
            place = f"{self.place}/jobs/{name}/{what}.json"
            raise RailsError(
                f"{place} cannot be read: {one_line(str(error), 200)}. Delete it to run it again."
            ) from error

    def put_spec(self, spec: JobSpec) -> None:
        """Keep a spec, so that the job can be looked at and run again."""
        self.files.put(f"jobs/{spec.name}/spec.json", msgspec.json.encode(spec))

    def put_result(self, result: JobResult) -> None:
        """Keep a result."""
        self.files.put(f"jobs/{result.name}/result.json", msgspec.json.encode(result))

    # -- who runs what -------------------------------------------------------------------------------

    def claim(self, name: str) -> str:
        """Become the one who runs a job; return who does where that is somebody else, else ""."""
        if self.folder is None:
            return ""
        folder = self.folder / "jobs" / name
        folder.mkdir(parents=True, exist_ok=True)
        mine = msgspec.json.encode({"host": self.host, "pid": os.getpid()})
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if not atomic_file.create(opened, "claim", mine):
                with lock.held(folder / "claim.lock", _LOCK_SECONDS) as had:
                    holder = self._holder(folder / "claim")
                    if holder or not had:
                        return holder or "another process"
                    atomic_file.replace_file(folder / "claim", mine)
        finally:
            os.close(opened)
        self._claimed.add(name)
        return ""

    def _holder(self, claim: Path) -> str:
        """Return who holds a claim, "" where nobody does any more."""
        try:
            facts, age = msgspec.json.decode(claim.read_bytes()), time.time() - claim.stat().st_mtime
            host, pid = str(facts["host"]), int(facts["pid"])
        except (OSError, ValueError, TypeError, KeyError):
            return ""
        if age > LEASE_SECONDS or (host == self.host and (pid == os.getpid() or not _alive(pid))):
            return ""
        return f"process {pid} of {one_line(host, 60)}"

    def renew(self) -> None:
        """Say of all jobs claimed here that they are still being run."""
        for name in self._claimed:
            with contextlib.suppress(OSError):
                os.utime(self._claim_file(name))

    def release(self, name: str) -> None:
        """Give a claim back."""
        if name in self._claimed:
            self._claimed.discard(name)
            self._claim_file(name).unlink(missing_ok=True)
            self._claim_file(name).with_suffix(".lock").unlink(missing_ok=True)

    def release_all(self) -> None:
        """Give every claim back."""
        for name in [*self._claimed]:
            self.release(name)

    def _claim_file(self, name: str) -> Path:
        assert self.folder is not None, "only a folder has claims"
        return self.folder / "jobs" / name / "claim"

    # -- what was found ------------------------------------------------------------------------------

    def rows(self) -> list[JobResult]:
        """Return every result without its texts, by name. ``index.jsonl`` and ``results.jsonl`` are brought up to date.

        A result that cannot be read is left out of both; :meth:`result` says what is wrong with it.
        """
        with self._sole() as may_write:
            stamps, known = self.files.results(), self._known()
            rows = {name: row for name, row in known.items() if stamps.get(name) == row.stamp}
            fresh: dict[str, bytes] = {}
            for name in sorted(stamps.keys() - rows.keys()):
                data = self.files.read(f"jobs/{name}/result.json") or b""
                with contextlib.suppress(msgspec.MsgspecError):
                    result = msgspec.json.decode(data, type=JobResult)
                    rows[name] = IndexRow(
                        stamps[name], msgspec.structs.replace(result, diff="", findings=(), checks=())
                    )
                    fresh[name] = data
            if may_write and (fresh or rows.keys() != known.keys()):
                self._write(rows, fresh, anew=bool(known.keys() - rows.keys() or known.keys() & fresh.keys()))
        return [row.result for _, row in sorted(rows.items())]

    def _known(self) -> dict[str, IndexRow]:
        found: dict[str, IndexRow] = {}
        decode = msgspec.json.Decoder(IndexRow).decode
        for line in (self.files.read(_INDEX) or b"").splitlines():
            with contextlib.suppress(msgspec.MsgspecError):
                row = decode(line)
                found[row.result.name] = row
        return found

    def _write(self, rows: Mapping[str, IndexRow], fresh: Mapping[str, bytes], *, anew: bool) -> None:
        """Write both lists: with ``fresh`` results behind the known ones, or ``anew`` where a known one has changed."""
        self.files.put(_INDEX, b"".join(msgspec.json.encode(row) + b"\n" for row in rows.values()))
        if anew:
            whole: Mapping[str, bytes] = {name: self.files.read(f"jobs/{name}/result.json") or b"" for name in rows}
            before = b""
        else:
            whole, before = fresh, self.files.read(_RESULTS) or b""
        self.files.put(_RESULTS, before + b"".join(data + b"\n" for data in whole.values() if data))

    @contextlib.contextmanager
    def _sole(self) -> Iterator[bool]:
        """Yield whether nobody else brings the lists up to date."""
        if self.folder is None or not self.folder.is_dir():
            yield self.folder is None
            return
        with lock.held(self.folder / "index.lock", _LOCK_SECONDS) as had:
            yield had


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def work(place: str, spec: JobSpec, run: Callable[[JobSpec], JobResult]) -> JobResult:
    """Run a job and keep its result at ``place`` before anybody is told: what engines run in their workers.

    A folder gets the log as well, while it is written; to a URL everything is copied when the job is over.
    """
    store = JobStore(place)
    if store.folder is not None:
        for left in (store.folder / "work").glob(f"{spec.name}-*"):
            shutil.rmtree(left, ignore_errors=True)  # of a run that was killed: whoever holds the claim is alone
        result = run(msgspec.structs.replace(spec, folder=str(store.folder)))
    else:
        from rails.core.scratch import scratch_folder

        with scratch_folder("store") as folder:
            result = run(msgspec.structs.replace(spec, folder=folder))
            for file in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
                name = file.relative_to(folder)
                if name.parts[0] in ("sessions", "blobs"):
                    store.files.put(name.as_posix(), file.read_bytes())
            log = result.log and f"{place.rstrip('/')}/{Path(result.log).relative_to(folder).as_posix()}"
            result = msgspec.structs.replace(result, log=log, tree="")
    store.put_result(result)
    return result
