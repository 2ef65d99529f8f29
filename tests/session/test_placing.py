"""A place that is only alike is called a fuzzy match wherever it is shown; no rule takes it."""

import json

from rails.approval.decision import Decision
from rails.approval.policy.policy import PolicyApprover
from rails.approval.policy.rules import Policy, PolicyRule

FILE = "total = 0\nfor item in items:\n    total += item.price\nprint(total)\n"
EDIT = {
    "tool": "edit_file",
    "file_path": "a.py",
    "old_string": "for item in items:\n    total += item.cost\n",
    "new_string": "for item in items:\n    total += item.price * item.count\n",
}


def block(request):
    return f"```json\n{json.dumps(request)}\n```\n"


class Human:
    """Approves everything."""

    def decide(self, request):
        return Decision("approve", "", "human", of=request.digest)


def test_the_handle_of_a_model_is_asked_about_although_a_rule_allows_everything(work):
    (work.project / "a.py").write_text("items = []\n" + FILE, "utf-8")
    human = Human()
    refused = work(block(EDIT), "I see.", approver=human)
    assert refused.events("CHANGE_REFUSED")[0]["refusals"][0]["code"] == "not_found"
    handle = refused.told[0].partition("with handle ")[2][:11]
    everything = Policy((PolicyRule(1, "allow", "policy.toml", tool=("*",), path=("**",)),))
    done = work(block({**EDIT, "handle": handle}), "Done.", approver=PolicyApprover(everything, human))
    assert done.events("HUMAN_DECISION")[0]["by"] == "human"
    assert done.events("APPROVAL_REQUESTED")[0]["risks"][0].startswith("Fuzzy match in a.py")


def test_a_grant_that_is_given_and_revoked_is_in_the_log(work):
    from rails.approval.policy.grants import Grants, propose

    grants = Grants()

    class Giver:
        def decide(self, request):
            grants.revoke(grants.add(propose(request)).number)
            return Decision("approve", "", "human", of=request.digest)

    write = {"tool": "write_file", "path": "notes/a.txt", "content": "one\n"}
    done = work(block(write), "Done.", approver=PolicyApprover(Policy(), Giver(), grants))
    given, revoked = done.events("GRANT")
    assert (given["what"], revoked["what"]) == ("given", "revoked")
    assert given["rule"]["path"] == ["notes/*"]
