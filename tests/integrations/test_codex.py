"""What Codex is told: its patches are judged before they are applied, also inside a shell command."""

import pytest

from rails.integrations.hooks.codex_patch import patched, read_patch
from rails.integrations.hooks.contract import UnjudgedError

ADD = "*** Begin Patch\n*** Add File: b.py\n+{}\n*** End Patch\n"


def patch(codex, text, tool="apply_patch", **more):
    return codex.specific("PreToolUse", tool, {"command": text}, model="gpt-5.5", **more)


def test_a_patch_with_a_new_finding_is_denied_and_nothing_stands_beside_the_deny(codex):
    said = codex.call("PreToolUse", "apply_patch", {"command": ADD.format("x = undefined")})
    assert list(said) == ["hookSpecificOutput"]
    assert set(said["hookSpecificOutput"]) == {"hookEventName", "permissionDecision", "permissionDecisionReason"}
    assert "b.py:1:5 F821" in said["hookSpecificOutput"]["permissionDecisionReason"]


def test_what_would_have_been_fixed_is_told_when_it_is_written_as_it_came(codex):
    codex.call("SessionStart", source="startup")
    command = {"command": ADD.format('x = f"y"')}
    assert patch(codex, command["command"]) == {}
    (codex.project / "n.py").write_text('x = f"y"\n')
    told = codex.specific("PostToolUse", "apply_patch", command, tool_response="Success")["additionalContext"]
    assert told.startswith("The patch was applied. ")
    assert "n.py:1:5 F541" in told


def test_formatting_that_was_left_alone_is_no_news_when_it_is_written(codex):
    codex.call("SessionStart", source="startup")
    command = {"command": ADD.format("x  =  1")}
    assert patch(codex, command["command"]) == {}
    (codex.project / "b.py").write_text("x  =  1\n")
    assert codex.call("PostToolUse", "apply_patch", command, tool_response="Success") is None
    assert codex.call("Stop", stop_hook_active=False) is None


def test_a_patch_in_a_here_document_of_a_shell_command_is_judged(codex):
    text = f"cd . && apply_patch <<'X'\n{ADD.format('x = undefined')}X\n"
    assert patch(codex, text, "Bash")["permissionDecision"] == "deny"


def test_several_files_in_one_patch_are_judged_together(codex):
    text = (
        "*** Begin Patch\n*** Add File: m.py\n+VALUE = 1\n*** Update File: a.py\n-b = 2\n+b = undefined\n*** End Patch"
    )
    assert "a.py:2:5 F821" in patch(codex, text)["permissionDecisionReason"]


def test_a_file_that_is_moved_and_one_that_goes(codex):
    text = "*** Begin Patch\n*** Update File: a.py\n*** Move to: c.py\n@@\n-b = 2\n+b = 3\n*** End Patch"
    assert patch(codex, text) == {}
    assert patch(codex, "*** Begin Patch\n*** Delete File: a.py\n*** End Patch") == {}


def test_a_patch_that_cannot_be_applied_here_is_told_and_the_host_refuses_it_by_itself(codex):
    said = patch(codex, "*** Begin Patch\n*** Update File: a.py\n@@\n-nothing\n+x\n*** End Patch")
    assert "cannot be applied here" in said["additionalContext"]
    assert "permissionDecision" not in said


def test_hunks_are_found_as_the_host_finds_them():
    for hunk, after in [
        ("@@\n-two\n+2", "one\n2\nthree  \nfour\n"),
        ("-two\n+2", "one\n2\nthree  \nfour\n"),
        ("@@ two\n-three\n+3", "one\ntwo\n3\nfour\n"),
        ("@@\n three\n-four\n+4", "one\ntwo\nthree\n4\n"),
        ("@@\n   two\n+2b", "one\n  two\n2b\nthree  \nfour\n"),
        ("@@\n+five\n*** End of File", "one\ntwo\nthree  \nfour\nfive\n"),
        ("@@\n-four\n+4\n*** End of File", "one\ntwo\nthree  \n4\n"),
        ("@@\n-one\n+1\n@@\n-four\n+4", "1\ntwo\nthree  \n4\n"),
    ]:
        text = f"\n*** Update File: x\n{hunk}\n*** End Patch"
        assert patched("one\ntwo\nthree  \nfour\n", read_patch(text)[0]) == after


def test_typographic_signs_are_found_as_plain_ones():
    text = "\n*** Update File: x\n-say \u201chi\u201d \u2013 now\n+say\n*** End Patch"
    assert patched('say "hi" - now\n', read_patch(text)[0]) == "say\n"


def test_what_is_no_patch_is_refused_by_name():
    for text in ["", "\nrubbish\n*** End Patch", "\n*** Add File: x\n+1"]:
        with pytest.raises(UnjudgedError):
            read_patch(text)
