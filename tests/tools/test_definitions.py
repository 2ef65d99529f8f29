"""Definition files: shipped ones are right, wrong ones are reported with line, field and fix."""

import json

import pytest

from rails.core.app_dirs import builtin_folder
from rails.core.errors import DefinitionError
from rails.json_schema.validator import faults
from rails.tools import loader
from rails.tools.describe import describe, starter
from rails.tools.loader import check_folder, load_definitions, read_definition
from rails.tools.registry import Builtin, Command, Http, Mcp, role_slug
from rails.tools.validate import examine
from tests.rows import walked

SHIPPED = load_definitions([builtin_folder("mcp_definitions")])
GOOD = {
    "tool_name": "count_lines",
    "description": "Count the lines of a file.",
    "request_schema": {
        "type": "object",
        "properties": {"file_path": {"type": "string"}},
        "required": ["file_path"],
        "additionalProperties": False,
    },
    "transport": {"type": "command", "command": ["wc", "-l", "--", "{file_path}"]},
    "access_control": {"Coder Agent": "free_access"},
}


def write(folder, file="tool.json", **fields):
    folder.mkdir(exist_ok=True)
    definition = {key: value for key, value in {**GOOD, **fields}.items() if value is not None}
    (folder / file).write_text(json.dumps(definition, indent=2), encoding="utf-8")
    return folder


def test_the_shipped_definitions_have_no_mistake():
    assert check_folder([builtin_folder("mcp_definitions")]) == ()


def test_c3_15_the_shipped_examples_satisfy_their_own_schemas():
    registry = load_definitions([builtin_folder("mcp_definitions")])
    for name in registry.names():
        definition = registry.get(name)
        assert definition.examples
        for example in definition.examples:
            assert faults(definition.request_schema, dict(example)) == ()


def test_dropping_a_file_into_a_folder_makes_a_tool(tmp_path):
    registry = load_definitions([builtin_folder("mcp_definitions"), write(tmp_path / "mcp_definitions")])
    definition = registry.get("count_lines")
    assert definition.transport == Command(("wc", "-l", "--", "{file_path}"), contained=True)
    assert (definition.effect, definition.access) == ("run", {"coder": "free"})
    assert "write_file" in registry.names()


def test_a_folder_that_does_not_exist_is_skipped(tmp_path):
    assert load_definitions([tmp_path / "nothing"]).names() == ()


def test_a_later_folder_replaces_a_tool_by_its_name(tmp_path):
    write(tmp_path / "one")
    write(tmp_path / "two", description="Another.")
    assert load_definitions([tmp_path / "one", tmp_path / "two"]).get("count_lines").description == "Another."


def test_an_untrusted_file_cannot_take_over_a_shipped_tool(tmp_path):
    shipped = builtin_folder("mcp_definitions")
    folder = write(tmp_path, tool_name="read_file")
    registry = load_definitions([shipped, folder])
    assert registry.get("read_file").transport == Builtin("read_file")
    assert "was left out" in registry.notes[0]
    digest = load_definitions([folder]).get("read_file").digest
    assert isinstance(load_definitions([shipped, folder], trusted=[digest]).get("read_file").transport, Command)


def test_an_untrusted_file_can_narrow_a_shipped_tool_and_not_widen_it(tmp_path):
    shipped = builtin_folder("mcp_definitions")
    access = {"overseer": True, "coder": False, "*": True}
    write(tmp_path, tool_name="write_file", transport={"type": "builtin"}, access_control=access)
    definition = load_definitions([shipped, tmp_path]).get("write_file")
    assert definition.description == GOOD["description"]
    assert [definition.access_of(role) for role in ("overseer", "coder", "refactor")] == ["none", "none", "ask"]
    digest = load_definitions([tmp_path]).get("write_file").digest
    trusted = load_definitions([shipped, tmp_path], trusted=[digest]).get("write_file")
    assert [trusted.access_of(role) for role in ("overseer", "coder")] == ["ask", "none"]


def test_a_broken_file_unloads_itself_only_and_says_so(tmp_path):
    write(tmp_path, "a.json", description=None, timeout_s=-1)
    write(tmp_path, "b.json", tool_name="bad name")
    write(tmp_path, "c.json", tool_name="whole")
    registry = load_definitions([tmp_path])
    assert registry.names() == ("whole",)
    first, second = (note for note in registry.notes if "no agent may use" not in note)
    assert first.startswith("left out: ")
    assert "a.json" in first
    assert first.endswith("(1 more mistake: ai-rails tools check)")
    assert "b.json" in second
    assert len(check_folder([tmp_path])) == 3


@pytest.mark.parametrize(
    ("file", "fields"),
    [
        ("mine.json", {"tool_name": "write_file"}),
        ("write_file.json", {"tool_name": 3}),
        ("a.json", {"tool_name": None, "name": "Write_File"}),
    ],
)
def test_a_broken_file_takes_the_tool_along_that_it_was_to_narrow(tmp_path, file, fields):
    """A project that wants a tool asked about does not get it freely because of a missing comma."""
    shipped = builtin_folder("mcp_definitions")
    write(tmp_path, file, **{**fields, "timeout_s": -1})
    registry = load_definitions([shipped, tmp_path])
    assert registry.get("write_file") is None
    assert registry.get("edit_file") is not None
    assert any(note.startswith("left out, and with it write_file: ") for note in registry.notes)


def test_a_shipped_file_that_is_broken_is_an_error(tmp_path, monkeypatch):
    write(tmp_path, "a.json", description=None)
    monkeypatch.setattr(loader, "_is_shipped", lambda _: True)
    with pytest.raises(DefinitionError, match=r"No tool was loaded:\n.*a\.json"):
        load_definitions([tmp_path])


def test_a_mistake_has_its_line(tmp_path):
    write(tmp_path, request_schema={**GOOD["request_schema"], "requried": ["x"]})
    (mistake,) = check_folder([tmp_path])
    line = (tmp_path / "tool.json").read_text().splitlines()[mistake.line - 1]
    assert "requried" in line
    assert str(mistake).startswith(f"{tmp_path / 'tool.json'}:{mistake.line}: request_schema.requried: ")
    assert mistake.fix == 'Did you mean "required"?'


def test_two_files_cannot_define_the_same_tool(tmp_path):
    write(tmp_path, "a.json")
    write(tmp_path, "b.json", tool_name="Count_Lines")
    (mistake,) = check_folder([tmp_path])
    assert "already defined in a.json" in mistake.message


def test_an_alias_cannot_be_another_tools_name(tmp_path):
    write(tmp_path, "a.json", tool_aliases=["other"])
    write(tmp_path, "b.json", tool_name="other")
    (mistake,) = check_folder([tmp_path])
    assert (mistake.file, mistake.field) == (str(tmp_path / "b.json"), "tool_name")
    assert "the name 'other' already belongs to the tool 'count_lines'" in mistake.message


@pytest.mark.parametrize("key", ["inputSchema", "input_schema", "parameters"])
def test_the_mcp_spellings_are_read(tmp_path, key):
    write(
        tmp_path,
        request_schema=None,
        tool_name=None,
        name="count",
        outputSchema={"type": "object"},
        **{key: GOOD["request_schema"]},
    )
    definition = load_definitions([tmp_path]).get("count")
    assert definition.request_schema == GOOD["request_schema"]
    assert definition.response_format == {"type": "object"}


def test_an_original_file_with_an_endpoint_is_an_http_tool(tmp_path):
    write(tmp_path, transport=None, tool_name="CodebaseSummaryMCP", api_endpoint="http://127.0.0.1:8003/summary")
    transport = load_definitions([tmp_path]).get("CodebaseSummaryMCP").transport
    assert transport == Http("http://127.0.0.1:8003/summary", endpoint_env="CODEBASE_SUMMARY_MCP_URL")


def test_an_original_file_without_endpoint_and_access_loads_with_notes(tmp_path):
    write(tmp_path, transport=None, access_control=None)
    registry = load_definitions([tmp_path])
    assert registry.for_role("coder") == ()
    assert [note.partition(":")[2].split(",")[0] for note in registry.notes] == [
        " no agent may use it before you accept its definition: ai-rails tools trust count_lines",
        " no access_control",
        " no api_endpoint",
    ]


def test_an_mcp_server_entry_is_read_as_clients_write_it(tmp_path):
    write(
        tmp_path,
        transport={"type": "mcp-stdio", "command": "npx", "args": ["-y", "server"], "env": {"A": "b"}, "tool": "count"},
    )
    assert load_definitions([tmp_path]).get("count_lines").transport == Mcp(
        command=("npx", "-y", "server"), env={"A": "b"}, tool="count", contained=True
    )


def test_the_digest_depends_on_content_and_not_on_layout():
    compact, _ = read_definition(json.dumps(GOOD), "a.json")
    spread, _ = read_definition(json.dumps(dict(reversed(GOOD.items())), indent=8), "b.json")
    other, _ = read_definition(json.dumps({**GOOD, "description": "Other."}), "a.json")
    assert compact.digest == spread.digest != other.digest


def test_an_example_that_does_not_satisfy_the_schema_is_a_mistake(tmp_path):
    write(tmp_path, examples=[{"file_path": "a"}, {"path": "a"}])
    assert {(mistake.field, mistake.fix.split("?")[0]) for mistake in check_folder([tmp_path])} == {
        ("examples[1].path", "Did you mean `file_path`"),
        ("examples[1].file_path", "Add `file_path` (string)."),
    }


def test_a_default_that_does_not_satisfy_its_schema_is_a_mistake(tmp_path):
    schema = {"type": "object", "properties": {"file_path": {"type": "string", "default": 3}}}
    (mistake,) = check_folder([write(tmp_path, request_schema=schema)])
    assert mistake.field == "request_schema.properties.file_path.default"


def test_roles_of_templates_beside_the_folder_are_known(tmp_path):
    folder = write(tmp_path / "mcp_definitions", access_control={"poet": True})
    assert "the role 'poet' is not known" in check_folder([folder])[0].message
    (tmp_path / "agent_templates").mkdir()
    (tmp_path / "agent_templates" / "poet.md").write_text("")
    assert check_folder([folder]) == ()


def test_check_says_that_a_path_is_missing_or_empty(tmp_path):
    (tmp_path / "empty").mkdir()
    messages = [mistake.message for mistake in check_folder([tmp_path / "empty", tmp_path / "missing"])]
    assert messages == ["the folder has no definition file", "there is no such file or folder"]


def test_a_starter_is_a_definition_without_a_mistake(tmp_path):
    (tmp_path / "my_tool.json").write_text(starter("my_tool"))
    assert check_folder([tmp_path]) == ()
    described = describe(load_definitions([tmp_path]).get("my_tool"))
    assert 'runs ["wc", "-l", "--", "{file_path}"]' in described
    assert "not trusted yet" in described


def test_a_starter_refuses_a_name_that_no_tool_can_have():
    with pytest.raises(DefinitionError.__bases__[0], match="model providers allow no others"):
        starter("../x")


@walked(
    ("name", "slug"),
    [
        ("Unit Tester Agent", "unit-tester"),
        ("n8n Flow Creator Agent", "n8n-flow-creator"),
        ("code_review", "code-review"),
        ("*", "*"),
    ],
)
def test_role_names_of_the_original_and_slugs_are_the_same_role(name, slug):
    assert role_slug(name) == slug


def test_a_folder_with_a_definition_s_name_is_left_out_like_a_broken_file(tmp_path):
    (tmp_path / "odd.json").mkdir()
    loaded = load_definitions([builtin_folder("mcp_definitions"), tmp_path])
    assert set(loaded.definitions) == set(load_definitions([builtin_folder("mcp_definitions")]).definitions)
    [note] = loaded.notes
    assert "odd.json: the file cannot be read" in note


def test_a_model_is_told_of_no_hidden_parameter_and_may_send_it():
    edit = SHIPPED.get("edit_file")
    assert edit.signature() == "edit_file(file_path, old_string, new_string, replace_all=false)"
    assert "occurrence" not in edit.spec().schema
    sent = {"file_path": "a.py", "old_string": "a", "new_string": "b", "occurrence": 2}
    assert examine(edit, sent).faults == ()


def test_a_signature_says_what_may_be_left_out_what_is_chosen_from_and_what_lists_hold():
    assert SHIPPED.get("list_files").signature() == "list_files(path?, pattern?)"
    assert SHIPPED.get("track_task").signature() == 'track_task(file_path, action: "add"|"close"|"reopen", task)'
    edits = "{file_path, old_string, new_string, replace_all=false, ignore_case=false, use_regex=false, order?"
    assert SHIPPED.get("multi_edit").signature() == f"multi_edit(edits: [{edits}, validate_after?}}])"


def test_the_tools_of_a_coder_are_described_in_few_characters():
    names = ("list_files", "search_files", "read_file", "edit_file", "write_file", "run_tests", "run_command")
    specs = [SHIPPED.get(name).spec() for name in names]
    sent = [{"name": one.name, "description": one.description, "parameters": json.loads(one.schema)} for one in specs]
    assert len(json.dumps(sent, ensure_ascii=False, separators=(",", ":"))) <= 3_600
