"""The agent for editors, asked by the official SDK's client over the program's standard input and output."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from _pytest.monkeypatch import resolve

from rails.core.events.approval import GrantEvent, HumanDecision
from rails.core.events.changes import ExecutionStarted, ToolExecutionResult
from rails.core.events.session import WorkflowStart
from rails.core.events.turn import LlmResponse
from rails.log.reader import read_lenient, sessions
from rails.session.project import state_of
from rails.testing.server import StubServer, call, says

acp = pytest.importorskip("acp", reason="the official SDK is not installed")

from rails.commands import acp as verb  # noqa: E402
from rails.commands.options import verb_parser  # noqa: E402
from rails.integrations.acp.agent import RailsAgent  # noqa: E402

PROGRAM = str(Path(sys.executable).with_name("ai-rails"))
EDIT = call("edit_file", json.dumps({"file_path": "a.py", "old_string": "a = 1", "new_string": "a  =  3"}))
AGAIN = call("edit_file", json.dumps({"file_path": "a.py", "old_string": "b = 2", "new_string": "b = 4"}))
BROKEN = call("write_file", json.dumps({"file_path": "b.py", "content": "y = undefined\n"}))
DELETE = call("delete_file", json.dumps({"file_path": "a.py"}))


@pytest.fixture(autouse=True)
def _own_configuration(tmp_path, monkeypatch):
    monkeypatch.setenv("AI_RAILS_CONFIG_DIR", str(tmp_path / "configuration"))
    monkeypatch.setenv("OPENAI_API_KEY", "x")


class Editor:
    """An editor without a window: chooses ``choices`` one after the other, and keeps what it was told."""

    def __init__(self, *choices, filled=(), texts=None):
        self.choices = list(choices)
        self.updates = []
        self.asked = []
        self.is_asked = asyncio.Event()
        self.filled = list(filled)
        self.texts = texts
        self.forms = []
        self.able = acp.schema.ClientCapabilities(
            fs={"readTextFile": texts is not None}, elicitation={"form": {}} if filled else None
        )

    async def create_elicitation(self, message, mode, **_):
        self.forms.append((message, mode.requested_schema.model_dump(by_alias=True, exclude_none=True)))
        given = self.filled.pop(0)
        if given is None:
            return acp.schema.DeclineElicitationResponse(action="decline")
        return acp.schema.AcceptElicitationResponse(action="accept", content={"answer": given})

    async def read_text_file(self, session_id, path, **_):
        if path not in self.texts:
            raise acp.RequestError(-32002, "no such file")
        return acp.ReadTextFileResponse(content=self.texts[path])

    async def request_permission(self, session_id, tool_call, options, **_):
        self.asked.append((tool_call.model_dump(by_alias=True, exclude_none=True), options))
        self.is_asked.set()
        chosen = self.choices.pop(0)
        if chosen == "wait":
            await asyncio.sleep(3600)
        if chosen == "no answer":
            return acp.schema.AuthenticateResponse()
        outcome = {"outcome": "selected", "optionId": chosen} if chosen else {"outcome": "cancelled"}
        return acp.RequestPermissionResponse(outcome=outcome)

    async def session_update(self, session_id, update, **_):
        self.updates.append(update.model_dump(by_alias=True, exclude_none=True))

    def on_connect(self, conn):
        pass

    def of(self, kind):
        return [update for update in self.updates if update["sessionUpdate"] == kind]

    @property
    def said(self):
        return "".join(update["content"]["text"] for update in self.of("agent_message_chunk"))

    @property
    def statuses(self):
        return [update["status"] for update in self.updates if "status" in update]


@contextlib.asynccontextmanager
async def started(editor, url, *, program=False):
    """Start the agent: in this process, over a pair of sockets, or as the program that an editor starts."""
    words = ["--model", "openai:stub", "--base-url", f"{url}/v1", "--protocol", "native"]
    if program:
        async with acp.spawn_agent_process(editor, PROGRAM, "acp", *words, env=dict(os.environ)) as (agent, _):
            await agent.initialize(protocol_version=acp.PROTOCOL_VERSION, client_capabilities=editor.able)
            yield agent
        return
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours)
    own_reader, own_writer = await asyncio.open_connection(sock=theirs)
    made = RailsAgent(verb._Sessions(verb_parser("acp", "x", verb).parse_args(words)))
    serving = asyncio.ensure_future(acp.run_agent(made, own_writer, own_reader, use_unstable_protocol=True))
    agent = acp.connect_to_agent(editor, writer, reader, use_unstable_protocol=True)
    await agent.initialize(protocol_version=acp.PROTOCOL_VERSION, client_capabilities=editor.able)
    try:
        yield agent
    finally:
        made.close()
        await agent.close()
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        own_writer.close()


def edited(project, replies, *choices, prompts=("do it",), agent_name="", program=False, **more):
    """Return the editor and what each prompt ended with."""
    editor = Editor(*choices, **more)

    async def talk(agent):
        session = await agent.new_session(cwd=str(project), mcp_servers=[])
        if agent_name:
            chosen = {"config_id": "agent", "value": agent_name}
            await agent.set_config_option(session_id=session.session_id, **chosen)
        editor.session = session
        ends = [await answered(agent, session.session_id, one) for one in prompts]
        editor.usage = ends[-1].usage
        return [one.stop_reason for one in ends]

    ends, model = talked(talk, replies, editor, program=program)
    editor.requests = model.requests
    return editor, ends


async def answered(agent, session_id, words):
    blocks = [acp.text_block(words)] if isinstance(words, str) else words
    return await agent.prompt(session_id=session_id, prompt=blocks)


def talked(talk, replies, editor=None, **more):
    """Return what a talk with the agent comes to, and the model."""

    async def main():
        async with started(editor or Editor(), model.url, **more) as agent:
            return await asyncio.wait_for(talk(agent), 110)

    with StubServer(replies) as model:
        return asyncio.run(main()), model


async def opened(agent, project, servers=()):
    return (await agent.new_session(cwd=str(project), mcp_servers=list(servers))).session_id


async def said(agent, session_id, words):
    return (await answered(agent, session_id, words)).stop_reason


def events(project, kind):
    records = [one for log in sessions(state_of(project)) for one in read_lenient(log.path)[0]]
    return [record.event for record in records if isinstance(record.event, kind)]


def test_an_edit_is_shown_as_a_difference_asked_about_written_and_told(project):
    editor, ends = edited(project, [EDIT, says("Done.")], "once", program=True)
    assert ends == ["end_turn"]
    assert (project / "a.py").read_text() == "a = 3\nb = 2\n"
    (asked, options) = editor.asked[0]
    place = str(project / "a.py")
    assert asked["content"][0] == {
        "type": "diff",
        "path": place,
        "oldText": "a = 1\nb = 2\n",
        "newText": "a = 3\nb = 2\n",
    }
    assert [one.kind for one in options] == ["allow_once", "allow_always", "reject_once"]
    (begun,) = editor.of("tool_call")
    assert (begun["kind"], begun["locations"], begun["rawInput"]["file_path"]) == ("edit", [{"path": place}], "a.py")
    assert editor.statuses[0] == "pending"
    assert editor.statuses[-1] == "completed"
    assert editor.usage.total_tokens == editor.usage.input_tokens + editor.usage.output_tokens > 0
    assert "Done." in editor.said


def test_findings_go_back_before_the_person_is_asked(project):
    editor, ends = edited(project, [BROKEN, says("I cannot.")])
    failed = [one for one in editor.of("tool_call_update") if one.get("status") == "failed"]
    assert "F821" in json.dumps(failed)
    assert not editor.asked
    assert not (project / "b.py").exists()
    assert ends == ["end_turn"]


@pytest.mark.parametrize("choice", ["reject", "", "no answer"])
def test_only_a_yes_writes(project, choice):
    editor, _ = edited(project, [EDIT, says("Then not.")], choice)
    assert (project / "a.py").read_text() == "a = 1\nb = 2\n"
    assert "failed" in editor.statuses


def test_a_yes_for_the_session_is_a_grant_that_the_option_has_named(project):
    editor, _ = edited(project, [EDIT, AGAIN, says("Done.")], "always")
    assert (project / "a.py").read_text() == "a = 3\nb = 4\n"
    assert len(editor.asked) == 1
    assert "-b = 2\\n+b = 4" in json.dumps(editor.updates), "what nobody is asked about is shown as well"
    assert editor.asked[0][1][1].name == "Approve all edits that pass the gate, this session"
    assert events(project, GrantEvent)[0].rule
    assert [one.scope != "once" for one in events(project, HumanDecision)] == [True, True]


def test_what_is_risky_is_said_in_the_option_and_cannot_be_agreed_to_for_a_while(project):
    editor, _ = edited(project, [DELETE, says("Done.")], "once")
    assert [one.kind for one in editor.asked[0][1]] == ["allow_once", "reject_once"]
    assert "in spite of" in editor.asked[0][1][0].name
    assert not (project / "a.py").exists()


def test_a_further_prompt_goes_on_in_the_same_session(project):
    editor, ends = edited(project, [says("One."), EDIT, says("Two.")], "once", prompts=("first", "second"))
    assert ends == ["end_turn", "end_turn"]
    assert len(sessions(state_of(project))) == 1
    assert "second" in json.dumps(editor.requests[1].body)
    assert "One." in json.dumps(editor.requests[1].body)


def test_an_agent_s_question_ends_the_prompt_and_the_next_one_answers_it(project):
    given = {"question": "Which port?", "options": ["80", "8080"], "default": "80"}
    asks = call("ask_user", json.dumps(given))
    editor, ends = edited(project, [asks, says("8080 it is.")], prompts=("set the port", "2"))
    assert ends == ["end_turn", "end_turn"]
    assert "coder asks" in editor.said
    assert "Which port?\n[1] 80\n[2] 8080" in editor.said
    assert "The user answers: 8080" in json.dumps(editor.requests[1].body)


def test_a_question_that_is_open_when_the_editor_ends_is_answered_once_the_session_is_loaded_again(project):
    editor, _ = edited(project, [call("ask_user", json.dumps({"question": "Which port?"}))])
    time.sleep(0.5)

    async def talk(agent):
        await agent.load_session(cwd=str(project), session_id=editor.session.session_id, mcp_servers=[])
        return await said(agent, editor.session.session_id, "8080")

    end, model = talked(talk, [says("Good.")])
    assert end == "end_turn"
    assert "The user answers: 8080" in json.dumps(model.requests[0].body)


def test_what_an_agent_asks_is_a_form_where_the_editor_has_forms(project):
    asks = call("ask_user", json.dumps({"question": "Which port?", "options": ["80", "8080"]}))
    editor, ends = edited(project, [asks, says("8080 it is.")], filled=["2"])
    assert ends == ["end_turn"]
    ((words, schema),) = editor.forms
    assert "Which port?" in words
    assert [one["title"] for one in schema["properties"]["answer"]["oneOf"]] == ["80", "8080"]
    assert "The user answers: 8080" in json.dumps(editor.requests[1].body)


def test_a_form_that_nobody_fills_in_is_a_question_that_the_next_prompt_answers(project):
    asks = call("ask_user", json.dumps({"question": "Which port?"}))
    editor, ends = edited(project, [asks, says("8080 it is.")], prompts=("set it", "8080"), filled=[None])
    assert ends == ["end_turn", "end_turn"]
    assert "Which port?" in editor.said
    assert "The user answers: 8080" in json.dumps(editor.requests[1].body)


def test_what_is_not_saved_in_the_editor_is_a_risk_of_the_change_and_a_file_it_names_is_read_as_it_has_it(project):
    place = str(project / "a.py")
    link = acp.resource_link_block("a.py", f"file://{place}")
    replies = [EDIT, says("Done.")]
    editor, _ = edited(project, replies, "once", prompts=([link],), texts={place: "a = 1\nb = 9\n"})
    assert "a.py: unsaved changes in your editor" in editor.asked[0][1][0].name
    assert "b = 9" in json.dumps(editor.requests[0].body["messages"])
    saved, _ = edited(project, [AGAIN, says("Done.")], "once", texts={place: "a = 3\r\nb = 2\r\n"})
    assert "unsaved" not in saved.asked[0][1][0].name


LINKS = "{p}/.env {p}/sub/../.env {p}/sub/../../out.txt {o} {p}/kept/x.txt {p}/l.txt {p}/ruled.txt {p} ../out.txt .env"
LINKS += " zed:///agent/selection?path={q}/.env#L1"


def test_what_a_prompt_names_is_sent_only_if_the_agent_may_read_it(project, tmp_path):
    (project / "l.txt").symlink_to("a.py")
    (project / ".agent-restrictions").write_text("kept/\n")
    (project / ".rails.toml").write_text('[[policy.rule]]\ndecision = "deny"\ntool = "read_file"\npath = "ruled.*"\n')

    class Everything(dict):
        __contains__ = lambda *_: True  # noqa: E731
        __missing__ = lambda *_: "SECRET-4711"  # noqa: E731

    named = LINKS.format(p=f"file://{project}", q=project, o=f"file://{tmp_path}/out.txt").split()
    embedded = [acp.embedded_text_resource(one, "SECRET-4711") for one in named]
    prompt = [*(acp.resource_link_block("x", one) for one in named), *map(acp.resource_block, embedded)]
    editor, _ = edited(project, [says("Done.")] * 2, prompts=(prompt,), texts=Everything())
    sent = json.dumps(editor.requests[0].body)
    assert ("SECRET" in sent, sent.count("is not sent: ")) == (False, len(prompt))


def test_a_forked_session_has_what_was_said_and_leaves_the_other_one_as_it_is(project):
    first, _ = edited(project, [EDIT, says("Done.")], "once")
    editor = Editor()

    async def main():
        async with started(editor, model.url) as agent:
            old = first.session.session_id
            forked = await agent.fork_session(cwd=str(project), session_id=old, mcp_servers=[])
            end = await said(agent, forked.session_id, "What did you do?")
            listed = await agent.list_sessions(cwd=str(project))
            return old, forked.session_id, end, {one.session_id for one in listed.sessions}

    before = {one.session_id: one.path.read_bytes() for one in sessions(state_of(project))}
    with StubServer([says("An edit.")]) as model:
        old, new, end, listed = asyncio.run(asyncio.wait_for(main(), 110))
        asked = json.dumps(model.requests[0].body)
    assert (end, listed) == ("end_turn", {old, new})
    assert "do it" in asked
    assert "What did you do?" in asked
    assert {one.session_id: one.path.read_bytes() for one in sessions(state_of(project))}[old] == before[old]
    assert sum(one.usage.output_tokens > 0 for one in events(project, LlmResponse)) == 3
    assert [update["size"] > update["used"] > 0 for update in editor.of("usage_update")] == [True]


def test_the_agents_are_an_option_that_is_the_mode_of_the_session(project):
    editor, _ = edited(project, [says("Nothing to do.")], agent_name="refactor")
    (option,) = [one for one in editor.session.config_options if one.id == "agent"]
    assert (option.category, option.current_value, option.options[0].value) == ("mode", "coder", "coder")
    assert events(project, WorkflowStart)[0].agents == ("refactor",)


WAITS = (
    "import pathlib, sys, time; begun = pathlib.Path(sys.argv[1]); begun.exists() or begun.touch() or time.sleep(15)"
)


@pytest.mark.parametrize("while_", ["asked", "compared", "answering", "linked", "starting"])
def test_a_cancelled_prompt_ends_so_and_the_session_goes_on(project, tmp_path, while_):
    pytest.importorskip("mcp", reason="the official SDK is not installed")
    begun = tmp_path / "begun"
    server = acp.schema.McpServerStdio(name="s", command=sys.executable, args=["-c", WAITS, str(begun)], env=[])
    editor = Editor("wait", texts={} if while_ in ("compared", "linked") else None)
    words = [acp.resource_link_block("a.py", f"file://{project}/a.py")] if while_ == "linked" else "do it"
    editor.read_text_file = partial(editor.request_permission, tool_call=acp.text_block(""), options=())

    async def main():
        async with started(editor, model.url) as agent:
            servers = [server] if while_ == "starting" else []
            session = await opened(agent, project, servers)
            first = asyncio.ensure_future(said(agent, session, words))
            while servers and not begun.exists():
                await asyncio.sleep(0.02)
            if while_ not in ("answering", "starting"):
                await asyncio.wait_for(editor.is_asked.wait(), 60)
            elif not servers:
                await asyncio.to_thread(wait_for_request, model)
            await agent.cancel(session_id=session)
            return await asyncio.wait_for(first, 10), await said(agent, session, "and now?")

    slow = says("I am thinking about it.", hang_s=600.0) if while_ == "answering" else EDIT
    with StubServer([slow, says("Nothing.")][while_ in ("linked", "starting") :]) as model:
        assert asyncio.run(asyncio.wait_for(main(), 110)) == ("cancelled", "end_turn")
    assert (project / "a.py").read_text() == "a = 1\nb = 2\n"


def test_what_a_command_prints_is_shown_while_it_runs_and_a_stop_ends_it_and_drops_what_it_changed(project):
    lines = "echo begun; ls; touch made.txt; sleep 600", "echo second; ls"
    run = [call("run_command", json.dumps({"command": line})) for line in lines]
    editor = Editor("once", "once")

    async def talk(agent):
        session = await opened(agent, project)
        first = asyncio.ensure_future(said(agent, session, "do it"))
        while "begun\\na.py" not in json.dumps(editor.updates):
            await asyncio.sleep(0.02)
        await agent.cancel(session_id=session)
        return await first, await said(agent, session, "and now?")

    end, model = talked(talk, [*run, says("Nothing.")], editor)
    assert end == ("cancelled", "end_turn")
    told = json.dumps(model.requests[2].body)
    assert "stopped by the person while it ran. What it had changed by then was dropped." in told
    assert "made.txt" not in told.split("second\\n")[1]


def test_a_session_is_loaded_told_again_and_gone_on_with(project):
    first, _ = edited(project, [EDIT, says("Done.")], "once")
    editor = Editor()

    async def talk(agent):
        loaded = first.session.session_id
        await agent.load_session(cwd=str(project), session_id=loaded, mcp_servers=[])
        history = list(editor.updates)
        return history, await said(agent, loaded, "What did you do?")

    (history, end), model = talked(talk, [says("An edit.")], editor)
    asked = json.dumps(model.requests[0].body)
    assert end == "end_turn"
    assert [one["content"]["text"] for one in history if one["sessionUpdate"] == "user_message_chunk"] == ["do it"]
    assert any(one.get("status") == "completed" for one in history)
    assert "Done." in asked
    assert "What did you do?" in asked
    assert "An edit." in editor.said


def test_what_there_is_not_is_an_error_of_the_protocol_and_so_is_a_model_that_fails(project):
    async def talk(agent):
        made = await opened(agent, project)
        for wrong, words in (
            (agent.new_session(cwd="nowhere", mcp_servers=[]), "not a folder"),
            (said(agent, "x", "do it"), "no such session"),
            (agent.set_config_option(config_id="agent", session_id=made, value="nobody"), "no such agent"),
            (agent.load_session(cwd=str(project), session_id="acp-../../x", mcp_servers=[]), "no session"),
            (said(agent, made, "do it"), "--resume"),
        ):
            with pytest.raises(acp.RequestError, match=words):
                await wrong

    talked(talk, [])


def wait_for_request(model):
    until = time.monotonic() + 60
    while not model.requests and time.monotonic() < until:
        time.sleep(0.02)


@pytest.mark.parametrize("error", [RuntimeError, SystemExit, MemoryError])
@pytest.mark.parametrize("target", ["rails.commands.acp._Sessions.open", "rails.session.run.Session.run"])
def test_a_fault_of_ours_ends_one_prompt_in_a_sentence_and_the_next_one_is_answered(
    project, monkeypatch, target, error
):
    real = resolve(target)
    errors = iter([error])

    def broken(*args, **kwargs):
        for one in errors:
            raise one("injected-4711")
        return real(*args, **kwargs)

    monkeypatch.setattr(target, broken)
    editor = Editor("once")

    async def talk(agent):
        session = await agent.new_session(cwd=str(project), mcp_servers=[])
        with pytest.raises(acp.RequestError) as told:
            await answered(agent, session.session_id, "do it")
        assert "AI-Rails itself failed" in str(told.value)
        return await said(agent, session.session_id, "do it")

    end, _ = talked(talk, [EDIT, says("Done."), says("It is so already.")], editor)
    assert end == "end_turn"
    assert (project / "a.py").read_text() == "a = 3\nb = 2\n"


def test_a_session_that_nobody_has_said_anything_in_is_loaded_by_the_next_program(project):
    new = asyncio.run(asyncio.wait_for(_begun_and_left(project), 60))

    async def talk(agent):
        await agent.load_session(cwd=str(project), session_id=new, mcp_servers=[])
        return await said(agent, new, "hello")

    editor = Editor()
    assert talked(talk, [says("Hello.")], editor)[0] == "end_turn"
    assert "Nothing of this session is logged" in editor.said
    assert [one.session_id for one in sessions(state_of(project))] == [new]


async def _begun_and_left(project):
    async with started(Editor(), "http://127.0.0.1:1") as agent:
        return await opened(agent, project)


@pytest.mark.parametrize("answer", ["once", "always", "nonsense"])
def test_a_session_at_work_is_not_loaded_again_and_a_stop_reaches_it(project, answer):
    """What the person clicked before the stop comes after it, and writes nothing."""
    editor = Editor()
    clicked = asyncio.Event()

    async def request_permission(session_id, tool_call, options, **_):
        editor.is_asked.set()
        await clicked.wait()
        return acp.RequestPermissionResponse(outcome={"outcome": "selected", "optionId": answer})

    editor.request_permission = request_permission

    async def main():
        async with started(editor, model.url) as agent:
            session = await opened(agent, project)
            first = asyncio.ensure_future(said(agent, session, "do it"))
            await asyncio.wait_for(editor.is_asked.wait(), 60)
            for _ in range(2):
                with pytest.raises(acp.RequestError, match="at work"):
                    await agent.load_session(cwd=str(project), session_id=session, mcp_servers=[])
            async with started(Editor(), model.url) as other:
                with pytest.raises(acp.RequestError, match="being written"):
                    await other.fork_session(cwd=str(project), session_id=session, mcp_servers=[])
            await agent.cancel(session_id=session)
            ended = await asyncio.wait_for(first, 20)
            clicked.set()
            await agent.load_session(cwd=str(project), session_id=session, mcp_servers=[])
            return ended, await said(agent, session, "and now?")

    with StubServer([EDIT, says("Nothing.")]) as model:
        assert asyncio.run(asyncio.wait_for(main(), 110)) == ("cancelled", "end_turn")
    assert (project / "a.py").read_text() == "a = 1\nb = 2\n"
    assert len(sessions(state_of(project))) == 1


NO_REQUESTS = [
    *(b"[]", b"5", b"null", b'"x"', b"true", b"{}", b'[{"jsonrpc":"2.0","id":1,"method":"initialize"}]'),
    *(b'{"id":[1]}', b'{"id":0,"error":5}', b'{"id":true,"result":1}', b'{"method":5,"id":1}', b'{"id":{}}'),
]
NO_JSON = [b"{", b"\xff\xfe", b'{"a":' * 100_000, b'{"id":1,', b"hello"]


def test_a_line_that_is_no_request_is_answered_and_ends_nothing(project):
    last = b'{"jsonrpc":"2.0","id":"last","method":"initialize","params":{"protocolVersion":1}}'
    lines = b"\n".join([*NO_REQUESTS, b"", *NO_JSON, b'{"id":7,"method":"session/new","params":5}', last, b""])
    words = [PROGRAM, "acp", "--model", "recorded:/dev/null"]
    ended = subprocess.run(words, cwd=project, input=lines, capture_output=True, timeout=60, check=False)
    answers = [json.loads(line) for line in ended.stdout.splitlines()]
    codes = [one["error"]["code"] for one in answers if one["id"] is None]
    assert codes == [-32600] * len(NO_REQUESTS) + [-32700] * len(NO_JSON)
    assert {one["id"]: "result" in one for one in answers} == {None: False, 7: False, "last": True}
    assert ended.returncode == 0


def test_a_model_and_a_protocol_are_chosen_listed_and_count_from_the_next_prompt(project):
    editor = Editor()

    async def talk(agent):
        session = await agent.new_session(cwd=str(project), mcp_servers=[])
        first = {one.id: one for one in session.config_options}
        await answered(agent, session.session_id, "hello")
        chosen = {"config_id": "protocol", "session_id": session.session_id, "value": "whole"}
        after = await agent.set_config_option(**chosen)
        await answered(agent, session.session_id, "and now")
        with pytest.raises(acp.RequestError, match="no such"):
            await agent.set_config_option(**{**chosen, "value": "shouting"})
        listed = await agent.list_sessions(cwd=str(project))
        await agent.close_session(session_id=session.session_id)
        await agent.resume_session(cwd=str(project), session_id=session.session_id)
        return session, first, after, listed.sessions, await said(agent, session.session_id, "again")

    (session, first, after, listed, end), model = talked(talk, [says("Hello."), says("Yes."), says("Again.")], editor)
    assert first["model"].current_value == "openai:stub"
    assert first["protocol"].current_value == "native"
    assert {one.id: one.current_value for one in after.config_options}["protocol"] == "whole"
    assert "tools" not in model.requests[1].body
    assert [(one.session_id, one.title) for one in listed] == [(session.session_id, "hello")]
    assert end == "end_turn"


def test_a_model_that_refuses_ends_as_a_refusal(project):
    assert edited(project, [says("I will not.", stop_reason="content_filter")])[1] == ["refusal"]


MCP_SERVER = """
import os, sys
from mcp.server import MCPServer
server = MCPServer("calc")

@server.tool()
def add(a: int, b: int) -> str:
    return f"{a + b} {os.environ['MODE']}"

open(sys.argv[1], "a").write("started ")
server.run()
"""


def test_the_tools_of_the_client_s_servers_are_offered_in_its_session_and_each_call_is_asked(project, tmp_path):
    pytest.importorskip("mcp", reason="the official SDK is not installed")
    (tmp_path / "calc.py").write_text(MCP_SERVER)
    (project / "own.py").write_text(MCP_SERVER)
    (project / ".mcp.json").write_text('{"mcpServers": {"named": {}}}')
    log = str(tmp_path / "started")
    env = [{"name": "MODE", "value": "literally ${HOME}"}]
    given = {"calc": tmp_path / "calc.py", "named": tmp_path / "calc.py", "own": "own.py", "gone": "none.py"}
    servers = [{"name": name, "args": [str(file), log], "env": env} for name, file in given.items()]
    servers = [acp.schema.McpServerStdio(command=sys.executable, **one) for one in servers]
    editor = Editor("once", "")

    async def main():
        async with started(editor, model.url) as agent:
            session = await opened(agent, project, servers)
            plain = await opened(agent, project)
            return [await said(agent, session, "40 + 2?"), await said(agent, plain, "hello")]

    sums = [call("add", json.dumps({"a": 40, "b": 2}))] * 2
    with StubServer([*sums, says("42."), says("Hello.")]) as model:
        assert asyncio.run(asyncio.wait_for(main(), 110)) == ["end_turn"] * 2
    offered = [[tool["function"]["name"] for tool in one.body["tools"]].count("add") for one in model.requests]
    assert offered == [1, 1, 1, 0]
    assert len(editor.asked) == 2
    assert "42 literally ${HOME}" in json.dumps(model.requests[1].body)
    assert (tmp_path / "started").read_text() == "started " * 2
    for words in ("'named': .mcp.json is of the project", "'own': own.py is of the project", "'gone': it cannot be"):
        assert words in editor.said


def test_a_stop_ends_the_call_of_a_server_s_tool(project, tmp_path):
    pytest.importorskip("mcp", reason="the official SDK is not installed")
    (tmp_path / "calc.py").write_text(MCP_SERVER.replace("return", "import time; time.sleep(600); return"))
    given = {"name": "calc", "args": [str(tmp_path / "calc.py"), os.devnull], "env": [{"name": "MODE", "value": "x"}]}
    editor = Editor("once")

    async def talk(agent):
        session = await opened(agent, project, [acp.schema.McpServerStdio(command=sys.executable, **given)])
        first = asyncio.ensure_future(said(agent, session, "40 + 2?"))
        while not events(project, ExecutionStarted):
            await asyncio.sleep(0.05)
        await agent.cancel(session_id=session)
        return await first

    assert talked(talk, [call("add", json.dumps({"a": 40, "b": 2}))], editor)[0] == "cancelled"
    assert "stopped by the person while it ran" in events(project, ToolExecutionResult)[0].text
