"""Results in a folder or bucket: a folder per job, named by its spec's hash, files written atomically.

``jobs/NAME/spec.json`` and ``result.json``; in a folder, ``sessions/NAME`` has the log. A lock on a job's own byte of
``claims`` (not in a bucket) keeps others from it, and ends with its process. If two run a job, either complete result
is kept. ``index.jsonl`` (their figures) is regenerated.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from rails.batch.job_spec import JobResult, JobSpec
from rails.core import atomic_file, lock
from rails.core.errors import RailsError, UsageError
from rails.core.extras import install_command
from rails.core.text import one_line

_LOCK_SECONDS: Final = 60.0
T = TypeVar("T", JobSpec, JobResult)
_INDEX: Final = "index.jsonl"


class IndexRow(msgspec.Struct, frozen=True):
    """A result without texts; ``stamp`` changes with its file."""

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
        """Write atomically."""
        atomic_file.replace_file(self.folder / name, data)

    def results(self) -> dict[str, str]:
        """Return the stamps: times and sizes."""
        found = {}
        with contextlib.suppress(FileNotFoundError), os.scandir(self.folder / "jobs") as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    facts = os.stat(f"{entry.path}/result.json")  # noqa: PTH116 - a hundred thousand of them
                    found[entry.name] = f"{facts.st_mtime_ns}-{facts.st_size}"
        return found


class UrlFiles:
    """Files at an fsspec URL (``s3://``, ``gs://``, ``memory://`` …)."""

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
        """Write atomically, as object stores do."""
        self._system.makedirs(f"{self._root}/{name}".rpartition("/")[0], exist_ok=True)
        self._system.pipe_file(f"{self._root}/{name}", data)

    def results(self) -> dict[str, str]:
        """Return the stamps, from the file system's facts."""
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
    """The store at ``place``: a folder or fsspec URL."""

    def __init__(self, place: str) -> None:
        self.place = place
        local = place.removeprefix("file://")
        self.folder = None if "://" in local else Path(local).absolute()
        if self.folder and self.folder.is_file():
            raise UsageError(f"{one_line(place)} is a file; results are kept in a folder. Nothing was done.")
        self.files = LocalFiles(self.folder) if self.folder else UrlFiles(place)
        self._claims = -1

    # -- jobs and results ---------------------------------------------------------------------------

    def result(self, name: str) -> JobResult | None:
        """Return a result or None. Raises RailsError if unreadable."""
        return self._read(name, "result", JobResult)

    def spec(self, name: str) -> JobSpec | None:
        """Return a begun job's spec or None."""
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
        """Keep a spec, to look at or run again."""
        self.files.put(f"jobs/{spec.name}/spec.json", msgspec.json.encode(spec))

    def put_result(self, result: JobResult) -> None:
        """Keep a result."""
        self.files.put(f"jobs/{result.name}/result.json", msgspec.json.encode(result))

    # -- who runs what -------------------------------------------------------------------------------

    def claim(self, name: str) -> bool:
        """Claim a job, until it is released or this process ends; return False if another process has it."""
        if self.folder is None:
            return True
        if self._claims < 0:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._claims = os.open(self.folder / "claims", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._lock(name, os.F_TLOCK)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def release(self, name: str) -> None:
        """Release a claim."""
        if self._claims >= 0:
            self._lock(name, os.F_ULOCK)

    def release_all(self) -> None:
        """Release every claim."""
        if self._claims >= 0:
            os.close(self._claims)
            self._claims = -1

    def _lock(self, name: str, how: int) -> None:
        os.lseek(self._claims, int(name[:9], 16), os.SEEK_SET)
        os.lockf(self._claims, how, 1)

    # -- what was found ------------------------------------------------------------------------------

    def rows(self) -> list[JobResult]:
        """Return the results without texts, by name; update ``index.jsonl``.

        Unreadable results are left out; :meth:`result` says why.
        """
        with self._sole() as may_write:
            stamps, known = self.files.results(), self._known()
            rows = {name: row for name, row in known.items() if stamps.get(name) == row.stamp}
            for name in sorted(stamps.keys() - rows.keys()):
                with contextlib.suppress(RailsError):
                    if result := self.result(name):
                        short = replace(result, diff="", findings=(), checks=())
                        rows[name] = IndexRow(stamps[name], short)
            if may_write and rows != known:
                self.files.put(_INDEX, b"".join(msgspec.json.encode(row) + b"\n" for row in rows.values()))
        return [row.result for _, row in sorted(rows.items())]

    def _known(self) -> dict[str, IndexRow]:
        found: dict[str, IndexRow] = {}
        decode = msgspec.json.Decoder(IndexRow).decode
        for line in (self.files.read(_INDEX) or b"").splitlines():
            with contextlib.suppress(msgspec.MsgspecError):
                row = decode(line)
                found[row.result.name] = row
        return found

    @contextlib.contextmanager
    def _sole(self) -> Iterator[bool]:
        if self.folder is None or not self.folder.is_dir():
            yield self.folder is None
            return
        with lock.held(self.folder / "index.lock", _LOCK_SECONDS) as had:
            yield had


def work(place: str, spec: JobSpec, run: Callable[[JobSpec], JobResult]) -> JobResult:
    """Run a job in a worker; keep its result at ``place`` before returning.

    A folder gets the log as it is written; a URL gets everything at the end.
    """
    store = JobStore(place)
    if store.folder is not None:
        for left in (store.folder / "work").glob(f"{spec.name}-*"):
            shutil.rmtree(left, ignore_errors=True)  # of a run that was killed: whoever holds the claim is alone
        result = run(replace(spec, folder=str(store.folder)))
    else:
        from rails.core.scratch import scratch_folder

        with scratch_folder("store") as folder:
            result = run(replace(spec, folder=folder))
            for file in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
                name = file.relative_to(folder)
                if name.parts[0] in ("sessions", "blobs"):
                    store.files.put(name.as_posix(), file.read_bytes())
            log = result.log and f"{place.rstrip('/')}/{Path(result.log).relative_to(folder).as_posix()}"
            result = replace(result, log=log, tree="")
    store.put_result(result)
    return result
