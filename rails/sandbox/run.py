"""``run`` for one command, ``start`` for a long-lived one, contained as labelled.

If a sandbox cannot be made, that is an error; no weaker one is tried.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from rails.core.changes import ChangeSet
from rails.core.errors import CheckError
from rails.core.restrictions import UNRESTRICTED, Restrictions
from rails.sandbox import bubblewrap, landlock, none, proxy
from rails.sandbox.bounds import DiskBound, control_group
from rails.sandbox.copied import CopyLayer
from rails.sandbox.layer import IgnoredBy, Layer
from rails.sandbox.output import Kept
from rails.sandbox.overlay import OverlayLayer
from rails.sandbox.process import Launch, Running, converse, start_process
from rails.sandbox.values import COPY, OFFLINE, OVERLAY, PARTIAL, Label, Result, SandboxLimits, SandboxView


def run(
    argv: Sequence[str],
    view: SandboxView,
    network: Sequence[str] = OFFLINE,
    limits: SandboxLimits | None = None,
    *,
    label: Label,
    stdin: bytes = b"",
    together: bool = False,
    collect: bool = True,
    keep: Path | None = None,
    inherited: bool = False,
) -> Result:
    """Run a command. Raises CheckError if it cannot be contained or started, or changed too much.

    ``network``: hosts it may reach. ``label``: how to contain it (best: :func:`rails.sandbox.probe.label`).
    ``together``: errors into output; ``keep``: a file for all of it; ``collect`` false: no changes; ``inherited``: our
    standard input.
    """
    limits = limits or SandboxLimits()
    layer = view.layer
    with layer.turn if layer else contextlib.nullcontext():
        if layer and collect:
            layer.refresh()
        began = time.monotonic()
        out, err = Kept(limits.output, keep), Kept(limits.output)
        with _launch(argv, view, network, limits, label) as (launch, report):
            running = start_process(launch, stdin=bool(stdin), together=together, inherited=inherited)
            disk = _disk_bound(layer, limits, running)
            try:
                timed_out = converse(running, stdin, out, err, limits.seconds)
            finally:
                running.end()
                out.close()
                if disk:
                    disk.close()
            if layer and disk and disk.exceeded:
                layer.clear()
                size = f"{limits.disk_bytes / 1e9:.3g} GB"
                raise CheckError(f"The command wrote more than {size} in all and was ended. Nothing of it was taken.")
            report(out.text() + err.text())
        seconds = time.monotonic() - began
        code, printed = running.process.returncode, out.total + err.total
        changes, left_out = layer.changes() if layer and collect and not timed_out else (ChangeSet(), ())
    return Result(code, out.text(), err.text(), timed_out, printed, seconds, changes, left_out)


def start(
    argv: Sequence[str],
    view: SandboxView,
    network: Sequence[str] = OFFLINE,
    limits: SandboxLimits | None = None,
    *,
    label: Label,
) -> Running:
    """Start a command; the caller ends it. Raises CheckError as :func:`run` does."""
    limits = limits or SandboxLimits(seconds=None)
    with contextlib.ExitStack() as stack:
        launch, _ = stack.enter_context(_launch(argv, view, network, limits, label))
        running = start_process(launch)
        if disk := _disk_bound(view.layer, limits, running):
            stack.callback(disk.close)
        running.after.append(stack.pop_all().close)
    return running


def _disk_bound(layer: Layer | None, limits: SandboxLimits, running: Running) -> DiskBound | None:
    if not layer or not layer.writable:
        return None
    return DiskBound(layer.folder, limits.disk_bytes + layer.own_bytes, running.kill)


def layer_for(
    project: Path,
    label: Label,
    ignored: IgnoredBy = lambda _: (),
    restrictions: Restrictions = UNRESTRICTED,
) -> Layer:
    """Return a new layer of the label's kind. Raises CheckError."""
    if label.level == OVERLAY:
        return OverlayLayer(project, ignored, restrictions)
    return CopyLayer(project, ignored, restrictions, links=label.level < COPY)


@contextlib.contextmanager
def _launch(
    argv: Sequence[str], view: SandboxView, network: Sequence[str], limits: SandboxLimits, label: Label
) -> Iterator[tuple[Launch, Callable[[str], None]]]:
    if network and label.level < COPY:
        words = "Only named hosts may be reached, and that takes namespaces of its own"
        raise CheckError(f"{words}; here: {label}. Nothing was run.")
    with contextlib.ExitStack() as stack:
        if view.layer is None:
            view = replace(view, layer=stack.enter_context(Layer(view.project)))
        join = stack.enter_context(control_group(limits))
        if label.level >= COPY:
            with _namespaces(argv, view, network, limits, join) as found:
                yield found
        elif label.level == PARTIAL:
            yield landlock.launch(argv, view, limits, join), _nothing_to_check
        else:
            yield none.launch(argv, view, limits, join), _nothing_to_check


@contextlib.contextmanager
def _namespaces(
    argv: Sequence[str], view: SandboxView, network: Sequence[str], limits: SandboxLimits, join: Callable[[], None]
) -> Iterator[tuple[Launch, Callable[[str], None]]]:
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, reader)
        socket = stack.enter_context(proxy.serve_hosts(network)) if network else None
        words = proxy.bridged(argv) if socket else tuple(argv)
        view = replace(view, read_only=(*view.read_only, proxy.BRIDGE)) if socket else view
        launch = bubblewrap.launch(words, view, limits, join=join, socket=socket, status=writer)
        try:
            report = bytearray()
            launch = replace(launch, first=lambda: bubblewrap.first_process(_drain(reader, report)))
            yield launch, lambda errors: bubblewrap.check_status(_drain(reader, report), errors)
        finally:
            for descriptor in launch.keep:
                os.close(descriptor)


def _drain(reader: int, report: bytearray) -> bytes:
    with contextlib.suppress(BlockingIOError):
        report += os.read(reader, 65_536)
    return bytes(report)


def _nothing_to_check(_: str) -> None:
    """Do nothing: the process contains itself before the command, or fails."""
