"""docs/dependencies.md names what comes with AI-Rails, no more and no less."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_names_exactly_the_dependencies_of_pyproject():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    rows = re.findall(r"^\| `([^`]+)` \|", (ROOT / "docs" / "dependencies.md").read_text("utf-8"), re.MULTILINE)
    assert rows == [re.split(r"[<>=\[;]", one)[0] for one in declared]
