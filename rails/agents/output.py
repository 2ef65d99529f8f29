"""What a role's final answer must look like, for whoever works with it next."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rails.agents.template import Agent
from rails.core.errors import Refusal


def check_output(agent: Agent, text: str) -> tuple[Refusal, ...]:
    """Return a refusal for each heading that the agent's final answer must have and lacks.

    A heading is a Markdown heading of any level outside code blocks, with or without a number before it.
    """
    present = {_heading(line) for line in _outside_fences(text) if line.startswith("#")}
    wanted = ", ".join(agent.headings)
    return tuple(
        Refusal(
            "output",
            f"The answer has no heading {heading!r}.",
            f"Write it as a Markdown heading (## {heading}). The answer needs, in this order: {wanted}.",
            path=heading,
        )
        for heading in agent.headings
        if heading.casefold() not in present
    )


def _heading(line: str) -> str:
    plain = line.lstrip("#").strip().strip("*_:").strip()
    return re.sub(r"^[0-9]{1,3}[.)]\s+", "", plain).rstrip(":").strip().casefold()


def _outside_fences(text: str) -> Iterator[str]:
    fence = ""
    for line in text.split("\n"):
        mark = re.match(r" {0,3}(`{3,}|~{3,})", line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) and not line.strip().strip("`~") else fence
        elif mark:
            fence = mark[1]
        else:
            yield line.strip()
