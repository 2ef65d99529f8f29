"""``*** Begin Patch`` as Codex's own reader takes it; a reader of patches never raises."""

from hypothesis import given
from hypothesis import strategies as st

from rails.data_formats.proposed import NotRead
from rails.data_formats.search_replace import block_changes
from rails.data_formats.unified_diff import diff_changes
from rails.edits.plan import plan
from rails.parsing.call_formats.begin_patch import patch_changes
from rails.parsing.parse import parse
from rails.session.project import registry_of
from rails.tools.validate import validate
from tests.rows import walked

BEFORE = "alpha\nbeta\ngamma\ndelta\n"


def patched(folder, body):
    """The file after a patch of it, or what is said against that."""
    (folder / "a.txt").write_text(BEFORE)
    registry = registry_of(folder)
    text = f"*** Begin Patch\n*** Update File: a.txt\n{body}\n*** End Patch\n"
    found = parse(text, registry.shapes(), report_unread_calls=True)
    planned = plan([validate(one, registry, "coder") for one in found.requests], folder)
    said = [one.message for one in (*found.refusals, *planned.refusals)]
    return " ".join(said) or planned.changes.changes[0].after.decode()


@walked(
    ("body", "after"),
    [
        ("@@\n\n@@\n-beta\n+BETA", "alpha\nBETA\ngamma\ndelta\n"),
        ("@@\n\n\n\n@@\n-beta\n+BETA", "alpha\nBETA\ngamma\ndelta\n"),
        ("@@ def f():\n\n@@\n-beta\n+BETA", "alpha\nBETA\ngamma\ndelta\n"),
        ("\n\n@@\n-beta\n+BETA", "alpha\nBETA\ngamma\ndelta\n"),
        ("@@\n-beta\n+BETA\n@@\n\n*** End of File", "alpha\nBETA\ngamma\ndelta\n"),
        ("@@ -1,2 +1,2 @@\n\n@@ -2 +2 @@\n-beta\n+BETA", "alpha\nBETA\ngamma\ndelta\n"),
        ("@@\n-beta\n+BETA\n\n@@\n \n@@\n-delta\n+DELTA", "alpha\nBETA\ngamma\nDELTA\n"),
        ("@@\n+zero\n alpha", "zero\nalpha\nbeta\ngamma\ndelta\n"),
        ("@@\nalpha\n-beta\n+BETA\ngamma", "alpha\nBETA\ngamma\ndelta\n"),
        ("@@\nalpha\n-beta\n+BETA", "alpha\nBETA\ngamma\ndelta\n"),
        ("@@\n-beta\n+BETA\ngamma", "alpha\nBETA\ngamma\ndelta\n"),
        ("alpha\n-beta\n+BETA\ngamma", "alpha\nBETA\ngamma\ndelta\n"),
        ("@@\nbeta\n+new\ngamma", "alpha\nbeta\nnew\ngamma\ndelta\n"),
        ("@@\n alpha\n@@\n-beta\n+BETA", "alpha\nBETA\ngamma\ndelta\n"),
        ("@@\n alpha\n beta\n@@\n-delta\n+DELTA", "alpha\nbeta\ngamma\nDELTA\n"),
        ("@@ alpha\n-beta\n+BETA", "alpha\nBETA\ngamma\ndelta\n"),
        ("@@ alpha\n@@ beta\n-gamma\n+GAMMA", "alpha\nbeta\nGAMMA\ndelta\n"),
        ("@@\nalpha\n-beta\n+BETA\ngamma\n@@\ngamma\n-delta\n+DELTA", "alpha\nBETA\ngamma\nDELTA\n"),
        ("@@\n alpha\n-beta\n+BETA\n gamma\n@@\n gamma\n-delta\n+DELTA", "alpha\nBETA\ngamma\nDELTA\n"),
        ("@@\n-beta\n@@\n-gamma", "alpha\ndelta\n"),
    ],
)
def test_a_patch_is_read_as_codex_reads_it(tmp_path, body, after):
    assert patched(tmp_path, body) == after


@walked("body", ["", "@@", "@@\n\n", "@@\n alpha", "@@\n+new", "@@ alpha\n+new"])
def test_a_patch_that_changes_nothing_or_has_no_place_is_refused(tmp_path, body):
    assert "a.txt" in patched(tmp_path, body)


LINES = """*** Begin Patch
*** End Patch
*** Update File: a
*** Add File: b
*** Delete File: c
*** Move to: d
*** End of File
@@
@@ x
@@ -1,2 +1 @@
@@@ -1 -1 +1 @@@
diff --git a/x b/y
--- a/x
+++ b/x
--- /dev/null
+++ /dev/null
rename from x
rename to y
new file mode 100644
deleted file mode 100644
GIT binary patch
index 1..2
<<<<<<< SEARCH
=======
>>>>>>> REPLACE
<<<<<<< HEAD
>>>>>>> updated
:start_line:3
-------
a.py
`a.py`
```
 x
+x
-x
x

\\ No newline at end of file""".splitlines()


@given(
    st.lists(st.sampled_from([*LINES, "-- ", "\r", " "]), max_size=14), st.sampled_from(["\n", "\r\n"]), st.booleans()
)
def test_no_reader_of_patches_raises_and_what_is_not_read_has_its_line(lines, end, whole):
    text = end.join(["*** Begin Patch", *lines, "*** End Patch"] if whole else lines)
    for outcome in (*patch_changes(text), *diff_changes(text), *block_changes(text, [], "a.py")):
        assert not isinstance(outcome, NotRead) or -1 <= outcome.line <= text.count("\n")
    parse(text, {"write_file": {}, "edit_file": {}}, report_unread_calls=True)
