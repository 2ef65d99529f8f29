"""Several runs of one tool as one question: a list, one digest over all, one decision for each.

Only what is alike is put together: the same agent, tool and definition, and nothing that had to be repaired,
converted or located leniently on the way. Whatever is different is asked about by itself.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from typing import Final

from rails.approval.decision import ApprovalRequest, Decision
from rails.approval.terminal.console import Console, NoAnswer, Pasted, key_line
from rails.approval.terminal.screen import Look
from rails.core.dataclass import replace
from rails.core.text import one_line
from rails.render.blocks import Facts, Risks
from rails.render.terminal import wrap

_TRIES: Final = 20
_LINE: Final = 200
_KEYS: Final = (
    'type "approve" for all or "approve 1 3" for some (the others are asked one by one)',
    "[o]ne by one",
    "[d]eny all with a reason",
    "[s]top the session",
    "[v]iew N in full",
    "[?]",
)
_HELP: Final = (
    ("approve", "run all of them, exactly as they are listed"),
    ("approve 1 3", "run these; the others are asked about one by one"),
    ("o or one", "ask about each by itself"),
    ("d or deny", "refuse them all; what you type behind it, or are asked for then, is the reason the agent reads"),
    ("s or stop", "refuse them all and end the session for good"),
    ("v 2 or view 2", "show run 2 with everything that the agent sent; several numbers show several"),
    ("? or help", "explain these keys"),
    ("anything else", "decides nothing, an empty line too; Ctrl-C pauses the session"),
)


def alike(one: ApprovalRequest, other: ApprovalRequest) -> bool:
    """Say whether two questions may be put as one."""
    first, second = one.tool_request, other.tool_request
    if first is None or second is None or one.notes or other.notes or one.doubts or other.doubts:
        return False
    if any(_as_line(request) != _parameters(request) for request in (one, other)):
        return False  # a list shows one line of each
    return (one.agent, one.risks, first.tool_name, first.definition_digest) == (
        other.agent,
        other.risks,
        second.tool_name,
        second.definition_digest,
    )


def _parameters(request: ApprovalRequest) -> str:
    assert request.tool_request is not None, "only runs are put together"
    return json.dumps(dict(request.tool_request.parameters), ensure_ascii=False)


def _as_line(request: ApprovalRequest) -> str:
    return one_line(_parameters(request), _LINE)


def digest_of_all(requests: Sequence[ApprovalRequest]) -> str:
    """Return a SHA-256 over the digests of all requests, in order."""
    return hashlib.sha256("\n".join(request.digest for request in requests).encode()).hexdigest()


def decide_batch(console: Console, requests: Sequence[ApprovalRequest]) -> list[Decision | None]:
    """Ask a human about all of ``requests`` at once. Whatever goes wrong approves none."""
    started = time.monotonic()
    decisions = _decided(console, requests)
    seconds = round(time.monotonic() - started, 3)
    return [decision and replace(decision, seconds=seconds) for decision in decisions]


def _decided(console: Console, requests: Sequence[ApprovalRequest]) -> list[Decision | None]:
    try:
        return _Batch(console, requests).ask()
    except NoAnswer as error:
        return _same(requests, "deny", str(error), error.by)
    except (OSError, ValueError) as error:
        return _same(requests, "deny", f"the terminal failed: {error}", "error")


def _same(requests: Sequence[ApprovalRequest], answer: str, reason: str, by: str) -> list[Decision | None]:
    batch = digest_of_all(requests)[:16]
    said = Decision("abort" if answer == "abort" else "deny", reason, by, batch=batch)
    return [replace(said, of=request.digest) for request in requests]


class _Batch:
    def __init__(self, console: Console, requests: Sequence[ApprovalRequest]) -> None:
        self._console = console
        self._requests = requests
        self._batch = digest_of_all(requests)[:16]

    def ask(self) -> list[Decision | None]:
        """Show the list and ask until there is an answer. Raises NoAnswer."""
        self._show()
        for _ in range(_TRIES):
            try:
                word, _, rest = self._prompt().partition(" ")
                answered = self._answer(word.casefold(), rest.strip())
            except Pasted as pasted:
                self._console.put(f"\n{pasted}\n", "risk")
                self._show()
                continue
            if answered is not None:
                return answered
        return _same(self._requests, "deny", f"no clear answer in {_TRIES} tries", "human")

    def _show(self) -> None:
        self._console.put("\n".join(_lines(self._requests, self._batch, self._console.look())) + "\n")
        self._console.arm()

    def _prompt(self) -> str:
        self._console.put(key_line(*_KEYS))
        return self._console.line()

    def _answer(self, word: str, rest: str) -> list[Decision | None] | None:
        match word:
            case "approve":
                return self._approved(rest)
            case "d" | "deny":
                return _same(self._requests, "deny", rest or self._reason(), "human")
            case "s" | "stop":
                return _same(self._requests, "abort", rest, "human")
            case "o" | "one":
                return [None] * len(self._requests)
            case "?" | "help":
                self._console.put("".join(f"  {typed:<15} {meaning}.\n" for typed, meaning in _HELP))
                return None
            case "v" | "view" if chosen := self._numbers(rest):
                for number in sorted(chosen):
                    self._console.show(self._requests[number], full=True)
                return None
        self._console.put("That decides nothing. Type ? and Enter for what the keys do.\n")
        return None

    def _reason(self) -> str:
        self._console.put("Why not? The agent reads this (Enter: no reason): ")
        try:
            return self._console.line()
        except Pasted:
            raise
        except NoAnswer:
            return ""

    def _approved(self, rest: str) -> list[Decision | None] | None:
        chosen = self._numbers(rest) if rest else set(range(len(self._requests)))
        if not chosen:
            self._console.put(f"Type numbers from 1 to {len(self._requests)}.\n")
            return None
        yes = Decision("approve", "", "human", batch=self._batch)
        return [replace(yes, of=one.digest) if n in chosen else None for n, one in enumerate(self._requests)]

    def _numbers(self, text: str) -> set[int]:
        words = text.replace(",", " ").split()
        fitting = all(word.isascii() and word.isdigit() and 1 <= int(word) <= len(self._requests) for word in words)
        return {int(word) - 1 for word in words} if fitting else set()


def _lines(requests: Sequence[ApprovalRequest], batch: str, look: Look) -> Iterator[str]:
    first, pen = requests[0], look.pen
    yield pen.title(f"Run this tool {len(requests)} times?")
    said = tuple(dict.fromkeys(one_line(one.explanation, 400) for one in requests if one.explanation.strip()))
    head: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("agent", (one_line(first.agent),)),
        ("tool", (one_line(first.tools[0], 400),)),
        ("why", said or ("(the agent did not say)",)),
    )
    for block in (Facts(head), Risks(first.risks), Facts((("digest", (f"{batch} (over all)",)),))):
        yield from pen.draw(block)
    yield ""
    for number, request in enumerate(requests, start=1):
        text = _as_line(request)
        label = f"{number:>3} {pen.bar}"
        for piece in wrap(text, look.width - len(label)):
            yield f"{label}{piece}"
            label = f"{'':>3} {pen.bar}"
