"""Write docs/terminal.svg, the middle of what the demo prints at a terminal, and docs/page.png, a question on the page.

python docs/pictures.py
"""

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from rails.cli import main as ai_rails

DOCS = Path(__file__).parent
COLUMNS = 104
#: What is shown: from the first line to before the second. The checks stop a turn; a later one is approved and written.
SHOWN = (("turn 3", "turn 4"), ("turn 5", "turn 6"))
#: Of the change's parts, those that are shown.
PARTS = (2, 6)


class _Terminal(io.StringIO):
    """Keeps what is printed; it says that it is a terminal, so that there are colours."""

    def isatty(self) -> bool:
        return True


def printed() -> str:
    """Return what the demo prints, with its colours."""
    os.environ.update({"COLUMNS": str(COLUMNS), "TERM": "xterm-256color", "AI_RAILS_LANG": "en", "LANG": "C.UTF-8"})
    os.environ.pop("NO_COLOR", None)
    out = _Terminal()
    with contextlib.redirect_stdout(out):
        ai_rails(["demo"])
    return out.getvalue()


def shown(text: str) -> str:
    """Return the lines of the picture: no spinner, no time, and some of the change's parts."""
    pairs = [(Text.from_ansi(line).plain, line) for line in text.splitlines()]
    pairs = [(plain, line) for plain, line in pairs if not re.match(r"[\u2800-\u28ff] ", plain)]
    lines: list[str] = []
    for begin, end in SHOWN:
        if lines:
            lines += [GAP.strip(), ""]
        first = next(number for number, (plain, _) in enumerate(pairs) if plain.startswith(begin))
        last = next(number for number, (plain, _) in enumerate(pairs) if plain.startswith(end))
        lines += _without_parts(pairs[first:last])
    return re.sub(r"; \d+ ms\)", ")", "\n".join(lines))


#: Stands for lines that are left out.
GAP = "         …"


def _without_parts(pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield lines without the parts of a change that are left out, and one blank line for several."""
    parts, before = 0, ""
    for plain, line in pairs:
        parts += plain.strip().startswith("@@")
        is_change = re.match(r" +(@@|\d+( |$))", plain) is not None
        is_left_out = is_change and parts not in PARTS
        now = GAP if is_left_out else plain.rstrip()
        if now != before:
            yield GAP if is_left_out else line
        before = now


def picture(text: str) -> str:
    """Return the lines as SVG, without the fonts that rich would fetch."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(text))
    svg = console.export_svg(title="ai-rails demo", unique_id="demo")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return svg.replace("Fira Code", "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono'")


if __name__ == "__main__":
    (DOCS / "terminal.svg").write_text(picture(shown(printed())), "utf-8")
    with tempfile.TemporaryDirectory() as folder:  # Chromium draws the page, and much else that nobody needs here
        script = DOCS.parent / "tests/benchmarks/screenshots.py"
        subprocess.run([sys.executable, script, folder], check=True)
        shutil.copy(Path(folder, "page-card-1440-light.png"), DOCS / "page.png")
    print(f"wrote {DOCS / 'terminal.svg'} and {DOCS / 'page.png'}", file=sys.stderr)
