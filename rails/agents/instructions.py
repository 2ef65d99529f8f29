"""A project's own instructions to agents: its ``AGENTS.md`` or, where there is none, its ``CLAUDE.md``.

The nearest counts, from the project folder up to the repository's. A project may come from anywhere, so the text is in
nobody's prompt before a human has accepted it as it is; a changed one is a new question (``rails.trust.record``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from rails.core import limits
from rails.core.dataclass import dataclass
from rails.core.text import head_and_tail, printable, sha256
from rails.trust.record import TrustRecord, file_for_review

_NAMES: Final = ("AGENTS.md", "CLAUDE.md")


@dataclass(frozen=True, slots=True)
class Instructions:
    """A project's instructions: where they are, relative to the project, their text and the digest of the file."""

    name: str
    text: str
    digest: str

    @property
    def key(self) -> str:
        """The name under which an acceptance is kept."""
        return f"instructions:{self.name}"

    def question(self, trust: TrustRecord) -> str:
        """Return all that a human should see before accepting."""
        first = f"{self.name} has instructions of this project for every agent. They would be in every prompt:"
        return printable("\n".join((first, "", *file_for_review(trust.accepted_text(self.key), self.text))))

    def accept(self, trust: TrustRecord) -> None:
        """Record that a human accepted them as they are. Raises UsageError when it cannot be recorded."""
        trust.accept(self.key, self.digest, self.text)


def find_instructions(project: Path) -> Instructions | None:
    """Return the nearest instructions for work in ``project``, ``None`` where there are none that can be read."""
    project = project.resolve()
    up = [project, *project.parents]
    root = next((number for number, folder in enumerate(up) if (folder / ".git").exists()), 0)
    for name in _NAMES:
        for depth, folder in enumerate(up[: root + 1]):
            if (data := _read(folder / name, up[root])) is not None:
                text, _ = head_and_tail(data.decode("utf-8", "replace"), limits.INSTRUCTION_CHARS)
                return Instructions("../" * depth + name, text, sha256(data))
    return None


def _read(file: Path, root: Path) -> bytes | None:
    """Return what is in a file below ``root``, through a link too if that stays there."""
    try:
        if not file.resolve().is_relative_to(root) or not file.is_file():
            return None
        with file.open("rb") as stream:
            return stream.read(limits.DEFINITION_BYTES)
    except OSError:
        return None


def instructions_text(project: Path, trust: TrustRecord) -> str:
    """Return what an agent's prompt has of the project's instructions: nothing before a human accepted them."""
    found = find_instructions(project)
    if found is None or found.digest not in trust.digests():
        return ""
    return (
        f"\n\n## Instructions of this project\n\nThe user has read and accepted {found.name}. Follow it where it does "
        f"not contradict the rules above.\n\n{found.text.strip()}\n"
    )
