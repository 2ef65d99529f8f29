"""Twenty secrets, planted where a session meets them, are nowhere afterwards: log, page, export, prompts, messages."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

from rails.testing.server import StubServer, call, says

PROGRAM = str(Path(sys.executable).with_name("ai-rails"))


def secret(number):
    """Return a token as GitHub's are, each another one."""
    return f"ghp_{number:02d}a8Kd93mXq20LzPv7Rt5YwUe1Bn6Hc4Jf0Gs2"


def encoded(text):
    return base64.b64encode(text.encode()).decode()


IN_FILE = {
    1: lambda token: f"token = {token}",
    2: lambda token: json.dumps({"a": f"x\n{token}\t"}),
    3: lambda token: f"https://example.org/?k={quote('=' + token, safe='')}",
    4: lambda token: f"https://user:{token}@example.org/",
    5: lambda token: f"data: {encoded('TOKEN=' + token)}",
    6: lambda token: f"Authorization: Bearer {token}",
    7: lambda token: f"{chr(0xE9)}{token}{chr(0xFC)}",
    8: lambda token: json.dumps(json.dumps([f"\n{token}"])),
}
SPOKEN = range(9, 13)
WRITTEN = range(13, 17)
FIRST = f"I saw {secret(9)}, `{secret(10)}`, {encoded('k: ' + secret(11))} and\n{json.dumps(chr(10) + secret(12))}."


def test_twenty_planted_secrets_are_nowhere_afterwards(tmp_path):
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    lines = [write(secret(number)) for number, write in IN_FILE.items()]
    (project / "notes.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (project / ".env").write_text(f"A_TOKEN={secret(17)}\nurl=postgres://me:{secret(18)}@h/db\n")
    content = "".join(f"x\t{secret(number)}\n" for number in WRITTEN)
    answers = [
        call("read_file", json.dumps({"file_path": "notes.txt"})),
        says(FIRST),  # where the overseer ends the run
        call("write_file", json.dumps({"file_path": "new.txt", "content": content})),
    ]
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "OPENAI_API_KEY": secret(19), "OTHER_TOKEN": secret(20), "TMPDIR": str(temporary)}
    environment |= {"AI_RAILS_CONFIG_DIR": str(tmp_path / "configuration"), "HOME": str(tmp_path)}

    def run(*words):
        done = subprocess.run([PROGRAM, *words], cwd=project, env=environment, capture_output=True, check=False)
        return done.stdout + done.stderr

    with StubServer(answers) as model:
        where = ["--model", "openai:stub", "--base-url", f"{model.url}/v1", "--protocol", "native", "--plain"]
        told = [run("run", "Copy the notes.", *where, "--approve", "policy") for _ in range(2)]
        sent = b"".join(json.dumps(one.body).encode() for one in model.requests)
    assert len(model.requests) >= 3, told
    page = tmp_path / "page.html"
    told += [
        run("review", "last", "--html", str(page)),
        run("log", "export", "last"),
        run("why", "last"),
        run("log", "show"),
    ]
    kept = [
        file.read_bytes() for folder in (project / ".rails", temporary) for file in folder.rglob("*") if file.is_file()
    ]
    places = {"log": b"".join(kept), "page": page.read_bytes(), "told": b"".join(told), "sent": sent}
    found = {
        (name, number) for name, text in places.items() for number in range(1, 21) if secret(number).encode() in text
    }
    assert found == set()
    assert b"secret:github:" in places["log"]
