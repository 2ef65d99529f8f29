"""From a model's string to a path inside the project: every trick is refused, every protected row is known."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rails.core import limits, paths
from rails.core.errors import Refusal
from rails.core.paths import WorkspacePath, exact_path, forbidden, not_on_windows, parse_path, path_in, protected
from tests.edits.helpers import save
from tests.rows import walked


@walked(
    ("raw", "text"),
    [
        ("a.py", "a.py"),
        ("src/a.py", "src/a.py"),
        ("./src//a.py", "src/a.py"),
        ("src\\a.py", "src/a.py"),
        ("src/./a b.py", "src/a b.py"),
        (".editorconfig", ".editorconfig"),
        ("ünï/名.txt", "ünï/名.txt"),
        ("a" * 255, "a" * 255),
        ("/".join("a" * limits.PATH_DEPTH), "/".join("a" * limits.PATH_DEPTH)),
        ("$HOME/x", "$HOME/x"),
        ("%2e%2e/x", "%2e%2e/x"),
        ("constant.py", "constant.py"),
        ("git~x", "git~x"),
    ],
)
def test_an_ordinary_name_becomes_a_path(raw, text):
    assert parse_path(raw) == WorkspacePath(text)


REFUSED = {
    "traversal": ["..", "../a", "a/../../b", "a/..", "..\\a", "a\\..\\..\\b", "./../a", "a/../b"],
    "absolute": [
        "/etc/passwd",
        "\\etc",
        "//server/share/a",
        "\\\\server\\share",
        "\\\\?\\C:\\a",
        "/",
        "~",
        "~/a",
        "~root/a",
        "./~",
        ".\\~/a",
    ],
    "drive": ["C:\\a", "c:/a", "z:"],
    "stream or scheme": ["a/b:$DATA", "a::$INDEX_ALLOCATION", "file:///a", "http://a/b"],
    "control": ["a\0b", "a\nb", "a\tb", "a\x1bb", "a\x7fb", "a\rb", "\x85a"],
    "invisible": ["a\u200bb", ".g\u200cit/config", "a\u202eb", "a\ufeffb", "a\u00adb", "a\U000e0041b", "a\u2028b"],
    "lone surrogate": ["a\ud800b"],
    "ending": ["a ", " a", "a /b", "...", "a/.../b"],
    "folder": [".", "./", "a/", "a/b/", "\\"],
    "look-alikes of dots and slashes": ["\u2025/a", "\u2024\u2024/a", "．．/a", "a／b", "a＼b", "a：b"],
    "empty": ["", " ", "\t"],
    "too long": ["a" * 256, "ü" * 128, "a/" * 600 + "a", "a" * 2000],
    "too deep": ["/".join("a" * (limits.PATH_DEPTH + 1))],
    "not text": [None, 1, True, ["a"], {"a": 1}, b"a"],
}


@pytest.mark.parametrize("raw", [raw for rows in REFUSED.values() for raw in rows], ids=repr)
def test_c3_14_every_trick_is_refused_with_a_reason_and_a_hint(raw):
    refusal = parse_path(raw)
    assert isinstance(refusal, Refusal)
    assert refusal.code == "path"
    assert "Invalid file path" in refusal.message
    assert refusal.hint
    assert refusal.message.isprintable()


@given(st.text(max_size=60) | st.text(alphabet="./\\~:-ab \u2025．", max_size=20))
def test_whatever_is_accepted_stays_inside(raw):
    path = parse_path(raw)
    if isinstance(path, WorkspacePath):
        assert parse_path(str(path)) == path, "a path is its own normal form"
        assert not path.text.startswith(("/", "~"))
        assert all(part not in ("", ".", "..") for part in path.parts)
        assert "\\" not in path.text
        assert path.text.isprintable()


@walked("name", paths.PROTECTED_DIRECTORIES)
def test_every_protected_folder_protects_what_is_in_it(name):
    for spelled in (name, name.upper(), name.title()):
        assert protected(WorkspacePath(f"{spelled}/x")) == paths.PROTECTED_DIRECTORIES[name]
        assert protected(WorkspacePath(f"deep/down/{spelled}/x/y.txt")) == paths.PROTECTED_DIRECTORIES[name]
    assert protected(WorkspacePath(name)), "a file in its place would be as bad"
    assert name == paths.casefolded_name(name)


@walked("name", paths.PROTECTED_FILES)
def test_every_protected_file_is_protected_at_any_depth_in_any_case(name):
    for spelled in (name, name.upper(), f"sub/{name}", f"sub/deep/{name.title()}"):
        assert protected(WorkspacePath(spelled)) == paths.PROTECTED_FILES[name]
    assert name == paths.casefolded_name(name)


PATTERN_ROWS = {
    "a name that programs read as an option": ["-rf", "--output=x", "-components/x.py"],
    "secrets": [".env", ".env.local", ".ENV", "sub/.env.production"],
    "keys": ["server.pem", "a/id_rsa", "id_ed25519", "tls.key", "x.p12"],
    "gate configuration that executes": [
        ".eslintrc",
        ".eslintrc.js",
        "eslint.config.mjs",
        ".eslintrc.json",
        ".prettierrc",
        "prettier.config.ts",
        ".prettierrc.json5",
        ".stylelintrc",
        "stylelint.config.cjs",
    ],
    "build configuration that executes": [
        "vite.config.ts",
        "webpack.config.js",
        "jest.config.mjs",
        ".babelrc",
        ".babelrc.js",
        "karma.conf.js",
        "gulpfile.babel.js",
    ],
    "executed by every build": [
        *("build.gradle", "settings.gradle.kts", "gradlew", "pom.xml", "build.rs", "a/Cargo.toml", "CMakeLists.txt"),
        *("rules.mk", "a.gemspec", "Gemfile", "mix.exs", "composer.json", "dodo.py", "Vagrantfile", "Dockerfile"),
        *(
            "web.dockerfile",
            "docker-compose.prod.yml",
            "compose.yaml",
            "Procfile",
            "flake.nix",
            "configure",
            "BUILD.bazel",
        ),
    ],
    "decides what is installed": [
        "package-lock.json",
        "yarn.lock",
        "requirements-dev.txt",
        "Pipfile",
        "go.sum",
        "pip.conf",
    ],
    "continuous integration": ["action.yml", "ci/build.jenkinsfile", "renovate.json", "netlify.toml"],
    "hooks that execute": ["hooks/pre-commit", "commit-msg", "lefthook.toml"],
    "editor configuration that can execute": ["a.code-workspace", "b.iml"],
    "agent instructions": ["SKILL.md", "QWEN.md"],
    "agent configuration": ["mcp.json"],
    "executed by the system": ["crontab", "etc/sudoers", "ssh/authorized_keys"],
    "a hidden name: programs read it by themselves": [
        *(
            ".bashrc",
            ".profile",
            "dotfiles/.zshenv",
            ".vimrc",
            ".gdbinit",
            ".mise.toml",
            ".cargo/config.toml",
            ".mvn/a.xml",
        ),
        *(
            ".forgejo/workflows/x.yml",
            ".cirrus.yml",
            ".mocharc.js",
            ".lintstagedrc",
            ".devcontainer.json",
            ".junie/a.md",
        ),
    ],
    "gate configuration": ["mypy.ini", ".mypy.ini", "pytest.ini", ".pylintrc.toml"],
    "executed at every Python start": ["x.pth", "a/evil.PTH"],
}


@walked(("reason", "name"), [(reason, name) for reason, names in PATTERN_ROWS.items() for name in names])
def test_every_protected_pattern_has_its_rows(reason, name):
    assert protected(WorkspacePath(name)) == reason


def test_every_pattern_is_shown_to_match_something():
    names = [paths.casefolded_name(name.rpartition("/")[2]) for names in PATTERN_ROWS.values() for name in names]
    for pattern, _ in paths.PROTECTED_PATTERNS:
        assert any(re.fullmatch(pattern, name) for name in names), pattern


@walked(
    "text",
    [
        "src/app.py",
        "README.md",
        "environment.py",
        "my.env.py",
        "gitignore",
        "git/config",
        "env.txt",
        "config.js",
        "key.py",
        "docs/.gitkeep",
        ".changeset/a.md",
        "src/hooks/use_user.ts",
        "build/a.txt",
        "config/app.yaml",
        "a.lock",
        "commit.py",
    ],
)
def test_an_ordinary_file_is_neither_protected_nor_forbidden(text):
    assert protected(WorkspacePath(text)) is None
    assert forbidden(WorkspacePath(text)) is None


@walked(
    "text",
    [
        ".git",
        ".git/config",
        "a/.git/hooks/x",
        ".GIT/x",
        ".rails/lock",
        "a/.RAILS/x",
        "GIT~1/x",
        "rails~1/x",
        "．git/x",
        ".git./x",
    ],
)
def test_version_control_and_our_own_state_are_forbidden_in_any_spelling(text):
    assert forbidden(WorkspacePath(text))


@walked(
    ("text", "name", "suffix"),
    [
        ("a/b.PY", "b.PY", ".py"),
        ("a/.env", ".env", ""),
        ("x", "x", ""),
        ("a.tar.gz", "a.tar.gz", ".gz"),
        ("a.b/c", "c", ""),
    ],
)
def test_name_and_suffix(text, name, suffix):
    path = WorkspacePath(text)
    assert (path.name, path.suffix, str(path)) == (name, suffix, text)
    assert "/".join(path.parts) == text


# -- the reason that is given, and its words ---------------------------------------------------------

RELATIVE = "Write it relative, without a leading / or ~ or drive."
PLAIN = "Use a plain file name."
NAMED = 'for example "src/app.py".'


@walked(
    ("raw", "shown", "why", "hint"),
    [
        (1, "int", "it is not a string", f"Send the path as a string, {NAMED}"),
        ("", "", "it is empty", f"Name a file inside the project, {NAMED}"),
        ("a\nb", r"a\x0ab", "it has control or invisible characters", "Write the path with visible characters only."),
        ("/etc", "/etc", "it is not relative to the project folder", RELATIVE),
        ("./~/a", "./~/a", "it is not relative to the project folder", RELATIVE),
        (".", ".", "it names a folder", "Name a file."),
        ("a/", "a/", "it names a folder", "Name a file."),
        ("a/" * 32 + "b", "a/" * 32 + "b", "it has more than 32 levels", "Use a shallower path."),
        ("a/..", "a/..", "it leaves the project folder", "Path traversal is not allowed: stay inside the project."),
        ("a /b", "a /b", "a name in it starts or ends with a space", PLAIN),
        ("a/\u2024", "a/\u2024", "a name in it is nothing but dots to some systems", PLAIN),
        ("a／b", "a／b", "a name in it has a character that some systems take for a slash or a colon", PLAIN),
    ],
)
def test_the_reason_and_the_remedy_are_those_of_this_fault(raw, shown, why, hint):
    refusal = parse_path(raw)
    assert (refusal.message, refusal.hint, refusal.path) == (f"Invalid file path {shown!r}: {why}.", hint, shown)


def test_the_bounds_are_in_characters_in_all_and_in_bytes_for_a_name():
    parts = ["a" * 203] * 5
    assert parse_path("/".join(parts) + "/bcde") == WorkspacePath("/".join(parts) + "/bcde")
    assert len("/".join(parts) + "/bcde") == limits.PATH_CHARS
    assert "it has 1025 characters; 1024 are allowed" in parse_path("/".join(parts) + "/bcdef").message
    assert parse_path("x/" + "ü" * 127 + "a") == WorkspacePath("x/" + "ü" * 127 + "a")
    assert "longer than 255 bytes" in parse_path("x/" + "ü" * 128).message


#: What no version of ours may stop protecting. A list of its own: the product's could lose a line unseen.
FOLDERS = """
.git .rails .hg .svn .github .gitlab .circleci .husky .vscode .idea .cursor .claude .codex .gemini .devcontainer .zed
.fleet .windsurf .continue .roo .cline .clinerules .kiro .amazonq .opencode .buildkite .woodpecker .teamcity
mcp_definitions agent_templates node_modules .venv venv site-packages __pycache__ .tox .nox .direnv .ssh .gnupg .aws
.kube .docker
"""
FILES = """
.gitattributes .gitmodules .gitconfig .gitignore .git-credentials .netrc .pypirc .gitlab-ci.yml jenkinsfile .travis.yml
azure-pipelines.yml bitbucket-pipelines.yml appveyor.yml .appveyor.yml .drone.yml cloudbuild.yaml
.pre-commit-config.yaml .pre-commit-hooks.yaml lefthook.yml .lefthook.yml .aider.conf.yml .cursorrules .windsurfrules
agents.md claude.md gemini.md .mcp.json .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs bunfig.toml .envrc conftest.py
sitecustomize.py usercustomize.py setup.py noxfile.py .flake8 setup.cfg tox.ini ruff.toml .ruff.toml pyproject.toml
.editorconfig .eslintignore .prettierignore biome.json biome.jsonc .agent-restrictions .rails.toml rails.toml makefile
gnumakefile justfile rakefile taskfile.yml gulpfile.js gruntfile.js .coveragerc .pylintrc .bandit package.json
"""


@walked("name", FOLDERS.split() + FILES.split())
def test_what_is_protected_stays_protected(name):
    assert protected(WorkspacePath(f"a/{name}")), name
    assert bool(protected(WorkspacePath(f"{name}/a"))) is (name in FOLDERS.split() or name[0] == ".")


@walked("name", ["git~1", "RAILS~9", "env~1", "claude~2/x", "a/vscode~3/x"])
def test_a_short_name_of_a_protected_one_is_protected_and_never_written(name):
    assert protected(WorkspacePath(name)) == "a short name of a protected file"
    assert forbidden(WorkspacePath(name)) == "it is inside .git or .rails, which no agent may write"
    assert forbidden(WorkspacePath("a/env~1b")) is None


@walked(
    ("part", "folded"),
    [("Straße.", "strasse"), ("ＧＩＴ", "git"), ("a\u200bb", "ab"), ("a:b:c", "a"), ("a. . .", "a"), (". a", ". a")],
)
def test_a_name_is_folded_as_the_most_forgiving_system_does(part, folded):
    assert paths.casefolded_name(part) == folded


def test_paths_sort_and_compare_by_their_text():
    assert sorted(map(WorkspacePath, ("b", "a/b", "a"))) == list(map(WorkspacePath, ("a", "a/b", "b")))


def test_a_kept_text_is_named_by_its_digest_and_nothing_else_is_one():
    digest = "0123456789abcdef" * 4
    assert paths.kept_file(digest) == f".rails/blobs/01/{digest}"
    for text, kept in (
        (paths.kept_file(digest), True),
        (f".rails/blobs/02/{digest}", False),
        (digest, False),
        (f"x/.rails/blobs/01/{digest}", False),
        (paths.kept_file(digest[1:]), False),
        (paths.kept_file(f"{digest}0"), False),
        (paths.kept_file(digest.upper()), False),
        (paths.kept_file("notes.txt"), False),
    ):
        assert paths.is_kept_file(parse_path(text)) is kept, text


@walked(
    "name",
    [
        ".env",
        ".ENV",
        ".env.local",
        ".env.example.bak",
        ".netrc",
        ".pypirc",
        ".npmrc",
        ".git-credentials",
        "id_rsa",
        "id_ed25519",
        "id_ecdsa",
        "id_dsa",
        "ID_RSA",
    ],
)
def test_a_file_that_holds_secrets_by_its_name_is_shown_to_no_agent(name):
    for path in (WorkspacePath(name), WorkspacePath(f"a/{name}")):
        said = f"{path} may hold secrets and is not shown to agents. Ask the human for what you need."
        assert (paths.hidden(name), paths.why_hidden(path)) == (True, said)
    assert paths.why_hidden(WorkspacePath(f"{name}/a.py")) == "", "a folder of that name is none"


@walked("name", [".env.example", ".env.SAMPLE", ".env.template", ".envrc", "env", "x.env", "id_rsa.pub", "a.py"])
def test_a_name_that_is_like_one_of_a_secret_is_shown(name):
    assert (paths.hidden(name), paths.why_hidden(WorkspacePath(f"a/{name}"))) == (False, "")


@walked("folder", [".git", ".rails", ".hg", ".svn", ".ssh", ".gnupg", ".aws", ".SSH"])
def test_what_is_in_a_folder_of_secrets_or_of_history_is_shown_to_no_agent(folder):
    for inside in (f"{folder}/a.py", f"x/{folder}/b/a.py"):
        said = f"{inside} is inside {folder}, which is not shown to agents."
        assert paths.why_hidden(WorkspacePath(inside)) == said
    assert "may hold secrets" in paths.why_hidden(WorkspacePath(f"x/{folder}"))
    assert paths.why_hidden(WorkspacePath(f"x/a{folder}/a.py")) == ""


def test_a_kept_text_is_shown_although_it_is_in_a_folder_that_is_not():
    digest = "0123456789abcdef" * 4
    assert paths.why_hidden(WorkspacePath(paths.kept_file(digest))) == ""
    assert "inside .rails" in paths.why_hidden(WorkspacePath(f"{paths.kept_file(digest)}.txt"))


@pytest.mark.parametrize("folder", ["", "sub/", "a/b/x.git/", "tests/fixtures/repo/"])
def test_no_folder_becomes_a_git_repository_in_any_order(tmp_path, folder):
    made = [f"{folder}{name}" for name in ("config", "objects/k", "refs/heads/x", "commondir", "hooks/post-checkout")]
    assert forbidden(WorkspacePath(f"{folder}HEAD"), tmp_path)
    assert [forbidden(WorkspacePath(name), tmp_path) for name in made] == [None] * 5
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    (tmp_path / folder / "HEAD").symlink_to("nowhere")
    assert all(forbidden(WorkspacePath(name), tmp_path) for name in made)
    assert forbidden(WorkspacePath(f"{folder}README.md"), tmp_path) is None
    assert forbidden(WorkspacePath(f"beside/{folder}objects/k"), tmp_path) is None


@pytest.mark.parametrize("name", ["head.py", "HEAD.txt", "a/HEAD.md", "objects/a.py", "config", "refs/a", "HEADER"])
def test_names_that_only_look_like_those_of_a_repository_are_free(tmp_path, name):
    assert forbidden(WorkspacePath(name), tmp_path) is None


LEGAL = [
    "aux.py",
    "a/con.txt",
    "NUL",
    "COM1.log",
    "a.",
    "v1./b",
    "what?.py",
    "a*b",
    'say "hi".md',
    "a<b>c",
    "a|b",
    "a:b.py",
]


@walked("name", LEGAL)
def test_a_name_that_only_windows_cannot_have_is_a_path_and_said(name):
    path = parse_path(name)
    assert path == WorkspacePath(name)
    assert not_on_windows(path)


@walked("name", ["src/routes/-components/header.py", "it's.py", "a;b&c.py", "$x.py", "[id].tsx", "auxiliary.py"])
def test_a_name_that_every_system_can_have_is_a_path_without_a_word(name):
    assert not not_on_windows(parse_path(name))


#: Names that this system may have and a model's path may not: there a backslash is a slash, ``~`` a home.
ONLY_EXACT = [
    *(r"a\b.py", r"..\x", r"C:\x", "C:/x", "~x", "~/x", "~root/x"),
    *("a::b", "a:$DATA", "end:", " a", "a ", "b /c"),
]


@walked("name", ONLY_EXACT)
def test_a_name_that_is_there_is_that_file_and_no_other(tmp_path, name):
    assert exact_path(name) == exact_path(f".//{name}") == WorkspacePath(name)
    assert path_in(tmp_path, name) == parse_path(name), "what is not there is read as a model means it"
    save(tmp_path, name, "")
    assert path_in(tmp_path, name) == WorkspacePath(name)
    assert not_on_windows(WorkspacePath(name)) or name.startswith(("~", " "))


def test_a_name_with_a_backslash_is_the_file_in_the_folder_where_both_are_there(tmp_path):
    for name in (r"a\b", "a/b"):
        save(tmp_path, name, "")
    assert path_in(tmp_path, r"a\b") == WorkspacePath("a/b")


@walked("name", ["", "/a", "../a", "a/..", "a/", "a\nb", "a\u202eb", "a" * 256, None])
def test_no_name_leads_out_and_none_hides_what_it_is(name):
    assert isinstance(exact_path(name), Refusal)


@walked("name", [r".git\config", r"a\.GIT\x", r"a\.rails\b", r"x\HEAD"])
def test_what_is_forbidden_on_another_system_is_forbidden(name):
    assert forbidden(exact_path(name))
