"""Plans and publishes reductions of the context, with their pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from rails.config.prices import Price, price_of
from rails.core.conversation import TextPart, Usage
from rails.core.errors import ModelError
from rails.core.events.turn import ContextReduced
from rails.core.text import head_and_tail, one_line
from rails.models.model import Model
from rails.session import context_window as window
from rails.session import escalation
from rails.session.context_window import Measured, Messages
from rails.session.escalation import Tried
from rails.session.turn_context import TurnContext, whole_answer

_ASK: Final = (
    "--- SUMMARY WANTED ---\nThis conversation is about to be cut to fit your context window. Write the page that you "
    "will go on from, in at most 500 words: the task and its plan, what is done and what is left, what the person "
    "decided, what you learned of the code (names, places), open findings. Call no tool; answer with the page alone."
)
_SUMMARY: Final = "\n\nSummary:\n"
#: What to do where a conversation does not fit.
LARGER: Final = "Go on with a model of a larger window (--resume with --model), or begin a new session."


class ModelWindow(Struct):
    """The model's window: ``tokens`` (0: unknown, so nothing is left out) and its measure."""

    tokens: int = 0
    measured: Measured = Measured()
    said: dict[str, int] = {}

    def of(self, model: Model, prices: Mapping[str, Price]) -> None:
        """Set ``model``'s window: from the settings, its server, or its class."""
        price = price_of(model.name, prices)
        if model.name not in self.said:
            self.said[model.name] = (price and price.window) or model.served_window()
        self.tokens = self.said.get(model.name) or model.window

    def learn(self, model: str, limit: int, thought: int) -> None:
        """Take over a server's limit from a refused prompt, estimated at ``thought`` tokens."""
        self.tokens = self.said[model] = limit or self.tokens // 2
        self.measured = Measured(thought, max(self.measured.tokens(thought), self.tokens))

    def thought(self, context: TurnContext, messages: Messages) -> int:
        """Return a prompt's estimated tokens, uncorrected; 0 where the window is unknown."""
        if not self.tokens:
            return 0
        return window.estimate(context.system, context.tools, messages)

    def fitted(self, context: TurnContext, messages: Messages, tried: Tried) -> ContextReduced | None:
        """Return the step that is due, published, or ``None``. Raises ModelError where none is enough."""
        if not self.tokens:
            return None
        room = window.room(self.tokens, context.model.max_tokens)
        now = self.measured.tokens(self.thought(context, messages))
        fixed = min(room, self.measured.tokens(window.estimate(context.system, context.tools, ())))
        over = window.over(now, fixed, room)
        if not over:
            return None
        step = self.step(context, messages, over, tried)
        if (now if step is None else step.after) > room:
            raise ModelError(
                f"The conversation takes about {now:,} tokens, and the window of {one_line(context.model.name, 60)} is "
                f"{self.tokens:,}, of which {room:,} are for it; nothing more of it can be left out. Nothing was sent. "
                f"{LARGER}"
            )
        return step

    def step(
        self, context: TurnContext, messages: Messages, over: int, tried: Tried, *, page: bool = False
    ) -> ContextReduced | None:
        """Publish and return a reduction by ``over`` tokens; ``None`` if impossible."""
        thought = window.estimate(context.system, context.tools, messages)
        now = self.measured.tokens(thought)
        over = over * thought // now
        step = window.next_step(messages, over, page=page)
        if step is None:
            return None
        if step.kept_from:
            fitting = (messages, window.reduced(messages, replace(step, kept_from=0)))
            summary, usage = self._summary(context, fitting)
            text = _page(messages, step.kept_from, tried, summary, window.page_chars(messages, over))
            step = replace(step, page=text, usage=usage)
        after = self.measured.tokens(window.estimate(context.system, context.tools, window.reduced(messages, step)))
        words = f"Context compacted: {now:,} → {after:,} tokens"
        step = replace(step, before=now, after=after, window=self.tokens, words=words)
        context.publish(step)
        return step

    def _summary(self, context: TurnContext, tried: Sequence[Messages]) -> tuple[str, Usage]:
        room = window.room(self.tokens, context.model.max_tokens)
        asked = [(*one[:-1], replace(one[-1], parts=(*one[-1].parts, TextPart(_ASK)))) for one in tried]
        fitting = (one for one in asked if self.tokens and self.measured.tokens(self.thought(context, one)) <= room)
        if (messages := next(fitting, None)) is None:
            return "", Usage()
        try:
            said = whole_answer(context.model, context.system, messages, context.tools, context.time_left)
        except ModelError:  # the log has the facts
            return "", Usage()
        return (said.message.text.strip() if said.stop_reason == "end_turn" else ""), said.usage


def _page(messages: Messages, kept_from: int, tried: Tried, summary: str, chars: int) -> str:
    shown = "\n".join(part.text for one in messages[kept_from:] for part in one.parts if isinstance(part, TextPart))
    before = messages[0].text.partition(_SUMMARY)[2]
    parts = [
        "Your older answers and their feedback are left out; this is their summary. Read the files again that "
        "you need.",
        f"The state now: {escalation.state(tried.written)}",
        f"What failed since the task was given, the newest last:\n{escalation.failures_text(tried)}",
    ]
    if said := [text for text in tried.said if text not in shown]:
        parts.append("The person said since, the newest last:\n" + escalation.newest(said, chars // 2))
    facts = head_and_tail("\n\n".join(parts), chars)[0]
    told = head_and_tail(summary or before, max(600, chars - len(facts)))[0]
    return f"{window.original(messages)}{window.EARLIER}{facts}{_SUMMARY if told else ''}{told.rstrip()}\n"
