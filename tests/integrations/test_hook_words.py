"""Each field of a host's input arrives as it came, and what a hook says is exact: to whom, how much of it, and when."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from rails.core import limits
from rails.core.changes import ChangeSet, FileChange
from rails.core.paths import parse_path
from rails.core.verdict import Finding, Fixed, Verdict
from rails.integrations.hooks import handle as handled
from rails.integrations.hooks.contract import (
    HookCall,
    HookResult,
    UnjudgedError,
    hook_call,
    not_judged,
    now_on_disk,
    path_in_project,
    specific_answer,
)

PAYLOAD = {
    "hook_event_name": "Stop",
    "session_id": "s1",
    "model": "m",
    "tool_name": "Write",
    "tool_input": {"a": 1},
    "tool_use_id": "t1",
    "stop_hook_active": True,
    "prompt": "do it",
}
CALL = {"host": "codex", "event": "stop", "session": "s1", "folder": Path("/x"), "model": "m", "tool": "Write"}
CALL |= {"input": {"a": 1}, "call_id": "t1", "again": True, "prompt": "do it", "named": "Stop"}


def test_a_field_of_a_host_s_input_is_taken_as_it_came_and_one_of_another_kind_is_none():
    for left_out, given, changed in [
        ((), {}, {}),
        (("model", "tool_name"), {}, {"model": "", "tool": ""}),
        ((), {"tool_name": "T" * 999_999}, {"tool": "T" * 100_000}),
        ((), {"stop_hook_active": "true"}, {"again": False}),
        ((), {"tool_input": ["a"]}, {"input": {}}),
        ((), {"tool_use_id": 7, "prompt": None, "session_id": ["s"]}, {"call_id": "", "prompt": "", "session": ""}),
    ]:
        payload = {**{key: value for key, value in PAYLOAD.items() if key not in left_out}, **given}
        assert hook_call("codex", payload, "/x") == HookCall(**{**CALL, **changed})


def test_who_is_told_what_could_not_be_judged():
    """Strict denies a write before it alone; the person alone is told where no model reads on."""
    for event in ["start", "prompt", "before", "after", "batch", "stop", "end"]:
        for tool in ["Write", ""]:
            for again in [False, True]:
                for strict in [False, True]:
                    result = not_judged(
                        HookCall("codex", event, "s", Path(), tool=tool, again=again), "no room", strict=strict
                    )
                    said = {name for name in ("deny", "block", "context", "notice") if getattr(result, name)}
                    if event == "before" and strict:
                        assert said == {"deny"}
                    else:
                        alone = event in ("start", "stop") or (event == "before" and not tool)
                        assert said == ({"notice"} if alone else {"context", "notice"})
                        assert ("at the end of the answer" in result.notice) == (event == "before" and not alone)
                        assert alone or result.context == result.notice
                    assert "no room" in result.deny + result.notice


def test_an_answer_is_one_compact_line_in_its_own_letters():
    call = HookCall("codex", "stop", "s", Path())
    assert specific_answer(call, {"a": ["é", "\n"], "b": {}}, {}).out == '{"a":["é","\\n"],"b":{}}'


def test_what_lies_in_a_file_s_place_is_its_bytes_and_rights_or_why_nobody_can_say(tmp_path):
    (tmp_path / "a.sh").write_bytes(b"x")
    (tmp_path / "a.sh").chmod(0o750)
    (tmp_path / "link").symlink_to("nowhere")
    call = HookCall("codex", "before", "s", tmp_path)
    assert now_on_disk("a.sh", call, tmp_path) == (parse_path("a.sh"), b"x", 0o750)
    assert now_on_disk("new.py", call, tmp_path) == (parse_path("new.py"), None, 0o644)
    with pytest.raises(UnjudgedError, match=r"^link: "):
        now_on_disk("link", call, tmp_path)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("b.py", "sub/b.py"),
        ("../b.py", "b.py"),
        ("../../b.py", None),
        ("{project}/b.py", "b.py"),
        ("{link}/b.py", "b.py"),
        ("{project}2/b.py", None),
        ("/etc/passwd", None),
    ],
)
def test_a_host_s_path_is_one_of_the_project_however_its_folder_is_named(tmp_path, name, path):
    project = tmp_path / "p"
    link = tmp_path / "l"
    (project / "sub").mkdir(parents=True)
    link.symlink_to(project)
    call = HookCall("codex", "before", "s", project / "sub")
    found = path_in_project(name.format(project=project, link=link), call, project)
    assert (str(found) if found else None) == path


def verdict(status="fail", paths=(), rule="format", misses=()):
    return Verdict(status, ChangeSet(()), tuple(Finding(path, 1, 1, rule, "m", "ruff") for path in paths), (), misses)


def test_a_change_of_ours_is_told_whole_up_to_what_a_host_shows_and_cut_by_name_beyond():
    def told(chars):
        change = FileChange(parse_path("a.py"), None, b"y" * chars, 0o644, b"x\n")
        fixed = (Fixed("a.py", "I001", "ruff"), Fixed("a.py", "I001", "ruff"))
        return handled._told_of(Verdict("pass", ChangeSet((change,)), (), fixed))

    fits = limits.HOST_PAGE_CHARS - 50 - (len(told(1_000)) - 1_000)
    assert "(I001 in a.py). The file" in told(fits)
    assert "left out" not in told(fits)
    assert "characters left out" in told(fits + 1)
    assert len(told(9_000)) <= limits.HOST_PAGE_CHARS


@pytest.mark.parametrize(("tool", "named"), [("Write", "Write"), ("", "start")])
def test_a_fault_of_ours_is_written_down_by_the_tool_or_the_event_that_it_struck(tool, named):
    failed = []

    def session_of(_):
        if not failed:
            failed.append("")
            raise OSError("no room")
        return SimpleNamespace(failed=failed.append)

    host = SimpleNamespace(printed=lambda _, result: result)
    result = handled.handle(host, HookCall("codex", "start", "s", Path(), tool=tool), session_of)
    assert result == HookResult(notice="AI-Rails could not judge this: no room.")
    assert failed == ["", f"{named}: no room"]
