"""What a text defines: classes and functions with their lines, in the languages that are read here."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rails.data_formats.source import symbols

PYTHON = '''
import os

@cache
def top(x):
    def inner():
        return x
    return inner

class Greeter:
    """Greets."""

    async def greet(self):
        return 1

    class Meta:
        def deep(self): ...
'''
JAVASCRIPT = """
export function top(x) { return x }
const arrow = (x) => { return x }
const number = 1
class Greeter {
  greet() { return 1 }
  later = () => 2
}
"""
TYPESCRIPT = """
export interface Named { name(): string }
export abstract class Base<T> { run(): void {} }
type Alias = string
enum Colour { Red }
"""


def named(text, language):
    return [(one.name, one.first, one.last) for one in symbols(text, language)]


def test_python_classes_and_functions_have_their_names_and_lines():
    assert named(PYTHON, "python") == [
        ("top", 5, 8), ("Greeter", 10, 17), ("Greeter.greet", 13, 14), ("Greeter.Meta", 16, 17),
        ("Greeter.Meta.deep", 17, 17),
    ]  # fmt: skip
    assert symbols(PYTHON, "python")[2].head == "async def greet(self):"


def test_javascript_and_typescript_too():
    assert named(JAVASCRIPT, "javascript") == [
        ("top", 2, 2), ("arrow", 3, 3), ("Greeter", 5, 8), ("Greeter.greet", 6, 6), ("Greeter.later", 7, 7),
    ]  # fmt: skip
    assert [name for name, *_ in named(TYPESCRIPT, "typescript")] == [
        "Named", "Named.name", "Base", "Base.run", "Alias", "Colour",
    ]  # fmt: skip


@pytest.mark.parametrize("language", ["python", "javascript", "json", "toml", ""])
def test_what_is_not_read_has_none(language):
    assert symbols("{" * 10_000, language) == ()


@given(st.text(max_size=300), st.sampled_from(["python", "javascript", "typescript", "tsx"]))
def test_no_text_stops_it_and_every_place_is_in_the_text(text, language):
    lines = text.count("\n") + 1
    assert all(1 <= one.first <= one.last <= lines for one in symbols(text, language))
