"""Keys and passwords do not reach the provider: what is read is masked on the way, unless the user allows it."""

import json
import os

import pytest

from rails.approval.policy.policy import PolicyApprover, load_policy
from rails.approval.terminal.scripted import ScriptedApprover
from rails.log.env_files import env_secrets
from rails.log.masking import MARK, Masker

KEY = "AKIA" + "QWERTYUIOPASDFGH"
VALUE = "tr0ub4dor-and-3-more"
PASSWORD = "correcthorsebattery"
ALLOW = '[[rule]]\ndecision = "allow"\nkind = "result"\nrisk = "secret"\n'


def request(tool, **parameters):
    body = {"type": "tool_request", "tool_name": tool, "parameters": parameters, "explanation": "because"}
    return f"```json\n{json.dumps(body)}\n```\n"


def read_file(path):
    return request("read_file", file_path=path)


def write_file(path, content):
    return request("write_file", file_path=path, content=content)


def edit_file(path, old, new):
    return request("edit_file", file_path=path, old_string=old, new_string=new)


def sent(worked):
    """All that the provider got after the first message."""
    return "\n".join(message.text for asked in worked.model.asked for message in asked.messages[1:])


@pytest.fixture
def secrets(work):
    """A project with a key in a file, and an `.env` file with values."""
    (work.project / ".env").write_text(
        f"# local\nexport API={VALUE}\nDB_PASSWORD='{PASSWORD}'\nMODE=development\nN=12345678\n"
    )
    (work.project / "settings.py").write_text(f'KEY = "{KEY}"\nDEBUG = False\n')
    (work.project / "notes.txt").write_text(f"the value is {VALUE} in development, 12345678\nand {PASSWORD}\n")
    return work


def test_a_key_in_a_file_that_is_read_is_masked_and_the_message_says_who_can_allow_it(secrets):
    worked = secrets(read_file("settings.py"), read_file("notes.txt"), "done")
    assert KEY not in sent(worked)
    assert VALUE not in sent(worked)
    assert PASSWORD not in sent(worked)
    assert "development, 12345678" in sent(worked)
    assert "policy.toml" in sent(worked)
    assert "DEBUG = False" in sent(worked)


def test_a_key_in_a_plan_or_in_instructions_is_masked_and_a_persons_own_words_are_not(secrets, monkeypatch):
    monkeypatch.setattr("rails.session.open_session.instructions_text", lambda *_: f"Sign in as {PASSWORD}.")
    asked = secrets("done", handed=f"The key is {KEY}.", tasks=(("coder", f"Use {VALUE}."),)).model.asked[0]
    told = asked.system + asked.messages[0].text
    assert (KEY in told, PASSWORD in told, VALUE in told) == (False, False, True)


@pytest.mark.parametrize("rule", [f'{ALLOW}path = "settings.py"\n', f'{ALLOW}tool = "read_file"\n'])
def test_the_users_policy_lets_an_agent_read_them(secrets, tmp_path, rule):
    (tmp_path / "policy.toml").write_text(rule)
    approver = PolicyApprover(load_policy(folder=tmp_path), ScriptedApprover([]), decides=False)
    worked = secrets(read_file("settings.py"), "done", approver=approver)
    assert KEY in sent(worked)
    assert KEY not in "".join(record.message + str(record.details) for record in worked.records)


@pytest.mark.parametrize("more", ['path = "other.py"\n', 'agent = "planner"\ntool = "*"\n', 'tool = "search_files"\n'])
def test_a_rule_about_something_else_lets_nothing_through(secrets, tmp_path, more):
    (tmp_path / "policy.toml").write_text(ALLOW + more)
    approver = PolicyApprover(load_policy(folder=tmp_path), ScriptedApprover([]), decides=False)
    assert KEY not in sent(secrets(read_file("settings.py"), "done", approver=approver))


def test_an_edit_around_the_masked_line_is_made_and_its_feedback_is_masked_too(secrets):
    edit = edit_file("settings.py", "DEBUG = False", "DEBUG = bool( 0 )")
    worked = secrets(read_file("settings.py"), edit, "done", approvals=["approve"])
    assert (secrets.project / "settings.py").read_text() == f'KEY = "{KEY}"\nDEBUG = bool( 0 )\n'
    assert KEY not in sent(worked)


def test_the_mark_is_never_written_in_the_place_of_the_secret(secrets):
    before = (secrets.project / "settings.py").read_text()
    marked = Masker(b"k").text(before)
    assert MARK.search(marked)
    worked = secrets(read_file("settings.py"), write_file("settings.py", marked), "done", approvals=["approve"])
    assert (secrets.project / "settings.py").read_text() == before
    assert "would write «secret:…»" in sent(worked)


def test_a_text_that_is_not_found_is_not_quoted_back_with_the_key(secrets):
    worked = secrets(edit_file("settings.py", f'KEY = "{KEY[:-1]}"\nDEBUG = True', "x = 1"), "done")
    assert KEY not in sent(worked)


CODE = """
authorization = request.headers
headers = {"x-api-key": settings.anthropic_key, "authorization": f"Bearer {token_value}"}
url = f"postgres://{user}:{password}@host/db"
link = "https://user:${PASSWORD}@host"
"""


def test_code_that_names_secrets_and_holds_none_is_read_as_it_is(secrets):
    (secrets.project / "code.py").write_text(CODE)
    told = sent(secrets(read_file("code.py"), "done"))
    assert [line for line in CODE.splitlines() if line not in told] == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("A=s3cr3tv4lue99", ("s3cr3tv4lue99",)),
        ('export TOKEN="quoted value 1"', ("quoted value 1",)),
        ("PASSWORD=hunter2 # why", ("hunter2",)),
        ("DATABASE_URL=postgres://u:p4ssw0rd@h/db", ("postgres://u:p4ssw0rd@h/db", "p4ssw0rd")),
        ("URL=https://api.example.com/v1", ()),
        ("HOST=db.internal:5432", ()),
        ("VERSION=1.22.3-beta4", ()),
        ("MODE=development", ()),
        ("PORT=100000", ()),
        ("KEY_FILE=/etc/ssl/key.pem", ()),
        ("NAME=Application", ()),
        ("# KEY=abcdef123456789", ("abcdef123456789",)),
        ("", ()),
    ],
)
def test_values_of_env_files_are_told_from_plain_settings(tmp_path, line, found):
    (tmp_path / "app" / "deep").mkdir(parents=True)
    (tmp_path / "app" / "deep" / ".env.local").write_text(f"{line}\n")
    assert env_secrets(tmp_path) == found


def test_an_env_file_that_is_a_link_or_a_pipe_holds_nobody_up(tmp_path):
    (tmp_path / ".env").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / ".env.pipe")
    assert env_secrets(tmp_path) == ()
