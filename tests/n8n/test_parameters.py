"""Parameters against a catalogue: n8n's own order of defaults, visibility, required, dropped."""

import pytest
from n8n_workflows import findings, node, the_one, workflow

pytestmark = pytest.mark.usefixtures("catalogue")

START = node("Start", "n8n-nodes-base.manualTrigger")


def post(version=2, **parameters):
    letter = {"to": "Ann", "stamp": "red"}
    return workflow(START, node("Post", "n8n-nodes-base.post", version, parameters={**letter, **parameters}))


def problems(value):
    return [(f.rule, f.json_path.removeprefix("nodes[1].parameters."), f.severity) for f in about_post(value)]


def about_post(value):
    ignored = {"N8N037", "N8N092"}
    return [f for f in findings(value) if f.json_path.startswith("nodes[1]") and f.rule not in ignored]


def error(rule, path):
    return [(rule, path, "error")]


def test_a_complete_node_has_no_findings():
    assert problems(post()) == []


def test_a_required_parameter_that_shows_must_have_a_value():
    assert problems(post(to="")) == error("N8N050", "to")
    assert problems(post(operation="read", to="")) == []


def test_defaults_are_filled_before_visibility_is_judged():
    value = post()
    del value["nodes"][1]["parameters"]["to"]
    assert problems(value) == error("N8N050", "to")


def test_each_node_is_judged_by_its_own_version():
    assert problems(post(stamp="")) == error("N8N050", "stamp")
    old = post(version=1)
    del old["nodes"][1]["parameters"]["stamp"]
    assert problems(old) == []


def test_an_expression_in_what_decides_shows_the_parameter():
    assert problems(post(operation="={{ $json.op }}", to="")) == error("N8N050", "to")


def test_a_misspelt_parameter_is_dropped_and_the_right_name_is_told():
    value = post(stmap="blue")
    assert problems(value) == error("N8N051", "stmap")
    assert 'Did you mean "stamp"?' in the_one(value, "N8N051").remedy


def test_a_leftover_without_content_is_only_a_warning():
    assert problems(post(oldField="")) == [("N8N051", "oldField", "warning")]


def test_a_hidden_parameter_is_a_warning_that_says_when_it_applies():
    value = post(weight="3")
    assert problems(value) == [("N8N052", "weight", "warning")]
    assert "resource is not" in the_one(value, "N8N052").remedy
    assert problems(post(weight="")) == []


def test_what_the_editor_writes_by_itself_is_not_reported():
    for name in ["", "letterNotice", "requestOptions", "someWarning"]:
        assert problems(post(**{name: {"a": 1}})) == [], name


@pytest.mark.parametrize(
    ("parameters", "path"),
    [
        ({"resource": "leter"}, "resource"),
        ({"operation": "sendd"}, "operation"),
        ({"operation": "weigh"}, "operation"),
        ({"extras": {"speed": "fastest"}}, "extras.speed"),
    ],
)
def test_a_choice_outside_the_visible_list_is_an_error(parameters, path):
    found = [p for p in problems(post(**parameters)) if p[0] == "N8N054"]
    assert found == error("N8N054", path)
    assert "Allowed here" in the_one(post(**parameters), "N8N054").remedy


def test_a_wrong_choice_among_several_is_a_warning():
    assert problems(post(kinds=["air", "rail"])) == [("N8N054", "kinds", "warning")]


def test_choices_that_n8n_loads_and_expressions_are_not_judged():
    assert problems(post(branch="anything", kinds="={{ $json.k }}", extras={"speed": "={{ 1 }}"})) == []


def test_unknown_keys_of_collections_and_groups_are_errors():
    assert problems(post(extras={"nte": "x"})) == error("N8N051", "extras.nte")
    assert problems(post(pages={"pag": [{"title": "x"}]})) == error("N8N053", "pages.pag")
    assert problems(post(pages={"page": [{"title": "x", "bdy": "y"}]})) == error("N8N051", "pages.page[0].bdy")


def test_required_fields_of_rows_are_looked_at():
    assert problems(post(pages={"page": [{"title": "x"}, {"title": ""}]})) == error("N8N050", "pages.page[1].title")
    assert problems(post(seal={"wax": {"colour": "red"}})) == error("N8N050", "seal.wax.motto")


def test_rows_that_are_no_list_stop_n8n():
    for rows in [{"title": "x"}, None, 3]:
        assert problems(post(pages={"page": rows})) == error("N8N055", "pages.page"), rows


def test_a_list_where_an_object_belongs_is_an_error():
    for parameters in [{"pages": [{"title": "x"}]}, {"extras": ["x"]}, {"seal": {"wax": [{"motto": "x"}]}}]:
        assert "N8N055" in [rule for rule, _, _ in problems(post(**parameters))], parameters


def parcel(**parameters):
    return workflow(START, node("Post", "n8n-nodes-base.post", 2, parameters={"resource": "parcel", **parameters}))


def test_locators_are_judged_as_n8n_judges_them():
    for office, rules in [
        ({"__rl": True, "mode": "list", "value": "x"}, []),
        ({"__rl": True, "mode": "id", "value": "123"}, []),
        ({"__rl": True, "mode": "id", "value": "=x"}, []),
        ({"__rl": True, "mode": "id", "value": 123}, []),
        ("plain text", []),
        ({"__rl": True, "mode": "id", "value": "12"}, ["N8N056"]),
        ({"__rl": True, "mode": "list", "value": ""}, ["N8N050"]),
        ("", ["N8N050"]),
    ]:
        assert [rule for rule, _, _ in problems(parcel(office=office))] == rules, office


def condition(**operator):
    return {
        "conditions": [{"leftValue": "a", "rightValue": "b", "operator": operator}],
        "combinator": "and",
        "options": {},
    }


def test_comparisons_that_n8n_does_not_have_are_errors():
    assert problems(post(when=condition(type="string", operation="equals"))) == []
    assert problems(post(when=condition(type="string", operation="equal"))) == error(
        "N8N057", "when.conditions[0].operator.operation"
    )
    assert problems(post(when=condition(type="text", operation="equals"))) == error(
        "N8N057", "when.conditions[0].operator.type"
    )


def test_a_quoted_number_or_boolean_is_a_warning():
    assert problems(post(urgent="true")) == [("N8N058", "urgent", "warning")]
    assert problems(post(extras={"copies": "2"})) == [("N8N058", "extras.copies", "warning")]


def test_a_disabled_node_is_not_judged():
    value = post(to="", stmap=1)
    value["nodes"][1]["disabled"] = True
    assert about_post(value) == []


def test_the_expression_in_a_dropped_parameter_is_not_judged():
    assert problems(post(weight="={{ $json. }}")) == [("N8N052", "weight", "warning")]
