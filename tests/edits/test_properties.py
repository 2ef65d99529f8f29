"""What holds for every text and every edit, and for drift cases made from real source files."""

import importlib.util
import sys
from collections import Counter
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rails.edits.edit_request import EditRequest
from rails.edits.file_draft import Draft
from rails.edits.match import Match, locate
from rails.edits.plan_result import EditError
from rails.edits.safe_files import Snapshot
from rails.edits.text_view import View

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


@given(slices(), NEW)
def test_a_text_that_is_there_once_is_replaced_literally(case, new):
    text, old = case
    assume(old != new)
    once = sum(text.startswith(old, n) for n in range(len(text))) == 1
    result = after(text.encode(), old, new)
    if not once:
        assert result == "ambiguous"
    elif result != text.replace(old, new).encode():
        # Two readings: further lines under a first one that is quoted at half its depth; a repeated request.
        assert result == "already_applied" or (old[0] in " \t" and new[:1] == old[0] and "\n" in new)


@given(TEXT, TEXT.filter(bool), NEW)
def test_outside_the_reported_lines_nothing_changes(text, old, new):
    view = View(text)
    found = locate(view, EditRequest(old, new))
    if isinstance(found, Match):
        (span,) = found.spans
        lines = text.split("\n")
        result = (text[: span.start] + span.text + text[span.end :]).split("\n")
        head, tail = span.first_line - 1, len(lines) - span.last_line
        assert result[:head] == lines[:head]
        assert tail <= 0 or result[-tail:] == lines[-tail:] or text[span.start : span.end].endswith("\n")
        assert 0 <= span.start <= span.end <= len(text)


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


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99)), min_size=1, max_size=8, unique_by=lambda pair: pair[0])
)
def test_edits_of_one_answer_do_not_depend_on_their_order(pairs):
    text = "".join(f"line {n}\n" for n in range(10)).encode()
    results = set()
    for order in (pairs, pairs[::-1]):
        draft = Draft(at("a.txt"), Snapshot(text, 0o644, 1, (0, 0), (0, 0, 0, 0)))
        for line, value in order:
            draft.edit(EditRequest(f"line {line}\n", f"new {value}\n"), "")
        results.add(draft.finish().after)
    assert len(results) == 1


def test_drift_from_real_files_is_applied_right_or_refused_never_wrong():
    path = Path(__file__).parent.parent / "benchmarks" / "drift.py"
    spec = importlib.util.spec_from_file_location("drift", path)
    drift = sys.modules["drift"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(drift)
    seen = Counter()
    for case in drift.cases(5, seed=3):
        result = after(case.data, case.old, case.new) if not case.more else "stale"
        wrong = isinstance(result, bytes) and not any(right == result for right in case.right)
        assert not wrong, case
        seen[case.must_refuse, isinstance(result, bytes)] += 1
    assert seen[True, True] == 0
    assert seen[False, False] <= 0.01 * seen[False, True]
