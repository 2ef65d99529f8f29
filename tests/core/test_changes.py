"""A change set: its digest binds every byte, its diff hides none."""

import time

from hypothesis import given
from hypothesis import strategies as st

from rails.core.changes import ChangeSet, FileChange, unified_diff
from rails.core.paths import WorkspacePath
from rails.core.text import sha256
from tests.rows import walked


def change(path="a.txt", before=b"old", after=b"new", mode=0o644, proposed=None):
    return FileChange(WorkspacePath(path), before, after, mode, proposed)


def test_the_kind_says_what_happens():
    assert [change(before=None).kind, change().kind, change(after=None).kind] == ["create", "modify", "delete"]


def test_hashes_are_those_of_the_bytes():
    assert (change().before_sha256, change().after_sha256) == (sha256(b"old"), sha256(b"new"))
    assert (change(before=None).before_sha256, change(after=None).after_sha256) == (None, None)


@walked(
    "other",
    [
        change("b.txt"),
        change(before=b"x"),
        change(after=b"x"),
        change(mode=0o755),
        change(before=None),
        change(after=None),
    ],
)
def test_the_digest_changes_with_every_field_that_is_written(other):
    assert ChangeSet((other,)).digest() != ChangeSet((change(),)).digest()


def test_the_digest_does_not_depend_on_order_or_on_what_the_agent_first_proposed():
    one = change("a.txt")
    two = change("b.txt")
    assert ChangeSet((one, two)).digest() == ChangeSet((two, one)).digest()
    assert ChangeSet((change(proposed=b"x"),)).digest() == ChangeSet((change(),)).digest()


def test_an_empty_set_is_false_and_get_finds_by_path():
    assert not ChangeSet()
    changes = ChangeSet((change("a.txt"), change("b.txt")))
    assert changes
    assert changes.get(WorkspacePath("b.txt")) == change("b.txt")
    assert changes.get(WorkspacePath("c.txt")) is None


@walked(
    ("before", "after", "shown"),
    [
        (b"a\nb\n", b"a\nc\n", ["--- a/x", "+++ b/x", "@@ -1,2 +1,2 @@", " a", "-b", "+c"]),
        (None, b"a\n", ["--- /dev/null", "+++ b/x", "@@ -0,0 +1 @@", "+a"]),
        (b"a\n", None, ["--- a/x", "+++ /dev/null", "@@ -1 +0,0 @@", "-a"]),
        (b"a\r\n", b"a\n", ["--- a/x", "+++ b/x", "@@ -1 +1 @@", "-a\r", "+a"]),
        (b"a", b"a\n", ["--- a/x", "+++ b/x", "@@ -1 +1 @@", "-a  (no newline at end of file)", "+a"]),
        (b"\0", b"a", ["Binary file x: 1 byte before, 1 byte after"]),
        (None, b"\xff", ["Binary file x: absent before, 1 byte after"]),
        (None, b"", ["--- /dev/null", "+++ b/x", "File x is empty"]),
        (b"", None, ["--- a/x", "+++ /dev/null", "File x is empty"]),
        (b"\xef\xbb\xbfa", b"a", ["--- a/x", "+++ b/x", "File x changes in its byte-order mark only"]),
        (b"a", b"a", []),
        (b"caf\xe9\n", b"caf\xe9s\n", ["--- a/x", "+++ b/x", "@@ -1 +1 @@", "-café", "+cafés"]),
        (
            b"caf\xe9\n",
            "café\n".encode(),
            ["--- a/x", "+++ b/x", "File x changes its encoding from Latin-1 to UTF-8"],
        ),
    ],
)
def test_a_diff_shows_every_change(before, after, shown):
    assert unified_diff(before, after, "x") == shown


def numbered(count, **changed):
    return "".join(changed.get(f"n{n}", f"line {n}\n") for n in range(1, count + 1)).encode()


def test_line_numbers_count_from_the_start_of_the_file():
    shown = unified_diff(numbered(50), numbered(50, n20="new\n", n40="", n45="new\n"), "x", context=1)
    assert [line for line in shown if line.startswith("@@")] == [
        "@@ -19,3 +19,3 @@",
        "@@ -39,3 +39,2 @@",
        "@@ -44,3 +43,3 @@",
    ]


def apply_diff(before, shown):
    """Apply a diff by its own line numbers, as a reader would."""
    old = before.decode().split("\n")[:-1]
    new = []
    at = 0
    for line in shown[2:]:
        if line.startswith("@@"):
            start, _, count = line.split()[1][1:].partition(",")
            start = int(start) - (count != "0")
            new += old[at:start]
            at = start
        elif line.startswith("+"):
            new.append(line[1:])
        else:
            assert old[at] == line[1:]
            new += [] if line.startswith("-") else [old[at]]
            at += 1
    return "".join(f"{line}\n" for line in new + old[at:]).encode()


LINES = st.lists(st.sampled_from("abcd"), max_size=30).map(lambda lines: "".join(f"{x}\n" for x in lines).encode())


@given(LINES, LINES, st.integers(0, 4))
def test_a_diff_leads_from_before_to_after(before, after, context):
    assert apply_diff(before, unified_diff(before, after, "x", context)) == after


def test_a_large_rewrite_is_shown_in_bounded_time_and_completely():
    before = "".join(f"{n % 7} x\n" for n in range(60_000)).encode()
    after = b"0 x\n" + "".join(f"{n % 5} y\n" if n % 2 else f"{n % 7} x\n" for n in range(60_000)).encode() + b"6 x\n"
    start = time.process_time()
    shown = unified_diff(before, after, "x")
    assert time.process_time() - start < 10
    assert apply_diff(before, shown) == after
