"""A session of any length is read turn by turn: the memory that its page and a line's history take is bounded."""

import subprocess
import sys
from unittest import mock

import pytest

from ..review.gallery import MODELS, TASKS, Story

EVENTS = 30_000
MEASURE = """
import sys
from pathlib import Path
from rails.review.html import html_parts
from rails.review.session_list import SessionList

sessions = SessionList(Path(sys.argv[1]))
sum(map(len, html_parts(sessions.outlined("long"), sessions.turns("long"))))
sessions.why("todo/cli.py", 46)
# "ru_maxrss" would count the process that forked this one, too.
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""


@pytest.mark.timeout(600)
def test_the_page_and_the_history_of_a_line_take_little_memory(tmp_path):
    with mock.patch("os.fdatasync", return_value=None), mock.patch("os.fsync", return_value=None):
        story = Story(tmp_path / ".rails", "long", TASKS[0], MODELS[0])
        while story.log._position.seq < EVENTS:
            story.ask("First the option. " * 20, new_string="x" * 200).refused()
            story.ask("It is `new_string`.", new_string="y" * 200).found("F821", "F401")
            story.ask("With the imports.", new_string="z" * 200).decided(by="policy")
        story.end()
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(tmp_path / ".rails")], capture_output=True, text=True, check=True
    )
    kilobytes = int(done.stdout)
    assert kilobytes < 100_000
