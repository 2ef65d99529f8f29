"""A project's instructions: the nearest ``AGENTS.md`` up to the repository's, else ``CLAUDE.md``; its skills.

A skill is a folder whose ``SKILL.md`` has a description (https://agentskills.io/specification). Nothing is in a prompt
before a human accepted its present bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec import Struct

from rails.agents.front_matter import front_matter_values, split_front_matter
from rails.core import limits
from rails.core.errors import DefinitionError
from rails.core.plain_file import real_path
from rails.core.text import head_and_tail, one_line, printable, sha256
from rails.trust.record import TrustRecord, file_for_review

_NAMES: Final = ("AGENTS.md", "CLAUDE.md")
_SKILLS: Final = ".agents/skills/*/SKILL.md", ".claude/skills/*/SKILL.md"
_MOST_SKILLS: Final = 50
#: What a human is told of instructions, and of a skill.
_ASKED: Final = (
    "has instructions of this project for every agent. They would be in every prompt",
    "is a skill of this project. Agents would read it for the tasks that it fits",
)
_FOLLOW: Final = "The user has read and accepted {}. Follow it where it does not contradict the rules above."


class Instructions(Struct, frozen=True):
    """Instructions: their path relative to the project, text and the file's digest.

    ``description`` is a skill's.
    """

    name: str
    text: str
    digest: str
    description: str = ""

    @property
    def key(self) -> str:
        """The key of an acceptance."""
        return f"instructions:{self.name}"

    def question(self, trust: TrustRecord) -> str:
        """Return the text to review before accepting."""
        first = f"{self.name} {_ASKED[bool(self.description)]}:"
        return printable("\n".join((first, "", *file_for_review(trust.accepted_text(self.key), self.text))))

    def accept(self, trust: TrustRecord) -> None:
        """Record the acceptance of these bytes. Raises UsageError when it cannot be recorded."""
        trust.accept(self.key, self.digest, self.text)


def find_instructions(project: Path) -> Instructions | None:
    """Return the nearest readable instructions for work in ``project``, or ``None``."""
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
    """Return a file's bytes, through a link only if it stays below ``root``."""
    try:
        if not real_path(file).is_relative_to(root) or not file.is_file():
            return None
        with file.open("rb") as stream:
            return stream.read(limits.DEFINITION_BYTES)
    except OSError:
        return None


def find_skills(project: Path) -> Iterator[Instructions]:
    """Yield the project's skills by place; each needs a description."""
    project = project.resolve()
    for pattern in _SKILLS:
        for file in islice(sorted(project.glob(pattern)), _MOST_SKILLS):
            data = _read(file, project) or b""
            text = data.decode("utf-8", "replace")
            name = file.relative_to(project).as_posix()
            with suppress(DefinitionError, KeyError):
                front, _ = split_front_matter(text, name)
                description = front_matter_values(front, name)["description"]
                yield Instructions(name, text, sha256(data), one_line(str(description), 1_024))


def unaccepted(project: Path, trust: TrustRecord) -> list[Instructions]:
    """Return the instructions and skills not accepted yet."""
    found = (find_instructions(project), *find_skills(project))
    return [one for one in found if one and one.digest not in trust.digests()]


def instructions_text(project: Path, trust: TrustRecord) -> str:
    """Return the project's accepted instructions for an agent's prompt."""
    known = trust.digests()
    parts = []
    found = find_instructions(project)
    if found and found.digest in known:
        parts += ["## Instructions of this project", _FOLLOW.format(found.name), found.text.strip()]
    if skills := [f"- {one.name}: {one.description}" for one in find_skills(project) if one.digest in known]:
        parts += ["## Skills", "Read the file of a skill that fits the task, and follow it.", "\n".join(skills)]
    return "".join(f"\n\n{part}" for part in parts) + "\n" * bool(parts)
