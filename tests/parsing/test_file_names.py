"""The line above a block names its file where it is a legal path; what the project has settles the rest."""

from rails.parsing.parse import parse
from tests.rows import walked

F = "```"
TEXT = {"type": "string"}
TOOLS = {
    name: {"type": "object", "properties": dict.fromkeys(keys, TEXT)}
    for name, keys in {
        "write_file": ("file_path", "content", "create_only"),
        "edit_file": ("file_path", "old_string", "new_string"),
    }.items()
}
#: Paths as frameworks have them.
PATHS = [
    "app/[slug]/page.tsx", "app/[...all]/page.tsx", "app/[[...opt]]/x.tsx", "app/(shop)/layout.tsx", "app/@modal/x.tsx",
    "routes/$id.tsx", "routes/($lang)._index.tsx", "src/routes/+page.svelte", "src/a=b.py", "src/a,b.py", "src/it's.md",
    "src/{name}.py", "docs/a&b.md", "docs/50%.md", "src/#x.py", "src/a!b.py", "src/~a.py", "src/été.py", "文档/读我.md",
    "pkg/a;b.py", "files/x.py", "file/reader.py", "path/to/app.py", "filename/a.ts", "filepath/a.go", "files.d/x.conf",
    ".github/workflows/ci.yml", "Dockerfile", "deploy/Dockerfile", ".env.example", "src/a-b_c.d.ts", "__init__.py",
    "pkg/__init__.py", "docs/my notes.md",
]  # fmt: skip
#: Names whose ending nobody needs to know, as they stand between back-ticks.
UNKNOWN = [
    "go.mod", "go.sum", "schema.prisma", "shop.sln", "shop.csproj", "app.razor", "main.v", "data.jsonl", "page.heex",
    "Vagrantfile", "justfile", "Podfile", "Brewfile", "BUILD", "CHANGELOG", "CODEOWNERS", "WORKSPACE", "x.bzl",
    "a.wgsl", "b.gd",
]  # fmt: skip
LINES = ["{}", "{}:", "`{}`", "`{}`:", "**{}**", "**`{}`**", "### {}", "### `{}`", "- `{}`", "File: {}", "Path: `{}`"]


def files(text, project=()):
    found = parse(text, TOOLS, report_unread_calls=True, exists=frozenset(project).__contains__)
    return [one.parameters["file_path"] for one in found.requests], [one.message for one in found.refusals]


def replaced(old="one", new="two"):
    return f"{F}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n{F}\n"


@walked("line", LINES)
def test_every_legal_path_above_a_block_is_its_file(line):
    for path in PATHS:
        if (" " in path and "`" not in line) or (path.startswith("__") and "**{" in line):
            continue
        above = line.format(path)
        assert files(f"I do it.\n\n{above}\n{F}\ntext\n{F}\n") == ([path], []), above
        assert files(f"I do it.\n\n{above}\n{replaced()}") == ([path], []), above
        second = f"lib/first.ts\n{replaced()}\n{above}\n{replaced('three')}"
        assert files(second) == (["lib/first.ts", path], []), above


def test_a_file_of_the_project_is_named_by_a_line_in_every_form():
    for path in (
        "Podfile",
        "gradlew",
        "001.init.sql",
        "404.page.tsx",
        "my docs/read me.md",
        "docs/a (copy).md",
        "a b.md",
    ):
        for line in LINES:
            second = f"lib/first.ts\n{replaced()}\n{line.format(path)}\n{replaced('three')}"
            assert files(second, ["lib/first.ts", path]) == (["lib/first.ts", path], []), line.format(path)
            whole = f"{line.format(path)}\n{F}\nalpha\n{F}\n"
            assert files(whole, [path]) == ([path], []), line.format(path)
    assert files(f'{F}markdown file="docs/a (copy).md"\nalpha\n{F}\n')[0] == ["docs/a (copy).md"]
    assert files(f"{F}markdown my docs/read me.md\nalpha\n{F}\n")[0] == []


def test_a_name_between_back_ticks_is_a_file_whatever_its_ending_where_the_fence_says_no_other_language():
    for name in UNKNOWN:
        for above in (f"`{name}`", f"`{name}`:\n", f"### `{name}`\n"):
            assert files(f"{above}\n{F}\nalpha\n{F}\n") == ([name], []), above
    assert files(f"`go.mod`\n{F}go\nmodule x\n{F}\n") == (["go.mod"], [])
    for word, label in (("os.path", "python"), ("array.map", "js"), ("Foo.Bar", "cs")):
        assert files(f"`{word}`\n\n{F}{label}\nx\n{F}\n")[0] == []


def test_what_may_be_a_word_is_a_file_where_the_project_has_it():
    for name, label in (("os.path", "python"), ("client/server", ""), ("notes", "")):
        text = f"`{name}`\n\n{F}{label}\nx\n{F}\n"
        assert files(text, [name])[0] == [name]
    for name in ("Podfile", "docs/my page.md", "x.unknownending"):
        for above in (name, f"**{name}**", f"### {name}", f"File: {name}", f"{name}:"):
            assert files(f"{above}\n{F}\nx\n{F}\n", [name])[0] == [name], above
            assert files(f"As said in {above}\n{F}\nx\n{F}\n", [name])[0] == [], above
    assert files(f"**client/server**:\n\n{F}\nx\n{F}\n")[0] == []
    assert files(f"**client/server**:\n\n{F}\nx\n{F}\n", ["client/server"])[0] == ["client/server"]


@walked(
    ("written", "path"),
    [
        ("app/\\_index.tsx", "app/_index.tsx"),
        ("src/\\[id\\].ts", "src/[id].ts"),
        ("web\\src\\x.ts", "web/src/x.ts"),
        ("./src/x.ts", "src/x.ts"),
    ],
)
def test_a_name_is_taken_without_the_marks_of_markdown_and_with_slashes(written, path):
    assert files(f"{written}\n{F}\nx\n{F}\n")[0] == [path]
    assert files(f"{written}\n{replaced()}")[0] == [path]


@walked("line", ["/etc/passwd", "../x.py", "C:\\x.py", "https://a.b/c.py", "a//b.py", "src/x.py/"])
def test_below_a_line_that_only_could_be_a_name_no_block_falls_to_the_file_of_an_earlier_one(line):
    requests, refusals = files(f"lib/first.ts\n{replaced()}\n{line}\n{replaced('three')}")
    assert requests == []
    assert "names no file" in refusals[0]


@walked(
    ("above", "comment", "project", "path"),
    [
        ("web/src/x.ts", "// src/x.ts", (), "web/src/x.ts"),
        ("web/src/x.ts", "// x.ts", (), "web/src/x.ts"),
        ("client/src/App.js", "/* App.js */", (), "client/src/App.js"),
        ("server/app/main.py", "# app/main.py", (), "server/app/main.py"),
        ("components/A.jsx", "// src/components/A.jsx", (), "components/A.jsx"),
        ("components/A.jsx", "// src/components/A.jsx", ("src/components/A.jsx",), "src/components/A.jsx"),
        ("web\\src\\x.ts", "// src/x.ts", (), "web/src/x.ts"),
        ("src/x.ts", "// /src/x.ts", (), "src/x.ts"),
        ("src/x.ts", "// ./src/x.ts", (), "src/x.ts"),
        ("src/a.ts", "// src/b.ts", ("src/b.ts",), "src/b.ts"),
        ("src/a.ts", "// src/b.ts", ("src/a.ts",), "src/a.ts"),
    ],
)
def test_of_two_names_that_are_one_file_the_one_above_counts_else_the_one_that_exists(above, comment, project, path):
    text = f"{above}\n{F}\n{comment}\nalpha\n{F}\n"
    assert files(text, project) == ([path], [])
    content = parse(text, TOOLS, report_unread_calls=True).requests
    assert not content or content[0].parameters["content"] == f"{comment}\nalpha\n"


def test_two_names_of_two_files_are_refused_and_both_are_named():
    for project in ((), ("src/a.ts", "src/b.ts")):
        requests, refusals = files(f"src/a.ts\n{F}\n// src/b.ts\nx\n{F}\n", project)
        assert requests == []
        assert "src/a.ts and src/b.ts" in refusals[0]


@walked("tag", ["source", "code", "pre", "codeblock", "snippet"])
@walked("language", ["", "python"])
def test_tags_around_search_and_replace_are_a_fence(tag, language):
    block = replaced().replace(f"{F}\n", "")
    assert files(f"app/m.py\n<{tag}>{language}\n{block}</{tag}>\n\nThat is all.\n") == (["app/m.py"], [])


@walked("here", ["cat > x <<EOF", "psql <<SQL", "ssh host <<-CMD", "RUN <<EOF", "python3 - <<'PY'"])
def test_a_here_document_in_a_block_is_text_of_the_file(here):
    word = here.rpartition("<<")[2].strip("-'")
    old = f"{here}\none\n{word}"
    new = f"{here}\ntwo\n{word}"
    (request,) = parse(f"tool.sh\n{replaced(old, new)}", TOOLS, report_unread_calls=True).requests
    assert (request.parameters["old_string"], request.parameters["new_string"]) == (old, new)


def test_a_fence_in_a_fence_below_a_name_is_the_files_own_fence_only_in_markdown():
    inner = f"{F}python\nx = 1\n{F}\n"
    for name, content in (("a.py", "x = 1\n"), ("a.md", inner)):
        (request,) = parse(f"{name}\n````\n{inner}````\n", TOOLS, report_unread_calls=True).requests
        assert request.parameters == {"file_path": name, "content": content}
