"""``ai-rails prompt``: a chat that follows the page is read."""

from rails.cli import main
from rails.core.builtin_tools import EDIT_FILE, WRITE_FILE
from rails.parsing.parse import parse
from rails.parsing.proposals import with_proposals
from rails.session.project import registry_of


def test_the_page_s_own_examples_are_read_as_it_says(capsys, tmp_path):
    assert main(["prompt"]) == 0
    page = capsys.readouterr().out
    shapes = registry_of(tmp_path).shapes()
    found = with_proposals(parse(page, shapes), page, shapes)
    assert [(one.tool_name, one.parameters["file_path"]) for one in found.requests] == [
        (EDIT_FILE.name, "src/app.py"),
        (WRITE_FILE.name, "src/new.py"),
    ]


def test_the_tools_of_an_agent_are_its_own_system_prompt(capsys, tmp_path):
    assert main(["prompt", "--tools", "--agent", "coder", "--project", str(tmp_path)]) == 0
    assert '"tool_name": "read_file"' in capsys.readouterr().out
