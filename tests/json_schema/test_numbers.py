"""Numbers in JSON Schema count by value, and as their digits say."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from rails.json_schema.metaschema import check_schema
from rails.json_schema.quick_check import fits
from rails.json_schema.validator import answer_faults
from tests.rows import walked


def good(schema, value):
    return not answer_faults(schema, value)


@walked(
    ("items", "unique"),
    [
        ([1, 1.0], False),
        ([0, -0.0], False),
        ([1e2, 100], False),
        ([[1], [1.0]], False),
        ([{"a": [1]}, {"a": [1.0]}], False),
        ([10**22, 1e22], False),
        ([2**53, 2.0**53 + 2], True),
        ([2**53 + 1, 2.0**53], True),
        ([1, True], True),
        ([0, False], True),
        ([[1], [True]], True),
        ([{"a": 0}, {"a": False}], True),
        ([1, "1"], True),
        ([1.5, "1.5"], True),
        ([None, 0, "", [], {}, False], True),
        ([{"a": 1, "b": 2}, {"b": 2.0, "a": 1.0}], False),
    ],
)
def test_unique_items_compares_by_value_at_any_depth(items, unique):
    assert good({"uniqueItems": True}, items) is unique


@walked(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (1.0, True, False),
        ([1], [1.0], True),
        ([1], [True], False),
        ({"a": [0]}, {"a": [False]}, False),
        ({"a": {"b": 1}}, {"a": {"b": 1.0}}, True),
        (2**53 + 1, 2.0**53, False),
        (10**22, 1e22, True),
    ],
)
def test_const_and_enum_compare_by_value_at_any_depth(one, other, same):
    for schema in ({"const": one}, {"enum": ["x", one]}):
        assert good(schema, other) is same
        assert fits(schema, other) is same
    for schema in ({"const": other}, {"enum": ["x", other]}):
        assert good(schema, one) is same
        assert fits(schema, one) is same


@walked(
    ("value", "step", "multiple"),
    [
        (1e308, 0.01, True),
        (1e308, 1e-308, True),
        (1e308, 0.123456789, False),
        (-1e308, 0.5, True),
        (0.3, 0.1, True),
        (0.7, 0.1, True),
        (1.1, 0.1, True),
        (0.25, 0.1, False),
        (0.0075, 0.0001, True),
        (0.00751, 0.0001, False),
        (1e-7, 1e-7, True),
        (1.5e-7, 1e-7, False),
        (12391239123, 1e-8, True),
        (10**21 + 1, 10, False),
        (10**21, 1e21, True),
        (1000000000.0000001, 1, False),
        (0, 0.1, True),
        (-0.0, 3, True),
        (4.5, 1.5, True),
        (True, 7, True),
    ],
)
def test_multiple_of_reckons_with_the_digits_as_they_are_written(value, step, multiple):
    assert good({"multipleOf": step}, value) is multiple


@walked("value", [float("inf"), float("-inf"), float("nan")])
def test_what_is_no_number_of_json_is_no_multiple_and_no_error_of_ours(value):
    assert not good({"multipleOf": 0.01}, value)
    assert good({"uniqueItems": True}, [value, 1])


@given(st.integers(-(10**6), 10**6), st.decimals("0.0000001", "1000", places=7))
def test_every_product_is_a_multiple_and_nothing_beside_it_is(count, step):
    product = float(step * count)
    if Decimal(repr(product)) != step * count:
        return  # the product has more digits than a float keeps
    assert good({"multipleOf": float(step)}, product)
    beside = product + float(step) / 2
    if Decimal(repr(beside)) == step * count + step / 2:
        assert not good({"multipleOf": float(step)}, beside)


def test_a_choice_in_which_no_branch_allows_anything_is_explained():
    (fault,) = answer_faults({"properties": {"a": {"anyOf": [False, False]}}}, {"a": 1})
    assert fault.detail == "`a` fits none of the 2 allowed forms; nearest: `a` is not allowed here"


def test_a_reference_with_percent_signs_is_followed():
    schema = {"$defs": {'a"b': {"type": "integer"}}, "$ref": "#/$defs/a%22b"}
    assert good(schema, 1)
    assert not good(schema, "1")


@walked("step", [7, 0.1, 1e-300])
def test_a_number_with_hundreds_of_digits_is_reckoned_with_and_never_a_fault_of_ours(step):
    assert good({"multipleOf": step}, 7 * 10**400)
    assert not good({"multipleOf": 7}, 10**400)
    assert not [*check_schema({"minLength": 10**400, "maximum": 10**400})]
