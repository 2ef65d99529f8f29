"""What the tests of every package share."""

import gc
import signal
import time

import pytest
from hypothesis import HealthCheck, settings

# A property holds or it does not: how fast its examples are made and tried says how busy the machine is.
settings.register_profile("any-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any-machine")

# Whoever starts the suite may ignore signals (a job in the background, nohup), which programs inherit: tests send them.
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

# Projects of scenarios and cases of files: they are read, not run.
collect_ignore = ["scenarios", "cases"]


@pytest.fixture
def cpu_seconds():
    """Return a clock: processor seconds that one call costs, the least of a few rounds.

    Other processes cannot stretch it, and neither can the garbage collector, which in a worker that has run
    thousands of tests takes longer than what is measured.
    """

    def measure(action, rounds=3):
        times = []
        for _ in range(rounds):
            gc.disable()
            try:
                start = time.thread_time()
                action()
                times.append(time.thread_time() - start)
            finally:
                gc.enable()
        return min(times)

    return measure
