"""Lazy rewrites are noticed in every comment syntax, and ordinary comments are left in peace."""

import pytest

from rails.edits.placeholders import lost_lines, placeholder
from rails.edits.plan import plan
from tests.rows import walked

from .helpers import request, save

PLACEHOLDERS = [
    "# everything else stays the same",
    "# (keep everything else as is)",
    "// (other functions here)",
    "# other methods unchanged",
    "-- rest of report unchanged",
    "# code continues...",
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
    "# rest of the file below this line",
    "// code below this line stays the same",
    "<rest of code>",
    "<existing content>",
    "# nothing changed below this line",
    "{/* existing JSX */}",
    "// ... 40 more lines ...",
    "# lines 10-50 unchanged",
    "@* rest of page *@",
    "{{/* rest of template */}}",
    "#region unchanged",
    ":: rest of the script unchanged",
    '" existing code stays the same',
    "<# rest of the function #>",
    "! remaining code unchanged",
    ".. rest of the document",
]
HARMLESS = [
    "# everything else is optional",
    "# other values are refused",
    "# the rest of them come later",
    "# the code continues with the next line",
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
    "<Rest />",
    "'rest', 'remainder',",
    '"rest",',
    "# below this line no imports",
    "# Existing code paths must not break, see the tests.",
]


@walked("line", PLACEHOLDERS)
def test_a_line_that_stands_for_code_is_found(line):
    assert placeholder(f"first = 1\n{line}\nlast = 2\n", "first = 0\n") == (2, line.strip())


@walked("line", HARMLESS)
def test_an_ordinary_line_is_left_in_peace(line):
    assert placeholder(f"first = 1\n{line}\n", "") is None


@pytest.mark.parametrize("line", PLACEHOLDERS[:5])
def test_a_line_that_the_file_already_has_is_its_own(line):
    assert placeholder(f"a\n{line}\n", f"b\n{line}\n") is None


@walked(
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


@walked(
    ("path", "line"),
    [
        ("a.js", "  ...rest,"),
        ("a.js", "...rest"),
        ("a.tsx", "  {...rest}"),
        ("a.ts", "  [...existing]"),
        ("a.vue", "    ...remaining.items,"),
        ("a.php", "    ...$rest,"),
        ("a.clj", "  (rest items)"),
        ("a.py", "    [rest]"),
        ("a.py", "    (unchanged)"),
        ("CHANGELOG.md", "# Unchanged"),
        ("CHANGELOG.md", "* existing rules"),
        ("a.md", "-- unchanged"),
        ("a.js", "  #rest;"),
        ("a.css", "#content {"),
        ("a.py", "# as in\n# ...\n# and so on"),
        ("a.md", "# ..."),
        ("a.py", "    ..."),
    ],
)
def test_what_is_code_or_prose_in_the_file_s_language_is_no_placeholder(path, line):
    assert placeholder(f"first\n{line}\n", "", path) is None


@walked(
    ("path", "line"),
    [
        ("a.py", "...rest"),
        ("a.py", "    # ...rest"),
        ("a.js", "... rest of the code ..."),
        ("a.js", "// ...rest"),
        ("a.js", "  // existing code"),
        ("a.clj", "(... rest of the items ...)"),
        ("a.md", "... rest of the file ..."),
        ("a.md", "[rest of the file unchanged]"),
        ("a.md", "<!-- rest of the file -->"),
        ("a.md", "# ... existing sections ..."),
        ("a.html", "<!-- existing content -->"),
        ("a.html", "<!-- ... -->"),
        ("a.rs", "    // ..."),
        ("a.css", "/* ... */"),
        ("a.py", "    # …"),
    ],
)
def test_a_placeholder_is_one_in_every_language(path, line):
    assert placeholder(f"first\n{line}\n", "", path) == (2, line.strip())


REST = "# rest of the code unchanged"


@pytest.mark.parametrize(
    "asked",
    [
        {"tool": "edit_file", "old_string": "one", "new_string": f"one\n{REST}"},
        {"tool": "write_file", "content": f"one\n{REST}\n"},
        {"tool": "insert_lines", "line": 1, "text": f"{REST}\n"},
    ],
)
def test_who_insists_that_a_placeholder_is_meant_gets_a_human(tmp_path, asked):
    save(tmp_path, "a.py", "one\n")
    more = {name: value for name, value in asked.items() if name != "tool"}
    refused = plan([request(asked["tool"], file_path="a.py", **more)], tmp_path).refusals
    assert [one.code in ("placeholder", "omission") for one in refused] == [True]
    assert '"keep_placeholder": true' in refused[0].hint
    planned = plan([request(asked["tool"], file_path="a.py", keep_placeholder=True, **more)], tmp_path)
    assert planned.refusals == ()
    assert any(REST in doubt for doubt in planned.doubts)


def test_a_file_that_is_to_be_created_must_not_be_there(tmp_path):
    save(tmp_path, "a.py", "one\n")
    only = {"content": "two\n", "create_only": True}
    assert [one.code for one in plan([request("write_file", file_path="a.py", **only)], tmp_path).refusals] == [
        "exists"
    ]
    assert plan([request("write_file", file_path="b.py", **only)], tmp_path).refusals == ()
    anew = [request("delete_file", file_path="a.py"), request("write_file", 2, file_path="a.py", **only)]
    assert plan(anew, tmp_path).refusals == ()


@walked(
    "line",
    [
        "# ... restlicher Code unverändert",
        "// Rest des Codes bleibt gleich",
        "// ... resto del código sin cambios",
        "# sin cambios",
        "// ... reste du code inchangé",
        "# resto do código permanece o mesmo",
        "// ... il resto rimane invariato",
        "# rest van de code ongewijzigd",
        "# reszta kodu bez zmian",
        "// остальная часть кода остаётся без изменений",
        "# ...（其余代码保持不变）...",
        "# 以下省略",
        "// 残りのコードは変更なし",
        "// ... 나머지 코드는 동일 ...",
    ],
)
def test_left_out_code_is_seen_in_other_languages(line):
    assert placeholder(f"import os\n{line}\nx = 1\n", "import os\n", "a.py" if line[0] == "#" else "a.js")


@walked(
    "line",
    [
        "# Der Rest der Division",
        "# calcula el resto",
        "# Le reste de la division euclidienne",
        "# остаток от деления",
        "# 读取其余参数",
        "# 残りの時間を計算する",
        "# 나머지 연산을 한다",
        "x = resto",
        "# si no hay cambios, salir",
    ],
)
def test_a_comment_in_another_language_that_speaks_of_a_rest_is_a_comment(line):
    assert placeholder(f"import os\n{line}\nx = 1\n", "", "a.py") is None


@walked(
    ("name", "content", "why"),
    [
        ("page.html", "&lt;p&gt;A &amp;amp; B&lt;/p&gt;\n", "escaped"),
        ("a.sql", "SELECT a\nFROM b\nWHERE a &lt; 3;\n", "escaped"),
        ("a.sql", "1 | SELECT a\n2 | FROM b\n3 | WHERE a < 4;\n", "line number"),
        ("a.sql", "     1\tSELECT a\n     2\tFROM b\n     3\tWHERE a < 4;\n", "line number"),
        ("new.tsv", "1\ta\n2\tb\n3\tc\n", ""),
        ("new.md", "Write &lt; and &amp; in HTML.\n", ""),
    ],
)
def test_a_whole_file_that_was_changed_by_copying_is_refused(tmp_path, name, content, why):
    save(tmp_path, "a.sql", "SELECT a\nFROM b\nWHERE a < 3;\n")
    planned = plan([request("write_file", file_path=name, content=content)], tmp_path)
    assert why in " ".join(one.message for one in planned.refusals)
    assert bool(planned.refusals) == bool(why)
