"""What holds for every text and every edit, and for drift cases made from real source files."""

import importlib.util
import sys
from collections import Counter
from pathlib import Path

from hypothesis import assume, given
from hypothesis import strategies as st

from rails.edits.edit_request import EditRequest
from rails.edits.file_draft import Draft
from rails.edits.plan_result import EditError
from rails.edits.safe_files import Snapshot

from .helpers import at

TEXT = st.text(alphabet='ab(. \t\n“"é', max_size=60)
NEW = st.text(alphabet="abX$\\1& \t\n", max_size=20)


def after(data, old, new):
    """The bytes after an edit, or the code of the refusal."""
    draft = Draft(at("a.txt"), Snapshot(data, 0o644, 1, (0, 0), (0, 0, 0, 0)))
    try:
        draft.edit(EditRequest(old, new), "")
        return draft.finish().after
    except EditError as problem:
        return problem.code


@st.composite
def slices(draw):
    text = draw(TEXT.filter(bool))
    start = draw(st.integers(0, len(text) - 1))
    return text, text[start : draw(st.integers(start + 1, len(text)))]


def places(text, old):
    return [n for n in range(len(text)) if text.startswith(old, n)]


@given(slices(), NEW)
def test_a_text_that_is_there_once_is_replaced_literally(case, new):
    """No looser strategy is asked: only where it begins within blanks, or a border line end goes, it is more."""
    text, old = case
    assume(old != new and len(places(text, old)) == 1)
    start = places(text, old)[0]
    before = text[text.rfind("\n", 0, start) + 1 : start]
    in_blanks = bool(before) and not before.strip() and any(line.strip() for line in new.split("\n")[1:])
    goes = old.endswith("\n") and not new.endswith("\n") and bool(old.strip("\n"))
    joins = old.startswith("\n") and bool(before) and not new.startswith("\n") and bool(old.strip("\n"))
    result = after(text.encode(), old, new)
    if not (in_blanks or goes or joins):
        assert result in (text.replace(old, new).encode(), "already_applied", "no_change")


@given(
    st.lists(st.sampled_from(["  a", "    a", "a", "  a b", "x", ""]), min_size=2, max_size=6),
    st.sampled_from(["a", "  a"]),
)
def test_of_several_places_one_is_taken_only_when_it_alone_is_whole_lines(lines, old):
    text = "\n".join(lines)
    assume(len(places(text, old)) > 1)
    whole = [n for n, line in enumerate(lines) if line == old]
    result = after(text.encode(), old, "new")
    if len(whole) == 1 and old.startswith(" "):
        assert result == "\n".join([*lines[: whole[0]], "new", *lines[whole[0] + 1 :]]).encode()
    else:
        assert result == "ambiguous"


LINES = st.lists(st.text(alphabet="ab=", min_size=1, max_size=3), min_size=3, max_size=8, unique=True)


UNITS = st.sampled_from(["  ", "    ", "\t"])


@given(UNITS, st.integers(1, 3), st.integers(0, 12), st.sampled_from(["listen 443;", "if x:\n{u}pass", "a\n{u}b\nc"]))
def test_a_line_quoted_with_less_indentation_is_followed_by_lines_at_the_files_own(unit, depth, cut, more):
    """Whatever part of its blanks is quoted, further lines stand as deep as it, or where they were sent, or nowhere."""
    here = unit * depth
    opened = "".join(f"{unit * n}block {{\n" for n in range(depth))
    text = f"{opened}{here}listen 80;\n{here}x = 1\n" + "".join(f"{unit * n}}}\n" for n in range(depth))[::-1]
    assume(cut <= len(here))
    quoted = here[cut:]
    added = more.format(u=unit).split("\n")
    new = "\n".join([f"{quoted}listen 80;", *(f"{quoted}{line}" for line in added)])
    result = after(text.encode(), f"{quoted}listen 80;", new)
    if isinstance(result, bytes):
        lines = result.decode().split("\n")[1 + depth : 1 + depth + len(added)]
        assert lines == [f"{here}{line}" for line in added]
    else:
        assert cut


@given(TEXT, TEXT.filter(bool), NEW)
def test_a_file_with_windows_line_ends_gives_the_same_result_with_windows_line_ends(text, old, new):
    assume("\n" in text)
    plain = after(text.encode(), old, new)
    windows = after(text.replace("\n", "\r\n").encode(), old, new)
    assert windows == (plain.replace(b"\n", b"\r\n") if isinstance(plain, bytes) else plain)


@given(st.binary(max_size=80), st.text(alphabet="ab\n", min_size=1, max_size=3), st.text(alphabet="xy\n", max_size=3))
def test_bytes_that_are_no_text_pass_through(data, old, new):
    result = after(data, old, new)
    if isinstance(result, bytes) and b"\r" not in data and not old.endswith("\n"):
        found = {data[:n] + new.encode() + data[n + len(old) :] for n in range(len(data))}
        assert result in found or not old.strip() or old != old.strip()


def test_drift_from_real_files_is_applied_right_or_refused_never_wrong():
    path = Path(__file__).parent.parent / "benchmarks" / "drift.py"
    spec = importlib.util.spec_from_file_location("drift", path)
    drift = sys.modules["drift"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(drift)
    seen = Counter()
    for case in drift.cases(3, seed=3):
        result = after(case.data, case.old, case.new) if not case.more else "stale"
        wrong = isinstance(result, bytes) and not any(right == result for right in case.right)
        assert not wrong, case
        seen[case.must_refuse, isinstance(result, bytes)] += case.kind not in drift.EITHER
    assert seen[True, True] == 0
    assert seen[False, False] <= 0.01 * seen[False, True]
