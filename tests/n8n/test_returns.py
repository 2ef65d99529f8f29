"""What a Code node gives back is judged as far as it is written out, as n8n's own validation does."""

from n8n_workflows import findings, node, to, workflow


def told(code, *, each=False, python=False):
    parameters = {"mode": "runOnceForEachItem"} if each else {}
    parameters |= {"language": "pythonNative", "pythonCode": code} if python else {"jsCode": code}
    value = workflow(
        node("Start", "n8n-nodes-base.manualTrigger"),
        node("Code", "n8n-nodes-base.code", 2, parameters=parameters),
        connections={"Start": {"main": [[to("Code")]]}},
    )
    return [f.severity for f in findings(value) if f.rule == "N8N074"]


def test_for_all_items_a_list_of_objects_is_given_back():
    for code in [
        "return ['a', 'b'];",
        "return 'x';",
        "return [[{ json: {} }]];",
        "return [{ json: 'x' }];",
        "return [{ json: [1] }];",
        "return { json: 'x' };",
        "return [{ json: {}, name: 'a' }];",
        "const f = () => { return [] };\nreturn ('a');",
        "return [{ json: {} }, 1];",
        "return;",
        "return [null];",
        "return items.length;",
        "return a ? 'x' : 'y';",
        "return 'a' + items.length;",
        "return !items.length;",
        "return [{ json: {}, binary: 'x' }];",
        "return [{ json: null }];",
    ]:
        assert told(code) == ["error"], code


def test_what_a_name_or_a_call_gives_is_told_as_likely():
    for code in [
        "const a = ['x'];\nreturn a;",
        "return JSON.stringify(items);",
        "return items.map(i => { return 'x' });",
        "return Object.keys(items[0].json);",
        "return items[0].json.name.toUpperCase();",
        "return items.map((item) => 'x');",
        "const f = () => 1;\nreturn f;",
        "let out = '';\nfor (const one of $input.all()) { out += one.json.a; }\nreturn out;",
    ]:
        assert told(code) == ["warning"], code


def test_for_all_items_what_n8n_takes_or_what_is_computed_is_not_told():
    for code in [
        "return [{ json: { a: 1 } }];",
        "return [];",
        "return [{ a: 1 }];",
        "return { a: 1 };",
        "return { a: 1, json: {} };",
        "return $input.all();",
        "return [{ ...item, json: 'x' }];",
        "return [{ [key]: 'x', json: 1 }];",
        "return [{ json: {}, pairedItem: 0, binary: {} }];",
        "function f() { return 'a' } return [f()];",
        "return [{ json: {}, binary: undefined }];",
        "return [{ json: {}, binary: a ? { data } : undefined }];",
        "return a ? [{ json: {} }] : [];",
        "return a ? 'x' : items;",
        "return [{ json: {} }];\nreturn 'x';",
        "if (a) { return []; }\nreturn [{ json: {} }];",
        "let out = '';\nout += 'a';\nout = [{ json: { out } }];\nreturn out;",
        "let out = 1;\nout += 1;\nreturn out;",
    ]:
        assert told(code) == [], code


def test_for_each_item_one_object_is_given_back():
    for code, severities in [
        ("return [{ json: { a: 1 } }];", ["error"]),
        ("return 'x';", ["error"]),
        ("return { json: 'x' };", ["error"]),
        ("return { json: {}, name: 'a' };", ["error"]),
        ("if ($json.a) { return 'x'; }\nreturn { a: 1 };", ["warning"]),
        ("return { json: { a: 1 } };", []),
        ("return $json;", []),
    ]:
        assert told(code, each=True) == severities, code


def test_python_is_judged_alike():
    for code, each, severities in [
        ("return ['a']", False, ["error"]),
        ("return 'a'", False, ["error"]),
        ("return 1.5", False, ["error"]),
        ("return f'a'", False, ["error"]),
        ("return [{'json': 'a'}]", False, ["error"]),
        ("return [{'json': {}, 'name': 1}]", False, ["error"]),
        ("return [{'json': {}}]", True, ["error"]),
        ("if x:\n    return 1\nreturn []", False, ["warning"]),
        ("return [{'json': {'a': 1}}]", False, []),
        ("return ({'json': {}}, a)", False, []),
        ("return {}, 'a'", False, ["error"]),
        ("return {'json': {'a': 1}}", True, []),
        ("return _items", False, []),
        ("def f():\n    return 'a'\nreturn [{'json': f()}]", False, []),
        ("return [{**a, 'json': 'x'}]", False, []),
    ]:
        assert told(code, each=each, python=True) == severities, code
