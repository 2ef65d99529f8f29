"""JSON, YAML and TOML: the place of a syntax error, keys given twice."""

import time

import pytest

from tests.rows import walked


def only(verdict):
    (finding,) = verdict.findings
    return finding


@walked(
    ("path", "text"),
    [
        ("a.json", '{"a": [1, 2.5, null, true, "x"], "b": {"a": 1}}'),
        ("a.json", '{"a": 1' + "0" * 5000 + "}"),
        ("tsconfig.json", '{\n  // why\n  "a": "// not a comment", /* b */\n  "c": [1, 2,],\n}\n'),
        ("a.jsonl", '{"a": 1}\n\n{"a": 2}\n'),
        ("a.yaml", "a: &x {b: 1}\nc:\n  <<: *x\n  <<: *x\n---\na: !Ref thing\n"),
        ("a.yml", "on:\n  push:\n    branches: [main]\n"),
        ("a.toml", 'a = 1\n[b]\nc = "d"\n'),
        ("notes.md", "# Title\n\n```python\nx = 1\n```\n"),
        ("notes.txt", "```\nfenced\n```\n"),
    ],
)
def test_valid_files_pass(world, path, text):
    verdict = world.judge((path, text))
    assert verdict.status == "pass", verdict


@walked(
    ("path", "text", "rule", "place"),
    [
        ("a.json", '{\n  "a": 1,\n  b: 2\n}', "json-syntax", (3, 3)),
        ("a.json", '{"a": 1,}', "json-syntax", None),
        ("a.json", '{"a": NaN}', "json-syntax", (1, 7)),
        ("a.json", "[" * 100_000, "json-syntax", (1, 1)),
        ("a.json", '```json\n{"a": 1}\n```', "json-syntax", (1, 1)),
        ("a.json", "", "json-syntax", (1, 1)),
        ("a.json", '{"a": 1,\n "b": {"a": 2},\n "\\u0061": 3}', "json-duplicate-key", (3, 2)),
        ("a.jsonl", '{"a": 1}\n{"a": }\n', "json-syntax", (2, 7)),
        ("a.yaml", "a: 1\nb: [1, 2\nc: 3\n", "yaml-syntax", (3, 2)),
        ("a.yaml", "a:\n\t- b\n", "yaml-syntax", (2, 1)),
        ("a.yaml", "a: 1\nb:\n  c: 1\n  c: 2\n", "yaml-duplicate-key", (4, 3)),
        ("a.toml", "a = 1\nb = \n", "toml-syntax", (2, 5)),
        ("a.toml", "a = 1\na = 2\n", "toml-syntax", None),
        ("a.css", "```css\na { b: c }\n```\n", "markdown-fence", (1, 1)),
        ("a.md", "# T\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n", "conflict-marker", (2, 1)),
    ],
)
def test_a_mistake_is_found_at_its_place(world, path, text, rule, place):
    finding = only(world.judge((path, text)))
    assert finding.rule == rule, finding
    if place:
        assert (finding.line, finding.column) == place, finding


def test_a_fence_around_json_is_named(world):
    assert "Markdown code fence" in only(world.judge(("a.json", '```json\n{"a": 1}\n```'))).message


def test_a_duplicate_that_was_there_is_not_new(world):
    before = '{\n  "a": 1,\n  "a": 2\n}'
    assert world.judge(("a.json", before, before.replace("{", '{\n  "z": 0,', 1))).status == "pass"


def test_a_file_that_is_not_text_is_not_checked_and_not_a_pass(world):
    verdict = world.judge(("a.json", b"\xff\xfe{\0}\0"))
    assert verdict.status == "error"
    assert "UTF-8" in verdict.not_checked[0].reason


def test_a_kind_of_file_without_a_check_is_said_so(world, strict):
    verdict = world.judge(("a.kt", "package main\n"))
    assert verdict.status == "pass"
    assert [(miss.required, ".kt" in miss.reason) for miss in verdict.not_checked] == [(False, True)]
    assert strict.judge(("a.kt", "package main\n")).status == "error"


BROKEN = {"a.go": "package main\nfunc f( {\n", "a.rs": "fn f( {}\n", "A.java": "class A {\n", "a.rb": "def f(\n"}


@pytest.mark.parametrize(("path", "text"), BROKEN.items(), ids=BROKEN)
def test_what_only_has_a_grammar_is_parsed_and_nothing_more(world, path, text):
    """One that did not parse before is not blamed on the change; without the extra the kind is named as unchecked."""
    pytest.importorskip(
        {"go": "tree_sitter_go", "rs": "tree_sitter_rust", "java": "tree_sitter_java"}.get(
            path.rpartition(".")[2], "tree_sitter_ruby"
        ),
        reason="the extra grammars is not installed",
    )
    verdict = world.judge((path, text))
    assert [(one.rule, one.tool, one.weight) for one in verdict.findings] == [("syntax-error", "tree-sitter", "breaks")]
    assert world.judge((path, text, f"{text}\n")).status == "pass"


def test_a_large_file_is_read_in_time(world):
    text = "[\n" + ",\n".join(f'{{"id": {n}, "name": "item {n}", "tags": []}}' for n in range(15_000)) + ",\n{}]\n"
    start = time.process_time()
    verdict = world.judge(("a.json", text), ("b.json", text.replace("{}]", '{"a": 1,\n "a": 2}]')))
    assert time.process_time() - start < 5
    assert [(f.path, f.line, f.column) for f in verdict.findings] == [("b.json", 15_003, 2)]


def test_a_workflow_says_which_n8n_it_was_judged_by_and_other_json_does_not(world, monkeypatch, tmp_path):
    monkeypatch.setenv("AI_RAILS_N8N_CATALOGUE", str(tmp_path / "none"))
    flow = '{\n  "name": "A",\n  "nodes": [],\n  "connections": {},\n  "settings": {}\n}\n'
    ran = {run.name: run for run in world.judge(("flow.json", flow)).checks}
    assert ran["n8n"].files == 1
    assert ran["n8n"].version.endswith("names only")
    assert ran["n8n"].config == "profile import"
    assert [run.name for run in world.judge(("plain.json", '{"a": 1}\n')).checks] == ["data"]
