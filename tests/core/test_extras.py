"""What a part needs is named by the packages themselves: nobody has published ours under its name."""

from pathlib import Path

from rails.core.extras import install_command
from tests.rows import walked

ROOT = Path(__file__).parents[2]


@walked(("extra", "package"), [("keyring", "keyring"), ("mcp", "mcp")])
def test_an_extra_is_named_by_its_packages(extra, package):
    assert install_command(extra).startswith(f"pip install '{package}")


def test_an_unknown_one_names_no_package():
    assert "pip" not in install_command("nope")


def test_nothing_tells_people_to_install_a_name_that_is_not_ours():
    texts = [*(ROOT / "rails").rglob("*.py"), *(ROOT / "docs").glob("*.md"), *(ROOT / "workspace").rglob("*.yml")]
    texts += [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    names = ("install 'ai-rails[", "pip install ai-rails", "pipx install ai-rails", "uv tool install ai-rails")
    wrong = [str(path) for path in texts if any(name in path.read_text("utf-8") for name in names)]
    assert wrong == []
