"""An action is said in the same words everywhere: the command, the search, the lines that are read."""

from rails.core.events.base import UnknownEvent
from rails.log.actions import action_text, record_text
from rails.log.scan import search
from rails.log.writer import SessionLog
from tests.rows import walked


@walked(
    ("tool", "parameters", "words"),
    [
        ("run_command", {"command": "python3 -m pytest -q"}, "$ python3 -m pytest -q"),
        ("run_command", {"command": ["python3", "-c", "print(1)"]}, "$ python3 -c 'print(1)'"),
        ("run_command", {"command": "a\n\u202eb\x1b[2J"}, "$ a\\x0a\\u202eb\\x1b[2J"),
        ("run_command", {"command": "echo 'a  b'   && ls"}, "$ echo 'a  b'   && ls"),
        ("run_command", {}, "$"),
        ("run_tests", {"arguments": ["-k", "two words"]}, "run tests -k 'two words'"),
        ("run_tests", {}, "run tests"),
        ("search_files", {"pattern": "natural_list", "path": "src"}, 'search "natural_list" in src'),
        ("search_files", {"pattern": "x"}, 'search "x"'),
        ("read_file", {"file_path": "store.py", "offset": 1, "limit": 40}, "read store.py 1–40"),
        ("read_file", {"file_path": "store.py", "offset": 41}, "read store.py from line 41"),
        ("read_file", {"file_path": "store.py", "symbol": "Store.add"}, "read store.py Store.add"),
        ("read_file", {"file_path": "store.py", "limit": "forty"}, "read store.py"),
        ("list_files", {"path": "src", "pattern": "*.py"}, "list src *.py"),
        ("outline", {"path": "a.py"}, "outline a.py"),
        ("fetch_webpage", {"urls": ["http://a"]}, "fetch http://a"),
        ("edit_file", {"file_path": "a.py", "old_string": "x"}, "edit_file a.py"),
        ("edit_file", None, "edit_file"),
        ("edit_file", ["a"], "edit_file"),
    ],
)
def test_an_action_in_words(tool, parameters, words):
    assert action_text(tool, parameters) == words


def test_a_found_request_says_what_it_would_do_and_any_other_record_its_message(tmp_path):
    with SessionLog.create(tmp_path / ".rails") as log:
        details = {"tool_name": "run_command", "parameters": {"command": "ls -l"}, "explanation": "To see it."}
        log.append(UnknownEvent("MCP_REQUEST_FORMULATED", "run_command", details))
        log.append(UnknownEvent("ERROR", "broken", {}))
    other, asked = search(tmp_path / ".rails", "").hits
    assert [record_text(hit.record) for hit in (asked, other)] == ["$ ls -l: To see it.", "broken"]
