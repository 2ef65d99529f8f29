"""Templates become agents, and agents become prompts in which nothing is lost, altered or left over."""

import json
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rails.agents.front_matter import _plain, plain_lines
from rails.agents.output import check_output
from rails.agents.prompt import as_data, first_message, protocol_page, registry_for, system_prompt, tool_specs
from rails.agents.protocols import choose
from rails.agents.template import COMPONENTS_MARKER, PROTOCOLS, load_agents, named, read_agent
from rails.core.app_dirs import builtin_folder
from rails.core.errors import DefinitionError, UsageError
from rails.core.tool_request import RawRequest, ToolRequest
from rails.parsing.parse import parse
from rails.tools.loader import load_definitions, read_definition
from rails.tools.registry import Registry
from rails.tools.validate import validate
from tests.rows import walked

SHIPPED = builtin_folder("agent_templates")
AGENTS = load_agents([SHIPPED])


def test_one_agent_is_loaded_by_its_file_s_name_and_an_alias_is_looked_for_in_all(tmp_path):
    (tmp_path / "broken.md").write_text("no front matter")
    assert load_agents([SHIPPED, tmp_path], only="coder") == {"coder": AGENTS["coder"]}
    assert set(load_agents([SHIPPED], only="Coder Agent")) == {"coder"}
    assert load_agents([SHIPPED], only="no such") == AGENTS
    with pytest.raises(UsageError, match=r"The agent broken is left out: .*broken\.md"):
        named(load_agents([SHIPPED, tmp_path], only="broken"), "broken")


def test_a_broken_template_unloads_itself_and_what_it_was_to_replace(tmp_path):
    (tmp_path / "coder.md").write_text("no front matter")
    agents = load_agents([SHIPPED, tmp_path])
    assert set(agents) == set(AGENTS) - {"coder"}
    assert list(agents.left_out) == ["coder"]
    with pytest.raises(UsageError, match=r"The agent coder is left out: .*coder\.md"):
        named(agents, "coder")


@pytest.mark.parametrize("only", ["", "coder"])
@pytest.mark.parametrize(
    "front", ["---\nname: coder\n", "---\nname: coder\ndescription: x\n---\nOther.\n", '"NAME" : "Coder"']
)
def test_a_broken_template_takes_the_agent_along_that_it_names(tmp_path, front, only):
    (tmp_path / "another.md").write_text(front.replace("NAME", "name"))
    (tmp_path / "coder.md").write_text(template("name: coder\ndescription: Codes.\n"))
    agents = load_agents([SHIPPED, tmp_path], only=only)
    assert set(agents) == (set() if only else set(AGENTS) - {"coder"})
    assert len(agents.notes) == 1
    with pytest.raises(UsageError, match=r"The agent another is left out, and with it coder: .*another\.md"):
        named(agents, "coder")


@pytest.fixture(scope="module")
def registry():
    return load_definitions([builtin_folder("mcp_definitions")])


def template(front="name: poet\ndescription: Writes.\n", body="You write.\n"):
    return f"---\n{front}---\n{body}"


def test_each_shipped_template_is_a_valid_claude_code_subagent():
    for name in sorted(AGENTS):
        text = (SHIPPED / f"{name}.md").read_text(encoding="utf-8")
        front = yaml.safe_load(text.split("---\n")[1])
        assert front["name"] == name
        assert front["description"]
        assert set(front) <= {"name", "description", "tools", "model", "maxTurns", "x-rails"}


def test_each_shipped_agent_lists_only_tools_that_exist_and_that_it_may_use(registry):
    for name in sorted(AGENTS):
        agent = AGENTS[name]
        usable = {definition.tool_name for definition in registry.for_role(name)}
        assert set(agent.tools or ()) <= usable


def test_no_marker_or_placeholder_is_left_in_a_prompt(registry):
    for name in sorted(AGENTS):
        prompt = system_prompt(AGENTS[name], registry)
        assert not re.search(
            r"PLACEHOLDER|_START ---|_END ---|\{\{|\}\}(?!\})\s*\}\}", prompt.replace("={{ $json.email }}", "")
        )


@walked("name", sorted(AGENTS))
def test_tools_are_told_once_in_the_text_or_natively_and_no_others(name, registry):
    agent = AGENTS[name]
    native = {spec.name for spec in tool_specs(agent, registry)}
    text = system_prompt(agent, registry, "json")
    for tool, definition in registry.definitions.items():
        assert (f"- `{definition.signature()}`: " in text) is (tool in native)
    for protocol in ("native", "edits", "whole"):
        assert "request_schema" not in system_prompt(agent, registry, protocol)
        assert "## Your tools" not in system_prompt(agent, registry, protocol)
    for protocol in ("json", "edits", "whole"):
        assert tool_specs(agent, registry, protocol) == ()


def test_the_coders_prompt_is_lean_in_every_protocol(registry):
    """Characters; a token of the models that were measured has four."""
    size = {protocol: len(system_prompt(AGENTS["coder"], registry, protocol)) for protocol in PROTOCOLS[1:]}
    assert size["native"] <= 2_000
    assert size["json"] <= 5_200
    assert size["edits"] <= 2_600
    assert size["whole"] <= 2_000
    assert sum(len(spec.description + spec.schema) for spec in tool_specs(AGENTS["coder"], registry)) <= 5_000


@walked(
    ("provider", "name", "local", "protocol"),
    [
        ("openai", "gpt-6", False, "native"),
        ("openai", "qwen2.5-coder-1.5b", True, "whole"),
        ("ollama", "qwen2.5-coder:32b", True, "edits"),
        ("ollama", "qwen3:30b", True, "native"),
        ("openai", "who-knows", True, "edits"),
        ("recorded", "answers.jsonl", False, "json"),
    ],
)
def test_a_model_is_asked_in_the_protocol_that_the_table_says(provider, name, local, protocol):
    assert choose("auto", provider, name, local=local).protocol == protocol
    assert choose("json", provider, name, local=local).protocol == "json"


def test_guidance_of_other_roles_is_not_in_the_prompt(registry):
    prompt = system_prompt(AGENTS["n8n-flow-creator"], registry)
    assert "Write a workflow as one complete JSON object" in prompt
    assert "Copy old_string from what read_file gave you" not in prompt


NASTY = "back\\slash \\n \\1 \\g<0> $& $1 ${x} {name} %s %(a)s — ü 漢字 \\u0041 '\"`"


@walked("body", ["Before.\n", f"Before.\n{COMPONENTS_MARKER}\nAfter.\n"])
def test_injected_text_arrives_byte_for_byte(body):
    definition, _ = read_definition(
        json.dumps(
            {
                "tool_name": "probe",
                "description": NASTY,
                "request_schema": {"type": "object", "properties": {"x": {"description": NASTY}}},
                "transport": {"type": "command", "command": ["true"]},
                "access_control": {"*": True},
                "agent_specific_guidance": {"*": NASTY + "\n" + COMPONENTS_MARKER},
            }
        ),
        "probe.json",
    )
    agent = read_agent(template(body=NASTY + "\n" + body), "poet.md")
    prompt = system_prompt(agent, Registry({"probe": definition}))
    assert prompt.count(NASTY) == 3
    assert prompt.count(COMPONENTS_MARKER) == 1
    assert ("After." in prompt) is ("After." in body)


def test_c3_15_the_protocols_example_is_found_alone_and_validates(registry):
    found = parse(protocol_page("json"), registry.shapes())
    assert [request.tool_name for request in found.requests] == ["read_file"]
    assert found.refusals == ()
    assert isinstance(validate(found.requests[0], registry, "coder"), ToolRequest)


def test_a_template_that_lists_tools_is_held_to_them(registry):
    agent = read_agent(template("name: poet\ndescription: Writes.\ntools: read_file, Write\n"), "poet.md")
    assert [spec.name for spec in tool_specs(agent, registry)] == ["read_file", "write_file"]
    raw = RawRequest("r1", "delete_file", {"file_path": "a"})
    assert validate(raw, registry_for(agent, registry), "poet")[0].code == "forbidden_tool"


def test_a_role_without_tools_is_told_so(registry):
    agent = read_agent(template("name: poet\ndescription: Writes.\ntools: []\n"), "poet.md")
    assert "You have no tools." in system_prompt(agent, registry)


def test_a_users_template_replaces_the_shipped_one(tmp_path):
    (tmp_path / "coder.md").write_text(template("name: coder\ndescription: Mine.\n"))
    (tmp_path / "_notes.md").write_text("not a template")
    agents = load_agents([SHIPPED, tmp_path, tmp_path / "missing"])
    assert agents["coder"].description == "Mine."
    assert agents["coder"].tools is None
    assert set(agents) == set(AGENTS)


@walked(
    ("text", "said"),
    [
        ("You write.", "front matter is missing"),
        ("---\nname: poet\n", "does not end"),
        (template("name: poet\n"), "missing required field `description`"),
        (template("name: Poet\ndescription: x\n"), "Use lower-case words joined by dashes."),
        (template("name: other\ndescription: x\n"), "not the file's name"),
        (template("name: poet\nname: poet\ndescription: x\n"), "'name' occurs twice"),
        (template("name: poet\ndescription: &a x\n"), "anchors and aliases"),
        (template("name: poet\ndescription: !!python/object/apply:os.system [id]\n"), "tags are not allowed"),
        (template("name: poet\ndescription: x\nx-rails: {max_attempt: 2}\n"), 'Did you mean "max_attempts"?'),
        (template("name: poet\ndescription: [x]\n"), "Expected `str`"),
        (template("name: [poet\n"), "not YAML"),
        (template("name: poet\ndescription: x\nskills: " + "[" * 20 + "]" * 20 + "\n"), "8 levels"),
        (template(body="You write\u202e.\n"), "invisible characters"),
        (template(body="--- TOOL_DEFINITIONS_START ---\n"), "would stay in the prompt"),
    ],
)
def test_a_wrong_template_is_refused_with_file_and_reason(text, said):
    with pytest.raises(DefinitionError, match=r"poet\.md") as caught:
        read_agent(text, "poet.md")
    assert said in str(caught.value)


def test_words_that_yaml_takes_for_something_else_stay_words():
    agent = read_agent(template("name: no\ndescription: 12:30:45\nmodel: on\n"), "no.md")
    assert (agent.name, agent.description, agent.model) == ("no", "12:30:45", "on")


def test_an_over_large_template_is_refused(tmp_path):
    (tmp_path / "poet.md").write_text(template(body="x" * 300_000))
    assert "256000 bytes" in load_agents([tmp_path]).left_out["poet"]


def test_the_first_message_has_the_blocks_of_the_original():
    assert first_message("Do it.") == "Do it.\n"
    message = first_message("Do it.", {"Project": "todo"}, "Human Feedback: no")
    assert message.startswith("Do it.\n\n--- ADDITIONAL CONTEXT ---\n- Project: todo\n\n--- PREVIOUS TOOL OUTPUT ---\n")
    assert "\nHuman Feedback: no\n" in message


def test_data_cannot_close_its_own_tag():
    inner = as_data("x")
    outer = as_data(inner)
    tag = outer.splitlines()[1]
    assert outer.count(tag) == 1
    assert outer.splitlines()[-1] == tag.replace("<", "</")


def test_an_answer_without_the_roles_headings_is_refused():
    for name in sorted(AGENTS):
        agent = AGENTS[name]
        refusals = check_output(agent, "Here it is.")
        verdict = ["verdict"] if agent.gives_verdict else []
        assert [refusal.path for refusal in refusals] == [*agent.headings, *verdict]
        written = "\n".join(f"## {number}. {heading}:\ntext" for number, heading in enumerate(agent.headings, start=1))
        assert check_output(agent, f"PASS\n{written}") == ()


def test_a_heading_inside_a_code_block_is_none():
    agent = AGENTS["documentation"]
    assert check_output(agent, "````md\n# Repository Cleanup\n```\n# Repository Cleanup\n````\n")
    assert not check_output(agent, "```sh\n# comment\n```\n\n# **repository cleanup**\nNothing to move\n")


@walked(
    ("said", "meant"),
    [
        ("Planning Agent", "planning"),
        ("reviewer", "code-review"),
        ("unit_tester", "unit-tester"),
        ("coder", "coder"),
        ("n8n", "n8n-flow-creator"),
    ],
)
def test_an_agent_answers_to_its_name_title_and_aliases(said, meant):
    assert named(AGENTS, said).name == meant


def test_an_alias_never_takes_another_agents_place(tmp_path):
    front = "name: poet\ndescription: x\nx-rails:\n  aliases: [coder]\n"
    (tmp_path / "poet.md").write_text(template(front))
    agents = load_agents([tmp_path, SHIPPED])
    assert named(agents, "coder").name == "coder"
    with pytest.raises(UsageError, match='Did you mean "coder"'):
        named(agents, "coderr")


def test_origin_and_trust_follow_from_the_folder_and_the_digest(tmp_path):
    (tmp_path / "coder.md").write_text(template("name: coder\ndescription: Mine.\n"))
    project = load_agents([SHIPPED, tmp_path])["coder"]
    assert (project.origin, project.trusted, project.replaces) == ("project", False, "shipped")
    assert load_agents([SHIPPED, tmp_path], trusted={project.digest})["coder"].trusted
    user = load_agents([SHIPPED, tmp_path], trusted_folders=[tmp_path])["coder"]
    assert (user.origin, user.trusted) == ("user", True)
    assert {agent.origin for agent in load_agents([SHIPPED]).values()} == {"shipped"}
    (tmp_path / "coder.md").write_text(template("name: coder\ndescription: Mine.\n", "You write!\n"))
    assert not load_agents([SHIPPED, tmp_path], trusted={project.digest})["coder"].trusted


def test_one_changed_character_of_front_matter_or_prompt_is_another_digest():
    texts = [template(), template(body="You write!\n"), template("name: poet\ndescription: Writes!\n")]
    assert len({read_agent(text, "poet.md").digest for text in texts}) == 3


@walked(
    ("ours", "said"),
    [
        ("model: claude-x", "x-rails.model"),
        ("model: openai:m@http://evil.example/v1", "without a server's address"),
        ("stronger_model: [a]", "x-rails.stronger_model"),
        ("output: {schema: '{\"type\": }'}", "is not JSON"),
        ("output: {schema: {type: object, requried: [a]}}", "requried"),
        ("output: {form: x}", "Write output: {headings: [Title, Plan]}, or schema"),
        ("aliases: {a: b}", "x-rails.aliases"),
    ],
)
def test_a_wrong_key_of_ours_is_refused_with_its_place(ours, said):
    with pytest.raises(DefinitionError, match=r"poet\.md") as caught:
        read_agent(template(f"name: poet\ndescription: x\nx-rails:\n  {ours}\n"), "poet.md")
    assert said in str(caught.value)


SCHEMA = """name: poet
description: x
x-rails:
  output:
    schema: |
      {"type": "object", "required": ["verdict"],
       "properties": {"verdict": {"enum": ["PASS", "FAIL"]}}, "additionalProperties": false}
"""


@walked(
    ("text", "said"),
    [
        ('```json\n{"verdict": "PASS"}\n```', ()),
        ('First:\n```json\n{"old": 1}\n```\nthen\n```json\n{"verdict": "PASS"}\n```\n', ()),
        ('```json\n{"verdict": "MAYBE"}\n```', ("verdict",)),
        ('```json\n{"verdict": "PASS"\n```', ("json",)),
        ("It is fine.", ("json",)),
        ("```json\n{}\n```", ("parameters",)),
    ],
)
def test_an_answer_may_have_to_satisfy_a_schema(text, said):
    agent = read_agent(template(SCHEMA), "poet.md")
    found = check_output(agent, text)
    assert bool(found) is bool(said), found
    assert all(refusal.code == "output" and refusal.message for refusal in found)


CONTRACT = {
    "feature_request": {"feature_id": "F1", "title": "t", "description": "d", "acceptance_criteria": ["c"]},
    "test_suite": {
        "feature_id": "F1",
        "tests": [{"name": f"test_{n}", "category": "edge_cases", "code": "pass"} for n in "abcde"],
        "coverage_target": 90,
    },
    "code_output": {
        "feature_id": "F1",
        "language": "python",
        "files": [{"path": "a.py", "content": "", "file_type": "source"}],
        "quality_metrics": {"has_docstrings": True, "has_type_hints": True, "complexity_score": 10},
        "test_compatibility": {},
    },
    "validation_result": {
        "feature_id": "F1",
        "test_results": dict.fromkeys(
            ("total_tests", "passed", "failed", "skipped", "coverage_percentage", "execution_time_seconds"), 1
        ),
        "quality_checks": dict.fromkeys(
            (
                *("linting_passed", "type_checking_passed", "security_scan_passed"),
                *("documentation_complete", "complexity_within_limits"),
            ),
            True,
        ),
        "failed_tests": [],
        "human_review": {"approved": True, "approval_timestamp": "2026-01-01T00:00:00Z"},
    },
}


@walked("name", CONTRACT)
def test_c12_19_a_template_names_one_of_the_four_contracts_and_its_answer_is_held_to_it(name):
    agent = read_agent(template(f"name: poet\ndescription: x\nx-rails:\n  output:\n    schema: {name}\n"), "poet.md")
    assert not check_output(agent, json.dumps(CONTRACT[name]))
    assert check_output(agent, json.dumps({**CONTRACT[name], "more": 1}))
    for key in CONTRACT[name]:
        if key != "human_review":
            assert check_output(agent, json.dumps({k: v for k, v in CONTRACT[name].items() if k != key}))


def test_c12_19_a_suite_of_four_tests_or_of_a_badly_named_one_is_refused():
    agent = read_agent(template("name: poet\ndescription: x\nx-rails: {output: {schema: test_suite}}\n"), "poet.md")
    suite = CONTRACT["test_suite"]
    assert check_output(agent, json.dumps({**suite, "tests": suite["tests"][:4]}))
    odd = [*suite["tests"][:4], {**suite["tests"][4], "name": "TestMore"}]
    assert check_output(agent, json.dumps({**suite, "tests": odd}))
    assert check_output(agent, json.dumps({**suite, "coverage_target": 70}))


@walked("name", sorted(AGENTS))
def test_a_roles_prompt_has_no_word_that_is_only_another_roles(name, registry):
    """Guidance and tools of other roles are left out, and the protocol is there once, unchanged."""
    prompt = system_prompt(AGENTS[name], registry)
    assert prompt.count(protocol_page("json")) == 1
    own = {spec.name for spec in tool_specs(AGENTS[name], registry)}
    told = set(re.findall(r"^### Guidance for (\S+):$", prompt, re.MULTILINE))
    assert told <= own
    for definition in registry.definitions.values():
        mine = definition.guidance_for(name) if definition.tool_name in own else ""
        for advice in set(definition.guidance.values()) - {mine}:
            assert advice not in prompt


FRONT = st.lists(
    st.tuples(
        st.sampled_from(["", "  ", "    ", " "]),
        st.sampled_from(["name", "x-rails", "true", "a_b", "null", "2a", ""]),
        st.sampled_from([":", ": ", ":  ", " :"]),
        st.sampled_from(
            ["", "coder", "a, b.", "it's (so)", "no", "null", "12", "-3", "2024-01-01", "1e5", "true", "a b "]
        )
        | st.text("aA1 .,:#-'&*!|>[]{}\"\t~", max_size=8),
    ),
    min_size=1,
    max_size=5,
)


@given(FRONT)
def test_plain_lines_of_front_matter_mean_what_yaml_says(lines):
    text = "".join(f"{''.join(line)}\n" for line in lines)
    found = plain_lines(text)
    if found is not None:
        assert found == _plain(yaml.compose(text, Loader=yaml.SafeLoader), "a.md", 0)
    if all(line[0] == "" and line[1] == "name" and line[2:] == (": ", "coder") for line in lines):
        assert (found is not None) == (len(lines) == 1)


@walked(("level", "shown"), [(True, True), ("free_access", True), (False, False), (None, False)])
def test_c10_01_a_tool_that_the_role_may_not_use_is_not_in_its_prompt(level, shown):
    raw = {
        "tool_name": "probe", "description": "d", "request_schema": {"type": "object", "properties": {}},
        "transport": {"type": "command", "command": ["true"]},
        "access_control": {} if level is None else {"Coder Agent": level},
    }  # fmt: skip
    definition, mistakes = read_definition(json.dumps(raw), "probe.json")
    assert not mistakes
    prompt = system_prompt(AGENTS["coder"], Registry({"probe": definition}))
    assert ("- `probe(" in prompt) is shown


def test_c11_07_nine_roles_and_a_sample_are_shipped():
    roles = {"planning", "coder", "unit-tester", "debugger", "documentation", "code-review", "refactor",
             "n8n-flow-creator", "overseer"}  # fmt: skip
    assert {"sample"} | roles <= set(AGENTS)
