"""Every level that this machine has, and a loud failure where a CI machine lacks the best one."""

import os

import pytest

from rails.sandbox import probe
from rails.sandbox.run import layer_for, run
from rails.sandbox.values import SandboxLimits, SandboxView

LEVELS = (3, 2, 1)
#: What the tests of one process have found, so that each level is probed once.
_FOUND = {}


def label_of(level):
    """Return the level's label; on a machine of CI that lacks it this is a failure, elsewhere a skip that says why."""
    found = _FOUND.get(level) or _FOUND.setdefault(level, probe.at_level(level))
    if found.level != level:
        words = f"level {level} is NOT tested here: {found.why}"
        if os.environ.get("CI") and not os.environ.get("AI_RAILS_SANDBOX"):
            pytest.fail(f"{words}. Install bubblewrap (the Makefile does it as root), or unset CI.", pytrace=False)
        pytest.skip(words)
    return found


@pytest.fixture(params=LEVELS, ids=lambda level: f"level{level}")
def label(request):
    return label_of(request.param)


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("A = 1\n")
    (folder / "src" / "b.py").write_text("B = 2\n")
    (folder / "tool.sh").write_text("#!/bin/sh\necho tool\n")
    (folder / "tool.sh").chmod(0o755)
    return folder


@pytest.fixture
def box(label, project):
    """Return a function that runs a line for the shell in one layer; ``box.layer`` is the layer."""
    with layer_for(project, label, lambda paths: {path for path in paths if path.startswith("ignored")}) as layer:

        def go(line, seconds=20.0, network=(), **limits):
            argv = ("/bin/sh", "-c", line) if isinstance(line, str) else line
            view = SandboxView(project, layer)
            return run(argv, view, network, SandboxLimits(seconds=seconds, **limits), label=label, together=True)

        go.layer = layer
        go.project = project
        go.label = label
        yield go


def changed(result):
    """Return what a command changed: path to the new bytes, ``None`` for a file that is gone."""
    return {str(change.path): change.after for change in result.changes.changes}
