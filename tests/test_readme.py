"""What the README says is so: its demo command runs, the transcript is real, its links lead somewhere, it is short."""

import html
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rails.commands.verbs import VERBS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
PICTURE = (ROOT / "docs/terminal.svg").read_text("utf-8")
DEMO = (ROOT / "docs/demo.md").read_text("utf-8")


def without_what_varies(text):
    """Take out the session's name, its temporary folder, every duration, and how wide the terminal is."""
    text = re.sub(r"\d{8}-\d{6}-[0-9a-f]{4}", "SESSION", text)
    text = re.sub(r"\S*/ai-rails-demo-\w+", "/tmp/ai-rails-demo", text)
    text = re.sub(r"digest  │ [0-9a-f]+", "digest  │ 0", text)
    text = re.sub(r"\d+(\.\d+)? (ms|s)\b", r"0 \2", text)
    text = re.sub(r"in [\d.]+s", "in 0s", text)
    text = re.sub(r"─{3,}", "──", text)
    text = re.sub(r"\((python|n8n)[^)]*\)", "(checks)", text)
    return "\n".join(line.rstrip() for line in text.splitlines())


@pytest.fixture(scope="module")
def demo():
    """Run the README's first command, with this interpreter's environment instead of a new one."""
    command = re.search(r"^\$ (make demo)", README, re.MULTILINE)[1].split()
    make = shutil.which("make")
    if make is None:
        pytest.skip("make is not installed")
    ready = f"{sys.prefix}/.installed"
    done = subprocess.run(
        [make, *command[1:], f"VENV={sys.prefix}", "-o", ready],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
        env={
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": "/nonexistent",
            "LANG": "C.UTF-8",
            "AI_RAILS_LANG": "en",
            "COLUMNS": "104",  # as in docs/pictures.py
        },
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_demo_does_its_whole_job(demo):
    for sign in (
        "repaired the request's JSON: trailing_comma",
        "refused: `new_string` is missing",
        "F821 Undefined name `json`",
        "auto-fixed: format in todo/cli.py",
        "denied by the demo script: multi_edit todo/cli.py: Add a test for --json, then I take it.",
        "🔧 Creating... flows/daily_digest.json",
        "N8N",
        "✅ Created flows/daily_digest.json",
        "✅ Edited todo/cli.py",
        "the project's own tests: Ran 4 tests",
    ):
        assert sign in demo, sign
    assert "OK" in demo.splitlines()[-1]


def test_the_transcript_is_what_the_demo_prints(demo):
    shown = re.search(r"```text\n(AI-Rails demo.*?)```", DEMO, re.DOTALL)[1]
    printed = without_what_varies(demo).splitlines()
    at = 0
    for line in without_what_varies(shown).splitlines():
        if line.strip() in ("", "…"):
            continue
        assert line in printed[at:], f"the demo does not print this line, or not here: {line}"
        at = printed.index(line, at) + 1


def test_it_is_read_in_two_minutes():
    assert len(README.splitlines()) <= 100
    assert len(README.split()) <= 1_100


def test_the_picture_loads_nothing():
    assert not re.search(r"@font-face|@import|url\((?!#)|<image|<script|href=", PICTURE)


def test_the_picture_shows_what_the_demo_prints_and_ends_in_what_was_written(demo):
    """``python docs/pictures.py`` draws it again, where a message has changed since."""
    drawn = html.unescape(re.sub(r"<style.*?</style>|<title.*?</text>|<[^>]+>", "", PICTURE, flags=re.DOTALL))
    lines, printed = [plain_words(line) for line in drawn.splitlines()], plain_words(demo)
    assert [line for line in lines if line not in printed] == ["…", "…", "…"]
    assert "✅Editedtests/test_cli.py" in lines[-6:]


def plain_words(text):
    """Return the letters of a text, however wide it is set and whatever is marked in it."""
    return "".join(without_what_varies(text.replace("\xa0", " ").replace("`", "")).split())


def test_every_command_of_the_readme_is_known():
    assert set(re.findall(r"ai-rails ([a-z][a-z0-9]*)", README)) <= {*VERBS}
