"""What the tests of every package share, and how `make test` gives them to its workers."""

import atexit
import gc
import os
import shutil
import signal
import sys
import tempfile
import time

import pytest
from hypothesis import HealthCheck, settings

# Programs that tests start would compile the whole package again and again, and so would every worker the tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# What a program keeps for its user is not kept for whoever runs the tests; the workers have this from who starts them.
if "AI_RAILS_TESTS_HOME" not in os.environ:
    os.environ["AI_RAILS_TESTS_HOME"] = tempfile.mkdtemp(prefix="ai-rails-tests-")
    atexit.register(shutil.rmtree, os.environ["AI_RAILS_TESTS_HOME"], ignore_errors=True)
for kind in ("CONFIG", "CACHE", "DATA", "STATE"):
    os.environ[f"XDG_{kind}_HOME"] = os.path.join(os.environ["AI_RAILS_TESTS_HOME"], kind.lower())
# Nothing that collecting tests makes is garbage: it is not looked through, then and later.
gc.disable()

# No test depends on what a power cut would leave: none waits for the disk. Some count how often it would be asked.
os.fsync = os.fdatasync = lambda _: None
os.environ.setdefault("GIT_TEST_FSYNC", "0")

# A property holds or it does not: how fast its examples are made and tried says how busy the machine is.
# Many more examples are tried by `make prove` (tests/prove/test_properties.py).
EXAMPLES = int(os.environ.get("AI_RAILS_EXAMPLES", "40"))
settings.register_profile(
    "any-machine", deadline=None, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any-machine")

# Whoever starts the suite may ignore signals (a job in the background, nohup), which programs inherit: tests send them.
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

# Projects of scenarios and cases of files: they are read, not run.
collect_ignore = ["scenarios", "cases"]

#: Files that take longest, about longest first: what is begun last should be short.
LONG = (
    "review/web/test_long.py",
    "test_cli.py",
    "review/web/test_deciding.py",
    "review/web/test_browser.py",
    "commands/test_interrupted_stages.py",
    "gate/test_exclusions.py",
    "commands/test_chat.py",
    "gate/test_ways.py",
    "edits/test_faults.py",
    "commands/test_interrupted.py",
    "test_scenarios.py",
    "docs/test_pages.py",
    "gate/test_javascript_base.py",
    "test_cli_agents.py",
    "golden/test_golden.py",
    "gate/test_javascript_files.py",
    "session/test_faults.py",
    "batch/test_run_job.py",
    "batch/test_run_set.py",
    "review/web/test_reports.py",
    "review/web/test_options.py",
    "integrations/test_pages.py",
    "integrations/test_mcp.py",
    "data_formats/test_regex.py",
    "core/test_text.py",
    "review/test_queries.py",
    "session/test_context_window.py",
    "gate/test_same_as_the_commands.py",
    "gate/test_tests_as_gate.py",
    "golden/test_sessions.py",
    "review/web/test_changes.py",
    "test_layers.py",
    "log/test_torture.py",
    "sandbox/test_run.py",
    "session/test_turn.py",
    "session/test_resume.py",
    "session/test_resume_ladder.py",
    "parsing/test_containers.py",
    "sandbox/test_layers_of_hostile_commands.py",
    "edits/test_kills.py",
    "n8n/test_robust.py",
    "gate/test_baseline.py",
    "parsing/test_bounds.py",
    "gate/test_warm_as_fresh.py",
    "integrations/test_claude_code.py",
    "gate/test_eslint_trusted.py",
)


def pytest_collection_modifyitems(items):
    place = {f"tests/{name}": number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(item.nodeid.partition("::")[0], len(LONG)))


def pytest_collection_finish():
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give out groups and whole files: what a module shares is made once, and less is sent to and fro."""
    from xdist.scheduler import LoadGroupScheduling

    class Files(LoadGroupScheduling):
        def _split_scope(self, nodeid):
            return super()._split_scope(nodeid).partition("::")[0]

        def _assign_work_unit(self, node):
            units = self.assigned_work[node]  # it counts what is left of all of them after every test
            for name in [name for name, unit in units.items() if all(unit.values())]:
                del units[name]
            super()._assign_work_unit(node)

    config.option.loadscopereorder = False
    return Files(config, log)


@pytest.fixture
def cpu_seconds():
    """Return a clock: processor seconds that one call costs, the least of a few rounds.

    Other processes cannot stretch it, and neither can the garbage collector, which in a worker that has run
    thousands of tests takes longer than what is measured.
    """

    def measure(action, rounds=3, enough=0.0):
        """Measure until it was less than ``enough``: then the least of more rounds is, too."""
        times = []
        while len(times) < rounds and not (times and min(times) < enough):
            gc.disable()
            try:
                start = time.thread_time()
                action()
                times.append(time.thread_time() - start)
            finally:
                gc.enable()
        return min(times)

    return measure


class Lent:
    """Python workers that whoever closes them gives back."""

    def __init__(self, pool):
        self._pool = pool

    def __getattr__(self, name):
        return getattr(self._pool, name)

    def close(self):
        pass


@pytest.fixture(scope="session")
def python_workers():
    from rails.gate.languages.python.tools import PythonPool  # which binds the name before it is replaced below

    pool = PythonPool()
    yield pool
    pool.close()


@pytest.fixture
def shared_workers(python_workers, monkeypatch):
    """Every gate of this process asks the same Python workers: starting them costs more than most of what they do."""
    monkeypatch.setattr("rails.gate.support.warm_processes.PythonPool", lambda: Lent(python_workers))
