"""Every path of a JSON text has its place, found in one pass."""

import json

from hypothesis import given
from hypothesis import strategies as st

from rails.data_formats import positions

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def paths_of(value, path=()):
    yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in items:
        yield from paths_of(child, (*path, key))


@given(JSON, st.sampled_from([None, 0, 2]), st.booleans())
def test_the_text_at_a_place_is_the_value_of_its_path(value, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    wanted = dict(paths_of(value))
    places = positions.locate_values(text, wanted)
    assert places == dict(positions.every_value(text))
    assert places.keys() == wanted.keys()
    for path, place in places.items():
        assert json.loads(text[place.start : place.end]) == wanted[path]
        if path and isinstance(path[-1], str):
            assert json.loads(text[place.key_start : place.key_end]) == path[-1]
        else:
            assert (place.key_start, place.key_end) == (place.start, place.end)


@given(st.text(min_size=1).filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text)), st.booleans())
def test_a_character_inside_a_string_is_found_through_its_escapes(value, ascii_only):
    text = json.dumps([value], ensure_ascii=ascii_only)
    place = positions.locate_values(text, [(0,)])[(0,)]
    for index in range(len(value)):
        start = positions.offset_inside(text, place, index)
        end = positions.offset_inside(text, place, index + 1)
        assert json.loads(f'"{text[start:end]}"') == value[index]


def test_lines_and_columns_start_at_one():
    lines = positions.LineIndex("ab\ncd\n")
    assert [lines.at(offset) for offset in (0, 1, 3, 5, 6)] == [(1, 1), (1, 2), (2, 1), (2, 3), (3, 1)]


def test_a_path_that_is_not_there_has_no_place():
    assert positions.locate_values('{"a": [1]}', [("a", 1), ("b",), ("a", "0")]) == {}


def test_the_last_of_two_equal_keys_counts_and_both_are_named():
    text = '{"a": 1, "\\u0061": 22, "b": [{"c": 1, "c": 2, "c": {"c": 3}}]}'
    place = positions.locate_values(text, [("a",)])[("a",)]
    assert text[place.start : place.end] == "22"
    found = [(one.path, text[one.start : one.end], one.first) for one in positions.repeated_keys(text)]
    assert found == [
        (("a",), '"\\u0061"', text.index('"a"')),
        (("b", 0, "c"), '"c"', text.index('"c"')),
        (("b", 0, "c"), '"c"', text.index('"c"')),
    ]
    assert list(positions.repeated_keys('[{"a": 1}, {"a": 1}]')) == []


def test_no_document_is_too_deep():
    text = "[" * 50_000 + "]" * 50_000
    assert positions.locate_values(text, [(0, 0)])[0, 0].start == 2


def test_ten_times_the_text_takes_about_ten_times_as_long(cpu_seconds):
    def seconds(count):
        text = json.dumps([{"a": [1, "x"]}] * count)
        return cpu_seconds(lambda: positions.locate_values(text, [(count - 1, "a", 1)]))

    assert seconds(20_000) < 40 * seconds(2_000) + 0.1
