"""Each usual mistake in a definition file is reported with its file, line and field, and what to do.

``broken_definitions/`` holds one broken file for each mistake; ``broken_definitions/expected.txt`` is what
``ai-rails tools check`` says about them. To see what a change does to the messages, delete that file, run
this test twice and read the difference.
"""

import re
from pathlib import Path

from rails.tools.loader import check_folder
from tests.rows import walked

FOLDER = Path(__file__).parent / "broken_definitions"
EXPECTED = FOLDER / "expected.txt"
FILES = sorted(FOLDER.glob("*.json"))


def said(file):
    return [str(mistake).replace(f"{FOLDER}/", "") for mistake in check_folder([file])]


def test_the_messages_are_the_expected_ones():
    messages = "\n".join(line for file in FILES for line in said(file)) + "\n"
    if not EXPECTED.exists():
        EXPECTED.write_text(messages, encoding="utf-8")
    assert messages == EXPECTED.read_text(encoding="utf-8")


@walked("file", FILES)
def test_each_message_has_a_line_and_a_fix_and_is_not_repeated(file):
    messages = said(file)
    assert messages
    assert len({re.sub(r":\d+:", ":", message) for message in messages}) == len(messages)
    for mistake in check_folder([file]):
        assert 1 <= mistake.line <= len(file.read_text(encoding="utf-8").splitlines())
        assert mistake.fix.endswith((".", "?", ")"))
        assert mistake.message
        assert "\n" not in str(mistake)
