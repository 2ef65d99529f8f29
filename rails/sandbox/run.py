"""``run`` for one command, ``start`` for a long-lived one, contained as labelled.

If a sandbox cannot be made, that is an error; no weaker one is tried.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
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
from rails.sandbox.values import COPY, NONE, OFFLINE, OVERLAY, PARTIAL, Label, Result, SandboxLimits, SandboxView


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
    with contextlib.ExitStack() as stack:
        layer = view.layer or stack.enter_context(Layer(view.project))
        stack.enter_context(layer.turn)
        if collect:
            layer.refresh()
        began = time.monotonic()
        out, err = Kept(limits.output, keep), Kept(limits.output)
        launch = _launch(argv, replace(view, layer=layer), network, limits, label, stack=stack)
        running = start_process(launch, stdin=bool(stdin), together=together, inherited=inherited)
        disk = DiskBound(layer.folder, limits.disk_bytes + layer.own_bytes, running.kill)
        try:
            timed_out = converse(running, stdin, out, err, limits.seconds)
        finally:
            running.end()
            out.close()
            disk.close()
        if disk.exceeded:
            layer.clear()
            size = f"{limits.disk_bytes / 1e9:.3g} GB"
            raise CheckError(f"The command wrote more than {size} in all and was ended. Nothing of it was taken.")
        launch.check(out.text() + err.text())
        seconds = time.monotonic() - began
        code, printed = running.process.returncode, out.total + err.total
        changes, left_out = layer.changes() if collect and not timed_out else (ChangeSet(), ())
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
        layer = view.layer or stack.enter_context(Layer(view.project))
        running = start_process(_launch(argv, replace(view, layer=layer), network, limits, label, stack=stack))
        disk = DiskBound(layer.folder, limits.disk_bytes + layer.own_bytes, running.kill)
        stack.callback(disk.close)
        running.after.append(stack.pop_all().close)
    return running


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


def _launch(
    argv: Sequence[str],
    view: SandboxView,
    network: Sequence[str],
    limits: SandboxLimits,
    label: Label,
    *,
    stack: contextlib.ExitStack,
) -> Launch:
    """Return how to start ``argv``; what it needs is open as long as ``stack``."""
    if network and label.level < COPY:
        words = "Only named hosts may be reached, and that takes namespaces of its own"
        raise CheckError(f"{words}; here: {label}. Nothing was run.")
    join = stack.enter_context(control_group(limits))
    if label.level == PARTIAL:
        return landlock.launch(argv, view, limits, join)
    if label.level == NONE:
        return none.launch(argv, view, limits, join)
    socket = None
    if network:
        socket = stack.enter_context(proxy.serve_hosts(network))
        argv = proxy.bridged(argv)
        view = replace(view, read_only=(*view.read_only, proxy.BRIDGE))
    return stack.enter_context(bubblewrap.launch(argv, view, limits, join, socket))
