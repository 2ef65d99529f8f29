"""The line diff: right for every pair of texts, the least up to its bound, the standard library's form."""

import difflib
import random
import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from rails.core.diff import DiffBlock, changed_lines, grouped, line_diff, line_map, unified
from rails.core.limits import DIFF_PAIRS
from tests.rows import walked

LINES = st.lists(st.sampled_from("abcdef"), max_size=40)
BYTES = st.lists(st.sampled_from([b"a\n", b"b\r\n", b"", b"\xff\n"]), max_size=20)


def applied(old, new, diff):
    """Return the new side as the blocks make it from the old one; equal lines come from the old side."""
    return [
        line
        for block in diff.blocks
        for line in (old[block.old_start : block.old_end] if block.equal else new[block.new_start : block.new_end])
    ]


def least(old, new):
    """Return the length of a longest common subsequence, by the table of the textbook."""
    row = [0] * (len(new) + 1)
    for line in old:
        above = row[:]
        for at, other in enumerate(new, 1):
            row[at] = above[at - 1] + 1 if line == other else max(above[at], row[at - 1])
    return row[-1]


@given(LINES | BYTES, LINES | BYTES, st.sampled_from([DIFF_PAIRS, 0]))
def test_the_blocks_lead_from_old_to_new_and_cover_both_sides(old, new, pairs):
    diff = line_diff(old, new, pairs)
    assert applied(old, new, diff) == new
    ends = [(0, 0), *((block.old_end, block.new_end) for block in diff.blocks)]
    assert [(block.old_start, block.new_start) for block in diff.blocks] == ends[:-1]
    assert ends[-1] == (len(old), len(new))
    for one, other in zip(diff.blocks, diff.blocks[1:], strict=False):
        assert one.equal != other.equal
    for block in diff.blocks:
        assert block.old_end > block.old_start or block.new_end > block.new_start
        assert not block.equal or old[block.old_start : block.old_end] == new[block.new_start : block.new_end]


@given(LINES, LINES)
def test_no_diff_has_fewer_changed_lines(old, new):
    diff = line_diff(old, new)
    assert diff.exact
    assert diff.added + diff.removed == len(old) + len(new) - 2 * least(old, new)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    assert len(new) - diff.added >= sum(block.size for block in matcher.get_matching_blocks())


@given(LINES, LINES)
@settings(deadline=None)
def test_the_map_names_equal_lines_in_rising_order(old, new):
    places = [(place, line) for line, place in enumerate(line_map(old, new)) if place >= 0]
    assert all(old[place] == new[line] for place, line in places)
    assert places == sorted(places)
    assert len({place for place, _ in places}) == len(places) == len(new) - line_diff(old, new).added


def test_changed_blocks_and_counts_say_what_differs():
    diff = line_diff(["a", "b", "c", "d"], ["a", "x", "y", "c"])
    assert diff.changed == (DiffBlock(False, 1, 2, 1, 3), DiffBlock(False, 3, 4, 4, 4))
    assert (diff.added, diff.removed) == (2, 2)
    assert line_diff([], []).blocks == ()


def test_an_insertion_joins_the_difference_above_it_where_it_can():
    diff = line_diff(["p", "a", "b", "q"], ["r", "a", "x", "a", "b", "s"])
    assert diff.changed == (DiffBlock(False, 0, 1, 0, 3), DiffBlock(False, 3, 4, 5, 6))
    diff = line_diff(["r", "a", "x", "a", "b", "s"], ["p", "a", "b", "q"])
    assert diff.changed == (DiffBlock(False, 0, 3, 0, 1), DiffBlock(False, 5, 6, 3, 4))


def test_an_insertion_begins_where_a_block_begins():
    old = ["import a", "x", "", "last"]
    new = ["import b", "import a", "x", "", "y", "", "last"]
    assert line_diff(old, new).changed == (DiffBlock(False, 0, 0, 0, 1), DiffBlock(False, 3, 3, 4, 6))
    assert line_diff(new, old).changed == (DiffBlock(False, 0, 1, 0, 0), DiffBlock(False, 4, 6, 3, 3))
    one, other = (["  {", '    "name": "x",', f'    "id": {n}', "  },"] for n in range(2))
    old = ["[", *one, *one, "]"]
    new = ["[", *one, *other, *one, "]"]
    assert line_diff(old, new).changed == (DiffBlock(False, 5, 5, 5, 9),)
    assert line_diff(["", *old], ["x", *new]).changed[1] == DiffBlock(False, 6, 6, 6, 10)
    assert line_diff(["", *new], ["x", *old]).changed[1] == DiffBlock(False, 6, 10, 6, 6)
    assert line_diff(["a"], ["a", "a", "a"]).changed == (DiffBlock(False, 1, 1, 1, 3),)


def test_a_function_between_two_others_is_one_insertion():
    def function(name):
        return [f"def {name}():", "    return 1", "", ""]

    old = [*function("a"), *function("c")]
    new = [*function("a"), *function("b"), *function("c")]
    assert line_diff(old, new).changed == (DiffBlock(False, 4, 4, 4, 8),)
    assert line_diff(new, old).changed == (DiffBlock(False, 4, 8, 4, 4),)


def test_three_changed_lines_of_a_file_with_two_distinct_ones_are_three():
    old = ["a" if n % 3 else "b" for n in range(900)]
    new = [*old]
    for at in (10, 450, 880):
        new[at] = "changed"
    diff = line_diff(old, new)
    assert (diff.added, diff.removed, diff.exact) == (3, 3, True)


def test_texts_without_a_common_line_are_exact_at_any_size_without_the_library():
    """A rewritten file costs nothing, and a short command does not wait for an import that it has no use for."""
    code = (
        "import sys; from rails.core.diff import line_diff\n"
        "d = line_diff([f'a{n}' for n in range(40_000)], [f'b{n}' for n in range(40_000)])\n"
        "assert d.exact and len(d.blocks) == 1\n"
        "old = [str(n) for n in range(40_000)]\n"
        "d = line_diff(old, [line if n % 2 else 'x' for n, line in enumerate(old)])\n"
        "assert d.exact and d.added == 20_000\n"
        "assert 'rapidfuzz' not in sys.modules and 'difflib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_beyond_the_bound_the_middle_is_one_replaced_block_and_says_so():
    old = ["head", *(f"{n}" for n in range(300)), "tail"]
    new = ["head", *(f"{299 - n}" for n in range(300)), "tail"]
    assert line_diff(old, new).exact
    diff = line_diff(old, new, pairs=1_000)
    assert not diff.exact
    assert diff.changed == (DiffBlock(False, 1, 301, 1, 301),)


def test_the_bound_holds_memory_and_time():
    """Shuffled lines are the worst case: nothing can be set aside before they are compared."""
    size = int(DIFF_PAIRS**0.5) - 64
    code = (
        "import random, resource, time; from rapidfuzz.distance import LCSseq\n"
        "from rails.core.diff import line_diff\n"
        f"old = [str(n) for n in range({size})]; new = old[:]; random.Random(1).shuffle(new)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; start = time.process_time()\n"
        "assert line_diff(old, new).exact\n"
        "print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True, text=True)
    seconds, more = map(float, done.stdout.split())
    kilobytes = more / 1024 if sys.platform == "darwin" else more
    assert seconds < 5
    assert kilobytes < 64_000


def test_a_long_side_and_a_short_one_stay_within_the_bound():
    """Each row takes a whole word, however few lines stand on the other side."""
    old = ["x", "y"] * 5
    new = ["y", "x", "x"] * 200
    assert not line_diff(old, new, pairs=10 * 600).exact
    assert line_diff(old, new, pairs=80 * 600).exact


@given(LINES, LINES, st.integers(0, 4))
def test_a_unified_diff_has_the_form_of_the_standard_library(old, new, context):
    """Where both find the same blocks, both say the same, to the byte."""
    codes = difflib.SequenceMatcher(None, old, new).get_opcodes()
    theirs = list(difflib.unified_diff(old, new, "one", "two", n=context, lineterm=""))
    ours = list(unified(old, new, ("one", "two"), context))
    if [code[1:] for code in codes] == [tuple(block[1:]) for block in line_diff(old, new).blocks]:
        assert ours == theirs
    assert bool(ours) == (old != new)


@walked("context", [0, 1, 3])
def test_a_unified_diff_is_the_standard_library_s_where_lines_are_distinct(context):
    chance = random.Random(context)
    for _ in range(50):
        old = [str(n) for n in range(60)]
        new = [line for line in old if chance.random() > 0.1]
        for _ in range(chance.randrange(6)):
            new.insert(chance.randrange(len(new)), f"new {chance.random()}")
        theirs = difflib.unified_diff(old, new, "one", "two", n=context, lineterm="")
        assert list(unified(old, new, ("one", "two"), context)) == list(theirs)


def test_hunks_take_a_gap_of_twice_the_context_together():
    old = [str(n) for n in range(20)]
    new = ["x" if n in (3, 10) else line for n, line in enumerate(old)]
    blocks = line_diff(old, new).blocks
    assert [len(hunk) for hunk in grouped(blocks, 3)] == [5]
    assert [(hunk[0].old_start, hunk[-1].old_end) for hunk in grouped(blocks, 2)] == [(1, 6), (8, 13)]
    assert list(grouped(line_diff(old, old).blocks, 3)) == []


def test_the_changed_lines_of_a_diff_are_counted_by_its_hunks():
    old = ["a", "-- b", "c", "d"]
    new = ["a", "++ b", "c", "", "e"]
    text = "\n".join(unified(old, new, ("a/x", "b/x")))
    assert changed_lines(text) == 5
    assert changed_lines(f"{text}\n{text}") == 10
    assert changed_lines("+ no diff\n- at all") == 0
    assert changed_lines("@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y") == 2
