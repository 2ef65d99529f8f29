"""Runs in a namespace without network: passes its loopback to the proxy's socket.

A separate script (``python -I -S``), imports nothing of ours.
"""

import contextlib
import os
import socket
import sys
import threading


def _copy(source: socket.socket, other: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(65_536):
            other.sendall(chunk)
    for one in (source, other):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


def pass_on(one: socket.socket, other: socket.socket) -> None:
    """Pass on what each of the two says, until both have ended."""
    back = threading.Thread(target=_copy, args=(other, one), daemon=True)
    back.start()
    _copy(one, other)
    back.join()


def _main() -> None:
    listener = socket.create_server(("127.0.0.1", 3128))
    if os.fork():
        listener.close()
        os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606
    for descriptor in (0, 1, 2):  # the command's pipes end with the command
        os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
    while True:
        client, _ = listener.accept()
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.connect("/tmp/proxy")  # noqa: S108
        threading.Thread(target=pass_on, args=(client, server), daemon=True).start()


if __name__ == "__main__":
    _main()
