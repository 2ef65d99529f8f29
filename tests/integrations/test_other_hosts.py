"""Gemini CLI, by recorded inputs; the host itself is tried in tests/prove/test_hosts.py."""

BROKEN, UGLY, GOOD = "y = undefined\n", "y  =  1\n", "y = 1\n"


def write(project, content, name="b.py"):
    return {"file_path": str(project / name), "content": content}


# -- Gemini CLI ----------------------------------------------------------------------------------------


def test_gemini_a_finding_denies_the_write_with_a_reason_for_the_agent(gemini, project):
    answer = gemini.call("BeforeTool", "write_file", write(project, BROKEN))
    assert answer["decision"] == "deny"
    assert "b.py:1:5 F821" in answer["reason"]
    assert set(answer) == {"decision", "reason"}


def test_gemini_a_clean_write_and_a_tool_that_writes_nothing_say_nothing(gemini, project):
    assert gemini.call("BeforeTool", "write_file", write(project, GOOD)) is None
    assert gemini.call("BeforeTool", "read_file", {"file_path": "a.py"}) is None
    assert gemini.call("BeforeModel") is None
    assert gemini.raw.out == ""


def test_gemini_a_replacement_is_applied_to_the_file_first(gemini, project):
    edit = {"file_path": "a.py", "old_string": "b = 2", "new_string": "b = gone"}
    assert "a.py:2:5 F821" in gemini.call("BeforeTool", "replace", edit)["reason"]
    (project / "a.py").write_text("a = 1\nb = 2\nb = 2\n")
    every = gemini.call("BeforeTool", "replace", {**edit, "allow_multiple": True})["reason"]
    assert "a.py:3:5" in every


def test_gemini_what_the_shell_wrote_is_told_and_holds_up_the_end(gemini, project):
    gemini.call("SessionStart", source="startup")
    (project / "c.py").write_text(BROKEN)
    told = gemini.specific("AfterTool", "run_shell_command", {"command": "x"})
    assert "c.py:1:5 F821" in told["additionalContext"]
    end = gemini.call("AfterAgent", stop_hook_active=False)
    assert end["decision"] == "deny"
    assert "c.py:1:5 F821" in end["reason"]
    for _ in range(3):
        end = gemini.call("AfterAgent", stop_hook_active=True)
    assert "decision" not in end
