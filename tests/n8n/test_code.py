"""Code nodes: JavaScript and Python parse, and the nodes that they name exist."""

import json
import sys

import pytest
from n8n_workflows import chain, errors, findings, the_one


def with_code(code, **more):
    value = chain("Code")
    value["nodes"][1] |= {"type": "n8n-nodes-base.code", "typeVersion": 2, "parameters": {"jsCode": code, **more}}
    return value


def with_python(code):
    return with_code("", language="pythonNative", pythonCode=code)


def test_javascript_that_runs_is_no_error():
    for code in [
        "return $input.all();",
        "const x = await this.helpers.httpRequest({url: 'a'});\nreturn [{json: x}];",
        "for (const item of $input.all()) { item.json.a ??= 1 }\nreturn items",
        "return $('Start').all().map(i => ({json: {...i.json}}));",
        "const re = /[\"'`]/g; return [{json: {a: `x${1}`}}]",
        "",
        "// $('Gone')\nreturn []",
        "const a = $json.b\n\u00a0? 1 : 2;\nreturn [{json: {a}}]",
        "class A { #x = 1; static { } get y() { return this.#x } }\nreturn [{json: {a: new A().y}}]",
    ]:
        assert errors(with_code(code)) == [], code


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("const a = ;\nreturn []", 1),
        ("return [{{ $json.a }}]", 1),
        ("retrun items;", 1),
        ("const x = 1;\nreturn \u201cx\u201d", 2),
    ],
)
def test_javascript_that_does_not_parse_is_an_error_with_its_line(code, line):
    found = the_one(with_code(code), "N8N070")
    assert (found.severity, found.json_path) == ("error", "nodes[1].parameters.jsCode")
    assert f"line {line}:" in found.message
    assert ("no {{ }}" in found.remedy) == ("{{" in code)


def test_a_reference_in_code_to_a_missing_node_is_an_error_at_its_name():
    value = with_code("const a = 1;\nreturn $('Gone').all()")
    found = the_one(value, "N8N061")
    line = json.dumps(value, indent=2).splitlines()[found.line - 1]
    assert line[found.column - 1 : found.end_column - 1] == "Gone"


def test_python_that_runs_is_no_error():
    for code in [
        "return [{'json': {}}]",
        "for i in _items:\n    i['json']['a'] = 1\nreturn _items",
        "",
        "x = await f()\nreturn x",
        r"a = '\d'",
    ]:
        assert errors(with_python(code)) == [], code


@pytest.mark.parametrize(
    ("code", "line"), [("return [", 1), ("x = 1\nif x\n  pass", 2), ("  x = 1\n y = 2", None), ("const a = 1", 1)]
)
def test_python_that_does_not_parse_is_an_error_with_its_line(code, line):
    found = the_one(with_python(code), "N8N071")
    assert (found.severity, found.json_path) == ("error", "nodes[1].parameters.pythonCode")
    assert line is None or f"line {line}:" in found.message


def test_newer_python_than_ours_is_not_refused():
    assert errors(with_python('x = {\'a\': 1}\nreturn f"{x["a"]}"')) == []
    assert sys.version_info >= (3, 11)


def test_only_the_code_of_the_chosen_language_is_read():
    assert errors(with_code("broken (", language="pythonNative", pythonCode="return []")) == []


def test_languages():
    assert the_one(with_code("", language="python", pythonCode="return []"), "N8N072").severity == "warning"
    assert errors(with_code("", language="ruby")) == [("N8N072", "nodes[1].parameters.language")]
    assert errors(with_code("", language="={{ $json.l }}")) == []


def test_old_function_nodes_are_read_too():
    value = chain("F")
    value["nodes"][1] |= {"type": "n8n-nodes-base.function", "parameters": {"functionCode": "return items)"}}
    assert errors(value) == [("N8N070", "nodes[1].parameters.functionCode")]


def test_a_disabled_code_node_is_not_read():
    value = with_code("broken (")
    value["nodes"][1]["disabled"] = True
    assert errors(value) == []


def test_code_that_returns_nothing_is_a_warning():
    assert the_one(with_code("const a = 1;"), "N8N073").severity == "warning"
    assert 'return [{"json"' in the_one(with_python("a = 1"), "N8N073").remedy
    assert not [f for f in findings(with_code("")) if f.rule == "N8N073"]


EARLY = [
    ("return f(1, , 2);", "a value is missing before this comma"),
    ("return { a: 1, , b: 2 };", "a value is missing before this comma"),
    ("a?.b.c = 1;\nreturn a;", 'nothing can be assigned to a place with "?."'),
    ("const a = 1;\nconst a = 2;\nreturn a;", "'a' is declared a second time"),
    ("let a;\nfunction a() {}\nreturn a;", "'a' is declared a second time"),
    ("return items.map((item) => { const item = 1; return item; });", "'item' is declared a second time"),
    ("return items.map((i) => { const x = await f(i); return x; });", "await is in a function that is not async"),
]


@pytest.mark.parametrize(("script", "said"), EARLY)
def test_what_javascript_refuses_before_it_runs_is_found(script, said):
    found = the_one(with_code(script), "N8N070")
    assert said in found.message
    assert found.severity == "error"


SOUND = [
    "const [a, , b] = [1, , 2];\nreturn [a, b,];",
    "return f(1, 2,);",
    "const a = 1;\n{ const a = 2; }\nfor (const a of b) { const c = a; }\nreturn a;",
    "function a() {}\nfunction a() {}\nvar b; var b;\nreturn a;",
    "switch (x) { case 1: { const y = 1; break } case 2: { const y = 2 } }\nreturn x;",
    "const f = async () => { await g(); };\nawait f();\nfor await (const x of y) { await x; }\nreturn [];",
    "class A { async m() { await 1 } static { const m = 1 } }\nreturn [];",
    "return items.map(async function (item) { return await item; });",
    r"return /[(\]]+\(\/(?<n>a)(?:b|[^)])/gimsuy.test(a);",
    "a.b = c?.d;\na.b ||= c?.d === e;\nreturn { a, ...b, };",
    "try { f() } catch (e) { const g = e }\nreturn [];",
    "const { a, b: { c } } = d;\nconst e = (a) => { const c = a; return c };\nreturn e;",
]


def test_sound_code_has_no_early_error():
    assert [script for script in SOUND if errors(with_code(script))] == []
