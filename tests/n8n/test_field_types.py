"""Values of mapped fields are of the types that n8n takes them for: each was given to its ``validateFieldType``.

The verdicts are those of n8n-workflow 2.41.0.
"""

from rails.n8n.rules.required import type_fault

VALID = {
    "object": ["null", " null ", "{}", '{"a":1}', "{a:1}", "{'a':1}", {}, {"a": 1}, None],
    "array": ["[]", "[1,2]", "['a']", [], [1]],
    "number": ["1", "1.5", "-2", " 3 ", "1e3", "", 1, True, False, [], [1], "Infinity"],
    "boolean": ["true", "false", "TRUE", "1", "0", 1, 0, True, []],
}
INVALID = {
    "object": ["[]", "[1]", "1", '"x"', "x", "", "true", [], [1], 0, 1, True, False, "undefined"],
    "array": ["{}", "null", "1", "x", "[1,", {}, 1, True, "1,2"],
    "number": ["x", "1,5", "1_0", {}, "NaN", "\u0661"],
    "boolean": ["yes", "2", 2, "t", "on", {}],
}


def test_a_value_that_n8n_takes_is_no_fault():
    assert [(kind, one) for kind, values in VALID.items() for one in values if type_fault(one, kind, ())] == []


def test_a_value_that_n8n_refuses_is_a_fault():
    assert [(kind, one) for kind, values in INVALID.items() for one in values if not type_fault(one, kind, ())] == []
