"""An answer that a person copied out of a chat: what it leaves open is asked, and then it is as good as any other."""

import base64
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rails.cli import main
from rails.commands.pasted import NothingToApplyError, Settling, joined, with_fence
from rails.session.ask_user import UserReply
from rails.session.project import registry_of
from tests.commands.terminal import Terminal
from tests.rows import walked
from tests.shipped import styled

CASES = Path(__file__).parent.parent / "cases/asked"
STORE = '''"""Tasks."""

import os


def title_of(task):
    """Return the title."""
    return task.title


class Store:
    """Tasks in a list."""

    def __init__(self):
        """Begin with none."""
        self.tasks = []

    @staticmethod
    def remove(self, number):
        """Remove."""
        del self.tasks[number]
'''
SCRIPT = "const tax = 0.2;\n\nfunction total(rows) {\n  return 0;\n}\n"
FILES = {
    "src/store.py": STORE,
    "src/total.js": SCRIPT,
    "tests/test_other.py": "def test_nothing():\n    pass\n",
    "src/limits.py": "LIMIT = 10\n",
    "src/later.py": "from __future__ import annotations\n\n\ndef later(text):\n    return text\n",
    "shop.json": '{\n  "name": "shop",\n  "port": 8080,\n  "debug": false\n}\n',
    "limits.toml": "[tool.store]\nlimit = 10  # tasks\n\n[tool.other]\nlimit = 1\n",
    "ci.yml": 'env:\n  COLOUR: "1"\n\njobs:\n  steps:\n    - run: make\n    - run: test\n',
}
#: A case, the file that it is for without a question, and a line of its difference.
TAKEN = """
function | src/store.py | return task.title.strip()
method | src/store.py | self.tasks.pop(number - 1)
script | src/total.js | return rows.reduce((sum, row) => sum + row.price, 0);
only-code | src/store.py | return task.title.upper()
elided | src/store.py | return task.title or "-"
before-after | src/store.py | return task.title.strip()
hunk | src/store.py | return task.title or "?"
search | src/store.py | return task.title.lower()
labelled | src/labels.py | LABELS = ("new", "done")
pair | src/store.py | self.tasks.pop(number)
old-new | src/total.js | return rows.length;
constant | src/limits.py | LIMIT = 20
new-method | src/store.py | return self.tasks[0]
toml | limits.toml | limit = 20
yaml | ci.yml | LIMIT: "20"
sides | src/store.py | self.tasks.pop(number)
whole-json | shop.json | "port": 8081,
below-future | src/later.py | import re
"""


class Typist:
    """Types these answers, one to each question, and remembers the questions."""

    def __init__(self, *typed):
        self.typed = list(typed)
        self.asked = []

    def answer(self, question):
        self.asked.append(question)
        letter, _, text = self.typed.pop(0).partition(" ")
        return UserReply(question.choices[letter][0], "human", text)


def with_definitions(old, block, language):
    """Return a file with a block's definitions, the first of several places, and their names."""
    found = joined(old, block, language, lambda places: places[0])
    return (found.text, ", ".join(found.names)) if found and found.known else ("", "")


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def settled(case, *typed):
    """Return a settled answer, the questions on the way, and what was said of it."""
    return pasted((CASES / f"{case}.md").read_text("utf-8"), *typed)


def pasted(answer, *typed, **more):
    person = Typist(*typed)
    notes = []
    tools = registry_of(Path.cwd()).shapes()
    settling = Settling({**FILES, **more.get("files", {})}, tools, person, notes.append)
    text = settling.settle(with_fence(settling.one_option(answer)))
    assert not person.typed
    return text, person.asked, notes


@walked(("case", "file", "line"), [row.split(" | ") for row in TAKEN.strip().split("\n")])
def test_what_fits_one_place_is_put_there_without_a_question(project, capsys, case, file, line):
    settled(case)
    main(["apply", str(CASES / f"{case}.md"), "--dry-run"])
    shown = capsys.readouterr().out
    assert "dry run" in shown
    assert file in shown
    assert line.strip() in shown
    assert {name: (project / name).read_text("utf-8") for name in FILES} == FILES


def test_what_a_replaced_definition_needs_comes_with_it():
    old = "import os\n\n\nclass A:\n    def f(self):\n        pass\n\n\ndef g():\n    pass\n"
    block = "import re\n\ndef n():\n    1\n\ndef g():\n    2\n\ndef f(self):\n    3\n\ndef h():\n    4\n"
    assert with_definitions(old, block, "python") == (
        "import re\nimport os\n\n\nclass A:\n    def f(self):\n        3\n\n    def h():\n        4\n\n\n"
        "def n():\n    1\n\n\ndef g():\n    2\n",
        "n, g, A.f, A.h",
    )
    assert with_definitions("def g():\n    pass\n", block, "python") == ("", ""), "no place for the import"


@walked(
    "block",
    [
        "def nowhere():\n    pass\n",
        "print(1)\n\n\ndef title_of(task):\n    return 1\n",
        "def title_of(task):\n    # ... rest of the code ...\n",
        "class Store:\n    def remove(self, number):\n        1\n        # ... rest unchanged ...\n",
        "def title_of(task:\n",
        "title_of += 1\n",
        "jobs:\n  steps:\n    - run: make\n",
        "limit = 20\n",
    ],
)
def test_what_does_not_surely_fit_is_not_put_anywhere(block):
    for old, language in ((STORE, "python"), (FILES["ci.yml"], "yaml"), (FILES["limits.toml"], "toml")):
        found = joined(old, block, language, lambda _: None)
        assert not found or not found.known, language


def test_a_method_of_two_classes_is_asked_about_and_a_shortened_class_is_not_put_over_the_whole(project):
    first = "class A:\n    def run(self):\n        1\n\n    def stop(self):\n        0\n"
    two = {"a.py": f"{first}\n\nclass B:\n    def run(self):\n        2\n"}
    block = "In `a.py`:\n\n```python\n    def run(self):\n        3\n```\n"
    text, asked, _ = pasted(block, "2", files=two)
    assert [words for _, words in asked[0].choices.values()][:2] == ["A.run, line 2", "B.run, line 10"]
    assert "-        2\n+        3" in text
    for gap in ("# ... existing members ...", "..."):
        short = f"class A:\n    {gap}\n\n    def more(self):\n        4\n"
        assert "    def more(self):\n        4\n\n\nclass B" in with_definitions(two["a.py"], short, "python")[0]
        short = short.replace("more", "run")
        assert with_definitions(two["a.py"], short, "python") == (two["a.py"].replace("1", "4"), "A.run")


def test_below_a_line_that_could_only_be_a_name_a_block_goes_where_a_person_says(project):
    block = "`src/a*b.txt`\n\n```\n<<<<<<< SEARCH\n    return task.title\n=======\n    return 1\n>>>>>>> REPLACE\n```\n"
    assert len(pasted(block, "1")[1]) == 1
    assert pasted(block.replace("*", "/"))[1] == []
    nothing = "In `src/limits.py`:\n\n```python\n# Before\n\n# After\nLIMIT = 2\n```\n"
    assert "+LIMIT = 2" in pasted(nothing)[0], "no text is to be searched for"


def test_decorators_imports_and_a_last_line_without_its_end(project):
    cached = "import functools\n\n\n@functools.cache\ndef title_of(task):\n    return 1\n"
    after, _ = with_definitions(STORE, cached, "python")
    assert "import functools\nimport os\n\n\n@functools.cache\ndef title_of(task):\n    return 1\n" in after
    assert with_definitions(after, cached.replace("cache", "lru_cache"), "python")[0].count("@") == 2
    assert with_definitions(STORE, "import re\n", "python")[0].startswith('"""Tasks."""\n\nimport re\nimport os\n')
    rest = "def title_of(task):\n    return 1\n\n\n# ... rest of the file ...\n"
    assert with_definitions(STORE, rest, "python")[1] == "title_of"
    bare = {"m.py": "def one():\n    return 1\n\n\ndef two():\n    return 2"}
    text, _, _ = pasted("In `m.py`:\n\n```python\ndef two():\n    return 22\n```\n", files=bare)
    assert "no newline" not in text


def test_a_new_function_is_added_where_a_person_says_so(project):
    block = (
        "Add this to `src/store.py`:\n\n```python\nimport re\n\n\ndef words(text):\n    return re.split(text)\n```\n"
    )
    text, _, _ = pasted(block, "a")
    assert "+import re" in text
    assert "+def words(text):" in text
    with pytest.raises(NothingToApplyError):
        pasted(block, "n")
    method = "In `src/total.js`:\n\n```js\n  total(rows) {\n    return 1;\n  }\n```\n"
    old = {"src/total.js": "class A {\n  total(rows) {\n    return 0;\n  }\n}\n"}
    assert "+    return 1;" in pasted(method, files=old)[0]


def test_of_several_options_one_is_taken_and_never_both(project):
    for typed, taken, left in (("1", "title.strip()", "LIMIT"), ("2", "LIMIT = 20", "strip()")):
        text, _, _ = settled("options", typed)
        assert taken in text
        assert left not in text.partition("@@")[2]
    with pytest.raises(NothingToApplyError):
        settled("options", "n")


def test_the_question_about_the_tests_says_which_command_runs(project):
    (project / "answer.md").write_text('```json\n{"tool": "run_tests"}\n```\n', "utf-8")
    here = Terminal(project, dict(os.environ), "apply", "answer.md")
    here.until("then Enter")
    assert "-m pytest -q" in " ".join(here.seen.replace("│", "").split())
    time.sleep(0.6)
    here.type("d no\r")
    assert here.end() == 1


@walked(("typed", "kept"), [("1", "One."), ("2", "Two.")])
def test_of_two_blocks_for_one_place_a_person_takes_one(project, typed, kept):
    assert re.findall(r'^\+    """(.*)"""', settled("alternatives", typed)[0], re.M) == [kept]


def test_a_block_without_a_name_gets_the_file_that_a_person_names(project):
    text, asked, _ = settled("new-file")
    assert (asked, "\n`src/dates.py`\n" in text) == ([], True), "its path is in the text above it"
    block = 'A file of its own:\n\n```python\n"""Dates."""\n```\n'
    assert "\n`lib/days.py`\n" in pasted(block, "f lib/days.py")[0]
    text, _, notes = pasted(f"{block}\nIn `src/store.py`:\n\n```python\nimport re\n```\n", "n")
    assert "lib" not in text
    assert notes[0] == "line 3: left out, as nothing says which file it is for"


def test_a_shortened_body_is_refused_with_the_line_that_stands_for_the_rest(project, capsys):
    text, _, _ = settled("shortened-body", "1")
    (project / "answer.md").write_text(text, "utf-8")
    assert main(["apply", "answer.md", "--dry-run"]) == 1
    assert "is a placeholder for omitted code" in " ".join(capsys.readouterr().out.split())


def test_prose_and_text_without_its_fences_are_told_apart(project, capsys):
    assert main(["apply", str(CASES / "prose.md"), "--dry-run"]) == 1
    assert capsys.readouterr().out == "No edit found in this text.\n"
    with pytest.raises(NothingToApplyError, match=r"Line 4: .* copy button"):
        with_fence((CASES / "rendered.md").read_text("utf-8"))


def test_what_is_to_be_pasted_back_goes_to_the_clipboard_of_the_terminal(project):
    answer = project / "answer.md"
    answer.write_text("src/store.py\n\n```\n<<<<<<< SEARCH\nnowhere\n=======\nx\n>>>>>>> REPLACE\n```\n", "utf-8")
    here = Terminal(project, dict(os.environ), "apply", str(answer), "--copy")
    assert here.end() == 1
    copied = base64.b64decode(re.search(r"\x1b]52;c;([\w+/=]+)\x07", here.seen)[1]).decode()
    shown = here.seen.replace("\r\n", "\n").split("Paste this back into the chat:")[1]
    assert copied in shown, "neither wrapped nor cut"
    assert "PREVIOUS TOOL OUTPUT" not in shown
    assert "src/store.py" in copied
    assert "Copied to the terminal's clipboard." in here.seen


def test_without_a_terminal_nothing_is_copied_and_that_is_said(project):
    command = [sys.executable, "-m", "rails", "apply", "-", "--copy"]
    given = "src/store.py\n\n```\n<<<<<<< SEARCH\nnowhere\n=======\nx\n>>>>>>> REPLACE\n```\n"
    ran = subprocess.run(command, input=given, capture_output=True, text=True, check=False, start_new_session=True)
    assert "Not copied: there is no terminal here." in ran.stdout
    assert "]52;" not in ran.stdout


def test_what_is_denied_is_pasted_back_with_the_findings_that_were_shown(project):
    styled(project)
    answer = project / "answer.md"
    answer.write_text("src/one.py\n```python\nimport os\n\nt = True if os.sep == 'x' else None\nl = 1\n```\n", "utf-8")
    here = Terminal(project, dict(os.environ), "apply", str(answer))
    here.until("then Enter")
    time.sleep(0.6)
    here.type("d no\r")
    assert here.end() == 1
    back = here.seen.replace("\r\n", "\n").split("Paste this back into the chat:")[1]
    assert "Human Feedback: no" in back
    assert "src/one.py:4: E741" in back
