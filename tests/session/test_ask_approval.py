"""What is asked within a turn: each question published before its answer, each answer to its own question."""

from types import SimpleNamespace

from msgspec.structs import replace

from rails.approval.decision import Decision, RuleBook, request_for_changes, sign_changes, sign_tool
from rails.core.changes import ChangeSet, FileChange
from rails.core.paths import WorkspacePath
from rails.core.tool_request import ToolRequest
from rails.core.verdict import Verdict
from rails.session import ask_approval
from rails.session.feedback import RequestResult
from tests.rows import walked


def run_of(number, tool="run_tests", asks=True, **parameters):
    return ToolRequest(f"t1.r{number}", tool, parameters or {"n": number}, "", "run", asks, "d" * 64, "coder")


class Contained:
    label = SimpleNamespace(contained=True)

    def needs_no_question(self, tool):
        return tool == "contained"

    def notes(self, definition):
        return (f"runs {definition}",)

    def holds(self, definition):
        return False


def context_of(approver, echo=lambda request: ""):
    """A turn's context with only what questions look at; ``said`` holds what was published, in order."""
    said = []
    return SimpleNamespace(
        approver=approver,
        publish=said.append,
        said=said,
        echo=echo,
        registry={"run_tests": "it"},
        contained=Contained(),
        from_project=(),
        model=SimpleNamespace(name="m"),
        denied=set(),
        agent=SimpleNamespace(name="coder"),
    )


class Human:
    """Answers in turn; remembers what had been published when it was asked."""

    def __init__(self, *answers, **more):
        self.answers = list(answers)
        self.more = more
        self.asked = []
        self.known = []

    def decide(self, request):
        self.asked.append(request)
        self.known.append([event.id for event in self.context.said])
        return Decision(self.answers.pop(0), "why", "human", of=request.digest, **self.more)


class Rules(Human):
    """A rule book that looks at the tools of ``tight`` and keeps ``hidden`` back."""

    tight = ("read_file",)
    hidden = "secret"

    def looks_at(self, request):
        return request.tools[0] in self.tight

    def passed(self, request):
        """Nothing is counted here."""

    def keeps_back(self, agent, path, tools, answered=None):
        return f"{agent} {' '.join(tools)}" if path == self.hidden else ""

    def shows_secrets(self, agent, tool, path):
        return (agent, tool, path) == ("coder", "read_file", "a.txt")

    def with_rules(self, request):
        return replace(request, risks=("a rule", *request.risks)) if request.tools[0] in self.tight else request


def asked_by(human, **more):
    human.context = context_of(human, **more)
    return human.context


def question(context, number=1, **more):
    return ask_approval.approval_request_for(context, run_of(number, **more))


def changes_question():
    changes = ChangeSet((FileChange(WorkspacePath("a.py"), b"a\n", b"b\n"),))
    request = ToolRequest("t1.r1", "edit_file", {}, "", "edit", True, "d" * 64, "coder")
    return request_for_changes("t1.a1", "coder", [request], Verdict("pass", changes))


def kinds(context):
    return [(event.type, event.id) for event in context.said]


def test_a_question_is_published_before_it_is_put_and_its_answer_after(tmp_path):
    context = asked_by(human := Human("deny", scope="once", seconds=3.0))
    asked = question(context)
    decision = ask_approval.ask(context, asked)
    assert human.known == [["t1.r1"]]
    assert kinds(context) == [("APPROVAL_REQUESTED", "t1.r1"), ("HUMAN_DECISION", "t1.r1")]
    requested, answered = context.said
    assert (requested.digest, requested.kind, requested.tools) == (asked.digest, "tool", ("run_tests",))
    assert (requested.risks, requested.notes) == (asked.risks, ("runs it",))
    assert (answered.digest, answered.answer, answered.reason, answered.by) == (asked.digest, "deny", "why", "human")
    assert (answered.at, answered.seconds) == (decision.at, 3.0)
    assert (answered.scope, answered.account) == ("once", "")


def test_what_the_rules_say_is_in_the_question_that_is_put_and_published():
    context = asked_by(human := Rules("approve"))
    ask_approval.ask(context, question(context, tool="read_file"))
    assert human.asked[0].risks[0] == context.said[0].risks[0] == "a rule"


@walked(
    ("tool", "asks", "echo", "expected"),
    [
        ("run_tests", True, "", True),
        ("run_tests", False, "", False),
        ("contained", True, "", True),
        ("contained", True, "an echo", True),
        ("run_tests", False, "an echo", True),
        ("read_file", False, "", True),
    ],
)
def test_what_has_to_be_asked(tool, asks, echo, expected):
    context = asked_by(Rules(), echo=lambda request: echo)
    context.registry = dict.fromkeys(("run_tests", "contained", "read_file"), "it")
    assert ask_approval.has_to_ask(context, run_of(1, tool, asks)) is expected


def test_the_rule_book_of_these_tests_is_one():
    assert isinstance(Rules(), RuleBook)
    assert not isinstance(Human(), RuleBook)


def test_without_a_rule_book_nothing_more_is_asked_or_kept_back():
    context = asked_by(Human())
    context.registry = {"read_file": "it", "list_files": "it"}
    assert ask_approval.has_to_ask(context, run_of(1, "read_file", asks=False)) is False
    assert ask_approval.kept_back(context, run_of(1, "list_files")) is None
    assert ask_approval.may_read(context, run_of(1, "read_file"), "text") is None


def test_rules_that_only_allow_are_not_asked_about_each_use_of_a_tool():
    class Loose(Rules):
        tightens = False

        def looks_at(self, request):
            raise AssertionError("nothing could come of it")

    context = asked_by(Loose())
    assert ask_approval.has_to_ask(context, run_of(1, asks=False)) is False
    assert ask_approval.may_read(context, run_of(1), "text") is None


def test_a_list_leaves_out_what_a_rule_keeps_from_it_or_from_reading_and_a_read_is_asked_instead():
    context = asked_by(Rules())
    reason = ask_approval.kept_back(context, run_of(1, "list_files"))
    assert (reason("secret"), reason("other")) == ("coder list_files read_file", "")
    assert ask_approval.kept_back(context, run_of(1, "read_file")) is None


def test_what_a_tool_returned_is_asked_about_where_a_rule_wants_it():
    context = asked_by(human := Rules("deny"))
    context.registry = {"read_file": "it"}
    assert ask_approval.may_read(context, run_of(1, "run_tests"), "text") is None
    decision = ask_approval.may_read(context, run_of(1, "read_file"), "text")
    assert decision.answer == "deny"
    assert human.asked[0].tool_request.parameters == {"returned": "text"}
    assert [event.id for event in context.said] == ["t1.r1.result"] * 2


# -- the permit ----------------------------------------------------------------------------------------


@walked(("answer", "stops"), [("deny", False), ("abort", True)])
def test_a_no_is_told_to_the_agent_with_its_reason_and_signs_nothing(answer, stops):
    context = asked_by(Human(answer))
    told = ask_approval.ask_permit(context, ("t1.r1",), question(context), None)
    assert isinstance(told, RequestResult)
    assert told == ask_approval.feedback.denied(("t1.r1",), "why", stop=stops)


def test_a_yes_is_signed_once():
    context = asked_by(human := Human("approve"))
    asked = question(context)
    given = ask_approval.ask_permit(context, ("t1.r1",), asked, sign_tool)
    assert (given.asked, given.approved.value, given.account) == (asked, asked.tool_request, "")
    assert len(human.asked) == 1


def test_what_the_human_edited_is_what_is_signed_and_accounted_for():
    asked = changes_question()
    edited = request_for_changes(
        "t1.a1", "coder", asked.requests, Verdict("pass", ChangeSet((replace(asked.changes.changes[0], after=b"c\n"),)))
    )
    context = asked_by(human := Human())
    human.decide = lambda _: Decision("approve", "", "human", edited=edited, of=edited.digest)
    given = ask_approval.ask_permit(context, ("t1.r1",), asked, sign_changes)
    assert given.asked is edited
    assert given.approved.value is edited.changes
    assert "a.py" in given.account


@walked("kind", ["changes", "tool"])
def test_a_permit_for_something_else_is_stale_whoever_signed_it(kind):
    context = asked_by(Human("approve", "approve"))
    asked = changes_question() if kind == "changes" else question(context)
    other = replace(asked.changes.changes[0], after=b"evil\n") if kind == "changes" else run_of(9).parameters
    value = ChangeSet((other,)) if kind == "changes" else replace(asked.tool_request, parameters=other)
    sign = sign_changes if kind == "changes" else sign_tool
    told = ask_approval.ask_permit(context, ("t1.r1",), asked, lambda *given: replace(sign(*given), value=value))
    message = "What was approved is not what would be done; nothing was done."
    assert told == ask_approval.feedback.not_done("stale", ("t1.r1",), message=message)


def test_a_question_says_that_a_program_runs_unless_a_sandbox_holds_this_very_tool():
    for holds, contained, risky in ((True, True, False), (True, False, True), (False, True, True)):
        context = asked_by(Human())
        context.contained.holds = lambda definition, holds=holds: holds and definition == "it"
        context.contained.label = SimpleNamespace(contained=contained)
        asked = ask_approval.approval_request_for(context, run_of(1))
        assert bool(asked.risks) is risky
        assert asked.notes == ("runs it",)
        assert (asked.id, asked.agent, asked.model, asked.doubts) == ("t1.r1", "coder", "m", ())
        context.from_project = ("run_tests",)
        assert any(
            "comes from the project" in risk for risk in ask_approval.approval_request_for(context, run_of(1)).risks
        )
        context.echo = lambda request: "an echo"
        assert ask_approval.approval_request_for(context, run_of(1)).doubts == ("an echo",)


def test_keys_are_shown_to_an_agent_only_where_a_rule_book_says_so():
    assert ask_approval.may_show_secrets(asked_by(Human()), "read_file", "a.txt") is False
    for tool, path, shown in (("read_file", "a.txt", True), ("read_file", "b", False), ("grep", "a.txt", False)):
        assert ask_approval.may_show_secrets(asked_by(Rules()), tool, path) is shown
