"""An agent cannot make the checks weaker unseen: such a change is a finding of its own."""

import pytest

from rails.core.verdict import Finding
from rails.gate import weakened_config


def found(verdict):
    return [(finding.rule, finding.severity) for finding in verdict.findings if finding.rule.startswith("gate-config")]


WEAKENED = [("gate-config-weakened", "error")]
CHANGED = [("gate-config-changed", "warning")]


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("pyproject.toml", "[tool.ruff.lint]\nignore = []\n", '[tool.ruff.lint]\nignore = ["F401"]\n'),
        ("pyproject.toml", '[tool.ruff.lint]\nselect = ["E", "F"]\n', '[tool.ruff.lint]\nselect = ["E"]\n'),
        ("pyproject.toml", '[tool.ruff.lint]\nselect = ["E", "F"]\n', "[tool.ruff.lint]\n"),
        ("pyproject.toml", "[tool.ruff]\nline-length = 88\n", "[tool.ruff]\nline-length = 200\n"),
        ("pyproject.toml", "[tool.ruff]\n", '[tool.ruff]\nextend-exclude = ["src"]\n'),
        ("pyproject.toml", "[tool.ruff.lint]\n", '[tool.ruff.lint.per-file-ignores]\n"a.py" = ["F"]\n'),
        ("pyproject.toml", "[tool.mypy]\nstrict = true\n", "[tool.mypy]\nstrict = false\n"),
        ("pyproject.toml", "[tool.mypy]\n", "[tool.mypy]\nignore_errors = true\n"),
        ("ruff.toml", 'lint.select = ["E", "F"]\n', 'lint.select = ["E"]\n'),
        ("setup.cfg", "[flake8]\nmax-line-length = 88\n", "[flake8]\nmax-line-length = 120\n"),
        ("setup.cfg", "[flake8]\nextend-ignore = E203\n", "[flake8]\nextend-ignore = E203, F401\n"),
        (".flake8", "[flake8]\n", "[flake8]\nexclude = src\n"),
        (".prettierignore", "dist\n", "dist\nsrc\n"),
        (".eslintignore", "", "src\n"),
    ],
)
def test_a_weaker_configuration_is_a_finding(world, path, before, after):
    verdict = world.judge((path, before, after))
    assert found(verdict) == WEAKENED, verdict
    assert verdict.status == "fail"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pyproject.toml", '[tool.ruff]\nexclude = ["src"]\n'),
        ("src/ruff.toml", 'extend-exclude = ["*.py"]\n'),
        (".flake8", "[flake8]\nextend-exclude = src\n"),
    ],
)
def test_new_configuration_that_excludes_files_is_a_weaker_one(world, path, text):
    assert found(world.judge((path, text))) == WEAKENED


def test_without_a_baseline_nothing_of_this_is_known_to_be_new(world):
    world.put("pyproject.toml", '[tool.ruff]\nexclude = ["src"]\n')
    world.put("a.py", "import os  # noqa: F401\n")
    assert world.check("pyproject.toml", "a.py").findings == ()


def test_beside_a_revision_suppressions_and_configuration_are_findings(world):
    world.git("init", "-q")
    world.put("a.py", "import os\n")
    world.put("b.py", "import os  # noqa: F401\n")
    world.git("add", ".")
    world.git("commit", "-qm", "one")
    world.put("a.py", "import os  # noqa: F401\n")
    world.put("new.py", "import os  # noqa: F401\n")
    world.put("ruff.toml", "line-length = 100\n")
    verdict = world.check("a.py", "b.py", "new.py", "ruff.toml", base="HEAD")
    assert {(f.path, f.rule) for f in verdict.findings} == {
        ("a.py", "new-suppression"),
        ("new.py", "new-suppression"),
        ("ruff.toml", "gate-config-changed"),
    }


def test_configuration_taken_away_is_a_finding(world):
    assert found(world.judge(("ruff.toml", 'lint.select = ["F"]\n', None))) == WEAKENED


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("pyproject.toml", '[tool.ruff.lint]\nselect = ["E"]\n', '[tool.ruff.lint]\nselect = ["E", "F"]\n'),
        ("pyproject.toml", "[tool.ruff]\nline-length = 100\n", "[tool.ruff]\nline-length = 88\n"),
        ("pyproject.toml", None, "[tool.ruff]\nline-length = 100\n"),
        ("eslint.config.js", "export default [];\n", "export default [1];\n"),
    ],
)
def test_any_other_change_of_the_configuration_is_told_and_does_not_block(world, path, before, after):
    verdict = world.judge((path, after)) if before is None else world.judge((path, before, after))
    assert found(verdict) == CHANGED, verdict
    assert not verdict.blocking


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("pyproject.toml", "[project]\nversion = '1'\n", "[project]\nversion = '2'\n"),
        ("pyproject.toml", "[tool.ruff]\nline-length = 88\n", "# why\n[tool.ruff]\nline-length = 88\n"),
        ("src/config.toml", "ignore = []\n", "ignore = ['a']\n"),
        ("setup.cfg", "[metadata]\nname = a\n", "[metadata]\nname = b\n"),
    ],
)
def test_other_files_and_other_tables_are_nobodys_business(world, path, before, after):
    verdict = world.judge((path, before, after))
    assert verdict.findings == ()
    assert verdict.status == "pass"


# -- each kind of option by itself, with its words and its line ----------------------------------------


def told(path, before, after):
    encoded = [text if text is None else text.encode() for text in (before, after)]
    return [(f.rule, f.line, f.message) for f in weakened_config.findings(path, *encoded)]


LOOSER = (
    "ignore ignores exclude extend-ignore extend_exclude per-file-ignores force-exclude disable omit skip unfixable"
)
TIGHTER = "select enable fixable testpaths extend-select extend_fixable"
STRICT = "strict strict_equality disallow_any warn_return check_untyped no_implicit_optional disable-noqa"
LENIENT = "ignore_errors ignore-missing-imports allow_redefinition exit-zero exit_zero"


@pytest.mark.parametrize("key", LOOSER.split())
def test_a_list_that_lets_more_through_is_weaker_and_one_that_lets_less_is_not(key):
    old, new = f"[x]\n{key} = ['A', 'B']\n", f"\n[x]\n{key} = ['A', 'C', 'D']\n"
    assert told("ruff.toml", old, new) == [("gate-config-weakened", 3, f"ruff.x.{key} lets more through: C, D")]
    for less in (f"[x]\n{key} = ['A']\n", "[x]\na = 1\n"):
        assert told("ruff.toml", f"{new}a = 1\n", less)[0][0] == "gate-config-changed", less
    assert told("setup.cfg", "[flake8]\n", f"[flake8]\n{key} = A, B\n") == [
        ("gate-config-weakened", 2, f"flake8.{key} lets more through: A, B")
    ]


@pytest.mark.parametrize("key", TIGHTER.split())
def test_a_list_that_asks_for_less_is_weaker_and_one_that_asks_for_more_is_not(key):
    old, new = f"{key} = ['A', 'B', 'C']\n", f"{key} = ['A']\n"
    assert told("ruff.toml", old, new) == [("gate-config-weakened", 1, f"ruff.{key} asks for less: without B, C")]
    assert told("ruff.toml", new, old) == [("gate-config-changed", 1, f"It changes how files are checked: ruff.{key}")]
    assert told("ruff.toml", "a = 1\n", f"a = 1\n{key} = ['A']\n")[0][0] == "gate-config-changed"


@pytest.mark.parametrize("key", ["max-complexity", "max_args", "line-length", "line_length"])
def test_a_limit_that_allows_more_is_weaker(key):
    assert told("ruff.toml", f"{key} = 9\n", f"{key} = 10\n") == [
        ("gate-config-weakened", 1, f"ruff.{key} allows more: 10 instead of 9")
    ]
    for other in (f"{key} = 8\n", "other = 1\n", f"{key} = 'much'\n"):
        if "complexity" not in key or "other" not in other:
            assert told("ruff.toml", f"{key} = 9\n", other)[0][0] == "gate-config-changed", other
    assert told("ruff.toml", "a = 1\n", f"a = 1\n{key} = 9\n")[0][0] == "gate-config-changed", "there was none"


def test_a_bound_on_complexity_that_is_taken_away_is_weaker():
    assert told("ruff.toml", "max-complexity = 9\na = 1\n", "a = 1\n") == [
        ("gate-config-weakened", 1, "ruff.max-complexity is taken away")
    ]


@pytest.mark.parametrize("keys", [STRICT, LENIENT])
def test_a_switch_that_is_off_may_be_said_to_be_off(keys):
    for key in keys.split():
        for before, after in (("", "false"), ("true", "true # why")):
            lines = [f"[tool.mypy]\n{key} = {value}\n" if value else "[tool.mypy]\n" for value in (before, after)]
            rules = [rule for rule, _, _ in told("pyproject.toml", *lines)]
            assert rules == ["gate-config-changed"] * (before != "true"), (key, after)


@pytest.mark.parametrize("keys", [STRICT, LENIENT])
def test_a_switch_is_weaker_in_one_direction_only(keys):
    for key in keys.split():
        on, off = f"[tool.mypy]\n{key} = true\n", f"[tool.mypy]\n{key} = false\n"
        before, after, words = (on, off, "on and is off") if keys is STRICT else (off, on, "off and is on")
        assert told("pyproject.toml", before, after) == [("gate-config-weakened", 2, f"mypy.{key} was {words}")], key
        assert told("pyproject.toml", after, before)[0][0] == "gate-config-changed", key
    for word in ("1", "YES", "on", "True"):
        old, new = f"[mypy]\nstrict = {word}\n", "[mypy]\nstrict = no\n"
        assert told("mypy.ini", old, new) == [("gate-config-weakened", 2, "mypy.strict was on and is off")]


@pytest.mark.parametrize("tool", ["ruff", "flake8", "mypy", "pylint", "pyright", "pytest", "bandit"])
def test_a_tool_that_is_no_longer_configured_is_weaker(tool):
    words = f"{tool} is no longer configured, so it may no longer run"
    before, after = f"[tool.{tool}]\na = 1\n[tool.black]\nb = 1\n", "[tool.black]\nb = 1\n"
    assert told("pyproject.toml", before, after) == [("gate-config-weakened", 1, words)]
    assert told("pyproject.toml", f"{before}c = 1\n", before)[0][0] == "gate-config-changed"


@pytest.mark.parametrize("tool", ["black", "isort", "coverage", "yapf"])
def test_a_formatter_that_goes_away_changes_how_files_are_checked(tool):
    assert told("pyproject.toml", f"[tool.{tool}]\na = 1\n", "[tool.x]\n") == [
        ("gate-config-changed", 1, f"It changes how files are checked: {tool}.a")
    ]


SECTIONS = "flake8 pycodestyle isort mypy pylint pytest coverage yapf bandit tool:pytest mypy-pkg.*"


@pytest.mark.parametrize(
    "name", ["setup.cfg", "tox.ini", ".flake8", "mypy.ini", ".mypy.ini", "pytest.ini", ".coveragerc"]
)
def test_the_sections_of_the_tools_are_read_in_every_file_that_may_hold_them(name):
    for section in SECTIONS.split():
        text = f"[{section}]\na = 1\n"
        assert told(name, text, f"{text}skip = x\n") == [
            ("gate-config-weakened", 3, f"{section}.skip lets more through: x")
        ], section
    assert told(name, "[other]\n", "[other]\nskip = x\n") == []
    assert told(name, "[flake8\n", "[flake8]\nskip = x\n") == [], "what cannot be read is told by the check of the file"


def test_all_of_pylints_own_file_is_pylints_and_a_manifest_tells_of_linters_only():
    assert told(".pylintrc", "[x]\na=1\n", "[x]\na=1\ndisable=all\n")[0][2] == "x.disable lets more through: all"
    before = '{"eslintConfig": {"rules": {"a": 1}}, "prettier": {"semi": true}, "devDependencies": {"eslint": "9"}}'
    gone = "eslint is no longer configured, so it may no longer run"
    assert told("package.json", before, '{"prettier": {"semi": true}}') == [("gate-config-weakened", 1, gone)]
    changed = before.replace('"a": 1', '"a": 2').replace('"semi": true', '"semi": false')
    assert told("package.json", before, changed) == [
        ("gate-config-changed", 1, "It changes how files are checked: eslint.rules.a, prettier.semi")
    ]
    assert told("package.json", before, before[:-1] + ', "dependencies": {"left-pad": "1"}}') == []
    assert told("package.json", "{}", '{"dependencies": {"prettier": "3"}}')[0][0] == "gate-config-changed"
    assert told("package.json", None, '{"dependencies": {"prettier": "3"}}')[0][0] == "gate-config-changed"
    for other in ("[]", "null", '{"dependencies": []}', '{"eslintConfig": []}'):
        assert told("package.json", other, '{"dependencies": {"eslint": "9"}}')[0][0] == "gate-config-changed", other


CODE = """
eslint.config.js eslint.config.mjs eslint.config.cjs eslint.config.ts .eslintrc .eslintrc.js .eslintrc.json
.eslintrc.yml prettier.config.js prettier.config.mts .prettierrc .prettierrc.toml .prettierrc.js biome.json
biome.jsonc .biome.json .editorconfig package.yaml eslint-suppressions.json tsconfig.json tsconfig.build.json
jsconfig.json .markdownlint.yaml .pre-commit-config.yaml
"""


@pytest.mark.parametrize("name", CODE.split())
def test_configuration_that_is_not_compared_is_told_of_and_counts_once_a_human_has_agreed(name):
    words = "It changes how files are checked; it counts once a human has agreed."
    for path in (name, f"deep/{name.upper()}"):
        for before, after in ((None, "x"), ("x", "y"), ("x", None)):
            assert told(path, before, after) == [("gate-config-changed", 1, words)], path


@pytest.mark.parametrize("name", [".eslintignore", "a/.prettierignore"])
def test_an_ignore_file_is_weaker_where_it_takes_files_out(name):
    assert told(name, "dist\n", "# why\ndist\nb\na\n") == [
        ("gate-config-weakened", 1, "It takes files out of the checks: a, b")
    ]
    assert told(name, "dist\n!dist/a\n", "dist\n") == [
        ("gate-config-weakened", 1, "It takes files out of the checks: !dist/a")
    ]
    for before, after in (("dist\na\n", "dist\n"), ("dist\n", "dist\n!dist/a\n")):
        assert told(name, before, after) == [("gate-config-changed", 1, "It changes which files are checked.")]
    assert told(name, "dist\n", "\n# x\n  dist  \n") == []
    assert told(name, None, "dist\n") == told(name, "", "dist\n")
    assert told(name, "!dist/a\n", None)[0][2] == "It takes files out of the checks: !dist/a"
    assert told(name, None, "# none\n") == told(name, "\n", None) == []


def test_our_own_settings_are_weaker_where_a_check_goes_or_an_excuse_comes():
    command, mode = "[[gate.command]]\nname = 'a'\nrun = ['x']\n", "[[gate.mode]]\nrule = 'E501'\nmode = '%s'\n"
    (gone,) = told(".rails.toml", command + mode % "blocking", mode % "blocking")
    assert gone[0] == "gate-config-weakened"
    assert gone[2].startswith('[[gate.command]] asks for less: {"name": "a"')
    (excuse,) = told(".rails.toml", command, command + mode % "advisory")
    assert excuse[2].startswith('[[gate.mode]] excuses more: {"mode": "advisory"')
    both = told("sub/.rails.toml", command + mode % "blocking", mode % "advisory")
    assert [words.split(":")[0] for _, _, words in both] == [
        "[[gate.command]] asks for less",
        "[[gate.mode]] asks for less",
        "[[gate.mode]] excuses more",
    ]
    tighter = "It changes how files are checked from the next change on."
    assert told(".rails.toml", mode % "advisory", command) == [("gate-config-changed", 1, tighter)]
    assert told(".rails.toml", command, f"{command}\n[other]\na = 1\n") == []
    assert told(".rails.toml", command, "[[") == []
    dated = told(".rails.toml", command, command + "[[gate.mode]]\nmode = 'advisory'\nuntil = 2030-01-02\n")
    assert dated[0][2].endswith('{"mode": "advisory", "until": "2030-01-02"}')


def test_a_new_file_is_weaker_where_it_excludes_and_else_only_told():
    brings = "It brings configuration for the checks; it counts from the next change on."
    assert told("ruff.toml", None, "line-length = 200\n") == [("gate-config-changed", 1, brings)]
    for key in ("exclude", "extend-exclude", "force_exclude"):
        assert told("a/.ruff.toml", None, f"line-length = 9\n{key} = ['x']\n") == [
            ("gate-config-weakened", 2, f"ruff.{key} lets more through: x")
        ]
    assert told("ruff.toml", None, "") == told("other.toml", None, "exclude = ['a']\n") == []
    assert told("ruff.toml", "[", "exclude = ['a']\n") == []


def test_a_weaker_one_is_an_error_with_a_remedy_and_any_other_change_a_warning():
    remedy = "Leave the rules as they are and correct the code, or ask the human to change them."
    place = ("a/ruff.toml", 3, 1)
    weaker = Finding(
        *(*place, "gate-config-weakened", "ruff.skip lets more through: x", "gate"), end_line=3, remedy=remedy
    )
    changed = Finding(
        *(*place, "gate-config-changed", "It changes how files are checked: ruff.skip", "gate"),
        severity="warning",
        end_line=3,
    )
    old, new = b"\n\nskip = ['y']\n", b"\n\nskip = ['y', 'x']\n"
    assert list(weakened_config.findings("a/ruff.toml", old, new)) == [weaker]
    assert list(weakened_config.findings("a/ruff.toml", new, old)) == [changed]


def words(path, before, after):
    ((_, _, message),) = told(path, before, after)
    return message.partition(": ")[2]


@pytest.mark.parametrize(
    ("path", "before", "after", "most"),
    [
        (".eslintignore", "", "{}\n", 80),
        ("ruff.toml", "skip = []\n", "skip = ['{}']\n", 60),
        ("ruff.toml", "select = ['{}']\n", "select = []\n", 60),
        ("ruff.toml", "{} = 1\n", "{} = 2\n", 75),  # beside "ruff."
        (".rails.toml", "", "[gate]\nmode = '{}'\n", 78),  # between quotes
    ],
)
def test_what_is_quoted_from_a_configuration_is_bounded(path, before, after, most):
    for extra in (0, 1):
        name = "n" * (most + extra)
        shown = words(path, before.replace("{}", name), after.replace("{}", name))
        assert ("characters)" in shown) is bool(extra), shown


@pytest.mark.parametrize(("extra", "cut"), [(0, ""), (1, "… (+1 characters)")])
def test_the_two_limits_are_quoted_up_to_a_bound(extra, cut):
    old, new = "1" * (20 + extra), "2" * (20 + extra)
    assert told("setup.cfg", f"[flake8]\nmax-x = {old}\n", f"[flake8]\nmax-x = {new}\n") == [
        ("gate-config-weakened", 2, f"flake8.max-x allows more: {new[:20]}{cut} instead of {old[:20]}{cut}")
    ]


def test_each_option_that_is_weaker_is_told_in_the_order_of_the_file_and_any_other_is_not():
    old = "line-length = 88\nother = 1\nselect = ['E', 'F']\nskip = []\n[lint]\nstrict = true\n"
    new = "line-length = 99\nother = 2\nselect = ['E']\nskip = ['x']\n[lint]\nstrict = false\n"
    weaker = [
        (1, "ruff.line-length allows more: 99 instead of 88"),
        (3, "ruff.select asks for less: without F"),
        (4, "ruff.skip lets more through: x"),
        (6, "ruff.lint.strict was on and is off"),
    ]
    assert told("ruff.toml", old, new) == [("gate-config-weakened", line, words) for line, words in weaker]
    tools = "[tool.mypy]\na = 1\n[tool.ruff]\nb = 1\nc = ['a']\n"
    gone = "{} is no longer configured, so it may no longer run"
    assert [words for *_, words in told("pyproject.toml", tools, None)] == [gone.format("mypy"), gone.format("ruff")]


@pytest.mark.parametrize("name", ["pyproject.toml", "ruff.toml", ".ruff.toml", ".rails.toml"])
def test_a_number_that_no_tool_can_read_hides_nothing(name):
    plain, odd = (f"[gate]\na = {value}\n[tool.ruff]\nb = {value}\n" for value in ("1", "0x" + "f" * 3_600))
    words = [("gate-config-weakened", 1, "It holds a number that no tool can read.")]
    for before, after in ((plain, odd), (odd, plain), (None, odd), (odd, None)):
        assert told(name, before, after) == words
    assert told(f"other{name}", plain, odd) == []


DEEP = "[" * 5_000 + "]" * 5_000


@pytest.mark.parametrize("name", ["pyproject.toml", "ruff.toml", ".rails.toml", "package.json", "setup.cfg"])
def test_what_nobody_can_read_is_no_fault_of_ours(name):
    whole = b'{"eslintConfig": %s}' if name == "package.json" else b"[tool.ruff]\na = %s\n[gate]\nb = %s\n"
    for text in (DEEP.encode(), b"9" * 5_000, b"\xff", b'"'):
        data = whole.replace(b"%s", text)
        for before, after in ((b"", data), (data, b""), (None, data), (data, None)):
            assert [f.rule for f in weakened_config.findings(name, before, after)] in ([], ["gate-config-changed"])


@pytest.mark.parametrize("value", [DEEP, "9" * 5_000, "0x" + "f" * 5_000])
def test_a_configuration_of_any_depth_is_told_by_the_check_of_the_file_and_ends_nothing(world, value):
    verdict = world.judge(("ruff.toml", f"a = {value}\n"))
    assert verdict.status in ("fail", "error"), "never one that passed"


@pytest.mark.parametrize("ending", ["json", "jsonc", "yaml", "yml", "toml", "JSON"])
def test_data_that_names_its_schema_no_more_is_weaker(ending):
    def named(schema):
        match ending.lower():
            case "json" | "jsonc":
                return f'{{\n  "$schema": "{schema}",\n  "a": 1\n}}\n'
            case "toml":
                return f'"$schema" = "{schema}"\na = 1\n'
            case _:
                return f"# yaml-language-server: $schema={schema}\na: 1\n"

    own, path = named("./own.schema.json"), f"data.{ending}"
    plain = "{}\n" if ending.lower().startswith("json") else "\n"
    for after in (plain, named("./other.json")):
        ((rule, _, words),) = told(path, own, after)
        assert (rule, words) == ("gate-config-weakened", "It is no longer judged by ./own.schema.json")
    for before, after in ((own, f"{own}\n"), (plain, own), (own, None), (None, own)):
        assert told(path, before, after) == []
    assert told(path, named("https://x.example/s.json"), plain) == [], "none of the project"
    assert told("data.txt", own, plain) == []


HOOKS = "repos:\n  - repo: x\n    hooks:\n      - {id: flake8, args: [--max-line-length=88, --append-config=ci.cfg]}\n"


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (HOOKS.replace("=88", "=200"), "flake8.max-line-length allows more: 200 instead of 88"),
        (HOOKS.replace("88,", "88, --extend-ignore, F,"), "flake8.extend-ignore lets more through: F"),
        (HOOKS.replace("88,", "88, --exit-zero,"), "flake8.exit-zero was off and is on"),
        (HOOKS.replace("ci.cfg]", "ci.cfg], exclude: ^a"), "flake8.exclude lets more through: ^a"),
        (HOOKS.replace("flake8", "black"), "flake8 is no longer configured, so it may no longer run"),
    ],
)
def test_arguments_of_hooks_are_compared(after, words):
    assert [one[2] for one in told(".pre-commit-config.yaml", HOOKS, after) if one[0] == "gate-config-weakened"] == [
        words
    ]


PLAIN_HOOKS = "repos:\n- repo: x\n  hooks:\n  - id: ruff-check\n  - id: black\n"
GONE = "ruff is no longer configured, so it may no longer run"


@pytest.mark.parametrize(
    ("path", "before", "after", "found"),
    [
        (".pre-commit-config.yaml", PLAIN_HOOKS, PLAIN_HOOKS.replace("  - id: ruff-check\n", ""), (True, 1, GONE)),
        (".pre-commit-config.yaml", PLAIN_HOOKS, "repos:\n- repo: x\n", (True, 1, GONE)),
        (
            *(".pre-commit-config.yaml", PLAIN_HOOKS, PLAIN_HOOKS.replace("  - id: black\n", "")),
            (False, 4, "It changes how files are checked: black.id"),
        ),
        *(
            ("package.json", f'{{"{kind}": {{"eslint": "1", "prettier": "1"}}}}', after, found)
            for kind in ("dependencies", "devDependencies")
            for after, found in (
                ("{}", (True, 1, "eslint is no longer configured, so it may no longer run")),
                (
                    f'{{"{kind}": {{"eslint": "1"}}}}',
                    (False, 1, "It changes how files are checked: prettier.installed"),
                ),
                (f'{{"{kind}": {{"eslint": "2", "prettier": "1"}}}}', None),
            )
        ),
    ],
)
def test_a_tool_that_may_run_no_longer_is_told_of_where_it_was_only_named(path, before, after, found):
    rule = {True: "gate-config-weakened", False: "gate-config-changed"}
    assert told(path, before, after) == ([(rule[found[0]], *found[1:])] if found else [])


def test_what_configuration_loads_is_told_of_by_any_name(world):
    world.put("mypy.ini", "[mypy]\nplugins = tools/one.py, tools.two\n")
    world.put(".pre-commit-config.yaml", f"{HOOKS}      - id: flake8\n")
    both = "[flake8]\nselect = F\n", "[flake8]\nselect = E\n"
    paths = "tools/one.py", "tools/two.py", "id.py", "repos.py", "flake8.py", "cfg.py"
    verdict = world.judge(*((path, "x = 1\n", "x = 2\n") for path in paths))
    assert [(one.path, one.rule) for one in verdict.findings] == [
        ("tools/one.py", "gate-config-changed"),
        ("tools/two.py", "gate-config-changed"),
    ]
    found = world.judge(("ci.cfg", *both), ("other.cfg", *both)).findings
    assert [(one.path, one.rule) for one in found] == [("ci.cfg", "gate-config-weakened")]


LIMITS = ('line-length = 88\nlint.select = ["E"]\n', 'line-length = 200\nlint.select = ["E"]\n')
AGREED = ("gate-config-changed", 1, "It changes how files are checked; it counts once a human has agreed.")


@pytest.mark.parametrize(
    ("path", "before", "after", "words"),
    [
        ("a.toml", *LIMITS, [("gate-config-weakened", 1, "ruff.line-length allows more: 200 instead of 88")]),
        ("a.toml", *LIMITS[::-1], [("gate-config-changed", 1, "It changes how files are checked: ruff.line-length")]),
        ("a.toml", LIMITS[0], None, [("gate-config-weakened", 1, "ruff.lint.select asks for less: without E")]),
        ("a.toml", None, 'exclude = ["s"]\n', [("gate-config-weakened", 1, "ruff.exclude lets more through: s")]),
        ("a.toml", LIMITS[0], f"{LIMITS[0]}# why\n", []),
        (
            "a.ini",
            None,
            "[mypy]\nignore_errors = true\n",
            [("gate-config-weakened", 2, "mypy.ignore_errors was off and is on")],
        ),
        ("a.json", "{}", "[]", [AGREED]),
        ("eslint.config.js", "a", "b", []),
    ],
)
def test_a_file_that_the_configuration_extends_is_compared_like_the_configuration(path, before, after, words):
    sides = (None if text is None else text.encode() for text in (before, after))
    said = [(one.rule, one.line, one.message) for one in weakened_config.of_extended(path, *sides)]
    assert said == words


def test_an_ignore_file_that_is_no_text_holds_no_pattern():
    for before, after, rules in ((b"\xff", b"a\n", WEAKENED), (b"a\n", b"\xff", CHANGED), (None, b"\xff", [])):
        said = weakened_config.findings(".eslintignore", before, after)
        assert [(one.rule, one.severity) for one in said] == rules


STRICTER = {
    "pyrightconfig.json": (
        '{"typeCheckingMode": "strict"}',
        '{"typeCheckingMode": "basic"}',
        "is basic and was strict",
    ),
    "ty.toml": ("[rules]\nall = 'error'\n", "[rules]\nall = 'ignore'\n", "rules.all is ignore and was error"),
    ".pytest.toml": ("addopts = ['-q']\n", "addopts = ['-q', '--deselect=a']\n", "lets more through: --deselect=a"),
    ".coveragerc.toml": ("[report]\nfail_under = 90\n", "[report]\nfail_under = 1\n", "asks for less: 1 instead of 90"),
    ".coveragerc": ("[report]\nfail_under=90\n", "[report]\nfail_under=90\nexclude_lines=x\n", "lets more through: x"),
    ".oxlintrc.json": ('{"rules": {"a": ["error", {}]}}', '{"rules": {"a": "warn"}}', "rules.a is warn and was"),
    ".eslintrc.json": ('{"rules": {"a": 2}}', '{"rules": {"a": 0}}', "rules.a is 0 and was 2"),
    "biome.json": (
        '{"linter": {"enabled": true}}',
        '{"linter": {"enabled": false}}',
        "linter.enabled was on and is off",
    ),
    "tsconfig.json": ('{"compilerOptions": {"strict": true}}', '{"compilerOptions": {}}', "strict was on and is off"),
    ".golangci.yml": ("linters:\n  enable: [a, b]\n", "linters:\n  enable: [a]\n", "asks for less: without b"),
    "pylintrc": ("[x]\na=1\n", "[x]\na=1\ndisable=all\n", "x.disable lets more through: all"),
    "mypy.ini": ("[mypy]\ndisable_error_code = a\n", "[mypy]\ndisable_error_code = a, b\n", "lets more through: b"),
    "pytest.ini": (
        "[pytest]\naddopts = -q\n",
        "[pytest]\naddopts = -q -k x -p no:cov\n",
        "lets more through: -k x, -p",
    ),
    "package.json": (
        '{"jest": {"coverageThreshold": {"a": 9}}}',
        '{"jest": {"coverageThreshold": {"a": 1}}}',
        "asks for less",
    ),
    "pyproject.toml": (
        "[[tool.mypy.overrides]]\nmodule = 'a'\nx = 1\n",
        "[[tool.mypy.overrides]]\nmodule = 'b'\nignore_errors = true\n[[tool.mypy.overrides]]\nmodule = 'a'\nx = 1\n",
        "mypy.overrides[b].ignore_errors was off and is on",
    ),
}


@pytest.mark.parametrize("name", STRICTER)
def test_the_configuration_of_any_check_that_is_data_is_compared(name):
    before, after, words = STRICTER[name]
    ((rule, _, message),) = told(name, before, after)
    assert rule == "gate-config-weakened"
    assert words in message
    assert {rule for rule, _, _ in told(name, after, before)} == {"gate-config-changed"}


@pytest.mark.parametrize("name", ["jest.config.js", "vitest.config.ts", ".yamllint", ".stylelintrc", "codecov.yml"])
def test_what_configures_other_checks_is_told_by_its_name(name):
    assert [rule for rule, _, _ in told(f"web/{name}", "a: 1\n", "b: [\n")] == ["gate-config-changed"]


@pytest.mark.parametrize("name", ["jest.md", "coverage.py", "src/ty.py", "next.config.js", "mocha.json", ".npmrc"])
def test_what_only_sounds_like_configuration_of_a_check_is_none(name):
    assert told(name, "a: 1\n", "b: 1\n") == []


def test_yaml_that_holds_itself_or_grows_without_end_is_read_as_far_as_it_goes():
    bomb = "a: &a [{x: 1}]\n" + "".join(f"b{n}: &b{n} [*b{n - 1}, *b{n - 1}]\n" for n in range(1, 60)).replace(
        "b0", "a"
    )
    for text in ("&a [*a]", "a: &a {b: *a}\n", bomb):
        assert [rule for rule, _, _ in told(".yamllint", "x: 1\n", text)] == ["gate-config-changed"]


WORKFLOW = "jobs:\n  a:\n    steps:\n    - uses: actions/checkout@v4\n    - run: pytest -q\n"
COMMANDS = [
    (".github/workflows/ci.yml", WORKFLOW, WORKFLOW.replace("pytest -q", "true"), 1, "without - run: pytest -q"),
    (".github/workflows/ci.yml", WORKFLOW, f"{WORKFLOW}      continue-on-error: true\n", 6, "continue-on-error"),
    (
        ".github/workflows/ci.yml",
        WORKFLOW.replace(" -q", ""),
        f"{WORKFLOW.replace(' -q', '')}      continue-on-error: true\n",
        6,
        "continue-on-error",
    ),
    ("Makefile", "lint:\n\truff check .\n", "lint:\n\ttrue\n", 1, "without ruff check ."),
    ("sub/Makefile", "lint:\n\truff check .\n", "lint:\n\n\truff check . || true\n", 3, "ruff check . || true"),
    (".husky/pre-commit", "npm run lint\nnpm test\n", "", 1, "without npm run lint, and 1 line more"),
    ("tox.ini", "[testenv]\ncommands = pytest\n", "[testenv]\ncommands = true\n", 1, "without commands = pytest"),
]


@pytest.mark.parametrize(("path", "before", "after", "line", "words"), COMMANDS)
def test_a_command_that_checks_the_project_does_not_go_unseen(path, before, after, line, words):
    found = told(path, before, after)
    assert found[0][:2] == ("gate-config-weakened" if line > 1 else "gate-config-changed", line)
    assert words in found[0][2]
    assert len(found) == 1, "one change is told once"
    assert told(path, before, before) == told(path.replace("M", "x").replace(".", "x"), before, after) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [("@v4", "@v5"), ("    - run: pytest -q", "    # why\n    - run: pytest -q"), ("jobs:", "on: push\njobs:")],
)
def test_a_workflow_that_still_runs_its_checks_is_nobodys_business(old, new):
    assert told(".github/workflows/ci.yml", WORKFLOW, WORKFLOW.replace(old, new)) == []
    pinned = "  - run: pip install pytest==8.1 && pytest -q\n"
    assert told(".gitlab-ci.yml", pinned, pinned.replace("8.1", "8.2")) == []


def test_scripts_of_a_manifest_that_check_are_told_where_they_change():
    before = '{"scripts": {"lint": "x", "build": "y", "all": "eslint ."}}'
    for old, name in (("lint", "scripts.all, scripts.lint"), ("all", "scripts.all")):
        words = f"It changes how files are checked: {name}"
        gone = before.replace(f'"{old}"', '"other"').replace("eslint .", "z")
        assert told("package.json", before, gone) == [("gate-config-changed", 1, words)]
    assert told("package.json", before, before.replace('"y"', '"z"')) == []
    assert told("package.json", None, before) == []
