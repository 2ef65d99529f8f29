"""What is new: lines followed through the diff, identities without numbers."""

import random
from collections import deque

import pytest
from msgspec.structs import replace

from rails.core.verdict import Finding
from rails.gate import baseline
from rails.gate.baseline import TextFindings, split_lines, without_numbers


def finding(line, rule="F401", message="`os` imported but unused"):
    return Finding("a.py", line, 1, rule, message, "ruff")


def new_of(old_lines, new_lines, old, new, *, old_is_broken=False, moved=()):
    sides = TextFindings(old_lines, old), TextFindings(new_lines, new)
    return [was is None for was in baseline.explained(*sides, old_is_broken=old_is_broken, moved=dict(moved))]


def test_nothing_is_known_of_an_old_text_that_did_not_parse():
    old = ["import os", "def f(:"]
    new = ["import os", "def f():", "    import re"]
    found = [finding(1), finding(3)]
    assert new_of(old, new, [], found, old_is_broken=True) == [False, True]


def edited(chance, old):
    """Edit lines at random. Each comes out with its place in ``old``, which the edit itself knows; -1: written."""
    lines = [(text, place) for place, text in enumerate(old)]
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(lines))
        match chance.choice(["insert", "delete", "rewrite", "move"]):
            case "insert":
                lines[at:at] = [(word(chance), -1)] * chance.randint(1, 2)
            case "delete" if len(lines) > 3:
                del lines[at : at + 3]
            case "rewrite":
                lines[at] = (word(chance), -1)
            case "move":
                lines.insert(chance.randrange(len(lines)), lines.pop(at))
    return lines


def word(chance):
    return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=24))


@pytest.mark.parametrize("seed", range(4))
def test_random_edit_histories_have_no_noise_and_no_misses(seed):
    chance = random.Random(seed)
    told = {True: 0, False: 0}
    for _ in range(100):
        old = [word(chance) for _ in range(40)]
        lines = edited(chance, old)
        had = {place for place in range(40) if chance.random() < 0.3}
        has = [n for n, (_, place) in enumerate(lines) if place in had or chance.random() < 0.2]
        before = [finding(place + 1, "R", "m 1") for place in sorted(had)]
        after = [finding(n + 1, "R", "m 2") for n in has]
        verdicts = new_of(old, [text for text, _ in lines], before, after)
        assert verdicts == [lines[n][1] not in had for n in has], (seed, old, lines)
        for is_new in verdicts:
            told[is_new] += 1
    assert min(told.values()) > 300


def test_lines_end_where_compilers_end_them():
    assert split_lines("a\r\nb\rc\nd\x0ce\u2028f") == ["a", "b", "c", "d\x0ce\u2028f"]


@pytest.mark.parametrize("keeps", [0, 2])
def test_twice_the_rewritten_lines_with_findings_take_about_twice_the_time(keeps, cpu_seconds):
    """``keeps``: of how many lines one stays, so that there are many changed blocks, or one."""

    def seconds(count):
        old = [f"value_{n} = compute({n}, something={n * 3})" for n in range(count)]
        new = [f"  other_{n} = calculate({n}, different={n * 7})" for n in range(count)]
        if keeps:
            new[::keeps] = old[::keeps]
        found = [finding(n, "E501", "Line too long (99 > 88)") for n in range(1, count + 1)]
        moved = [finding(n, "E501", "Line too long (99 > 88)") for n in range(2, count + 1)]
        return cpu_seconds(lambda: new_of(old, new, moved, found))

    assert seconds(16_000) < 6 * seconds(4_000) + 0.1


def test_a_touched_line_is_looked_for_in_its_own_changed_block_only():
    old = ["value = some_function(argument) + 1", "keep", "nothing alike", "keep too"]
    new = ["nothing alike at all", "keep", "value = some_function(argument) + 2", "keep too"]
    assert new_of(old, new, [finding(1, "E501", "long")], [finding(3, "E501", "long")]) == [True]
    assert new_of(old, new[2:], [finding(1, "E501", "long")], [finding(1, "E501", "long")]) == [False]


# -- the edges ---------------------------------------------------------------------------------------


def test_a_finding_without_a_line_or_after_the_last_one_stands_at_the_edge_of_the_file():
    assert new_of(["a", "b"], ["a", "b"], [finding(0)], [finding(0)]) == [False]
    assert new_of(["a", "b"], ["a", "b"], [finding(1)], [finding(0)]) == [False], (
        "a file's finding is on its first line"
    )
    assert new_of(["a", "b"], ["a", "b"], [finding(2)], [finding(9)]) == [False], "its end belongs to its last line"
    assert new_of(["a", "b"], ["a", "b"], [finding(1)], [finding(9)]) == [True]
    assert new_of([], [], [finding(1)], [finding(1)]) == [False]
    assert new_of([], [], [], [finding(1)]) == [True]
    assert new_of(["a"], [], [], [finding(1)]) == [True]
    assert new_of([], ["a"], [], [finding(1), finding(9)]) == [True, True]


def test_verdicts_stand_in_the_order_of_the_findings_and_each_old_one_explains_one():
    old = ["a", "moved line", "c"]
    new = ["new", "c", "a", "moved line"]
    after = [finding(4), finding(1), finding(3), finding(4), finding(2, "R2")]
    assert new_of(old, new, [finding(2), finding(1)], after) == [False, True, False, True, True]
    twice = [finding(1), finding(1)]
    assert new_of(["a"], ["a"], twice, [*twice, finding(1)]) == [False, False, True]
    assert new_of(["m", "x"], ["x", "m", "m"], twice, [finding(2), finding(3), finding(3)]) == [False, False, True]


def test_a_finding_of_another_file_explains_one_only():
    for second, lines, new in [("os", (2, 3), [0, 1]), ("re", (3, 2), [1, 0])]:
        moved = {("F401", "`os` imported but unused", "importos"): deque([finding(1)])}
        after = ["a", "import os", f"import {second}"]
        assert new_of(["a"], after, [], [*map(finding, lines)], moved=moved) == new


def test_first_and_last_lines_that_were_touched_keep_their_findings_once():
    texts = ["value_one = first_call(1)", "keep", "value_two = other_call(2)"]
    touched = [text.replace("call", "calls") for text in texts]
    found = [finding(1, "E501", "long"), finding(3, "E501", "long")]
    assert new_of(texts, touched, found, found) == [False, False]
    assert new_of(texts, touched, found[::-1], found[::-1]) == [False, False], "in whatever order they were found"
    assert new_of(texts, touched, found[:1], found) == [False, True]
    doubled = [touched[0], touched[0], "keep", touched[2], touched[2]]
    after = [finding(line, "E501", "long") for line in (1, 2, 4, 5)]
    assert sorted(new_of(texts, doubled, found, after)) == [False, False, True, True]


@pytest.mark.parametrize(("was", "now", "line"), [([0, 2], [1, 0], 1), ([2, 0], [0, 1], 2), ([0, 2, 0], [1, 0, 0], 1)])
def test_a_line_beyond_one_that_stayed_is_another(was, now, line):
    texts = ["keep", "value = first_calls(1)", "value = first_call(1)"]
    old = [texts[one] for one in was]
    new = [texts[one] for one in now]
    assert new_of(old, new, [finding(was.index(2) + 1, "E501", "long")], [finding(line, "E501", "long")]) == [True]


def test_a_line_is_alike_from_a_share_of_equal_characters_on_and_up_to_a_bound_of_comparisons(monkeypatch):
    found = [finding(1, "E501", "long")]
    assert new_of(["abcdefghij"], ["abcdefghijKLMNOPQRSTUVWXYZ012345678"], found, found) == [True]
    assert new_of(["  abcdefghij"], ["abcdefghijKLM"], found, found) == [False]
    monkeypatch.setattr(baseline, "_TRIES", 1)
    old = ["aaaaaaaaaa", "bbbbbbbbbb"]
    new = ["bbbbbbbbbc", "x"]
    both = [finding(1, "E501", "long"), finding(2, "E501", "long")]
    assert new_of(old, new, both, [finding(1, "E501", "long")]) == [True]
    monkeypatch.setattr(baseline, "_TRIES", 2)
    assert new_of(old, new, both, [finding(1, "E501", "long")]) == [False]


@pytest.mark.parametrize(
    ("message", "masked", "count"),
    [
        ("line 12 of 30", "line # of #", 12),
        ("`a1` and 'b2' and \"c3\" at 4", "`a1` and 'b2' and \"c3\" at #", 4),
        ("too complex (11 > 10)  help: Do 3 things\nmore", "too complex (# > #)", 11),
        ("`x1`", "`x1`", -1),
        (
            "foo1 is referenced on line 2 but is not assigned (SC2154)",
            "foo1 is referenced on line # but is not assigned (SC2154)",
            2,
        ),
    ],
)
def test_numbers_are_masked_but_never_those_of_a_name(message, masked, count):
    assert (without_numbers(message), baseline.count_in(message)) == (masked, count)


def test_what_stands_at_the_beginning_without_extent_is_about_the_file_whatever_the_first_line_is():
    missing = finding(1, "D100", "Missing docstring in public module")
    whole = replace(missing, end_line=1, end_column=1)
    assert new_of(["x = 1"], ["# why", "x = 1"], [whole], [whole]) == [False]
    assert new_of(["x = 1"], ["# why", "x = 1"], [], [whole]) == [True]
    assert new_of(["x = 1"], ["# why", "x = 1"], [missing], [missing]) == [True], "one with an extent is of its line"
    second = replace(whole, line=2, end_line=2)
    assert new_of(["a = 1", "x = 1"], ["a = 1", "# why", "x = 1"], [second], [second]) == [True]


def test_a_line_that_is_a_part_of_what_it_was_keeps_its_finding_and_one_that_holds_more_does_not():
    long = "def make_bindings(first, second, third, fourth, fifth):"
    broken = ["def make_bindings(", "    first,", "):"]
    found = [finding(1, "C901", "`make_bindings` is too complex (7 > 5)")]
    assert new_of([long], broken, found, found) == [False]
    assert new_of(["raise ValueError(first, second, third, fourth)"], ["    raise Va("], found, found) == [True]
    assert new_of(["make("], [long.replace("_bindings", "")], *[[finding(1, "E501", "long")]] * 2) == [True]
    assert new_of(["abcdefg" + "x" * 30], ["abcdefg"], found, found) == [True], "so little says nothing"


@pytest.mark.parametrize("start", ["def ", "class ", "async def ", "    def ", "export function "])
def test_a_definition_that_gets_another_name_keeps_its_findings(start):
    def told(name):
        return [finding(1, "C901", f"`{name}` is too complex (7 > 5)")]

    old = f"{start}one_name(a, b):"
    new = f"{start}two_name(a, b):"
    assert new_of([old], [new], told("one_name"), told("two_name")) == [False]
    assert new_of([old], [new], told("other"), told("two_name")) == [True]
    assert new_of([old.replace(start, "")], [new.replace(start, "")], told("one_name"), told("two_name")) == [True]
