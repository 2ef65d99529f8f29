"""A file that was written anew without a class or function that its task is not about is not let through unseen."""

import pytest

from rails.core.verdict import Author
from rails.gate.weakened_tests import dropped_definitions as findings

SHAPES = "class Circle:\n    def area(self):\n        return 3\n\n    def _half(self):\n        return 1\n\n\n"
SHAPES += "class Square:\n    def area(self):\n        return 4\n\n\ndef double(x):\n    return 2 * x\n"
SQUARE = SHAPES[SHAPES.index("class Square") : SHAPES.index("def double")]
SCRIPT = "export class Cart {\n  total() { return 0 }\n}\nexport const tax = (x) => x * 0.2\n"


@pytest.mark.parametrize(
    ("task", "path", "before", "after", "gone"),
    [
        ("Make circles equal.", "shapes.py", SHAPES, SHAPES.replace(SQUARE, ""), "Square"),
        ("Make circles equal.", "shapes.py", SHAPES, SHAPES.replace("_half", "_part"), ""),
        ("Rename Square to Quad.", "shapes.py", SHAPES, SHAPES.replace("Square", "Quad"), ""),
        ("Double as a method.", "shapes.py", SHAPES, SHAPES.replace("def double", "class A:\n  def double"), ""),
        ("Make circles equal.", "shapes.py", SHAPES, "def broken(:\n", ""),
        ("Round the tax.", "cart.js", SCRIPT, SCRIPT.replace("  total() { return 0 }\n", ""), "Cart.total"),
        ("Add tests.", "test_a.py", "def test_a():\n    assert 1\n", "def test_b():\n    assert 1\n", ""),
    ],
)  # fmt: skip
def test_what_a_file_lost_is_named_unless_the_task_names_it(task, path, before, after, gone):
    sides = [(path, before.encode(), after.encode())]
    found = [one.message for one in findings(sides, Author(task, rewritten=frozenset([path])))]
    assert found == ([f"It takes away {gone}, which nobody asked for."] if gone else [])
    assert not [*findings(sides, Author(task))], "an edit says itself what it takes away"


def test_what_is_in_another_file_of_the_change_was_moved():
    sides = [("shapes.py", SHAPES.encode(), b"def new():\n    return 1\n"), ("more.py", None, SHAPES.encode())]
    assert not [*findings(sides, Author("Split it.", rewritten=frozenset(["shapes.py"])))]
