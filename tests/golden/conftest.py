import difflib
import itertools
import os
import time
from pathlib import Path

import pytest

EXPECTED = Path(__file__).parent / "expected"
UPDATE = bool(os.environ.get("UPDATE_GOLDEN"))
SHOWN = 20
WIDTH = 240


@pytest.fixture(autouse=True)
def same_everywhere(tmp_path, monkeypatch):
    """Take away what this machine, its user and its time zone would say."""
    for name in [
        name for name in os.environ if name.startswith(("AI_RAILS_", "ANTHROPIC_", "OPENAI_", "GIT_", "XDG_"))
    ]:
        monkeypatch.delenv(name)
    for folder in ("home", "config"):
        (tmp_path / folder).mkdir()
    settings = {"AI_RAILS_LANG": "en", "COLUMNS": "100", "LINES": "40", "NO_COLOR": "1", "TERM": "dumb", "TZ": "UTC"}
    settings |= {"EDITOR": "sed -i s/ten/TEN/", "VISUAL": "", "GIT_CONFIG_NOSYSTEM": "1"}
    folders = {"HOME": "home", "AI_RAILS_CONFIG_DIR": "config", "AI_RAILS_N8N_CATALOGUE": "none/catalogue.json.gz"}
    for name, value in (settings | {name: str(tmp_path / folder) for name, folder in folders.items()}).items():
        monkeypatch.setenv(name, value)
    time.tzset()
    mask = os.umask(0o022)
    yield
    os.umask(mask)
    monkeypatch.undo()
    time.tzset()


def differences(kept, now):
    """Yield what differs, line by line; of two long lines, the part around the first character that does."""
    matcher = difflib.SequenceMatcher(None, kept, now, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            continue
        for old, new in itertools.zip_longest(kept[a:b], now[c:d], fillvalue=""):
            same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
            start = max(0, same - 60)
            yield f"@{a + 1}\n- {old[start : start + WIDTH]!r}\n+ {new[start : start + WIDTH]!r}"


@pytest.fixture
def golden():
    """Return a function that compares a text with its golden file, or writes that with UPDATE_GOLDEN=1."""

    def compare(name, text):
        file = EXPECTED / name
        if UPDATE:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode())
        kept = file.read_bytes().decode() if file.exists() else ""
        if text != kept:
            found = list(differences(kept.splitlines(keepends=True), text.splitlines(keepends=True)))
            more = f"\n… and {len(found) - SHOWN} differences more" if len(found) > SHOWN else ""
            head = f"{name} is not what was kept (-: kept, +: now)\n"
            pytest.fail(head + "\n".join(found[:SHOWN]) + more + "\nIf it is wanted: UPDATE_GOLDEN=1", pytrace=False)

    return compare
