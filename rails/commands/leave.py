"""The end of a process that another program waits for."""

from __future__ import annotations

import atexit
import os
import sys


def end_process(code: int) -> None:
    """End this process at once if it has nothing left to wait for: what was registered is run, output is flushed.

    Taking a whole interpreter apart takes a tenth of what ``ai-rails gate FILE`` takes (``make bench``, startup.py).
    Returns where a thread still works or the output cannot be written: the interpreter's own end deals with both.
    """
    threading = sys.modules.get("threading")
    if threading and any(
        not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()
    ):
        return
    try:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except Exception:  # the interpreter's own end says what is wrong
        return
    os._exit(code)


def settle_streams() -> None:
    """Give out what is still held, so that its failing at the very end cannot replace the exit code by Python's 120.

    An interrupt may have come while a spinner's stand-in was in the place of a stream.
    """
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
