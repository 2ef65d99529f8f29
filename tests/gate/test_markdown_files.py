"""Markdown: links to files of the project."""

import pytest


def broken(verdict):
    return [(finding.line, finding.message.split(" leads to ")[1].split(",")[0]) for finding in verdict.findings]


def test_a_link_to_a_missing_file_is_a_finding(world):
    world.put("docs/there.md", "x\n")
    text = "# T\n\n[a](there.md) [b](missing.md) ![c](../img/no.png)\n\n[ref]: ./gone.md\n[ok]: there.md#part\n"
    verdict = world.judge(("docs/a.md", text))
    assert broken(verdict) == [(3, "missing.md"), (3, "../img/no.png"), (5, "./gone.md")]
    assert verdict.findings[0].column == 19


@pytest.mark.parametrize(
    "text",
    [
        "[a](https://example.org/x.md) [b](#part) [c](mailto:a@example.org) [d](/abs/x.md) [e](guide/page)\n",
        "`[a](missing.md)` and ``[b](`missing.md)``\n",
        "```\n[a](missing.md)\n```\n",
        "[a](<with space.md>) [b](with%20space.md) [c](with_(brackets).md)\n",
        "[a](../outside.md) [b]({{ url }}.md) [^1]: note.md\n",
        "- [ ] task (see x.md)\n",
    ],
)
def test_what_is_no_link_to_a_file_is_left_alone(world, text):
    world.put("with space.md", "x\n")
    world.put("with_(brackets).md", "x\n")
    assert broken(world.judge(("a.md", text))) == []


def test_a_file_of_the_same_change_counts(world):
    assert broken(world.judge(("a.md", "[b](b.md)\n"), ("b.md", "[a](a.md)\n"))) == []


def test_a_file_that_the_change_deletes_does_not_count(world):
    before = "[b](b.md)\n"
    verdict = world.judge(("a.md", before, before + "more\n"), ("b.md", "x\n", None))
    assert broken(verdict) == [(1, "b.md")]


def test_an_old_broken_link_is_not_new(world):
    before = "[b](b.md)\n"
    assert broken(world.judge(("a.md", before, "# Title\n\n" + before))) == []


ADR = '[[gate.headings]]\npath = "docs/adr/*.md"\nheadings = ["Status", "Context", "Decision"]\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# T\n## Status\n## Context\n## Decision\n", []),
        ("# T\n\nStatus\n------\n\n### 2. **context**:\n\n# Decision #\n", []),
        ("# T\n## Status\n```\n## Context\n```\n## Decision\n", [("missing-heading", 1)]),
        ("", [("missing-heading", 1)] * 3),
    ],
)
def test_headings_that_the_settings_ask_for_must_be_there(world, text, expected):
    world.put(".rails.toml", ADR)
    verdict = world.judge(("docs/adr/0001.md", text))
    assert [(found.rule, found.line) for found in verdict.findings] == expected
    assert world.judge(("docs/other.md", text)).status == "pass"
