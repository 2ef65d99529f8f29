"""The shortcut before the full check of parameters."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rails.json_schema.quick_check import fits, surely_fits
from rails.json_schema.validator import faults
from rails.session.project import registry_of

NAMES = ("delete_file", "edit_file", "insert_lines", "multi_edit", "read_file", "write_file")
SHIPPED = {name: dict(registry_of(Path(__file__).parent).definitions[name].request_schema) for name in NAMES}
PARAMETERS = ("file_path", "content", "old_string", "new_string", "line", "text", "replace_all", "occurrence", "x")
VALUES = st.one_of(
    st.text(max_size=3), st.integers(-2, 9), st.booleans(), st.none(), st.floats(allow_nan=False), st.just([])
)


@given(st.sampled_from(NAMES), st.dictionaries(st.sampled_from(PARAMETERS), VALUES, max_size=5))
def test_what_surely_fits_has_no_fault(name, value):
    """It saves loading a library; it may say too little, never too much."""
    if surely_fits(SHIPPED[name], value):
        assert not faults(SHIPPED[name], value)


def test_an_ordinary_edit_surely_fits():
    assert surely_fits(SHIPPED["edit_file"], {"file_path": "a.py", "old_string": "a", "new_string": "b"})
    assert surely_fits(SHIPPED["insert_lines"], {"file_path": "a.py", "line": 1, "text": "b"})
    assert not surely_fits(SHIPPED["edit_file"], {"file_path": "a.py", "old_string": "", "new_string": "b"})
    assert not surely_fits(SHIPPED["insert_lines"], {"file_path": "a.py", "line": True, "text": "b"})


@pytest.mark.parametrize("items", [False, {"type": "object"}])
def test_items_are_those_behind_the_first_ones_that_have_a_schema_of_their_own(items):
    schema = {"prefixItems": [{"type": "string"}], "items": items}
    assert fits(schema, ["a"])
    assert not fits(schema, ["a", "b"])
