"""A human may take a place that is only alike; it is called a fuzzy match wherever it is shown."""

import json

from rails.approval.decision import Decision
from rails.approval.policy.policy import PolicyApprover
from rails.approval.policy.rules import Policy, PolicyRule
from rails.edits.checkpoints import History

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
    """Takes the first place that is offered, if ``takes``, and approves everything."""

    attended = True

    def __init__(self, *, takes):
        self.takes = takes
        self.offers = []
        self.asked = []

    def choose(self, offer):
        self.offers.append(offer)
        return offer.places[0].handle if self.takes else ""

    def decide(self, request):
        self.asked.append(request)
        return Decision("approve", "", "human", of=request.digest)


def session(work, human):
    (work.project / "a.py").write_text("items = []\n" + FILE, "utf-8")
    return work(block(EDIT), "Done.", approver=human)


def test_a_place_that_the_human_takes_is_gated_asked_about_and_labelled_everywhere(work):
    human = Human(takes=True)
    done = session(work, human)
    assert "item.price * item.count" in (done.project / "a.py").read_text("utf-8")
    assert done.events("CHANGE_REFUSED") == []
    (chosen,) = done.events("PLACE_CHOSEN")
    assert (chosen["path"], chosen["first_line"]) == ("a.py", 3)
    assert "not in the file" in chosen["refusal"]
    assert done.events("CHANGE_PLANNED")[0]["fuzzy"] == ["a.py"]
    assert len(done.events("GATE_VERDICT")) == 1
    (asked,) = done.events("APPROVAL_REQUESTED")
    assert asked["risks"][0].startswith("Fuzzy match in a.py")
    assert human.asked[0].requests[0].parameters["handle"] == chosen["handle"]
    assert "a fuzzy match" in done.told[0]
    assert "the human chose the place" in done.told[0]
    (step,) = History(done.project).steps()
    assert step.title == "Edited a.py (fuzzy match)"


def test_a_place_that_nobody_takes_is_refused_as_before(work):
    done = session(work, Human(takes=False))
    assert (done.project / "a.py").read_text("utf-8") == "items = []\n" + FILE
    assert done.events("CHANGE_REFUSED")[0]["refusals"][0]["code"] == "not_found"
    assert "accept the place with handle" in done.told[0]


def test_nothing_is_prepared_where_nobody_is_there_to_choose(work, monkeypatch):
    def offers(*_):
        raise AssertionError("nobody would see it")

    monkeypatch.setattr("rails.edits.offer_places.place_choices", offers)
    (work.project / "a.py").write_text("items = []\n" + FILE, "utf-8")
    done = work(block(EDIT), "I see.", approver=PolicyApprover(Policy()))
    assert done.events("CHANGE_REFUSED")[0]["refusals"][0]["code"] == "not_found"


def test_the_handle_of_a_model_is_asked_about_although_a_rule_allows_everything(work):
    (work.project / "a.py").write_text("items = []\n" + FILE, "utf-8")
    human = Human(takes=False)
    refused = work(block(EDIT), "I see.", approver=human)
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


def test_where_nobody_could_choose_nothing_is_offered(work):
    human = Human(takes=True)
    human.attended = False
    done = session(work, human)
    assert human.offers == []
    assert done.events("CHANGE_REFUSED")[0]["refusals"][0]["code"] == "not_found"
