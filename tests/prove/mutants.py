"""How many small changes of the modules that carry promises are noticed by their tests.

``python tests/prove/mutants.py --sample 60`` takes mutants at random (``--seed``) from all modules,
``--each 30`` that many from every module, ``--all`` every one; ``--only TEXT`` keeps the modules whose path
holds it. ``--together`` applies all that are chosen at once, which the tests have to notice with certainty.

A module's tests run once as they are, traced: then each mutant runs those tests only that reach its line, the
quick ones first, up to the first that fails. Nothing of the tree is written: a child process for each mutant
compiles the changed syntax tree in place of the file, in the processes that it starts as well. A mutant that
hangs, or fills the memory, is noticed, too. ``equivalent_mutants.txt`` lists by digest the mutants that change
nothing anybody could see, with the reason. The run fails where less than 90 % of the others are noticed.
"""

import argparse
import hashlib
import importlib.abc
import importlib.util
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import tomllib
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT)]

import mutation  # noqa: E402
import pytest  # noqa: E402

for name in ("jsonschema", "yaml", "rich.console", "prompt_toolkit", "msgspec", "rapidfuzz", "pygments", "tree_sitter"):
    importlib.import_module(name)  # once, not again for each mutant

#: Each set: what it promises, its modules and the tests that say so.
SETS = tomllib.loads((HERE / "mutated_modules.toml").read_text(encoding="utf-8"))
EQUIVALENT = HERE / "equivalent_mutants.txt"
WANTED = 0.9
CPU_SECONDS = 120
MEMORY = 6 << 30
WALL_SECONDS = 300
#: Tests of how long something takes say nothing under a tracer, or beside others.
UNTIMED = "not grows_with_the_size and not in_proportion and not linear_time and not within_seconds"
OPTIONS = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-k", UNTIMED]
VARIABLE = "AI_RAILS_MUTANTS"


class Mutated(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):
    """Imports the modules that are changed from their changed syntax trees."""

    def __init__(self, chosen):
        self.trees = {}
        by_module = defaultdict(list)
        for mutant in chosen:
            by_module[mutant.module].append(mutant)
        for module, some in by_module.items():
            self.trees[module], _ = mutation.mutated(ROOT, module, some)

    def find_spec(self, name, path=None, target=None):
        module = name.replace(".", "/") + ".py"
        if module in self.trees:
            # With its place, so that what reads its own source finds it (and does not fail for that reason).
            return importlib.util.spec_from_file_location(name, ROOT / module, loader=self)
        return None

    def get_filename(self, name):
        return str(ROOT / (name.replace(".", "/") + ".py"))

    def get_data(self, path):
        return Path(path).read_bytes()

    def get_code(self, name):
        return compile(self.trees[name.replace(".", "/") + ".py"], self.get_filename(name), "exec")


def install(chosen):
    """Import what ``chosen`` change as they say, here and in the Python processes that are started from here."""
    sys.meta_path.insert(0, Mutated(chosen))
    os.environ[VARIABLE] = json.dumps([vars(mutant) for mutant in chosen])


def install_inherited():
    """Do the same in a process that a changed one has started (see ``sitecustomize`` in :func:`main`)."""
    install([mutation.Mutant(**facts) for facts in json.loads(os.environ[VARIABLE])])


class Recorder:
    """A pytest plugin: which tests reach which lines of the modules, how long each takes, and what failed."""

    def __init__(self, modules=(), wanted=()):
        self.rank = {test: at for at, test in enumerate(wanted) if "::" in test}
        self.files = {str(ROOT / module): module for module in modules}
        self.reached = defaultdict(set)
        self.times = {}
        self.failed = ""
        self.now = ""
        self.skipped = set()

    def trace(self, frame, event, argument):
        module = self.files.get(frame.f_code.co_filename)
        if module is None:
            return None
        if event != "exception":
            self.reached[f"{module}:{frame.f_lineno}"].add(self.now)
        return self.trace

    def pytest_configure(self, config):
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate)
        settings.register_profile("mutants", derandomize=True, database=None, phases=phases, deadline=None)
        settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items):
        if self.rank:
            items[:] = sorted((one for one in items if one.nodeid in self.rank), key=lambda one: self.rank[one.nodeid])

    def pytest_collection(self):
        self.watch()  # from here on: what runs while the tests are imported is every test's (see tests_for)

    def pytest_runtest_logstart(self, nodeid, location):
        self.now = nodeid
        self.watch()  # a test that used up the stack has ended the tracer with it

    def watch(self):
        if self.files:
            threading.settrace(self.trace)
            sys.settrace(self.trace)

    def pytest_runtest_logreport(self, report):
        self.times[report.nodeid] = self.times.get(report.nodeid, 0) + report.duration
        if report.skipped:
            self.skipped.add(report.nodeid)
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report):
        if report.failed and not self.failed:
            self.failed = f"{report.nodeid}: cannot be imported"

    def told(self):
        reached = {place: sorted(tests) for place, tests in self.reached.items()}
        return {"reached": reached, "times": self.times, "failed": self.failed, "skipped": sorted(self.skipped)}


def in_child(scratch, chosen, tests, modules=(), bounded=True):
    """Run ``tests`` in a process of their own. Returns what its recorder tells, or why it ended without a word."""
    answer = scratch / "answer.json"
    home = scratch / "home"
    answer.unlink(missing_ok=True)
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    child = os.fork()
    if child == 0:
        _child(answer, home, chosen, tests, modules, bounded)
    code = None
    end = time.monotonic() + (WALL_SECONDS if bounded else 6 * WALL_SECONDS)
    while code is None and time.monotonic() < end:
        time.sleep(0.02)
        done, status = os.waitpid(child, os.WNOHANG)
        code = os.waitstatus_to_exitcode(status) if done else None
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what it has left behind, too
    if code is None:
        os.waitpid(child, 0)
        return {"failed": "no end in time"}
    told = json.loads(answer.read_text()) if answer.exists() else {"failed": f"ended with {code}"}
    if not told["failed"] and code not in (0, None):
        told["failed"] = f"ended with {code}"
    return told


def _child(answer, home, chosen, tests, modules, bounded):
    try:
        os.setsid()
        os.chdir(ROOT)
        if bounded:
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 5))
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(home / "hypothesis")
        install(chosen)
        recorder = Recorder(modules, tests)
        files = dict.fromkeys(test.partition("::")[0] for test in tests)
        code = pytest.main([*OPTIONS, "--basetemp", str(home / "t"), *files], plugins=[recorder])
        sys.settrace(None)
        answer.write_text(json.dumps(recorder.told()))
        os._exit(int(code))
    except BaseException as error:
        answer.write_text(json.dumps({"failed": f"{error!r}"[:300]}))
        os._exit(9)


def recorded(scratch, one, cache):
    """Return what the tests of a set reach; they have to pass without a mutant."""
    digest = hashlib.sha256(json.dumps(one).encode())
    for path in sorted([Path(__file__), *(ROOT / "rails").rglob("*.py"), *_test_files(one["tests"])]):
        digest.update(path.read_bytes())
    kept = cache and cache / f"{digest.hexdigest()[:24]}.json"
    if kept and kept.exists():
        return json.loads(kept.read_text())
    told = in_child(scratch, [], one["tests"], one["modules"], bounded=False)
    if told["failed"]:
        sys.exit(f"These tests fail without a mutant, so nothing can be said: {told['failed']}")
    if kept:
        cache.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(told))
    return told


def _test_files(tests):
    for test in tests:
        place = ROOT / test
        yield from [place] if place.is_file() else place.rglob("*.py")
        yield from place.parent.glob("*.py")


def tests_for(mutant, facts, one, seconds):
    """Return the tests that reach a mutant's line, quick ones first; all where no line was seen to be reached."""
    reached = facts["reached"].get(f"{mutant.module}:{mutant.line}", []) if not mutant.at_import else []
    taken = []
    left = seconds
    if "" in reached:
        reached = facts["times"]
    for test in sorted(reached, key=lambda test: facts["times"].get(test, 0)):
        left -= facts["times"].get(test, 0)
        if left < 0 and taken:
            break
        taken.append(test)
    return taken or one["tests"]


def equivalent():
    """Return the reasons of the mutants that are listed, by digest."""
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines() if EQUIVALENT.exists() else []
    pairs = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    return dict(pairs)


def choose(options):
    """Return the mutants of this run, by the name of their set, in the order in which they are drawn."""
    known = equivalent()
    chosen = defaultdict(list)

    def drawn(mutants):
        return sorted(mutants, key=lambda one: hashlib.sha256(f"{options.seed}{one.digest}".encode()).digest())

    for name, one in SETS.items():
        for module in one["modules"]:
            if options.only == name or (options.only not in SETS and options.only in module):
                chosen[name] += drawn(mutation.mutants_of(ROOT, module))[: options.each or None]
    flat = [(name, one) for name, some in chosen.items() for one in some if one.digest not in known]
    if options.digest:
        flat = [(name, one) for name, one in flat if one.digest in options.digest]
    if options.sample:
        order = {one.digest: at for at, one in enumerate(drawn([one for _, one in flat]))}
        flat = [pair for pair in flat if order[pair[1].digest] < options.sample]
    sorted_out = sum(one.digest in known for some in chosen.values() for one in some)
    by_set = defaultdict(list)
    for name, one in flat:
        by_set[name].append(one)
    return by_set, sorted_out


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sample", type=int, default=0, help="so many mutants of all modules together")
    parser.add_argument("--each", type=int, default=0, help="so many mutants of every module")
    parser.add_argument("--all", action="store_true", help="every mutant")
    parser.add_argument("--only", default="", help="the modules whose path holds this, or one set")
    parser.add_argument("--digest", action="append", help="this mutant")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--together", action="store_true", help="all of them at once")
    parser.add_argument("--list", action="store_true", help="name the mutants and stop")
    parser.add_argument("--seconds", type=float, default=120, help="so long, traced, may the tests of one mutant take")
    parser.add_argument("--verbose", action="store_true", help="name those that are noticed, too, and by which test")
    parser.add_argument("--cache", type=Path, help="keep there which tests reach which lines")
    options = parser.parse_args(words)
    if not (options.sample or options.each or options.all or options.digest):
        options.sample = 60
    by_set, listed = choose(options)
    if options.list:
        print(*(one for some in by_set.values() for one in some), sep="\n")
        return 0
    scratch = Path(tempfile.mkdtemp(prefix="mutants-"))
    try:
        inherited = "import mutants\nmutants.install_inherited()\n"
        (scratch / "sitecustomize.py").write_text(f"import os\nif os.environ.get({VARIABLE!r}):\n    {inherited}")
        os.environ["PYTHONPATH"] = os.pathsep.join(map(str, (scratch, HERE, ROOT)))
        return together(scratch, by_set) if options.together else run(scratch, by_set, listed, options)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def together(scratch, by_set):
    """Apply all at once and say which test notices it."""
    chosen = [one for some in by_set.values() for one in some]
    tests = [test for name in by_set for test in SETS[name]["tests"]]
    told = in_child(scratch, chosen, list(dict.fromkeys(tests)))
    print(f"{len(chosen)} mutants at once: {told['failed'] or 'NOBODY NOTICES'}")
    return 0 if told["failed"] else 1


def run(scratch, by_set, listed, options):
    """Run each mutant and print the table. Returns 1 where too few of a set are noticed."""
    counts = defaultdict(lambda: [0, 0])
    survivors = []
    start = time.monotonic()
    for name, chosen in by_set.items():
        facts = recorded(scratch, SETS[name], options.cache)
        for one in chosen:
            told = in_child(scratch, [one], tests_for(one, facts, SETS[name], options.seconds))
            # What a machine can do is probed by the code itself: a test that is skipped for a mutant fails in CI.
            if lost := set(told.get("skipped", ())) - set(facts["skipped"]):
                told["failed"] = told["failed"] or f"{min(lost)} is skipped"
            counts[name, one.module][0] += 1
            counts[name, one.module][1] += bool(told["failed"])
            if told["failed"] and options.verbose:
                print(f"noticed: {one}  by {told['failed']}", flush=True)
            if not told["failed"]:
                survivors.append(one)
                print(f"survives: {one}", flush=True)
    print(f"\n{'module':48} mutants killed  left")
    sums = defaultdict(lambda: [0, 0])
    for (name, module), (tried, killed) in counts.items():
        print(f"{module:48} {tried:7} {killed:6} {tried - killed:5}")
        for key in (name, "all"):
            sums[key][0] += tried
            sums[key][1] += killed
    for name, (tried, killed) in sums.items():
        print(f"{name:48} {tried:7} {killed:6} {tried - killed:5}  {killed / tried:.0%}")
    print(f"seed {options.seed}, {listed} listed as equivalent, {time.monotonic() - start:.0f} s")
    # In a sample a set has a handful: one that is left would be more than a tenth.
    judged = ["all"] if options.sample else list(sums)
    return int(any(sums[name][1] < WANTED * sums[name][0] for name in judged))


if __name__ == "__main__":
    sys.exit(main())
