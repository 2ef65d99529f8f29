"""The exported page stands alone, asks nobody for anything, and no text of the log becomes markup."""

import base64
import hashlib
import re
import subprocess
from html.parser import HTMLParser
from importlib import resources

import pytest
from msgspec.structs import replace

from rails.approval.diff_view import file_diff
from rails.core.changes import ChangeSet, FileChange, unified_diff
from rails.core.paths import WorkspacePath
from rails.n8n.draw import picture
from rails.projections.session import session_view
from rails.render.diffs import as_renames, read_diff
from rails.render.html_page.blocks import TEXT_CHARS
from rails.render.html_page.markup import el, join
from rails.review.html import render_html
from tests.rows import walked


class Outline(HTMLParser):
    """Elements, their attributes and texts; fails on tags that are not closed in order."""

    VOID = ("meta", "br", "hr")

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open = []
        self.elements = []
        self.texts = []
        self.doctype = ""

    def handle_decl(self, decl):
        self.doctype = decl

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs), f"{tag} repeats an attribute"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.texts.append(data)

    @property
    def text(self):
        return "".join(self.texts)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def outline(page):
    parser = Outline()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


@pytest.fixture
def page(log):
    return render_html(session_view(log.demo(), ["line 9: torn"]))


def poisoned(value, evil):
    if isinstance(value, str):
        return f"{value}{evil}"
    if isinstance(value, list):
        return [poisoned(item, evil) for item in value]
    return {f"{k}": poisoned(v, evil) for k, v in value.items()} if isinstance(value, dict) else value


def evil_view(log, evil):
    """A session in which every text of every record ends with ``evil``."""
    records = [
        replace(
            record,
            details=poisoned(dict(record.details), evil),
            message=record.message + evil,
            agent_role=f"coder{evil}",
            llm_model_used=f"m{evil}",
            session_id=f"s{evil}",
            timestamp=record.timestamp + evil,
            hash=evil,
        )
        for record in log.demo()
    ]
    return session_view(records, [evil])


def test_the_page_is_whole_and_well_formed(page):
    found = outline(page)
    assert found.doctype == "doctype html"
    assert found.all("html") == [{"lang": "en"}]
    for words in (
        "bump a",
        "F401",
        "'os' imported but unused",
        "use argparse",
        "Retries",
        "torn",
    ):
        assert words in found.text


def test_nothing_runs_and_nothing_is_fetched(page):
    found = outline(page)
    names = {name for name, _ in found.elements}
    assert not names & {"script", "link", "iframe", "img", "object", "embed", "form", "base", "audio", "video"}
    attributes = [(key, value) for _, attrs in found.elements for key, value in attrs.items()]
    assert not [key for key, _ in attributes if key.startswith("on") or key in ("style", "src", "srcset", "action")]
    assert all(value.startswith("#") for key, value in attributes if key == "href")
    style = re.search(r"<style>(.*?)</style>", page, re.S)[1]
    assert not re.search(r"url\(|@import|https?:|expression|</", style)


def test_the_policy_allows_exactly_the_pages_own_style_sheet(page):
    policy = next(m["content"] for m in outline(page).all("meta") if m.get("http-equiv") == "Content-Security-Policy")
    style = re.search(r"<style>(.*?)</style>", page, re.S)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def test_every_class_has_a_look_and_every_link_a_goal(page):
    found = outline(page)
    css = resources.files("rails.review").joinpath("session.css").read_text("utf-8") + picture.stylesheet()
    used = {name for _, attrs in found.elements for name in attrs.get("class", "").split()}
    plain = {"facts", "progress", "context", "request", "approval", "top", "line", "label", "tool_add"}
    plain |= {name for name in used if name.startswith("try-")}
    assert {name for name in used - plain if not re.search(rf"\.{name}\b", css)} <= {"path", "hint"}
    ids = [attrs["id"] for _, attrs in found.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {a["href"][1:] for a in found.all("a")} <= set(ids)
    labelled = [attrs["aria-labelledby"] for _, attrs in found.elements if "aria-labelledby" in attrs]
    assert set(labelled) <= set(ids)


def test_a_workflow_is_drawn_and_told_where_it_changed(page):
    found = outline(page)
    (drawn,) = [attrs for attrs in found.all("svg") if attrs.get("class") == "flow"]
    assert drawn["aria-label"] == "The workflow in flow.json: 1 node added; 1 wire added"
    assert "flow-start" in {name for _, attrs in found.elements for name in attrs.get("class", "").split()}
    assert 'node "Post" (n8n-nodes-base.slack 2)' in found.text
    assert "url: 1 → 2" in found.text


def test_landmarks_headings_and_words_serve_those_who_do_not_see_colours(page):
    found = outline(page)
    names = [name for name, _ in found.elements]
    assert [names.count(name) for name in ("header", "main", "footer", "nav", "h1")] == [1] * 5
    assert names.count("h2") == 4 + 4
    for words in ("Refused", "Stopped by the checks", "Denied", "Applied", "Answered"):
        assert words in found.text
    assert found.all("nav")[0]["aria-label"] == "Turns"
    assert all("aria-label" in a or a["href"].startswith("#turn") for a in found.all("a") if a.get("class") != "skip")


def themes():
    css = resources.files("rails.review").joinpath("session.css").read_text("utf-8")
    light, dark, printed = re.findall(r":root \{(.*?)\}", css, re.S)
    colours = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6})", block)) for block in (light, dark, printed)]
    return {"light": colours[0], "dark": colours[0] | colours[1], "print": colours[0] | colours[2]}


def contrast(one, other):
    """WCAG 2.2 contrast ratio of two colours."""

    def luminance(colour):
        digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
        parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@walked("theme", ["light", "dark", "print"])
def test_every_text_has_contrast_enough_for_wcag_aa(theme):
    colours = themes()[theme]
    grounds = ("ground", "paper", "code", "good-wash", "bad-wash", "open-wash", "add", "remove", "finding")
    pairs = [("ink", ground) for ground in grounds]
    pairs += [("soft", ground) for ground in ("ground", "paper", "code", "bad-wash", "good-wash", "add", "remove")]
    pairs += [("good", "good-wash"), ("bad", "bad-wash"), ("open", "open-wash"), ("open", "paper"), ("bad", "paper")]
    pairs += [("good", "add"), ("bad", "remove"), ("bad", "finding"), ("accent", "paper"), ("accent", "ground")]
    poor = {pair: round(ratio, 2) for pair in pairs if (ratio := contrast(*(colours[name] for name in pair))) < 4.5}
    assert poor == {}


HOSTILE = [
    "<script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "</style><script>document.title='owned'</script>",
    "</title><script>document.title='owned'</script>",
    "--><svg onload=document.title='owned'>",
    "javascript:document.title='owned'",
    "&lt;b&gt;&#60;script&#62;",
    "' onmouseover='document.title=1",
    "`${1}`{{7*7}}{% raw %}",
    "\u202e\u2066\u200b\x1b[31m\x00\ud800",
    "<!--",
    "]]>",
]


def elements(found):
    """Each element with its attributes; a longer name takes another line of a picture, which is one more text.

    The words of a diff stand in elements of their own, by what they are in the language of the file; what an agent
    puts between backticks is code.
    """
    of_words = ("text", "mark")
    named = [(n, sorted(a)) for n, a in found.elements if not str(a.get("class")).startswith("tok-")]
    return [(n, a) for n, a in named if n not in of_words and (n, a) != ("code", [])]


@walked("evil", HOSTILE)
def test_no_text_becomes_markup(log, evil):
    found = outline(render_html(evil_view(log, evil)))
    harmless = outline(render_html(evil_view(log, "x")))
    assert elements(found) == elements(harmless)
    assert all(char in "\n\t" or char.isprintable() for char in found.text)


def test_findings_stand_in_the_diff_below_their_line(log):
    asked = log.asked()
    gate = log.gate("fail", [{**log.FINDING, "line": 1}])
    view = session_view(log.records(log.call(1), log.answer(), gate, asked, log.decided()))
    rows = re.findall(r'<tr class="(\w+)">.*?</tr>', render_html(view))
    assert rows == ["hunk", "remove", "add", "finding"]


def test_what_the_checks_refused_is_drawn_where_the_log_has_it(log):
    gate = log.gate("fail", [{**log.FINDING, "line": 1}])
    gate[1]["diff"] = log.DIFF
    view = session_view(log.records(log.call(1), log.answer(), gate, log.told()))
    assert 'class="finding"' in render_html(view)


def test_large_texts_are_cut_and_named_by_their_hash(log):
    words = "x" * (TEXT_CHARS * 3)
    page = render_html(session_view(log.records(log.call(1), log.answer(words))))
    assert len(page) < TEXT_CHARS * 2
    assert hashlib.sha256(words.encode()).hexdigest() in page


def test_the_last_hash_stands_for_the_log(log):
    records = log.demo()
    found = outline(render_html(session_view(records)))
    assert records[-1].hash in found.text
    assert f"{len(records)} records" in found.text


def test_an_empty_session_is_a_page_too():
    assert "Unfinished" in outline(render_html(session_view([]))).text


# -- diffs read back -----------------------------------------------------------------------------


def test_a_logged_diff_is_read_back_with_line_numbers():
    text_ = "--- a/x.py\n+++ b/x.py\n@@ -3,3 +3,4 @@\n keep\n-old\n+new\n+more\n last"
    (diff,) = read_diff(text_)
    assert (diff.path, diff.kind, diff.added, diff.removed) == ("x.py", "modify", 2, 1)
    assert [(line.style, line.text, line.old, line.new) for line in diff.lines[1:]] == [
        ("context", "keep", 3, 3),
        ("remove", "old", 4, 0),
        ("add", "new", 0, 4),
        ("add", "more", 0, 5),
        ("context", "last", 5, 6),
    ]


def test_lines_that_look_like_headers_stay_lines():
    text_ = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n-@@ -1 +1 @@\n+++ b/y\n+@@"
    (diff,) = read_diff(text_)
    assert [line.text for line in diff.lines if line.style == "remove"] == ["-- a/y", "@@ -1 +1 @@"]
    assert [line.text for line in diff.lines if line.style == "add"] == ["++ b/y", "@@"]


def test_a_diff_of_the_core_comes_back_the_same():
    before = b"a\nb\nc\n" * 9
    after = b"a\nB\nc\n" + b"a\nb\nc\n" * 8 + b"end"
    files = [(before, after, "x.py"), (b"\0", b"\0\0", "b.bin")]
    diffs = read_diff("\n".join(line for old, new, path in files for line in unified_diff(old, new, path)))
    assert [(d.path, d.kind, d.added, d.removed) for d in diffs] == [
        ("x.py", "modify", 2, 1),
        ("", "", 0, 0),
    ]
    assert diffs[1].lines[0].text.startswith("Binary file b.bin")


@walked(
    ("gone", "new", "moved"),
    [
        (b"1\n2\n", b"1\n2\n", True),
        (b"1\r\n2", b"1\r\n2", True),
        (b"1\n2\n", b"12\n", False),
        (b"x" * 900 + b"1" + b"x" * 900, b"x" * 900 + b"2" + b"x" * 900, False),
        (b"", b"", False),
    ],
)
def test_a_moved_file_is_one_entry_in_a_log_and_on_the_card(gone, new, moved):
    paths = [WorkspacePath(name) for name in "abc"]
    changes = FileChange(paths[0], gone, None), FileChange(paths[1], None, new), FileChange(paths[2], None, b"3")
    for diffs in read_diff(ChangeSet(changes).diff()), as_renames(map(file_diff, changes)):
        titles = [diff.title for diff in diffs][:-1]
        assert titles == ["a → b (rename, +0 -0)"] if moved else len(titles) == 2


def test_a_long_diff_keeps_its_end_and_counts_the_rest():
    text_ = "--- /dev/null\n+++ b/x\n@@ -0,0 +1,900 @@\n" + "\n".join(f"+{n}" for n in range(900))
    (diff,) = read_diff(text_, limit=90)
    assert len(diff.lines) == 91
    assert (diff.hidden, diff.lines[-1].text) == (811, "899")


@walked("odd", ["", "\n", "@@ -1 +1 @@", "+++ b/x", "--- a\n+++ b\n@@ -1,9 +1,9 @@\n+cut", "no diff\nat all"])
def test_what_is_no_diff_does_no_harm(odd):
    for diff in read_diff(odd):
        assert diff.lines


# -- the builder ---------------------------------------------------------------------------------


def test_elements_escape_texts_and_attributes():
    made = el("p", "<b>&\u202e", title='a"b<\n', hidden=True, id=None)
    assert made == '<p title="a&quot;b&lt;\\x0a" hidden>&lt;b&gt;&amp;\\u202e</p>'
    assert join(el("br"), None, [el("i")]) == "<br><i></i>"


# -- a real browser ------------------------------------------------------------------------------


@pytest.mark.browser
@pytest.mark.xdist_group("browser")
def test_a_long_task_is_a_short_title_and_a_fact_in_lines(log):
    task = "Count the words.\n\n" + "Nothing else. " * 20 + "\nThe end of the task."
    start = (log.START[0], {**log.START[1], "task": task})
    page = render_html(session_view(log.records(start, log.END)))
    (title,) = re.findall("<h1>(.*?)</h1>", page)
    assert title.startswith("Count the words. Nothing else.")
    assert len(title) < 150
    assert "The end of the task." in page


def test_in_a_real_browser_hostile_text_stays_text(log, tmp_path, chromium_path):
    evil = "".join(HOSTILE).replace("\ud800", "").replace("\x00", "")
    (tmp_path / "page.html").write_text(render_html(evil_view(log, evil)), encoding="utf-8")
    command = [chromium_path, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"]
    done = subprocess.run(
        [*command, f"--user-data-dir={tmp_path / 'profile'}", f"file://{tmp_path / 'page.html'}"],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    assert "<title>bump a&lt;script&gt;" in done.stdout
    assert not re.search(r"<(script|img|svg [^>]*onload)", done.stdout)
    assert "Content Security Policy" not in done.stderr
