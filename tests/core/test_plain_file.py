"""What is not an ordinary file is an error at once, wherever a project's own files are read."""

import errno
import os

import pytest

from rails.cli import main
from rails.core.plain_file import read_ordinary

#: Files that a project may hold for us, each of which is read before a turn or in one.
READ = [
    ".agent-restrictions",
    ".env",
    "AGENTS.md",
    "CLAUDE.md",
    "agent_templates/a.md",
    "biome.json",
    "mcp_definitions/a.json",
    "package.json",
    "pyproject.toml",
    "pytest.ini",
    "ruff.toml",
    "setup.cfg",
    "workflow.json",
]


def test_a_file_is_read_within_its_bound_and_a_link_where_it_may(tmp_path):
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    assert read_ordinary(tmp_path / "file", 5) == read_ordinary(tmp_path / "link", 9) == b"12345"
    assert read_ordinary(tmp_path / "file", 3) == b"1234", "one more than asked for says that there is more"
    with pytest.raises(OSError, match="symbolic link"):
        read_ordinary(tmp_path / "link", 9, links=False)


def test_a_pipe_and_a_folder_and_a_device_are_errors(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", tmp_path):
        with pytest.raises(OSError, match=r"not an ordinary file|directory"):
            read_ordinary(place, 9)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError, match="not an ordinary file") as raised:
        read_ordinary("/dev/zero", 9)
    assert (raised.value.errno, raised.value.filename) == (errno.EINVAL, "/dev/zero")
    assert len(os.listdir("/proc/self/fd")) == before, "it is closed before anybody hears of it"


@pytest.mark.timeout(120)
@pytest.mark.parametrize("names", [[".rails.toml"], READ], ids=["the settings", "the others"])
def test_a_pipe_where_a_file_of_the_project_should_be_holds_up_nothing(tmp_path, monkeypatch, names):
    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    for name in names:
        place = tmp_path / "project" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(place)
    (tmp_path / "answer.md").write_text('```json\n{"tool": "write_file", "path": "b.py", "content": "x = 1\\n"}\n```\n')
    for words in (["apply", "--dry-run", "answer.md"], ["tools"], ["agents"], ["prompt"]):
        assert main([*words, "--project", "project"]) in (0, 1, 2, 3)
    assert main(["gate", "--project", "project"]) in (0, 1, 2, 3)
