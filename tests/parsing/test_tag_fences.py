"""Tags that stand for a fence, as aider asks for them where a file holds fences itself."""

from __future__ import annotations

from typing import Any

from rails.parsing.parse import parse
from tests.rows import walked

STRING = {"type": "string"}
TOOLS: dict[str, Any] = {
    "write_file": {"type": "object", "properties": {"file_path": STRING, "content": STRING}, "required": ["file_path"]}
}
TEXT = "# A\n\n```sh\nls\n```\n"


@walked("tag", ["source", "sourcecode", "codeblock", "code", "pre"])
@walked("end", ["\n", "\r\n"])
def test_a_whole_file_between_tags_below_its_name_is_a_request(tag: str, end: str) -> None:
    """The text between the tags is the file, its own fences included; tags need lines of their own."""
    answer = f"I write it.\n\ndocs/a.md\n<{tag}>\n{TEXT}</{tag}>\n".replace("\n", end)
    [request] = parse(answer, TOOLS, report_unread_calls=True).requests
    assert request.parameters == {"file_path": "docs/a.md", "content": TEXT}
    beside = parse(f"docs/a.md\n<{tag}>x\n{TEXT}</{tag}>\n", TOOLS, report_unread_calls=True)
    assert beside.requests == ()
    unnamed = parse(f"As an example:\n\n<{tag}>\n{TEXT}</{tag}>\n", TOOLS, report_unread_calls=True)
    assert unnamed.requests == ()


@walked("tag", ["source", "pre"])
def test_a_tag_that_is_never_closed_is_refused(tag: str) -> None:
    """What may be cut off is not written."""
    found = parse(f"docs/a.md\n<{tag}>\n{TEXT}", TOOLS, report_unread_calls=True)
    assert found.requests == ()
    assert "may be cut off" in found.refusals[0].message
