"""From requests to a change set: exact bytes, one unit, every "no" with a reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rails.core.app_dirs import builtin_folder
from rails.core.changes import ChangeSet
from rails.core.text import sha256
from rails.data_formats.unified_diff import diff_changes
from rails.edits.plan import plan
from rails.edits.stale import KnownFiles
from rails.tools.loader import load_definitions
from tests.rows import walked

from .helpers import EDIT_TOOLS, at, edit, request, save


def one(project, *requests):
    """The change set of requests that must be accepted."""
    planned = plan(requests, project)
    assert planned.refusals == ()
    return planned.changes


def after(project, path, *requests):
    return one(project, *requests).get(at(path)).after


def codes(project, *requests):
    planned = plan(requests, project)
    assert planned.changes == ChangeSet()
    return [refusal.code for refusal in planned.refusals]


def test_an_exact_unique_text_is_replaced_and_nothing_else(tmp_path):
    save(tmp_path, "a.py", "x = 1\ny = 2\nz = 3\n")
    (change,) = one(tmp_path, edit("a.py", "y = 2", "y = 20")).changes
    assert change.before == b"x = 1\ny = 2\nz = 3\n"
    assert change.after == b"x = 1\ny = 20\nz = 3\n"
    assert change.mode == 0o644


def test_a_file_whose_name_only_this_system_has_is_edited_by_that_name(tmp_path):
    for name in (r"a\b.py", "~/c.py", " d.py"):
        save(tmp_path, name, "x = 1\n")
        (change,) = one(tmp_path, edit(name, "1", "2")).changes
        assert (str(change.path), change.after) == (name, b"x = 2\n")
    assert codes(tmp_path, edit("~/e.py", "1", "2")) == codes(tmp_path, edit(" e.py", "1", "2")) == ["path"]


@walked("new", ["$& $1 $$ $`", r"\1 \g<0> \n \\", "a\x0cb", "x" * 100_000, "{}%s{0}", "\u2028 \U0001f600", ""])
def test_new_text_is_literal(tmp_path, new):
    save(tmp_path, "a.txt", "one MARK two\n")
    assert after(tmp_path, "a.txt", edit("a.txt", "MARK", new)) == f"one {new} two\n".encode()


def test_several_places_are_refused_with_their_lines(tmp_path):
    save(tmp_path, "a.py", "x = 1\ny = 2\nx = 1\n")
    planned = plan([edit("a.py", "x = 1", "x = 3")], tmp_path)
    (refusal,) = planned.refusals
    assert refusal.code == "ambiguous"
    assert "line 1, line 3" in refusal.hint
    assert '"occurrence"' in refusal.hint
    assert refusal.request_id == "r1"
    assert refusal.path == "a.py"


@pytest.mark.parametrize(
    ("more", "result"),
    [
        ({"replace_all": True}, b"b b b"),
        ({"occurrence": 2}, b"a b a"),
        ({"expected_count": 3}, b"b b b"),
    ],
)
def test_several_places_are_taken_when_the_request_says_which(tmp_path, more, result):
    save(tmp_path, "a.txt", "a a a")
    assert after(tmp_path, "a.txt", edit("a.txt", "a", "b", **more)) == result


def test_a_wrong_count_or_occurrence_is_refused(tmp_path):
    save(tmp_path, "a.txt", "a a a")
    assert codes(tmp_path, edit("a.txt", "a", "b", expected_count=2)) == ["ambiguous"]
    planned = plan([edit("a.txt", "a", "b", occurrence=4)], tmp_path)
    assert "Requested occurrence 4 but only 3 found" in planned.refusals[0].message


def test_near_line_picks_the_clearly_nearest_place_only(tmp_path):
    save(tmp_path, "a.txt", "mark\n" + "filler\n" * 20 + "mark\n")
    assert after(tmp_path, "a.txt", edit("a.txt", "mark", "M", near_line=20)).endswith(b"M\n")
    assert codes(tmp_path, edit("a.txt", "mark", "M", near_line=11)) == ["ambiguous"]


def test_if_one_request_is_refused_nothing_is_planned(tmp_path):
    save(tmp_path, "a.txt", "one")
    save(tmp_path, "b.txt", "two")
    requests = [edit("a.txt", "one", "1"), edit("b.txt", "three", "3", 2), edit("c.txt", "x", "y", 3)]
    planned = plan(requests, tmp_path)
    assert not planned.changes
    assert [(r.code, r.request_id) for r in planned.refusals] == [("not_found", "r2"), ("not_found", "r3")]


def test_edits_of_one_answer_are_matched_against_one_look_at_the_file(tmp_path):
    save(tmp_path, "a.txt", "a b")
    swap = [edit("a.txt", "a", "b"), edit("a.txt", "b", "a", 2)]
    assert after(tmp_path, "a.txt", *swap) == b"b a"


def test_an_edit_of_text_that_an_earlier_edit_made_is_a_chain(tmp_path):
    save(tmp_path, "a.txt", "start\nend\n")
    steps = [edit("a.txt", "start", "start\nmiddle = 1"), edit("a.txt", "middle = 1", "middle = 2", 2)]
    assert after(tmp_path, "a.txt", *steps) == b"start\nmiddle = 2\nend\n"


def test_edits_that_overlap_are_refused(tmp_path):
    save(tmp_path, "a.txt", "one two three")
    assert codes(tmp_path, edit("a.txt", "one two", "1 2"), edit("a.txt", "two three", "2 3", 2)) == ["overlap"]


def test_the_same_request_twice_is_taken_once(tmp_path):
    save(tmp_path, "a.txt", "one")
    planned = plan([edit("a.txt", "one", "two"), edit("a.txt", "one", "two", 2)], tmp_path)
    assert planned.changes.get(at("a.txt")).after == b"two"
    assert planned.notes == ("r2 repeats r1 and was taken once",)


def test_write_creates_and_replaces(tmp_path):
    save(tmp_path, "old.txt", "before")
    changes = one(
        tmp_path,
        request("write_file", 1, file_path="new/deep/a.txt", content=""),
        request("write_file", 2, file_path="old.txt", content="after"),
    )
    assert [(str(c.path), c.kind, c.after) for c in changes.changes] == [
        ("new/deep/a.txt", "create", b""),
        ("old.txt", "modify", b"after"),
    ]


def test_delete_and_move_keep_bytes_and_mode(tmp_path):
    save(tmp_path, "run.sh", "#!/bin/sh\n").chmod(0o755)
    save(tmp_path, "gone.txt", "x")
    changes = one(
        tmp_path,
        request("move_file", 1, file_path="run.sh", new_path="bin/run.sh"),
        request("delete_file", 2, file_path="gone.txt", old_content="x\n"),
    )
    assert {str(c.path): (c.kind, c.mode) for c in changes.changes} == {
        "run.sh": ("delete", 0o755),
        "bin/run.sh": ("create", 0o755),
        "gone.txt": ("delete", 0o644),
    }


def test_a_diff_deletes_only_the_file_that_it_shows():
    diff = "--- a/a.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n"
    [found] = diff_changes(diff)
    assert found.parameters == {"file_path": "a.txt", "old_content": "one\ntwo"}
    [kept] = diff_changes(diff.replace("-two", " two"))
    assert "lines that stay in it" in kept.message
    [whole] = diff_changes("diff --git a/a.txt b/a.txt\ndeleted file mode 100644\n")
    assert whole.parameters == {"file_path": "a.txt"}


@pytest.mark.parametrize(
    ("requests", "code"),
    [
        ([edit("missing.txt", "a", "b")], "not_found"),
        ([request("delete_file", file_path="missing.txt")], "not_found"),
        ([request("delete_file", file_path="a.txt", old_content="one\n2\n")], "not_found"),
        ([request("delete_file", file_path="a.txt", old_content="one\n")], "not_found"),
        ([request("move_file", file_path="missing.txt", new_path="b.txt")], "not_found"),
        ([request("move_file", file_path="a.txt", new_path="b.txt")], "exists"),
        ([request("write_file", file_path="a.txt", content="one\ntwo\n")], "no_change"),
        ([edit("a.txt", "one", "one")], "no_change"),
        ([edit("a.txt", "", "x")], "format"),
        ([edit("../a.txt", "one", "x")], "path"),
        ([edit(".git/config", "one", "x")], "protected"),
        ([edit("sub", "one", "x")], "path"),
        ([edit("A.TXT", "one", "x")], "path"),
        ([edit("link.txt", "one", "x")], "path"),
        ([edit("linked/a.txt", "one", "x")], "path"),
        ([edit("pipe", "one", "x")], "path"),
        ([edit("a.txt/b.txt", "one", "x")], "path"),
        ([edit("binary.dat", "one", "x")], "format"),
        ([edit("fixed.txt", "one", "x")], "read_only"),
        ([edit("a.txt", "one", "# ... rest of the code unchanged ...")], "placeholder"),
        ([edit("a.txt", "gone\n", "two\n")], "already_applied"),
        ([edit("a.txt", "one", "x", base_hash="0" * 64)], "stale"),
        ([edit("a.txt", "one", "x"), request("write_file", 2, file_path="a.txt", content="y")], "overlap"),
        ([edit("a.txt", "one", "x"), request("delete_file", 2, file_path="a.txt")], "overlap"),
    ],
)
def test_what_has_no_safe_reading_is_refused(tmp_path, requests, code):
    import os

    save(tmp_path, "a.txt", "one\ntwo\n")
    save(tmp_path, "b.txt", "other")
    save(tmp_path, "sub/a.txt", "one")
    save(tmp_path, "binary.dat", b"one\0\xff\xfe")
    save(tmp_path, "fixed.txt", "one").chmod(0o444)
    (tmp_path / "link.txt").symlink_to("a.txt")
    (tmp_path / "linked").symlink_to("sub")
    os.mkfifo(tmp_path / "pipe")
    assert codes(tmp_path, *requests) == [code]


def test_a_stale_edit_is_told_the_lines_as_they_are_now(tmp_path):
    save(tmp_path, "a.py", "def f(a):\n    return a + 1\n")
    old = "def f(a):\n    return a"
    planned = plan([edit("a.py", f"{old}\n", "x", base_hash="0" * 64)], tmp_path)
    assert "1: def f(a): | 2:     return a + 1".replace("    ", "") in planned.refusals[0].hint.replace("    ", "")
    planned = plan([edit("a.py", "def f(a):", "def f(b):", base_hash="0" * 64)], tmp_path)
    assert "old_string is still there, lines 1–1" in planned.refusals[0].hint


READ = "a = 1\nb = 2\nc = 3\nd = 4\n"


def known(*contents):
    return KnownFiles({}, {sha256(text.encode()): text.encode() for text in contents})


def based(tool, number=1, **parameters):
    return request(tool, number, file_path="a.txt", base_hash=sha256(READ.encode()), **parameters)


@pytest.mark.parametrize(
    ("now", "asked", "result"),
    [
        (
            READ + "e = 5\n",
            based("write_file", content="a = 10\nb = 2\nc = 3\nd = 4\n"),
            "a = 10\nb = 2\nc = 3\nd = 4\ne = 5\n",
        ),
        (
            "a = 10\nb = 2\nc = 3\nd = 4\n",
            based("insert_lines", line=4, text="x = 0"),
            "a = 10\nb = 2\nc = 3\nx = 0\nd = 4\n",
        ),
        (
            "top\n" + READ,
            based("insert_lines", line=4, end_line=4, text="d = 40"),
            "top\na = 1\nb = 2\nc = 3\nd = 40\n",
        ),
        (
            "top\n" + READ,
            based("edit_file", old_string="c = 3", new_string="c = 30"),
            "top\na = 1\nb = 2\nc = 30\nd = 4\n",
        ),
    ],
)
def test_a_request_about_a_file_that_somebody_changed_elsewhere_is_merged(tmp_path, now, asked, result):
    save(tmp_path, "a.txt", now)
    planned = plan([asked], tmp_path, known=known(READ))
    assert planned.refusals == ()
    (change,) = planned.changes.changes
    assert (change.before, change.after) == (now.encode(), result.encode())
    assert planned.merged == (at("a.txt"),)
    assert "merged: somebody changed the file" in planned.notes[0]
    assert [refusal.code for refusal in plan([asked], tmp_path).refusals] == ["stale"]  # what was read is not known


@pytest.mark.parametrize(
    ("now", "asked"),
    [
        ("a = 1\nb = 2\nc = 3\nd = 44\n", based("write_file", content="a = 1\nb = 2\nc = 3\nd = 40\n")),
        ("a = 1\nb = 22\nc = 3\nd = 4\n", based("insert_lines", line=3, text="x = 0")),  # they touch
        ("a = 1\nb = 22\nc = 3\nd = 4\n", based("edit_file", old_string="b = 2", new_string="b = 20")),
        ("", based("write_file", content="a = 10\nb = 2\nc = 3\nd = 4\n")),
        (READ.encode("utf-16"), based("write_file", content="a = 10\nb = 2\nc = 3\nd = 4\n")),
        (READ + "e\n", based("delete_file")),
    ],
)
def test_a_request_that_meets_somebodys_change_is_refused_with_the_lines_as_they_are(tmp_path, now, asked):
    save(tmp_path, "a.txt", now)
    planned = plan([asked], tmp_path, known=known(READ))
    assert planned.changes == ChangeSet()
    assert [refusal.code for refusal in planned.refusals] == ["stale"]
    if isinstance(now, str) and "22" in now:
        assert "b = 22" in planned.refusals[0].hint


def test_a_merged_file_that_is_moved_takes_somebodys_lines_along(tmp_path):
    save(tmp_path, "a.txt", READ + "mine\n")
    asked = [based("insert_lines", line=1, text="top"), request("move_file", 2, file_path="a.txt", new_path="b.txt")]
    planned = plan(asked, tmp_path, known=known(READ))
    assert planned.changes.get(at("b.txt")).after == f"top\n{READ}mine\n".encode()
    assert planned.changes.get(at("a.txt")).after is None


def test_several_requests_about_the_file_as_it_was_read_are_merged_as_one(tmp_path):
    save(tmp_path, "a.txt", READ.replace("c = 3", "c = 33"))
    asked = [based("insert_lines", line=1, text="top"), based("insert_lines", 2, line=5, text="end")]
    planned = plan(asked, tmp_path, known=known(READ))
    assert planned.changes.get(at("a.txt")).after == b"top\na = 1\nb = 2\nc = 33\nd = 4\nend\n"


def test_the_same_change_by_somebody_else_is_said_and_not_made_again(tmp_path):
    save(tmp_path, "a.txt", READ + "e\n")
    assert [
        r.code for r in plan([based("write_file", content=READ + "e\n")], tmp_path, known=known(READ)).refusals
    ] == ["already_applied"]


LINES = st.lists(st.sampled_from(["a", "b", "c", "d", "", "}", "x = 1"]), max_size=8).map(
    lambda n: "".join(f"{m}\n" for m in n)
)


@given(LINES, LINES, LINES)
def test_whatever_somebody_saved_is_in_the_merge_or_nothing_is_planned(tmp_path_factory, read, now, content):
    project = tmp_path_factory.mktemp("project")
    save(project, "a.txt", now)
    asked = request("write_file", file_path="a.txt", content=content, base_hash=sha256(read.encode()))
    planned = plan([asked], project, known=known(read))
    if planned.refusals or read == now:
        return
    after = planned.changes.get(at("a.txt")).after.decode().split("\n")
    for side in (now, content):
        assert set(side.split("\n")) - set(read.split("\n")) <= set(after)
    assert set(after) <= {*now.split("\n"), *content.split("\n")}


def test_the_hash_of_the_file_as_read_is_accepted_long_or_short(tmp_path):
    save(tmp_path, "a.txt", "one")
    now = sha256(b"one")
    for spelling in (now, now[:12], now.upper(), f"sha256:{now}"):
        assert after(tmp_path, "a.txt", edit("a.txt", "one", "two", base_hash=spelling)) == b"two"
    assert codes(tmp_path, edit("a.txt", "one", "two", base_hash=now[:4])) == ["stale"]


def test_bytes_around_the_place_stay_as_they_are(tmp_path):
    odd = b"\xef\xbb\xbfone\r\ntwo \t\r\nthree\nfour\x0c\r\nlast"
    save(tmp_path, "a.txt", odd).chmod(0o640)
    (change,) = one(tmp_path, edit("a.txt", "two \t\nthree", "2\n3\n3b")).changes
    assert change.after == b"\xef\xbb\xbfone\r\n2\r\n3\n3b\nfour\x0c\r\nlast"
    assert change.mode == 0o640


LEGACY = [
    ("latin-1", "café one\n", "zwö", "zwei → drei"),
    ("cp1252", "# coding: cp1252\n# don’t “quote” one\n", "“zwö” 5 €", "日本"),
    ("cp932", "# coding: shift_jis\n# これは日本語 one\n", "二つ", "é"),
    ("gb18030", "# coding: gbk\n# 这是中文 one\n", "二", "\ud800"),
    ("koi8-r", "# coding: koi8-r\n# это комментарий one\n", "два", "é"),
    ("utf-16", "é one\n", "zwö", "\ud800"),
    ("utf-32", "é one\n", "zwö", "\ud800"),
    ("iso8859-15", "# coding: iso8859-15\n5 € one\n", "Œuvre", "→"),
]


@walked(("encoding", "text", "new", "missing"), LEGACY)
def test_an_encoding_that_comes_back_the_same_is_edited_and_keeps_its_bytes(tmp_path, encoding, text, new, missing):
    save(tmp_path, "a.txt", text.encode(encoding))
    assert after(tmp_path, "a.txt", edit("a.txt", "one", new)) == text.replace("one", new).encode(encoding)
    whole = text.replace("one", f"{new}\r\n")
    assert after(tmp_path, "a.txt", request("write_file", file_path="a.txt", content=whole)) == whole.encode(encoding)
    for asked in (
        edit("a.txt", "one", missing),
        request("write_file", file_path="a.txt", content=f"{text}{missing}"),
        request("insert_lines", file_path="a.txt", line=1, text=missing),
    ):
        assert codes(tmp_path, asked) == ["format"]


@walked(
    ("data", "reason"),
    [
        (b"caf\x82 one\n", "line 1 is not UTF-8"),
        ("Größe".encode("cp850") + b" one\n", "line 1 is not UTF-8"),
        ("καλημέρα".encode("cp1253") + b" one\n", "line 1 is not UTF-8"),
        ("# это комментарий one\n".encode("cp1251"), "does not name its encoding"),
        ("# これは日本語のコメントです。 one\n".encode("euc_jp"), "does not name its encoding"),
        ("é è à ".encode() + b"\nr\xe9sum\xe9 one\n", "line 2 is not UTF-8"),
        (b"\xef\xbb\xbfone \xff\n", "line 1 is not UTF-8"),
        (b"# coding: utf-8\nr\xe9sum\xe9 one\n", "line 2 is not UTF-8"),
        (b"one\0\n", "NUL bytes"),
        ("\ufeffone\0".encode("utf-16-le"), "NUL bytes"),
    ],
)
def test_bytes_of_no_certain_encoding_are_refused_by_name(tmp_path, data, reason):
    save(tmp_path, "a.txt", data)
    (refusal,) = plan([edit("a.txt", "one", "two")], tmp_path).refusals
    assert refusal.code == "format"
    assert reason in refusal.message


CONTROLS = [chr(n) for n in (*range(9), 11, *range(14, 32), *range(127, 160))]


@walked("control", CONTROLS)
def test_a_control_character_of_a_model_is_refused_with_its_line(tmp_path, control):
    save(tmp_path, "a.txt", "one\ntwo\x1b\n")
    for asked in (
        edit("a.txt", "one", f"1\n{control}"),
        request("write_file", file_path="b.txt", content=f"1\n{control}"),
        request("insert_lines", file_path="a.txt", line=1, text=f"1\n{control}"),
    ):
        (refusal,) = plan([asked], tmp_path).refusals
        assert refusal.code == "format"
        assert "Line 2" in refusal.message
        assert f"\\x{ord(control):02x}" in refusal.message


def test_a_control_character_that_the_replaced_text_has_may_stay(tmp_path):
    save(tmp_path, "a.txt", "one\ntwo\x1b\n")
    assert after(tmp_path, "a.txt", edit("a.txt", "two\x1b", "2\x1b\x0c\t")) == b"one\n2\x1b\x0c\t\n"
    assert after(tmp_path, "a.txt", request("write_file", file_path="a.txt", content="\x1bx")) == b"\x1bx"


def test_a_file_of_another_encoding_that_is_made_anew_is_utf8(tmp_path):
    save(tmp_path, "a.txt", "café\r\n".encode("latin-1"))
    asked = [request("delete_file", file_path="a.txt"), request("write_file", 2, file_path="a.txt", content="→\n")]
    assert after(tmp_path, "a.txt", *asked) == "→\r\n".encode()


def test_a_whole_write_keeps_line_ends_and_mark(tmp_path):
    save(tmp_path, "a.txt", b"\xef\xbb\xbfa\r\nb\r\n")
    result = after(tmp_path, "a.txt", request("write_file", file_path="a.txt", content="a\nc\n"))
    assert result == b"\xef\xbb\xbfa\r\nc\r\n"


def test_a_file_that_loses_most_of_its_lines_is_held_unless_it_is_deleted_first(tmp_path):
    save(tmp_path, "a.txt", "".join(f"line {n}\n" for n in range(40)))
    write = request("write_file", 2, file_path="a.txt", content="line 1\n")
    assert codes(tmp_path, write) == ["omission"]
    assert after(tmp_path, "a.txt", request("delete_file", file_path="a.txt"), write) == b"line 1\n"


@walked(
    ("line", "end", "text", "result"),
    [
        (1, None, "zero", "zero\none\ntwo\nthree\n"),
        (3, None, "x\ny\n", "one\ntwo\nx\ny\nthree\n"),
        (4, None, "four", "one\ntwo\nthree\nfour\n"),
        (2, 2, "2", "one\n2\nthree\n"),
        (1, 3, "all", "all\n"),
        (2, 3, "", "one\n"),
    ],
)
def test_lines_are_inserted_and_replaced_by_number(tmp_path, line, end, text, result):
    save(tmp_path, "a.txt", "one\ntwo\nthree\n")
    asked = request("insert_lines", file_path="a.txt", line=line, text=text, **({"end_line": end} if end else {}))
    assert after(tmp_path, "a.txt", asked) == result.encode()


def test_appending_to_a_file_without_a_final_newline_keeps_it_without(tmp_path):
    save(tmp_path, "a.txt", "one\r\ntwo")
    asked = request("insert_lines", file_path="a.txt", line=3, text="three\n")
    assert after(tmp_path, "a.txt", asked) == b"one\r\ntwo\r\nthree"


def test_several_edits_in_several_files_are_one_change_set(tmp_path):
    save(tmp_path, "a.txt", "one two")
    save(tmp_path, "b.txt", "three")
    edits = [
        {"file_path": "a.txt", "old_string": "one", "new_string": "1"},
        {"file_path": "b.txt", "old_string": "three", "new_string": "3"},
        {"file_path": "a.txt", "old_string": "two", "new_string": "2"},
    ]
    changes = one(tmp_path, request("multi_edit", edits=edits))
    assert [(str(c.path), c.after) for c in changes.changes] == [("a.txt", b"1 2"), ("b.txt", b"3")]


def several(*items):
    return request("multi_edit", edits=[{"file_path": "a.txt", **item} for item in items])


def test_c6_12_edits_with_an_order_really_chain(tmp_path):
    save(tmp_path, "a.txt", "A then B")
    to_c = several(
        {"old_string": "B", "new_string": "C", "order": 2, "replace_all": True},
        {"old_string": "A", "new_string": "B", "order": 1},
    )
    assert after(tmp_path, "a.txt", to_c) == b"C then C"
    swap = several(
        {"old_string": "A", "new_string": "_", "order": 1},
        {"old_string": "B", "new_string": "A", "order": 2},
        {"old_string": "_", "new_string": "B", "order": 3},
    )
    assert after(tmp_path, "a.txt", swap) == b"B then A"


def test_every_place_is_refused_where_an_earlier_edit_adds_one(tmp_path):
    save(tmp_path, "a.txt", "A B B")
    unclear = several(
        {"old_string": "A", "new_string": "B"}, {"old_string": "B", "new_string": "C", "replace_all": True}
    )
    assert codes(tmp_path, unclear) == ["overlap"]


def test_a_text_can_be_demanded_afterwards(tmp_path):
    save(tmp_path, "a.txt", "one two")
    assert after(tmp_path, "a.txt", edit("a.txt", "one", "1", validate_after="1 two")) == b"1 two"
    planned = plan([edit("a.txt", "one", "1", validate_after="three")], tmp_path)
    assert 'expected text "three" not found after operation' in planned.refusals[0].message


def test_a_request_that_is_sent_again_does_not_add_its_lines_twice(tmp_path):
    save(tmp_path, "a.py", "import os\nimport sys\n\nx = 1\n")
    assert codes(tmp_path, edit("a.py", "import os", "import os\nimport sys")) == ["already_applied"]
    save(tmp_path, "b.py", "    if x:\n        f(1)\n        f(2)\n")
    assert codes(tmp_path, edit("b.py", "    f(1)\n    f(2)", "    if x:\n        f(1)\n        f(2)")) == [
        "already_applied"
    ]


@pytest.mark.parametrize(
    ("old", "new", "right"),
    [
        ("import os\nimport sys\n", "import os\nimport sys\n\n", "import os\nimport sys\n\n\nx = 1\n"),
        ("import os", "import os\nimport re", "import os\nimport re\nimport sys\n\nx = 1\n"),
        ("import os\nimport sys", "import os", "import os\n\nx = 1\n"),
        ("x = 1\n", "x = 1\n}\n", "import os\nimport sys\n\nx = 1\n}\n"),
    ],
)
def test_what_only_looks_like_a_repetition_is_done(tmp_path, old, new, right):
    save(tmp_path, "a.py", "import os\nimport sys\n\nx = 1\n")
    assert after(tmp_path, "a.py", edit("a.py", old, new)) == right.encode()


def test_c3_15_every_example_of_an_edit_tool_is_planned_as_its_definition_shows_it(tmp_path):
    """What the prompt shows is what the executor takes: it is planned, or refused for the state of the files alone."""
    registry = load_definitions([builtin_folder("mcp_definitions")])
    edits = [one for one in registry.definitions.values() if one.effect == "edit"]
    for definition in edits:
        for example in definition.examples:
            planned = plan([request(definition.tool_name, **example)], tmp_path)
            assert {refusal.code for refusal in planned.refusals} <= {"not_found", "workflow"}, planned.refusals
    assert len(edits) >= len(EDIT_TOOLS)


def test_a_replacement_that_is_no_plain_one_says_on_which_rung(tmp_path):
    save(tmp_path, "a.txt", "a a\n    b = (1, 2)\n    c\n")
    planned = plan([edit("a.txt", "a", "x", replace_all=True), edit("a.txt", "b = (1,2)\nc", "d", 2)], tmp_path)
    assert ["rung" in note for note in planned.notes] == [True]
    assert "rung 6" in planned.notes[0]


def test_a_file_that_is_emptied_or_shrunk_is_called_out(tmp_path):
    text = "".join(f"line {n}\n" for n in range(20))
    save(tmp_path, "a.txt", text)
    save(tmp_path, "b.txt", "x")
    half = "".join(f"line {n}\n" for n in range(10))
    planned = plan([edit("a.txt", half, ""), request("write_file", 2, file_path="b.txt", content="")], tmp_path)
    assert planned.notes == ("a.txt: it loses 10 of its 20 lines", "b.txt: it becomes empty")


def test_other_names_of_a_file_are_mentioned(tmp_path):
    import os

    os.link(save(tmp_path, "a.txt", "one"), tmp_path / "b.txt")
    assert any("2 names" in note for note in plan([edit("a.txt", "one", "two")], tmp_path).notes)


def test_planning_writes_nothing(tmp_path):
    save(tmp_path, "a.txt", "one")
    one(tmp_path, edit("a.txt", "one", "two"), request("write_file", 2, file_path="x/y.txt", content="z"))
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a.txt"]


def test_c3_14_a_link_that_leads_out_of_the_project_is_refused(tmp_path):
    project = tmp_path / "project"
    outside = tmp_path / "outside"
    project.mkdir()
    outside.mkdir()
    (outside / "a.txt").write_text("one", "utf-8")
    (project / "out").symlink_to(outside)
    (project / "a.txt").symlink_to(outside / "a.txt")
    for name in ("out/a.txt", "out/new.txt", "a.txt"):
        assert codes(project, request("write_file", file_path=name, content="x")) == ["path"]
    assert (outside / "a.txt").read_text("utf-8") == "one"


def test_c6_08_a_file_of_more_than_ten_megabytes_is_neither_read_nor_written(tmp_path):
    save(tmp_path, "a.txt", b"x" * 10_000_001)
    refused = (
        plan([edit("a.txt", "x", "y")], tmp_path).refusals
        + plan([request("write_file", file_path="b.txt", content="x" * 10_000_001)], tmp_path).refusals
    )
    assert len(refused) == 2
    assert all("10000000" in one.message for one in refused), refused


def test_c7_07_a_file_in_another_encoding_keeps_it(tmp_path):
    save(tmp_path, "a.txt", "caf\u00e9 one\n".encode("latin-1"))
    assert after(tmp_path, "a.txt", edit("a.txt", "one", "two")) == "caf\u00e9 two\n".encode("latin-1")


def test_what_changes_nothing_beside_changes_is_a_note(tmp_path):
    save(tmp_path, "a.txt", "one\n")
    save(tmp_path, "b.txt", "two\n")
    nothing = edit("b.txt", "two", "two")
    planned = plan([edit("a.txt", "one", "1"), nothing], tmp_path)
    assert [str(change.path) for change in planned.changes.changes] == ["a.txt"]
    assert any("b.txt: No changes made" in note for note in planned.notes)
    assert [edit.success for edit in planned.edits] == [True, False], "what changed nothing is not counted as made"
    assert codes(tmp_path, nothing) == ["no_change"]


def test_an_empty_file_may_be_created_since_it_holds_nothing(tmp_path):
    for held in ("", "x\n"):
        save(tmp_path, "a.txt", held)
        planned = plan([request("write_file", file_path="a.txt", content="new\n", create_only=True)], tmp_path)
        assert [refusal.code for refusal in planned.refusals] == (["exists"] if held else [])
