"""Programs that the gate runs: where they are, their versions, starting and stopping.

By absolute path, with a built environment, a working directory outside the workspace, and limits on time and output.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Final, TypeAlias

from msgspec import Struct

from rails.core import limits
from rails.core.errors import CheckError
from rails.core.text import one_line

#: What a linter may print before it is stopped: one file can hold ten thousand findings.
_OUTPUT: Final = 64_000_000
_CHUNK: Final = 1 << 16
#: A program with pipes.
ToolProcess: TypeAlias = "subprocess.Popen[bytes]"


class Tool(Struct, frozen=True):
    """A program: name, command line start, version."""

    name: str
    argv: tuple[str, ...]
    version: str


class ToolRun(Struct, frozen=True):
    """A finished program: exit code and output."""

    code: int
    out: bytes
    err: bytes

    @property
    def complaint(self) -> str:
        """Return the last lines of standard error as one line."""
        return one_line(" ".join(self.err[-600:].decode(errors="replace").split()), 300)


@cache
def find_ruff() -> Tool | None:
    """Return our own environment's ruff, or None."""
    for folder in _scripts():
        binary = folder / "ruff"
        if binary.is_file():
            return Tool("ruff", (str(binary),), version_of("ruff"))
    return None


def first_program(name: str, folders: Sequence[str]) -> str | None:
    """Return the first program of this name; ``shutil.which`` imports too much."""
    files = (Path(folder, name) for folder in folders if folder)
    return next((str(file) for file in files if file.is_file() and os.access(file, os.X_OK)), None)


def _scripts() -> Iterator[Path]:
    beside = Path(sys.executable).parent
    if sys.prefix != sys.base_prefix:  # in a virtual environment that is the same place
        yield beside
    import sysconfig  # which reads how Python was built

    yield Path(sysconfig.get_path("scripts"))
    yield beside


@cache
def find_module(name: str) -> Tool | None:
    """Return our own environment's Python tool (run with ``-I``), or None."""
    version = version_of(name)
    return Tool(name, (sys.executable, "-I", "-m", name), version) if version else None


def version_of(distribution: str) -> str:
    """Return a distribution's version from its folder's name, or ""; ``importlib.metadata`` is slow to import."""
    for folder in _packages():
        # Path.glob would compile a pattern.
        names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
        for name in names:
            if name.startswith(f"{distribution}-") and name.endswith(".dist-info"):
                return name.removesuffix(".dist-info").partition("-")[2]
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def _packages() -> Iterator[Path]:
    if sys.prefix != sys.base_prefix:
        yield Path(sys.prefix, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")
    import sysconfig

    yield from (Path(sysconfig.get_path(key)) for key in ("purelib", "platlib"))


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a tool's environment, built from nothing: no key or ``PYTHON*`` leaks in."""
    base = {"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
    if "TMPDIR" in os.environ:
        base["TMPDIR"] = os.environ["TMPDIR"]
    return {**base, **(extra or {})}


def run_attached(argv: Sequence[str], folder: str = "", timeout: float | None = None) -> int:
    """Run a person's command on their terminal, as themselves; return its exit code. Raises CheckError."""
    try:
        return subprocess.run(list(argv), check=False, cwd=folder or None, timeout=timeout).returncode
    except (OSError, subprocess.TimeoutExpired) as error:
        words = getattr(error, "strerror", None) or f"it did not finish within {timeout} seconds"
        raise CheckError(f"{Path(argv[0]).name} could not be started: {words}.") from error


def exit_code(process: ToolProcess, seconds: float) -> int | None:
    """Return the exit code, or None after ``seconds``."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def outside() -> str:
    """Return a folder outside every workspace."""
    return Path(sys.executable).anchor


def start_tool(
    argv: Sequence[str], *, cwd: str = "", extra: Mapping[str, str] | None = None, keep: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    """Start a tool in its own process group, with pipes. Raises CheckError.

    ``keep``: descriptors that stay open in the tool, such as a lock.
    """
    try:
        return subprocess.Popen(
            list(argv),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd or outside(),
            env=environment(extra),
            start_new_session=True,
            pass_fds=tuple(keep),
        )
    except OSError as error:
        raise CheckError(f"{Path(argv[0]).name} could not be started: {error.strerror or error}.") from error


def kill_tool(process: subprocess.Popen[bytes]) -> None:
    """Kill a tool's process group, and wait for it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    process.wait()


def run_tool(
    argv: Sequence[str],
    *,
    data: bytes = b"",
    timeout: float | None = None,
    cwd: str = "",
    most: int = _OUTPUT,
    extra: Mapping[str, str] | None = None,
    keep: Sequence[int] = (),
) -> ToolRun:
    """Run a tool to its end with ``data`` as input; no process of its group is left.

    Raises CheckError if it cannot be started, exceeds ``timeout`` (default ``CHECK_SECONDS``) or prints more than
    ``most`` bytes.
    """
    return finish_tool(start_tool(argv, cwd=cwd, extra=extra, keep=keep), argv[0], data, timeout=timeout, most=most)


def finish_tool(
    process: ToolProcess, program: str, data: bytes = b"", *, timeout: float | None = None, most: int = _OUTPUT
) -> ToolRun:
    """Return :func:`run_tool`'s result for a started tool. Raises CheckError."""
    timeout = limits.CHECK_SECONDS if timeout is None else timeout
    try:
        out, err = _pump(process, data, Path(program).name, timeout=timeout, most=most)
        return ToolRun(process.wait(), out, err)
    finally:
        kill_tool(process)


def _pump(
    process: subprocess.Popen[bytes], data: bytes, name: str, *, timeout: float, most: int
) -> tuple[bytes, bytes]:
    stdin, stdout = pipes(process)
    stderr = process.stderr or stdout
    deadline = time.monotonic() + timeout
    kept: dict[IO[bytes], bytearray] = {stdout: bytearray(), stderr: bytearray()}
    with selectors.DefaultSelector() as selector:
        for pipe in kept:
            selector.register(pipe, selectors.EVENT_READ)
        rest = memoryview(data)
        if rest:
            os.set_blocking(stdin.fileno(), False)
            selector.register(stdin, selectors.EVENT_WRITE)
        else:
            stdin.close()
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise CheckError(f"{name} did not finish within {timeout:g} seconds and was stopped.")
            for key, _ in selector.select(left):
                if key.fileobj is stdin:
                    rest = _write(stdin, rest)
                    if not rest:
                        selector.unregister(stdin)
                        stdin.close()
                    continue
                pipe = next(p for p in kept if p is key.fileobj)
                chunk = os.read(pipe.fileno(), _CHUNK)
                kept[pipe] += chunk
                if not chunk:
                    selector.unregister(pipe)
                if len(kept[pipe]) > most:
                    raise CheckError(f"{name} printed more than {most} bytes and was stopped.")
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise CheckError(f"{name} did not finish within {timeout:g} seconds and was stopped.") from None
    return bytes(kept[stdout]), bytes(kept[stderr])


def pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    """Return the input and output of a started tool."""
    if process.stdin is None or process.stdout is None:
        raise CheckError("A tool was started without pipes.")
    return process.stdin, process.stdout


def _write(pipe: IO[bytes], rest: memoryview) -> memoryview:
    try:
        return rest[os.write(pipe.fileno(), rest[:_CHUNK]) :]
    except BlockingIOError:
        return rest
    except BrokenPipeError:
        return rest[:0]
