"""Lazy rewrites are noticed in every comment syntax, and ordinary comments are left in peace."""

import pytest

from rails.edits.placeholders import lost_lines, placeholder

PLACEHOLDERS = [
    "# ... existing code ...",
    "# ... rest of the code ...",
    "    # rest of the code remains unchanged",
    "// rest of code remains the same",
    "// ... existing code ...",
    "// ...existing implementation...",
    "/* ... rest of file unchanged ... */",
    "/* existing implementation */",
    " * ... remaining methods stay the same ...",
    "<!-- rest of the file -->",
    "<!-- ... existing content ... -->",
    "{/* ... existing code ... */}",
    "-- rest of the query unchanged".replace("query", "code"),
    "; remaining code unchanged",
    "% rest of the document unchanged",
    "... rest of the file ...",
    "[... existing code ...]",
    "(rest of the function unchanged)",
    "[rest of code unchanged]",
    "// remaining code unchanged",
    "# unchanged",
    "# (unchanged)",
    "# ... snip ...",
    "// keep existing code",
    "# The rest of the implementation remains unchanged.",
    "# Rest of the methods are the same as before",
    "// ... other existing methods ...",
    "# code omitted for brevity",
    "// ... (rest of the component stays the same)",
    "# ... same as before ...",
    "// No changes here",
    "… rest of the code …",
    "# [REST OF FILE UNCHANGED]",
    "// all existing imports remain unchanged",
    "# ...rest of your code here...",
]
HARMLESS = [
    "...",
    "    ...",
    "# existing users are migrated first",
    "# The rest of the arguments are passed on to the parser.",
    "x = rest_of_code",
    "rest = items[1:]  # the rest of the list",
    "# same as above but for bytes".replace("same as above", "like above"),
    "// unchanged files are skipped",
    "The rest of the code remains unchanged.",
    "remaining = total - done",
    "# Remaining budget in seconds",
    "print('... existing code ...')",
    "const { a, ...rest } = props;",
    "def f(...): ...",
    "# previous value, or None",
    "// original author: somebody",
    '"""Return the remaining items."""',
    "# ---",
    "#",
    "# Existing code paths must not break, see the tests.",
]


@pytest.mark.parametrize("line", PLACEHOLDERS)
def test_a_line_that_stands_for_code_is_found(line):
    assert placeholder(f"first = 1\n{line}\nlast = 2\n", "first = 0\n") == (2, line.strip())


@pytest.mark.parametrize("line", HARMLESS)
def test_an_ordinary_line_is_left_in_peace(line):
    assert placeholder(f"first = 1\n{line}\n", "") is None


@pytest.mark.parametrize("line", PLACEHOLDERS[:5])
def test_a_line_that_the_file_already_has_is_its_own(line):
    assert placeholder(f"a\n{line}\n", f"b\n{line}\n") is None


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        (100, 100, None),
        (100, 71, None),
        (100, 69, (31, 100)),
        (100, 0, (100, 100)),
        (9, 1, None),
        (10, 6, (4, 10)),
        (10, 200, None),
    ],
)
def test_more_than_thirty_percent_of_the_lines_is_too_much_to_lose_unasked(before, after, lost):
    assert lost_lines("x\n\n" * before, "y\n" * after) == lost
