"""Words that readers stumbled over do not come back: not in messages, help, pages or docs."""

import ast
import re

import pytest

from rails.data_formats.python_code import parse_tree

from .pages import DOCS, ROOT

#: Each was said to a person once; docs/glossary.md and plain English say it better.
GONE = """\
to correct"
a human takes over
Fixed for you
Look twice
Adjusted on the way
No check looks at what a tool does
leave parts out
Why not? The agent
That decides nothing
Give this back to the model
nothing that is kept
This session has no end
Why is this line so
it did not get right
more than one try
told next
only sessions that
moment of quiet
Nobody has answered
Words that go with
to look only
Say what to do;
replace all answers
Left out of what the model
In other words
words instead of signs
who may take over
apart from each other, each
It does not take
nobody takes over
Your answer is left for
Sent back to the agent
by headless
Honest limits
was not carried out correctly
could not be carried out correctly
came back word for word
approved by human
denied by human
fixed for the agent
the agent did not say
This yes is for
(none ran)
(nothing to check)
the answer's last words, so
Nothing of what it changed was taken
NOT contained
contained: {
right after once
passes more often at first
tries a step
worked in
Who decided what, when
in the middle of them
the log has no end of
there: approve, deny
Too quick: keys
begin again with another model
or advise:
look back
nearest that there is
what --model says
a list of texts
down the same road
down the whole road
The ledger
names of others stand in rows
afresh from one page
{} for you: w
Each address holds a key
trust none of what
Not carried out
is told when these
is meant as it stands
accepted it as it is now
stands for code that was
is asked for no path
Nothing waits to be trusted
so there is no dry run of it
everything else in it is as it was
nothing is said: it goes through
stand in another order to be
has this asked about
Nothing here can check an edit
Nothing is granted
what is in force
More came than one typed line
in place of a file: what
begin nothing more
Words cannot be taken in
nothing was said."
What was said before is not
it said nothing
broke the answer off
took another way than
is taken away"
Changed by AI-Rails
where nothing runs it any more
overseer: {
The overseer stopped
The overseer asks""".splitlines()


@pytest.mark.parametrize("folder", ["rails", "docs", "agent_templates", "mcp_definitions"])
def test_no_old_wording_is_left(folder):
    files = [
        one for one in (ROOT / folder).rglob("*") if one.suffix in (".py", ".js", ".html", ".json", ".toml", ".md")
    ]
    texts = {str(one.relative_to(ROOT)): one.read_text("utf-8") for one in files}
    assert [(name, words) for name, text in texts.items() for words in GONE if words in text] == []


def test_the_glossary_is_in_order():
    rows = re.findall(r"^- \*\*(.+?)\*\*: \S", (DOCS / "glossary.md").read_text("utf-8"), re.MULTILINE)
    assert len(rows) >= 30
    assert rows == sorted(rows)


def test_the_docstrings_have_at_most_55_000_words():
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    trees = [parse_tree(file.read_text("utf-8")) for file in (ROOT / "rails").rglob("*.py")]
    texts = [ast.get_docstring(node) or "" for tree in trees for node in ast.walk(tree) if isinstance(node, kinds)]
    assert sum(len(text.split()) for text in texts) <= 55_000


def test_the_pages_have_at_most_20_000_words():
    assert sum(len(page.read_text("utf-8").split()) for page in DOCS.glob("*.md")) <= 20_000
