"""The architecture holds: imports only go down, nothing heavy or loud at start-up, proofs are made in one place."""

import ast
import contextlib
import functools
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rails.cli import VERBS
from rails.core.events.record import BY_TYPE

RAILS = Path(__file__).parent.parent / "rails"

# What each package may import besides itself. What would need an upward import is a parameter instead.
STORY = {"agents", "gate", "approval", "edits", "tools", "parsing", "models", "projections", "log", "sandbox", "git"}
STORY |= {"trust", "config", "core"}
ALLOWED = {
    "core": set(),
    "processes": {"core"},
    "data_formats": {"core"},
    "log": {"core"},
    "render": {"core"},
    "git": {"processes", "core"},
    "sandbox": {"processes", "core"},
    # A corrected block is compared with the broken one before it, which only the repairing reader can read.
    "projections": {"parsing", "data_formats", "log", "core"},
    "json_schema": {"data_formats", "core"},
    "config": {"json_schema", "data_formats", "core"},
    "trust": {"core"},
    "models": {"json_schema", "core"},
    "n8n": {"data_formats", "core"},
    "edits": {"git", "data_formats", "core"},
    "approval": {"log", "config", "render", "processes", "data_formats", "core"},
    "parsing": {"json_schema", "data_formats", "core"},
    "tools": {"sandbox", "trust", "config", "json_schema", "data_formats", "core"},
    "gate": {"sandbox", "git", "trust", "config", "json_schema", "data_formats", "processes", "core"},
    "agents": {"tools", "projections", "log", "trust", "json_schema", "data_formats", "core"},
    "session": STORY,
    "review": {"projections", "render", "approval", "gate.report", "log", "config", "core"},
    "batch": {"session", "gate", "sandbox", "projections", "render", "log", "config", "core", "git", "models"},
    "integrations": {"session", "review", "approval", "tools", "gate", "log", "config", "core"},
    "testing": {*STORY, "session"},
    "commands": {"*"},
    "cli": {"commands", "core"},
    "__main__": {"cli"},
    "__init__": {"gate", "session", "batch", "core"},  # for types only: see the test of what is public
}
# Imports that still break this, by module and package. The list may only shrink.
EXCEPTIONS = {}
# What knows of n8n: its kind in the gate, and its verb. Everything else asks rails.core.plugins.
OF_N8N = {"gate.kinds.n8n", "commands.n8n"}


@functools.cache
def modules():
    return sorted(path for path in RAILS.rglob("*.py") if "_data" not in path.parts)


def name_of(path):
    return ".".join(path.relative_to(RAILS).with_suffix("").parts).removesuffix(".__init__")


@dataclass
class Facts:
    """What one walk over a module finds: the tests ask for it many times."""

    imports: list = field(default_factory=list)  # (module, names), wherever in the file they stand
    relative: list = field(default_factory=list)
    calls: list = field(default_factory=list)  # (line, name of the function, is it a plain name, gives shell=)
    strings: list = field(default_factory=list)  # (line, text) of every string that is no docstring
    details: list = field(default_factory=list)  # (line, what, how it is read) of every attribute .details
    statements: int = 0
    public: list = field(default_factory=list)


def parsed(text):
    """Return the tree of a module. Python 3.11 may fail to build one while another thread builds one, too."""
    for _ in range(20):
        with contextlib.suppress(SystemError):
            return ast.parse(text)
    return ast.parse(text)


@functools.cache
def facts_of(path):
    """Every test of this file reads a module through this, so each is parsed once."""
    facts, tree = Facts(), parsed(path.read_text(encoding="utf-8"))
    facts.statements = len(tree.body)
    facts.public = list(public_names(tree))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                facts.imports += [(alias.name, []) for alias in node.names]
            case ast.ImportFrom():
                facts.imports.append((node.module or "", [alias.name for alias in node.names]))
                if node.level:
                    facts.relative.append(node.lineno)
            case ast.Call():
                plain = isinstance(node.func, ast.Name)
                name = node.func.id if plain else getattr(node.func, "attr", "")
                shell = any(k.arg == "shell" and getattr(k.value, "value", None) is not False for k in node.keywords)
                facts.calls.append((node.lineno, name, plain, shell))
            case ast.Constant(value=str(text)) if id(node) not in docs:
                facts.strings.append((node.lineno, text))
            case ast.Subscript(value=ast.Attribute(attr="details")):
                facts.details.append((node.lineno, "", "key"))
            case ast.Attribute(attr="get", value=ast.Attribute(attr="details")):
                facts.details.append((node.lineno, "", "key"))
            case ast.Attribute(attr="details"):
                facts.details.append((node.lineno, ast.unparse(node.value), "attribute"))
    return facts


def imported_modules(path):
    """Every module of ours that a file names in an import, wherever in the file it stands."""
    assert facts_of(path).relative == [], f"{path}: relative import; write it in full"
    for module, names in facts_of(path).imports:
        for name in [f"rails.{one}" for one in names] if module == "rails" else [module]:
            if name.startswith("rails.") and name != "rails.__version__":
                yield name.removeprefix("rails.")


def is_allowed(package, module):
    allowed = ALLOWED[package]
    return "*" in allowed or any(module == one or module.startswith(f"{one}.") for one in (package, *allowed))


def test_the_top_of_the_package_holds_the_entrance_and_packages_only():
    files = {path.name for path in RAILS.iterdir() if path.is_file()}
    assert files == {"__init__.py", "__main__.py", "cli.py", "py.typed"}
    packages = {path.name for path in RAILS.iterdir() if path.is_dir()} - {"_data", "__pycache__"}
    assert packages <= set(ALLOWED)


def test_a_package_imports_only_what_it_may():
    broken = set()
    for path in modules():
        package = path.relative_to(RAILS).with_suffix("").parts[0]
        others = (m for m in imported_modules(path) if not (f"{m}.".startswith("n8n.") and name_of(path) in OF_N8N))
        broken |= {(name_of(path), m.split(".")[0]) for m in others if not is_allowed(package, m)}
    assert broken == set(EXCEPTIONS)


def test_a_package_s_own_module_holds_nothing_but_what_it_is():
    own = [path for path in modules() if path.name == "__init__.py" and name_of(path) not in ("__init__", "testing")]
    assert len(own) > 40
    assert [str(path) for path in own if facts_of(path).statements != 1] == [], "import the module instead"


def test_no_imports_close_a_circle_not_even_those_inside_a_function_or_for_types():
    graph = {}
    for path in modules():
        found = facts_of(path).imports
        graph[f"rails.{name_of(path)}"] = [m for m, _ in found] + [f"{m}.{one}" for m, names in found for one in names]
    done, open_now = set(), []

    def visit(module):
        assert module not in open_now, " -> ".join([*open_now[open_now.index(module) :], module])
        if module in done:
            return
        open_now.append(module)
        for other in graph[module]:
            if other in graph and other != module:
                visit(other)
        done.add(open_now.pop())

    for module in graph:
        visit(module)


# Inside a package: from the top down; what stands in one line does not import what stands beside it.
INSIDE = {
    "gate": [
        {"gate"},
        {"change_findings", "report"},
        {"files", "changed_files"},
        {
            "check_settings",
            "weakened_tests",
            "scratch_files",
            "pins",
            "command_checks",
            "enforcement",
            "approved_state",
        },
        {"registry", "verdicts"},
        {"kinds"},
        {"languages"},
        {"support"},
        {"baseline"},
    ],
    "approval": [
        {"queue"},
        {"terminal", "pending"},
        {"question", "options"},
        {"answer", "audit"},
        {"policy"},
        {"edit"},
        {"decision"},
        {"risks"},
        {"content_risks"},
        {"diff_view"},
    ],
    "review": [
        {"web"},
        {"html", "session_list", "inbox", "export"},
        {"questions"},
        {"html_plan"},
        {"reports"},
    ],
    "n8n": [
        {"plugin"},
        {"whole_file"},
        {"check", "summary", "formatting", "project_files"},
        {"draw"},
        {"comparison"},
        {"edit", "info", "repair"},
        {"rules"},
        {"nodes", "javascript"},
        {"json_file", "recognise", "values"},
        {"model"},
        {"facts"},
    ],
}


def inner_imports(package):
    """Every import between the parts of a package: the module and the part that it imports from."""
    for path in modules():
        name = name_of(path)
        if not name.startswith(f"{package}."):
            continue
        for module, names in facts_of(path).imports:
            if f"{module}.".startswith(f"rails.{package}."):
                yield from ((name, f"{module}.{one}".split(".")[2]) for one in names)


@pytest.mark.parametrize("package", INSIDE)
def test_imports_inside_a_package_run_one_way(package):
    levels = {part: level for level, parts in enumerate(INSIDE[package]) for part in parts}
    broken = set()
    for name, other in inner_imports(package):
        own = name.split(".")[1]
        assert own in levels, f"{name}: say in INSIDE where it stands"
        if own != other and levels[other] <= levels[own]:
            broken.add((name, f"{package}.{other}"))
    assert broken == set()


def test_of_n8n_its_kind_and_its_verb_import_the_plugin_only():
    named = {
        (name_of(path), f"{module}.{one}".removeprefix("rails.").split(".")[1])
        for path in modules()
        if not name_of(path).startswith("n8n.")
        for module, names in facts_of(path).imports
        if f"{module}.".startswith("rails.n8n.")
        for one in names or [""]
    }
    assert named == {(name, "plugin") for name in OF_N8N}
    spelt = {name_of(path) for path in modules() for _, text in facts_of(path).strings if text.startswith("rails.n8n")}
    assert {name for name in spelt if not name.startswith("n8n.")} == {"core.plugins"}


def calls_of(name):
    return {
        str(path.relative_to(RAILS)) for path in modules() for _, called, *_ in facts_of(path).calls if called == name
    }


@pytest.mark.parametrize(
    ("proof", "makers"),
    [
        ("WorkspacePath", {"core/paths.py", "gate/changed_files.py", "integrations/hooks/contract.py"}),
        ("ToolRequest", {"tools/validate.py"}),
        ("Approved", {"approval/decision.py"}),
    ],
)
def test_a_type_that_carries_a_proof_is_made_in_one_place(proof, makers):
    assert calls_of(proof) <= makers


def importers_of(package):
    return {
        str(path.relative_to(RAILS))
        for path in modules()
        for module, _ in facts_of(path).imports
        if module.split(".")[0] == package
    }


@pytest.mark.parametrize(
    ("package", "allowed"),
    [
        ("git", {"git/program.py"}),
        ("anthropic", {"models/anthropic_sdk.py"}),
        ("jsonschema", {"tools/loader.py", "json_schema/validator.py", "gate/languages/python/worker.py"}),
    ],
)
def test_a_heavy_package_is_used_in_one_room(package, allowed):
    assert importers_of(package) <= allowed


def test_nothing_evaluates_text_or_starts_a_shell():
    """Only the empty text, which clears a flag of the interpreter's, may be executed."""
    found = [
        f"{path}:{line}: {name}()"
        for path in modules()
        for line, name, plain, shell in facts_of(path).calls
        if shell or (plain and name in {"eval", "exec", "__import__"} and not executes_nothing(path, line))
    ]
    assert found == []


def executes_nothing(path, line):
    return path.read_text("utf-8").splitlines()[line - 1].strip().startswith('exec("")')


def run_python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout


def test_importing_the_package_is_silent_and_touches_nothing(tmp_path):
    code = f"import os; os.chdir({str(tmp_path)!r}); import rails; print(os.listdir('.'))"
    assert run_python(code) == "[]\n"


def test_importing_the_package_takes_under_50_ms_of_the_processor():
    code = "import time; t = time.process_time(); import rails; print(time.process_time() - t)"
    assert min(float(run_python(code)) for _ in range(3)) < 0.05


HEAVY = ["anthropic", "git", "black", "rich", "jsonschema", "starlette", "uvicorn", "yaml", "pydantic"]


def test_help_imports_nothing_heavy():
    """Each verb in a process of its own, which is forked before anything of ours is imported."""
    wanted = {"--help": HEAVY}
    for verb in VERBS:
        light = verb in ("run", "apply", "demo", "serve", "gate", "completion")
        more = ["rails.gate.gate", "rails.session.turn", "rails.parsing.parse", "rails.review"] if light else []
        wanted[f"{verb} --help"] = [*HEAVY, *more]
    code = (
        "import sys, os, contextlib, io\n"
        f"for words, heavy in {wanted!r}.items():\n"
        "    if os.fork():\n"
        "        assert os.wait()[1] == 0\n"
        "        continue\n"
        "    from rails.cli import main\n"
        "    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "        main(words.split())\n"
        "    print(words, [m for m in heavy if m in sys.modules], flush=True)\n"
        "    os._exit(0)\n"
    )
    assert run_python(code).splitlines() == [f"{words} []" for words in wanted]


def test_help_takes_under_60_ms_of_the_processor():
    code = "import time; t = time.process_time(); from rails.cli import main\ntry: main(['--help'])\nfinally: "
    code += "print(time.process_time() - t)"
    assert min(float(run_python(code).splitlines()[-1]) for _ in range(7)) < 0.06


# What costs more to import than it gives a hook: compilers of classes, OpenSSL, compression …
SLOW = ["dataclasses", "hashlib", "shutil", "tempfile", "difflib", "importlib.metadata"]
SLOW += [
    "rails.approval",
    "rails.edits",
    "rails.tools",
    "rails.parsing",
]


@pytest.mark.parametrize("words", [["a.py"], ["."], ["--all"], ["a.py", "--format", "json"]])
def test_a_gate_s_call_imports_nothing_slow(tmp_path, words):
    (tmp_path / "pyproject.toml").write_text("[tool.ruff.lint]\nselect = ['F']\n")
    (tmp_path / "a.py").write_text("print(undefined)\n")
    code = (
        f"import os, sys; os.chdir({str(tmp_path)!r})\n"
        "from rails.cli import main\n"
        f"assert main({['gate', *words]!r}) == 1\n"
        f"print([m for m in {SLOW!r} if m in sys.modules])"
    )
    assert run_python(code).splitlines()[-1] == "[]"


def test_a_call_imports_the_file_of_its_own_verb_only(tmp_path):
    (tmp_path / "a.md").write_text("# A\n")
    code = (
        f"import os, sys; os.chdir({str(tmp_path)!r})\n"
        "from rails.cli import main, VERBS\n"
        "assert main(['gate', 'a.md']) == 0\n"
        "print([verb for verb in VERBS if f'rails.commands.{verb}' in sys.modules])"
    )
    assert run_python(code).splitlines()[-1] == "['gate']"


# What a small answer has no need of: other agents' sessions, the sandbox, readers of broken JSON and of patches.
NOT_FOR_APPLY = [*HEAVY, "tempfile", "difflib", "secrets", "subprocess", "rails.config.tables"]
NOT_FOR_APPLY += [f"rails.session.{one}" for one in ("agent_loop", "run", "monitor", "resume", "handoffs", "budget")]
NOT_FOR_APPLY += [f"rails.session.{one}" for one in ("escalation", "ask_user", "correction")]
NOT_FOR_APPLY += [f"rails.sandbox.{one}" for one in ("run", "probe", "bubblewrap", "layer")]
NOT_FOR_APPLY += [f"rails.parsing.{one}" for one in ("lenient_json", "repairs", "readings", "unescaped_quotes")]
NOT_FOR_APPLY += [f"rails.parsing.{one}" for one in ("proposals", "unread_calls", "call_formats.unified_diff")]
NOT_FOR_APPLY += [f"rails.edits.{one}" for one in ("match", "merge", "replace", "nearest", "regex_search")]
NOT_FOR_APPLY += [
    "rails.json_schema.validator",
    "rails.approval.edit",
    "rails.approval.policy.rules",
    "rails.models.in_time",
]
NOT_FOR_APPLY += ["rails.session.tool_runs", "rails.tools.runners", "rails.render.highlight", "traceback", "ctypes"]
NOT_FOR_APPLY += ["rails.approval.policy.policy", "rails.review", "rails.n8n", "rails.git"]
NOT_FOR_APPLY += ["rails.gate.weakened_tests", "rails.gate.languages", "shutil", "dataclasses"]
NOT_FOR_APPLY += ["hashlib", "hmac"]
#: What writing it by a rule needs beyond that: the rule, and git for the history.
FOR_WRITING = {"subprocess", "rails.git", "rails.config.tables", "rails.approval.policy.policy"}
FOR_WRITING |= {"rails.approval.policy.rules"}


def test_a_small_answer_is_applied_with_what_it_needs_only(tmp_path):
    """First shown, then written by a rule, in one process."""
    (tmp_path / "answer.md").write_text('```json\n{"tool": "write_file", "path": "a.md", "content": "# A\\n"}\n```\n')
    rules = tmp_path / "settings" / "ai-rails" / "policy.toml"
    rules.parent.mkdir(parents=True)
    rules.write_text('[[rule]]\ndecision = "allow"\ntool = "write_file"\npath = "*.md"\n')
    more = sorted({*NOT_FOR_APPLY} - FOR_WRITING)
    code = (
        f"import os, sys; os.chdir({str(tmp_path)!r}); sys.argv[1:] = ['apply', 'answer.md', '--dry-run']\n"
        "from rails.cli import console\n"
        "from rails.commands import exit\n"
        f"exit.end_process = lambda code: print(code, [m for m in {NOT_FOR_APPLY!r} if m in sys.modules])\n"
        "try:\n    console()\nexcept SystemExit:\n    pass\n"
        f"os.environ['XDG_CONFIG_HOME'] = {str(tmp_path / 'settings')!r}\n"
        "from rails.cli import main\n"
        "code = main(['apply', 'answer.md', '--approve', 'policy'])\n"
        "from rails.parsing import quoted\n"
        "once = [quoted._MARK.__dict__.get('search')]\n"
        f"print(code, once, [m for m in {more!r} if m in sys.modules])"
    )
    said = run_python(code).splitlines()
    assert [line for line in said if line.startswith("0 [")] == ["0 []", "0 [None] []"]
    assert (tmp_path / "a.md").read_text() == "# A\n"


# What a host's first call need not wait for: the hosts that do not call.
NOT_FOR_A_VERDICT = [*HEAVY, "shutil", "tempfile", "rails.session.feedback"]
NOT_FOR_A_VERDICT += [f"rails.integrations.hooks.{host}" for host in ("codex", "gemini", "cursor")]


def test_the_first_verdict_of_a_hook_imports_only_what_it_needs(tmp_path):
    (tmp_path / "ruff.toml").write_text("line-length = 100\n")
    (tmp_path / "example.py").write_text("y = 1\n")
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from rails.integrations.daemon import server\n"
        "from rails.integrations.hooks.examples import CLEAN, example\n"
        f"warm = server.WarmGate(Path({str(tmp_path)!r}).resolve())\n"
        "said = warm.answer({'host': 'claude-code'}, example('claude-code', warm.project, CLEAN))\n"
        f"print([said.out, *(m for m in {NOT_FOR_A_VERDICT!r} if m in sys.modules)])\n"
        "warm.close()"
    )
    assert run_python(code).splitlines()[-1] == "['']"


def test_every_pattern_that_is_compiled_when_first_used_can_be_compiled():
    files = [file for file in RAILS.rglob("*.py") if "lazy_pattern import" in file.read_text("utf-8")]
    names = [".".join(("rails", *file.relative_to(RAILS).with_suffix("").parts)) for file in files]
    code = (
        f"import gc, importlib\nfor one in {names!r}:\n    importlib.import_module(one)\n"
        "from rails.core.lazy_pattern import LazyPattern\n"
        "found = [one for one in gc.get_objects() if isinstance(one, LazyPattern)]\n"
        "print(len(found), [one.pattern for one in found if one.search is None])"
    )
    count, wrong = run_python(code).split(maxsplit=1)
    assert int(count) > 100
    assert wrong == "[]\n"


def test_help_imports_no_compiler_of_classes():
    code = (
        "import sys, contextlib, io\n"
        "from rails.cli import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    main(['--help'])\n"
        "print([m for m in ('dataclasses', 'inspect', 'pathlib', 'subprocess', 'hashlib') if m in sys.modules])"
    )
    assert run_python(code) == "[]\n"


TYPE_HEADS = {"Literal", "Union", "Optional", "Callable", "Mapping", "Sequence", "Iterator", "Iterable"}
TYPE_HEADS |= {"dict", "list", "tuple", "set", "frozenset", "type"}


def names_a_type(value, name):
    """A type alias without its mark: ``X = Literal[...]``, ``Y = dict[str, Z]``, ``Z = A | B``; no constant."""
    if not name[:1].isupper() or name.isupper():
        return False
    if isinstance(value, ast.Subscript):
        return ast.unparse(value.value).rpartition(".")[2] in TYPE_HEADS
    return isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr)


def public_names(tree):
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = node.name
        elif isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation).endswith("TypeAlias"):
            name = ast.unparse(node.target)
        elif isinstance(node, ast.Assign) and names_a_type(node.value, ast.unparse(node.targets[0])):
            name = ast.unparse(node.targets[0])
        else:
            continue
        if not name.startswith("_"):
            yield name


def test_no_public_class_or_function_name_is_defined_in_two_packages():
    packages = {}
    for path in modules():
        for name in facts_of(path).public:
            packages.setdefault(name, set()).add(path.relative_to(RAILS).with_suffix("").parts[0])
    for name in ("run", "start"):  # what each verb's module and the sandbox have to offer
        packages.pop(name)
    assert {name: where for name, where in packages.items() if len(where) > 1} == {}


# Programs that are not ours to trust start in the sandbox, ours in processes; by these names, too.
STARTS = {"Popen", "posix_spawn", "posix_spawnp", "fork", "forkpty", "fork_exec", "popen", "startfile"}
STARTS |= {"create_subprocess_exec", "create_subprocess_shell"} | {
    f"{kind}{how}" for kind in ("exec", "spawn") for how in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")
}


def test_programs_are_started_in_two_packages_only():
    # The worker is itself in a sandbox where it starts a project's own ruff.
    importers = {*importers_of("subprocess")} - {"gate/languages/python/worker.py"}
    assert {path.split("/")[0] for path in importers} == {"sandbox", "processes"}
    found = {path for name in STARTS for path in calls_of(name) if path.split("/")[0] not in ("sandbox", "processes")}
    # Our own daemon, without the module that costs a hook its time; and this program itself, once more in UTF-8.
    assert found == {"integrations/daemon/client.py", "cli.py"}


def test_no_name_of_a_built_in_tool_stands_as_a_string_outside_their_table():
    names = {definition.stem for definition in (RAILS.parent / "mcp_definitions").glob("*.json")}
    assert "edit_workflow" in names
    found = [
        f"{path.relative_to(RAILS)}:{line}: {text}"
        for path in modules()
        if path != RAILS / "core" / "builtin_tools.py" and path.parent.name != "html_page"  # names of styles there
        for line, text in facts_of(path).strings
        if text in names
    ]
    assert found == []


def test_no_type_of_an_event_stands_as_a_string_outside_their_classes():
    # The codec knows the mark of a recovered log by its bytes.
    found = {
        (str(path.relative_to(RAILS)), value)
        for path in modules()
        if path.parent != RAILS / "core" / "events"
        for _, value in facts_of(path).strings
        if value in BY_TYPE
    }
    assert found == set()


# Who may see the details of a record as JSON: what writes, reads and searches the log's own form, and an export of it.
CODEC = {"core/events", "log/event_codec.py", "log/reader.py", "log/terms.py", "log/scan.py"}


def test_the_details_of_a_record_are_read_as_an_event_only():
    found = {
        f"{path.relative_to(RAILS)}:{line}"
        for path in modules()
        if not any(str(path.relative_to(RAILS)).startswith(one) for one in CODEC)
        for line, what, _ in facts_of(path).details
        if "record" in what.lower()
    }
    assert found == set()


def test_nobody_reads_the_details_of_a_record_by_a_key():
    found = [
        f"{path.relative_to(RAILS)}:{line}"
        for path in modules()
        for line, _, how in facts_of(path).details
        if how == "key"
    ]
    assert found == []


def test_a_turn_reads_from_top_to_bottom_on_a_few_pages():
    assert len((RAILS / "session" / "turn.py").read_text("utf-8").splitlines()) < 200


def test_the_slow_proofs_can_be_read():
    words = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-n", "0", "-p", "no:cacheprovider", "tests/prove"]
    done = subprocess.run(words, cwd=RAILS.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2_000:]
