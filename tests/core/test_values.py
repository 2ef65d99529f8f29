"""Instances of rails.core.dataclass behave as those of the standard library; what is not supported is refused."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from typing import Any, Generic, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rails.core import dataclass
from rails.core.json_text import to_json

T = TypeVar("T")


def twins(**flags):
    """The same class twice: ours and the standard library's."""

    def make(module):
        @module.dataclass(slots=True, **flags)
        class Point:
            """A place."""

            x: int
            y: str = "y"
            more: list[int] = module.field(default_factory=list)
            note: str = module.field(default="", repr=False, compare=False)

            def shout(self) -> str:
                return f"{self.x}!"

        return Point

    return make(dataclass), make(dataclasses)


@dataclass.dataclass(frozen=True, slots=True)
class Kept:
    a: int
    b: tuple[int, ...] = ()


@dataclass.dataclass(frozen=True, slots=True)
class More(Kept):
    c: str = "c"


@dataclass.dataclass(slots=True)
class Loose:
    a: int = 1
    b: Any = None


@dataclass.dataclass(frozen=True, slots=True)
class Holds(Generic[T]):
    value: T


def outcome(work):
    """The result: a representation, or the kind of error. A frozen value's is a kind of AttributeError in both."""
    try:
        return repr(work())
    except AttributeError:
        return AttributeError
    except Exception as error:
        return type(error)


ARGUMENTS = st.tuples(
    st.lists(st.sampled_from([0, 1, "y", "z", (), (3,)]), max_size=5),
    st.dictionaries(st.sampled_from(["x", "y", "more", "note", "other"]), st.sampled_from([0, "y", (1,)]), max_size=4),
)


@given(ARGUMENTS, ARGUMENTS, st.booleans(), st.booleans())
def test_instances_behave_as_those_of_the_standard_library(first, second, frozen, eq):
    ours, theirs = twins(frozen=frozen, eq=eq)

    def seen(cls):
        def make(arguments):
            return cls(*arguments[0], **arguments[1])

        yield outcome(lambda: make(first))
        yield outcome(lambda: make(first) == make(second))
        yield outcome(lambda: make(first) == make(first))
        yield outcome(lambda: make(first) < make(second))
        yield outcome(lambda: make(first) >= make(second))
        yield outcome(lambda: make(first) == 1)
        if eq:
            yield outcome(lambda: hash(make(first)) == hash(make(first)))
        yield outcome(lambda: make(first).shout())
        yield outcome(lambda: make(first).note)
        yield outcome(lambda: setattr(make(first), "x", 2))
        yield outcome(lambda: delattr(make(first), "x"))
        if not frozen:  # a frozen one of the standard library's fails with a TypeError about super()
            yield outcome(lambda: setattr(make(first), "unknown", 2))

    assert list(seen(ours)) == list(seen(theirs))
    assert ours.__match_args__ == theirs.__match_args__
    assert ours.__doc__ == theirs.__doc__
    assert ours.__qualname__ == theirs.__qualname__
    assert not hasattr(ours(1), "__dict__")


@given(ARGUMENTS, ARGUMENTS)
def test_replace_and_the_json_form_are_what_the_standard_library_gives(first, second):
    ours, theirs = twins(frozen=True)

    def changed(cls, replace):
        return replace(cls(*first[0], **first[1]), **second[1])

    expected = outcome(lambda: changed(theirs, dataclasses.replace))
    assert outcome(lambda: changed(ours, dataclass.replace)) == expected
    assert outcome(lambda: changed(theirs, dataclass.replace)) == expected
    assert outcome(lambda: to_json(changed(ours, dataclass.replace))) == outcome(
        lambda: to_json(changed(theirs, dataclasses.replace))
    )


def test_a_subclass_has_the_fields_of_both():
    one = More(1, (2,), "d")
    assert one == More(a=1, b=(2,), c="d")
    assert one != Kept(1, (2,))
    assert repr(one) == "More(a=1, b=(2,), c='d')"
    assert dataclass.shown_fields(More) == ["a", "b", "c"]
    assert dataclass.replace(one, c="e").c == "e"
    assert not hasattr(one, "__dict__")


@pytest.mark.parametrize("value", [Kept(1, (2,)), More(1), Loose([1]), Holds(Kept(3))])
def test_values_are_copied_and_pickled(value):
    for copied in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert copied == value
        assert copied is not value


def test_each_instance_gets_a_default_of_its_own():
    ours, _ = twins()
    ours(1).more.append(2)
    assert ours(1).more == []


def test_a_frozen_value_stays_as_it_is():
    with pytest.raises(AttributeError, match="immutable type: 'Kept'"):
        Kept(1).a = 2
    with pytest.raises(AttributeError, match="immutable type: 'Kept'"):
        del Kept(1).a


def test_methods_of_the_class_itself_are_kept():
    @dataclass.dataclass(frozen=True, slots=True)
    class Own:
        a: int

        def __repr__(self) -> str:
            return "mine"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

    assert Own(3) == Own(0)
    assert repr(Own(1)) == "mine"
    assert Own(1) == Own(2)
    assert hash(Own(1)) == 7


def test_a_value_that_holds_itself_is_shown():
    ring = Loose()
    ring.b = ring
    assert repr(ring) == "Loose(a=1, b=...)"


def test_a_pattern_takes_a_value_apart():
    match More(1, (2,), "d"):
        case More(a, b, c):
            assert (a, b, c) == (1, (2,), "d")


@pytest.mark.parametrize("frozen", [True, False])
def test_a_field_that_is_hidden_or_not_compared_stays_so_in_a_class_below(frozen):
    @dataclass.dataclass(frozen=frozen, slots=True)
    class Above:
        a: int
        key: str = dataclass.field(default="", repr=False, compare=False)

    @dataclass.dataclass(frozen=frozen, slots=True)
    class Below(Above):
        b: int = dataclass.field(default=0, repr=False)

    assert repr(Below(1, "secret", 2)).endswith("Below(a=1)")
    assert Below(1, "secret", 2) == Below(1, "other", 2)
    assert Below(1, "", 2) != Below(1, "", 3)
    if frozen:
        assert hash(Below(1, "secret")) == hash(Below(1, "other"))
    else:
        with pytest.raises(TypeError, match="unhashable"):
            hash(Below(1))


def test_values_that_are_no_equals_are_told_apart_by_what_they_are():
    @dataclass.dataclass(frozen=True, slots=True, eq=False)
    class Itself:
        a: int

    one = Itself(1)
    assert one != Itself(1)
    assert len({one, Itself(1), one}) == 2


@given(*[st.tuples(st.integers(0, 2), st.text("ab", max_size=2))] * 2)
def test_values_with_an_order_are_ordered_as_those_of_the_standard_library(first, second):
    def seen(module):
        @module.dataclass(frozen=True, slots=True, order=True)
        class Place:
            line: int
            name: str = ""

        one, other = Place(*first), Place(*second)
        return one < other, one <= other, one > other, one >= other, outcome(lambda: one < 1)

    assert seen(dataclass) == seen(dataclasses)


def test_what_is_not_supported_is_refused_at_the_class():
    with pytest.raises(TypeError, match="compared by all of their fields"):
        twins(order=True)

    with pytest.raises(TypeError, match="slots"):

        @dataclass.dataclass(frozen=True)
        class NoSlots:
            a: int

    with pytest.raises(TypeError, match="frozen"):

        @dataclass.dataclass(slots=True)
        class Thawed(Kept):
            d: int = 1

    with pytest.raises(TypeError, match=r"Required field 'b' cannot follow optional fields"):

        @dataclass.dataclass(slots=True)
        class Order:
            a: int = 1
            b: int

    with pytest.raises(TypeError, match="non-empty mutable collection"):

        @dataclass.dataclass(slots=True)
        class Mutable:
            a: list[int] = dataclass.field(default=[1])

    with pytest.raises(TypeError, match="both"):
        dataclass.field(default=1, default_factory=int)


@pytest.mark.parametrize(
    ("arguments", "named", "words"),
    [
        ((), {}, "Missing required argument 'x'"),
        ((1, "y", [], "", 5), {}, "Extra positional arguments"),
        ((1,), {"x": 2}, "'x' given by name and position"),
        ((1,), {"z": 2}, "Unexpected keyword argument 'z'"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(arguments, named, words):
    ours, _ = twins()
    with pytest.raises(TypeError, match=words):
        ours(*arguments, **named)


def test_making_a_class_imports_neither_dataclasses_nor_inspect():
    code = (
        "import sys\n"
        "from rails.core.dataclass import dataclass, replace\n"
        "@dataclass(frozen=True, slots=True)\n"
        "class A:\n"
        "    a: int\n"
        "assert repr(replace(A(1), a=2)) == 'A(a=2)' and A(1) == A(1) and {A(1)}\n"
        "print([m for m in ('dataclasses', 'inspect', 'ast') if m in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert printed.stdout == "[]\n"


def test_a_class_costs_a_fraction_of_the_standard_library_s(cpu_seconds):
    def make(module):
        for _ in range(30):

            @module.dataclass(frozen=True, slots=True)
            class Many:
                a: int
                b: str = ""
                c: str = ""
                d: tuple[int, ...] = ()

    assert cpu_seconds(lambda: make(dataclass)) < cpu_seconds(lambda: make(dataclasses)) / 3
