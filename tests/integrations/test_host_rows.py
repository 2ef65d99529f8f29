"""What the hosts were seen to make of a hook's answer, row by row, and that ours have the effect that is meant.

``claude_before``, ``codex_before`` … are the hosts as they were measured (Claude Code 2.1.330, Codex 0.169.0): an exit
code, standard output and standard error in; whether the tool runs, with which input, and what the model reads out.
Each row is one measured fact. Then every answer of ours goes through them.
"""

import json
from typing import NamedTuple

import pytest

GIVEN = {"command": "given"}


class Effect(NamedTuple):
    """``input`` is what the tool runs with, ``None`` where it does not run; ``reads`` what the model is told."""

    input: dict | None
    reads: str = ""
    asked: bool = True


def read_object(out):
    """The JSON of an answer; a text that does not begin and end as an object is plain text to both hosts."""
    text = out.strip()
    try:
        return json.loads(text) if text.startswith("{") and text.endswith("}") else None
    except ValueError:
        return None


def claude_before(code, out="", err="", *, block=False, late=False):
    """Claude Code before a tool; ``block`` is ``onFailure``, ``late`` that the time limit was reached."""
    if late:
        return Effect(None, "timed out; blocking") if block else Effect(GIVEN)
    if code == 2:
        return Effect(None, err)
    if code:
        return Effect(None, f"failed; blocking {err}") if block else Effect(GIVEN)
    value = read_object(out) or {}
    mine = value.get("hookSpecificOutput", {})
    told = mine.get("additionalContext", "")
    if value.get("decision") == "block":
        return Effect(None, value["reason"])
    if mine.get("permissionDecision") in ("deny", "ask"):
        return Effect(None, mine["permissionDecisionReason"] + told)
    if mine.get("updatedInput") == {}:
        return Effect(None, "updatedInput that the tool refused")
    return Effect(mine.get("updatedInput", GIVEN), told, asked=mine.get("permissionDecision") != "allow")


def claude_after(code, out="", err="", *, result="Success"):
    """What the model reads after a tool of Claude Code, ``None`` where its run is over."""
    value = (read_object(out) or {}) if code == 0 else {}
    mine = value.get("hookSpecificOutput", {})
    if value.get("continue") is False:
        return None
    told = value["reason"] if value.get("decision") == "block" else mine.get("additionalContext", "")
    return mine.get("updatedToolOutput", result) + (err if code == 2 else told)


def held_up(code, out=""):
    """What the model of both hosts goes on with at the end of an answer, "" where it ends."""
    value = (read_object(out) or {}) if code == 0 else {}
    return value["reason"] if value.get("decision") == "block" else ""


CODEX_KEYS = {"continue", "decision", "reason", "stopReason", "suppressOutput", "systemMessage", "hookSpecificOutput"}
CODEX_OWN = {"hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"}


def codex_before(code, out="", err="", *, late=False):
    """Codex before a tool: it lets through whatever it does not understand."""
    if code == 2 and not late:
        return Effect(None, err)
    value = read_object(out)
    mine = (value or {}).get("hookSpecificOutput", {})
    if late or code or value is None or set(value) - CODEX_KEYS or set(mine) - CODEX_OWN:
        return Effect(GIVEN)
    told = mine.get("additionalContext", "")
    decision = mine.get("permissionDecision")
    if value.get("decision") == "block":
        return Effect(None, value["reason"])
    if decision == "deny" and mine.get("permissionDecisionReason"):
        return Effect(None, mine["permissionDecisionReason"] + told)
    return Effect(GIVEN, told)


def codex_after(code, out="", err="", *, result="Success"):
    """What the model reads after a tool of Codex."""
    value = (read_object(out) or {}) if code == 0 else {}
    if code == 2:
        return err
    if value.get("continue") is False:
        return value["stopReason"]
    if value.get("decision") == "block":
        return value["reason"]
    return result + value.get("hookSpecificOutput", {}).get("additionalContext", "")


def before(**mine):
    return json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **mine}})


DENY = {"permissionDecision": "deny", "permissionDecisionReason": "R"}
NEW = {"command": "new"}
ROWS = [
    ("Claude: nothing said", claude_before(0), Effect(GIVEN)),
    ("Claude: plain text", claude_before(0, "hello"), Effect(GIVEN)),
    ("Claude: exit 2", claude_before(2, before(**DENY), "E"), Effect(None, "E")),
    ("Claude: deny", claude_before(0, before(**DENY)), Effect(None, "R")),
    (
        "Claude: allow and rewrite",
        claude_before(0, before(permissionDecision="allow", updatedInput=NEW)),
        (NEW, "", False),
    ),
    ("Claude: rewrite alone", claude_before(0, before(updatedInput=NEW)), Effect(NEW)),
    ("Claude: ask, headless", claude_before(0, before(**{**DENY, "permissionDecision": "ask"})), Effect(None, "R")),
    ("Claude: context", claude_before(0, before(additionalContext="C")), Effect(GIVEN, "C")),
    ("Claude: old form", claude_before(0, '{"decision":"block","reason":"R"}'), Effect(None, "R")),
    ("Claude: exit 1", claude_before(1, "", "E"), Effect(GIVEN)),
    ("Claude: exit 1, onFailure", claude_before(1, "", "E", block=True), Effect(None, "failed; blocking E")),
    ("Claude: late", claude_before(0, late=True), Effect(GIVEN)),
    ("Claude: late, onFailure", claude_before(0, late=True, block=True), Effect(None, "timed out; blocking")),
    ("Claude: half JSON, onFailure", claude_before(0, "{bad json", block=True), Effect(GIVEN)),
    ("Claude: unknown keys", claude_before(0, before(**DENY, more=1)), Effect(None, "R")),
    ("Codex: exit 2", codex_before(2, "", "E"), Effect(None, "E")),
    ("Codex: deny", codex_before(0, before(**DENY)), Effect(None, "R")),
    ("Codex: deny without a reason", codex_before(0, before(permissionDecision="deny")), Effect(GIVEN)),
    ("Codex: allow alone", codex_before(0, before(permissionDecision="allow")), Effect(GIVEN)),
    ("Codex: ask", codex_before(0, before(**{**DENY, "permissionDecision": "ask"})), Effect(GIVEN)),
    ("Codex: context", codex_before(0, before(additionalContext="C")), Effect(GIVEN, "C")),
    ("Codex: block", codex_before(0, '{"decision":"block","reason":"R"}'), Effect(None, "R")),
    ("Codex: an unknown key beside a deny", codex_before(0, before(**DENY, more=1)), Effect(GIVEN)),
    ("Codex: half JSON", codex_before(0, "{bad"), Effect(GIVEN)),
    ("Codex: exit 1", codex_before(1, before(**DENY)), Effect(GIVEN)),
    ("Codex: late", codex_before(0, before(**DENY), late=True), Effect(GIVEN)),
    ("Codex: after, exit 2", codex_after(2, "", "E"), "E"),
    ("Codex: after, block", codex_after(0, '{"decision":"block","reason":"R"}'), "R"),
    ("Codex: after, context", codex_after(0, before(additionalContext="C")), "SuccessC"),
    ("Codex: after, the run is to end", codex_after(0, '{"continue":false,"stopReason":"S"}'), "S"),
    ("Codex: a word to the person", codex_before(0, '{"systemMessage":"M"}'), Effect(GIVEN)),
    ("Codex: plain text", codex_before(0, "hello"), Effect(GIVEN)),
    (
        "Claude: rewrite that is none",
        claude_before(0, before(updatedInput={})),
        (None, "updatedInput that the tool refused", True),
    ),
    ("Claude: after, exit 2", claude_after(2, "", "E"), "SuccessE"),
    ("Claude: after, block", claude_after(0, '{"decision":"block","reason":"R"}'), "SuccessR"),
    ("Claude: after, context", claude_after(0, before(additionalContext="C")), "SuccessC"),
    ("Claude: after, another result", claude_after(0, before(updatedToolOutput="N")), "N"),
    ("Claude: after, the run is to end", claude_after(0, '{"continue":false,"stopReason":"S"}'), None),
    ("Claude: after, exit 1", claude_after(1, "", "E"), "Success"),
    ("both: the end is held up", held_up(0, '{"decision":"block","reason":"R"}'), "R"),
    ("both: the end, exit 1", held_up(1, '{"decision":"block","reason":"R"}'), ""),
]


def test_a_row_that_was_measured():
    for row, seen, effect in ROWS:
        assert seen == effect, row


# -- our answers ---------------------------------------------------------------------------------------

BROKEN = "y = undefined\n"
UGLY = "y  =  1\n"
GOOD = "y = 1\n"


def add(text):
    return f"*** Begin Patch\n*** Add File: b.py\n+{text}*** End Patch"


def asked(hooks, content):
    """Ask about a new file; return the effect on the host, with the content that would be written."""
    claude = hooks.host == "claude-code"
    given = {"file_path": str(hooks.project / "b.py"), "content": content} if claude else {"command": add(content)}
    hooks.call("PreToolUse", "Write" if claude else "apply_patch", given)
    effect = (claude_before if claude else codex_before)(hooks.raw.code, hooks.raw.out, hooks.raw.err)
    assert hooks.raw.err == ""
    assert len(effect.reads) < 2_000
    return effect._replace(input=given if effect.input is GIVEN else effect.input)


@pytest.fixture(params=["claude-code", "codex"])
def hooks(request, hooks_of):
    return hooks_of(request.param)


def test_a_finding_keeps_the_tool_from_running_and_the_model_reads_it(hooks):
    effect = asked(hooks, BROKEN)
    assert effect.input is None
    assert "b.py:1:5 F821" in effect.reads


def test_what_is_clean_runs_as_it_was_given_and_nothing_is_granted(hooks):
    effect = asked(hooks, GOOD)
    assert effect.input.get("content", effect.input.get("command")) in (GOOD, add(GOOD))
    assert effect[1:] == ("", True)


def test_formatting_never_grants_what_the_user_would_be_asked(hooks):
    effect = asked(hooks, UGLY)
    assert effect.asked
    if hooks.host == "claude-code":
        assert effect.input["content"] == GOOD
        assert "changed your text" in effect.reads
    else:
        assert effect.input == {"command": add(UGLY)}


@pytest.mark.parametrize("strict", [False, True])
def test_a_fault_of_ours_has_the_effect_that_was_chosen(hooks, monkeypatch, strict):
    hooks.head["strict"] = strict
    monkeypatch.setattr(hooks.warm.gate, "judge", lambda *_, **__: 1 / 0)
    effect = asked(hooks, GOOD)
    assert (effect.input is None) == strict
    assert "could not judge" in effect.reads


def test_what_is_written_is_told_beside_the_result_never_ends_the_run_and_holds_up_the_end(hooks):
    hooks.call("SessionStart")
    (hooks.project / "c.py").write_text(BROKEN)
    after = claude_after if hooks.host == "claude-code" else codex_after
    batch = [("PostToolBatch",)] if hooks.host == "claude-code" else []
    for event in (*batch, ("PostToolUse", "Bash", {"command": "x"})):
        (hooks.project / "c.py").write_text(f"{BROKEN}{hooks.number * '# more'}")
        hooks.call(*event)
        told = after(hooks.raw.code, hooks.raw.out, hooks.raw.err)
        assert told.startswith("Success")
        assert "c.py:1:5 F821" in told
    hooks.call("Stop", stop_hook_active=False)
    assert "c.py:1:5 F821" in held_up(hooks.raw.code, hooks.raw.out)


def test_codex_still_reads_that_its_patch_was_applied(codex):
    codex.call("SessionStart")
    (codex.project / "c.py").write_text(BROKEN)
    codex.call("PostToolUse", "apply_patch", {"command": ""}, tool_response="Success")
    told = codex_after(codex.raw.code, codex.raw.out, codex.raw.err, result="")
    assert told.startswith("The patch was applied.")
    assert "F821" in told
