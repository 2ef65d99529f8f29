"""What was accepted is kept exactly, by project and by name; a record that cannot be read accepts nothing."""

import json
import os

import pytest

from rails.core.errors import UsageError
from rails.trust.consent import agreed_digest, give_consent
from rails.trust.record import TrustRecord, file_for_review


@pytest.fixture
def config(tmp_path, monkeypatch):
    folder = tmp_path / "config"
    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(folder))
    return folder


def test_each_name_of_each_project_keeps_the_text_that_was_accepted_last(config, tmp_path):
    first = TrustRecord(config, tmp_path / "a")
    second = TrustRecord(config, tmp_path / "b")
    first.accept("x", "d1", "old")
    first.accept("x", "d2", "new é\ud800")
    first.accept("y", "d3", "other")
    second.accept("x", "d4", "theirs")
    assert (first.digests(), second.digests()) == ({"d2", "d3"}, {"d4"})
    assert [one.accepted_text("x") for one in (first, second)] == ["new é\ud800", "theirs"]
    assert first.accepted_text("z") == ""
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert TrustRecord(config, tmp_path / "link").digests() == {"d2", "d3"}, "one folder by another name"
    assert first.forget("x")
    assert (first.digests(), second.digests()) == ({"d3"}, {"d4"})
    stored = json.loads((config / "trust.json").read_text("utf-8", "surrogatepass"))
    assert stored["v"] == 1
    entry = stored["projects"][str(tmp_path / "b")]["x"]
    assert (entry["digest"], entry["text"], entry["accepted_at"][-1]) == ("d4", "theirs", "Z")


@pytest.mark.parametrize("name", ["\udcff", "é", "\U0001f600"])
def test_a_folder_of_any_name_leaves_a_record_that_can_be_read(config, tmp_path, name):
    """A name that is no UTF-8 made the record unreadable, for every other project, too."""
    project = tmp_path / name
    TrustRecord(config, project).accept("x", "d1", "t")
    give_consent(project, "d2")
    assert (TrustRecord(config, project).digests(), agreed_digest(project)) == ({"d1"}, "d2")
    TrustRecord(config, tmp_path).accept("x", "d3", "t")
    give_consent(tmp_path, "d4")
    assert (TrustRecord(config, project).digests(), agreed_digest(project)) == ({"d1"}, "d2")


DAMAGED = [
    ("{", "cannot be read"),
    ("[]", "does not hold a JSON object"),
    ('{"v": 9}', "another version"),
    ('{"projects": {}}', "another version"),
    ('{"v": 1, "projects": {}, "projects": {}}', "a key occurs twice"),
    ('{"v": 1, "projects": {"/p": {"x": {"digest": "d", "digest": "e"}}}}', "a key occurs twice"),
    ("[" * 100_000, "cannot be read"),
    (b"\xff", "cannot be read"),
    (None, "Is a directory"),
]


@pytest.mark.parametrize(("content", "words"), DAMAGED, ids=[str(at) for at in range(len(DAMAGED))])
def test_a_record_that_cannot_be_read_is_named_and_stays_as_it_is(config, tmp_path, content, words):
    config.mkdir()
    file = config / "trust.json"
    if content is None:
        file.mkdir()
    else:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    record = TrustRecord(config, tmp_path)
    for ask in (record.digests, lambda: record.accept("x", "d", "t"), lambda: record.forget("x")):
        with pytest.raises(UsageError, match=words) as raised:
            ask()
        assert str(file) in str(raised.value)
        assert "tools ask again then" in str(raised.value)
    assert content is None or file.stat().st_size == len(content)


def test_what_cannot_be_written_down_is_not_accepted_and_says_so(tmp_path):
    (tmp_path / "config").write_text("a file")
    record = TrustRecord(tmp_path / "config" / "folder", tmp_path)
    with pytest.raises(UsageError, match=r"trust\.json"):
        record.accept("x", "d", "t")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "trust.json.d").mkdir()
    record = TrustRecord(tmp_path / "full", tmp_path)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("os.fsync", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(UsageError, match=r"cannot be written: No space left on device\. Nothing was accepted\."):
            record.accept("x", "d", "t")
    assert record.digests() == frozenset()


def test_a_record_is_private_while_it_is_written(config, tmp_path, monkeypatch):
    modes = []
    monkeypatch.setattr("os.fsync", lambda descriptor: modes.append(os.fstat(descriptor).st_mode & 0o777))
    give_consent(tmp_path, "d1")
    (config / "gate-trust.json").chmod(0o644)
    give_consent(tmp_path, "d2")
    assert modes == [0o600, 0o600]


def test_a_file_is_shown_whole_and_first_what_changed_since_it_was_accepted():
    assert file_for_review("", "a\nb\n\n") == ["The whole file:", "a\nb"]
    assert file_for_review("a\nb\n", "a\nc\n") == [
        "What changed since it was accepted:",
        *("--- accepted", "+++ now", "@@ -1,2 +1,2 @@", " a", "-b", "+c"),
        "",
        "The whole file:",
        "a\nc",
    ]


def test_an_agreement_to_what_the_gate_executes_is_of_one_project_and_the_others_stay(config, tmp_path):
    one = tmp_path / "one"
    other = tmp_path / "other"
    assert agreed_digest(one) == ""
    give_consent(one, "d1")
    give_consent(other, "d2")
    give_consent(one, "d3")
    (tmp_path / "link").symlink_to(one)
    one.mkdir()
    assert [agreed_digest(place) for place in (one, other, tmp_path / "link", tmp_path)] == ["d3", "d2", "d3", ""]
    assert json.loads((config / "gate-trust.json").read_text()) == {str(one): "d3", str(other): "d2"}


@pytest.mark.parametrize("content", ["{", "[]", '{"P": "d", "P": "d"}', "[" * 100_000, b"\xff", None])
def test_an_agreement_that_cannot_be_read_is_none_and_is_not_written_over(config, tmp_path, content):
    config.mkdir()
    file = config / "gate-trust.json"
    if content is None:
        file.mkdir()
    else:
        file.write_bytes(content if isinstance(content, bytes) else content.replace("P", str(tmp_path)).encode())
    assert agreed_digest(tmp_path) == ""
    with pytest.raises(UsageError, match=r"could not be recorded in .*gate-trust\.json"):
        give_consent(tmp_path, "d")
    assert content is None or b"d" not in file.read_bytes() or file.read_bytes().count(b'"d"') == 2
