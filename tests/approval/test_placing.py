"""No rule accepts a place that is only alike."""

from msgspec.structs import replace

from rails.approval.policy.rules import Policy, PolicyRule


def test_no_rule_lets_a_fuzzy_or_merged_change_through(make):
    everything = Policy((PolicyRule(1, "allow", "policy.toml", tool=("*",), path=("**",)),))
    asked = make.ask()
    assert everything.judge(asked).ruling == "allow"
    doubtful = replace(asked, doubts=("Fuzzy match in src/app.py: …",))
    assert everything.judge(doubtful).ruling == "ask"
    assert "Fuzzy match" in everything.judge(doubtful).why
