"""The command line on a pseudo-terminal, for tests that press keys."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time


def model_at(stub, anthropic):
    """Both kinds of clients are stopped; only where it is the subject by the one that takes a second to import."""
    return (
        "--model",
        *(("anthropic:m", "--base-url", stub.url) if anthropic else ("openai:m", "--base-url", f"{stub.url}/v1")),
    )


class Terminal:
    """The command on a pseudo-terminal, in a session of its own, so that a typed Ctrl-C reaches it as a signal."""

    def __init__(self, project, environment, *words, columns=100):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        command = [sys.executable, "-m", "rails", *words]
        code = "import fcntl, os, signal, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
        code += "signal.signal(signal.SIGHUP, signal.SIG_DFL); "  # the suite itself may run under nohup
        code += "os.execv(sys.argv[1], sys.argv[1:])"
        starter = [sys.executable, "-c", code, *command]
        self.process = subprocess.Popen(starter, cwd=project, env=environment, stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        self.seen = ""

    def until(self, words, seconds=60):
        """Read until ``words`` are on the screen, or a function of that name says that it is time."""
        there = words if callable(words) else lambda: words in self.seen
        end = time.monotonic() + seconds
        while not there():
            late = time.monotonic() > end or not self._read(0.1)
            assert there() or not late, f"{words!r} did not appear: {self.seen[-800:]!r}"

    def type(self, keys):
        """Press ``keys``."""
        os.write(self.master, keys.encode())

    def _read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            try:
                self.seen += os.read(self.master, 65536).decode("utf-8", "replace")
            except OSError:  # the other end is closed
                return False
        return True

    def end(self):
        end = time.monotonic() + 60
        while self.process.poll() is None and time.monotonic() < end:
            self._read(0.05)
        assert self.process.poll() is not None, f"it goes on: {self.seen[-800:]!r}"
        while select.select([self.master], [], [], 0)[0] and self._read(0):
            pass
        os.close(self.master)
        return self.process.wait(timeout=60)
