"""The command line in processes that need not import it first: each is forked from one that has.

`run` gives what `subprocess.run([sys.executable, "-m", "rails", …])` gives: a process of its own with its own folder,
environment, streams and session, whose exit code is seen. As a script, this file is the one that they are forked from.
"""

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

#: What few commands import, some of it for half a second.
RARE = ("rails.__main__", "rails.batch", "rails.integrations", "rails.testing")
_servers = {}


def run(words, *, cwd, env=None, text="", timeout=100):
    """Return the completed process of one command; its output is text. Raises TimeoutExpired after ``timeout``."""
    environment = dict(os.environ if env is None else env)
    command = [sys.executable, "-m", "rails", *map(str, words)]
    told = {name for name in environment if name.startswith(("PYTHON", "LC_", "COVERAGE_"))}
    if told - {"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}:
        return subprocess.run(  # they say how Python itself begins
            command, input=text, capture_output=True, text=True, cwd=cwd, env=environment, timeout=timeout, check=False,
            start_new_session=True,
        )  # fmt: skip
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, _pipe_of(text.encode()) as given:
        mine, theirs = socket.socketpair()
        with mine:
            with theirs:
                facts = {"words": command[3:], "cwd": str(cwd), "environment": environment}
                packed = json.dumps(facts, ensure_ascii=True).encode()
                fds = [given.fileno(), out.fileno(), err.fileno(), theirs.fileno()]
                socket.send_fds(_server(), [len(packed).to_bytes(4, "big")], fds)
                mine.sendall(packed)
            answers = mine.makefile("r")
            process = int(answers.readline())
            if not select.select([mine], [], [], timeout)[0]:
                os.killpg(process, signal.SIGKILL)
                raise subprocess.TimeoutExpired(command, timeout)
            code = os.waitstatus_to_exitcode(int(answers.readline()))
        written = []
        for stream in (out, err):
            stream.seek(0)
            written.append(io.TextIOWrapper(io.BytesIO(stream.read()), "utf-8").read())
    return subprocess.CompletedProcess(command, code, *written)


@contextlib.contextmanager
def _pipe_of(data):
    """The end of a pipe from which a text is read; what a pipe does not hold at once is written by a thread."""
    end, other = os.pipe()

    def write():
        with contextlib.suppress(BrokenPipeError), open(other, "wb") as stream:
            stream.write(data)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with open(end, "rb", buffering=0) as stream:
            yield stream
    finally:
        writer.join()


def _server():
    """The socket of this process's own server, which ends with it."""
    if os.getpid() not in _servers:
        mine, theirs = socket.socketpair()
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        with theirs:
            server = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()], env=kept,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd="/",
            )  # fmt: skip
        atexit.register(_end, mine, server, os.getpid())
        _servers[os.getpid()] = mine
    return _servers[os.getpid()]


def _end(mine, server, owner):
    if os.getpid() == owner:
        mine.close()
        server.wait(30)


def _import_all(package, path):
    for module in pkgutil.iter_modules(path, f"{package}."):
        if module.name not in RARE:
            found = importlib.import_module(module.name)
            if module.ispkg:
                _import_all(module.name, found.__path__)


def _serve(asked):
    """Fork a process for each request, and say its number and its status. Returns a request, in that process only."""
    import rails

    _import_all("rails", rails.__path__)
    os.fsync = os.fdatasync = lambda _: None  # as in conftest.py
    gc.freeze()
    running = {}
    while True:
        for ready in select.select([asked, *running], [], [])[0]:
            if ready is not asked:
                process, said = running.pop(ready)
                with said, contextlib.suppress(BrokenPipeError):  # nobody waits for it any more
                    said.sendall(b"%d\n" % os.waitpid(process, 0)[1])
                os.close(ready)
                continue
            data, fds, *_ = socket.recv_fds(asked, 4, 4)
            if not data:
                sys.exit(0)
            said = socket.socket(fileno=fds.pop())
            request = json.loads(said.recv(int.from_bytes(data, "big"), socket.MSG_WAITALL))
            process = os.fork()
            if not process:
                for one in (asked, said, *(said for _, said in running.values())):
                    one.close()
                return _begin(request, fds)
            running[os.pidfd_open(process)] = process, said
            said.sendall(b"%d\n" % process)
            for fd in fds:
                os.close(fd)


def _begin(request, fds):
    os.setsid()
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
        os.close(fd)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    return request["words"]


def _command(words):
    """Do what ``python -m rails`` does, but for taking so many modules apart in the end; return the exit code."""
    sys.path[0] = os.getcwd()
    sys.argv = ["rails", *words]
    sys.orig_argv = [sys.executable, "-m", "rails", *words]
    try:
        runpy.run_module("rails", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


if __name__ == "__main__":
    sys.path[0] = ""
    code = _command(_serve(socket.socket(fileno=int(sys.argv[1]))))
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
