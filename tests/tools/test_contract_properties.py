"""Whatever a model sends, the contract answers; and what it accepts, JSON Schema accepts."""

import json

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from rails.core.app_dirs import builtin_folder
from rails.core.tool_request import RawRequest, ToolRequest
from rails.tools.loader import load_definitions
from rails.tools.validate import validate
from tests.rows import walked

REGISTRY = load_definitions([builtin_folder("mcp_definitions")])
NAMES = sorted(
    {name for one in REGISTRY.definitions.values() for name in one.request_schema["properties"]}
    | {
        part
        for one in REGISTRY.definitions.values()
        for alias in one.aliases
        for part in alias.replace("[]", "").split(".")
    }
)
OWN = [one.tool_name for one in REGISTRY.for_role("coder")]
KEYS = st.sampled_from(NAMES) | st.text(max_size=5)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-2, 100)
    | st.floats()
    | st.sampled_from(["", "a.py", "12", "true", "[]", "{}", '[{"path": "a"}]', "[", "```json\n[1]\n```", "\ud800"])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(
    st.sampled_from([one.tool_name for one in REGISTRY.for_role("coder")]), st.dictionaries(KEYS, VALUES, max_size=5)
)
def test_every_answer_is_a_valid_request_or_refusals(tool, parameters):
    before = repr(parameters)
    result = validate(RawRequest("r1", tool, parameters), REGISTRY, "coder")
    assert repr(parameters) == before
    if isinstance(result, ToolRequest):
        schema = dict(REGISTRY.get(tool).request_schema)
        assert Draft202012Validator(schema).is_valid(dict(result.parameters))
        json.dumps(result.parameters).encode()
    else:
        assert result
        assert all(refusal.code == "schema" and refusal.message for refusal in result)
    again = validate(RawRequest("r1", tool, parameters), REGISTRY, "coder")
    assert repr(again) == repr(result)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
#: A blank one is refused.
PATHS = TEXTS.filter(str.strip)


def renamed(definition, canonical, choose):
    """Write each parameter under one of its aliases."""
    sent = {}
    for name, value in canonical.items():
        names = [alias for alias, target in definition.aliases.items() if target == name] + [name]
        holder = sent
        parts = choose(names).split(".")
        for part in parts[:-1]:
            holder = holder.setdefault(part, {})
        holder[parts[-1]] = value
    return sent


@given(PATHS, TEXTS, st.text(max_size=30).filter(str.isprintable), st.data())
def test_values_under_any_alias_arrive_unchanged(path, old, new, data):
    canonical = {"file_path": path, "old_string": old, "new_string": new}
    sent = renamed(REGISTRY.get("edit_file"), canonical, lambda names: data.draw(st.sampled_from(names)))
    result = validate(RawRequest("r1", "edit_file", sent), REGISTRY, "coder")
    assert isinstance(result, ToolRequest), (sent, [str(refusal) for refusal in result])
    assert result.parameters == canonical


@given(
    st.lists(
        st.fixed_dictionaries({"file_path": PATHS, "old_string": TEXTS, "new_string": TEXTS}), min_size=1, max_size=5
    )
)
def test_edits_as_json_text_arrive_as_the_same_edits(edits):
    old = [{"path": e["file_path"], "oldString": e["old_string"], "newString": e["new_string"]} for e in edits]
    for text in (json.dumps(old), json.dumps(old, ensure_ascii=False, indent=1), f"```json\n{json.dumps(old)}\n```"):
        result = validate(RawRequest("r1", "fast_editor", {"edits": text}), REGISTRY, "coder")
        assert isinstance(result, ToolRequest), [str(refusal) for refusal in result]
        assert result.parameters == {"edits": edits}


@walked("cut", range(1, 90, 7))
def test_edits_as_cut_off_json_text_are_never_completed(cut):
    text = json.dumps([{"path": "a.py", "oldString": "some text", "newString": "other [text] {here}"}])
    result = validate(RawRequest("r1", "fast_editor", {"edits": text[:-cut]}), REGISTRY, "coder")
    assert not isinstance(result, ToolRequest)
