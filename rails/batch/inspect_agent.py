"""Inspect's side: our pipeline as solver, its model as ours, verdict and diff in its log.

    from inspect_ai import Task, task
    from rails.batch.inspect_agent import ai_rails, ai_rails_scorer

    @task
    def fixes():
        return Task(dataset=…, solver=ai_rails(policy="edits"), scorer=ai_rails_scorer())

A sample's input is the task; its metadata: ``repo``, ``commit``, and other job fields (``checks``, ``hidden``). Machine
faults are the sample's error.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, Final

from msgspec import Struct

from rails.batch.job_spec import JobSpec, from_object, to_object
from rails.batch.run_job import run_job_with
from rails.core.conversation import (
    Delta,
    Message,
    MessagePart,
    ModelAnswer,
    NativeCall,
    NativeResult,
    StopReason,
    TextDelta,
    TextPart,
    ToolSpec,
    Usage,
)
from rails.core.errors import ModelError, RailsError, UsageError
from rails.core.extras import install_command
from rails.models.model import Model

try:
    _chat: Any = import_module("inspect_ai.model")
    _tool: Any = import_module("inspect_ai.tool")
    _solver: Any = import_module("inspect_ai.solver")
    _scorer: Any = import_module("inspect_ai.scorer")
except ImportError as error:
    raise UsageError(f"This needs: {install_command('inspect')}.") from error

#: Where a sample's result is, in its metadata.
RESULT: Final = "ai_rails"
_STOPS: Final[dict[str, StopReason]] = {
    **{"stop": "end_turn", "tool_calls": "tool_use", "content_filter": "refusal"},
    **{"max_tokens": "max_tokens", "model_length": "max_tokens"},
}


def _solve_with(**same: Any) -> Callable[[Any, Any], Awaitable[Any]]:  # noqa: ANN401 - fields of a job
    async def solve(state: Any, _generate: Any) -> Any:  # noqa: ANN401 - Inspect's types
        known = {name: state.metadata[name] for name in JobSpec.__struct_fields__ if name in state.metadata}
        facts = {**same, **known, "task": state.input_text, "id": str(state.sample_id), "model": str(state.model)}
        spec = from_object(facts, JobSpec, f"sample {state.sample_id}")
        model = _InspectModel(str(state.model), asyncio.get_running_loop(), contextvars.copy_context())
        result = await asyncio.to_thread(run_job_with, spec, lambda: model)
        if result.error:
            raise RailsError(result.error)
        state.metadata[RESULT] = to_object(result)
        state.output = _chat.ModelOutput.from_content(model=str(state.model), content=result.diff or result.ending)
        return state

    return solve


def _score_with() -> Callable[[Any, Any], Awaitable[Any]]:
    async def score(state: Any, _target: Any) -> Any:  # noqa: ANN401 - Inspect's types
        result = state.metadata[RESULT]
        words = (word for check in result["checks"] for word in check["words"])
        said = [result["verdict"], *result["findings"], *words]
        value = _scorer.CORRECT if result["passed"] else _scorer.INCORRECT
        return _scorer.Score(value=value, answer=result["diff"], explanation="\n".join(said), metadata=result)

    return score


#: The solver: ``ai_rails(policy="edits", gate="off", …)`` takes the fields that all jobs have alike.
ai_rails: Final = _solver.solver(name="ai_rails")(_solve_with)
#: The scorer: whether the job passed, with the diff as the answer, and the verdict and findings as the reason.
_METRICS: Final = [_scorer.accuracy(), _scorer.stderr()]
ai_rails_scorer: Final = _scorer.scorer(metrics=_METRICS, name="ai_rails_scorer")(_score_with)


class _InspectModel(Model, Struct, frozen=True):
    """Inspect's model, asked on its loop so that its log and limits hold."""

    name: str
    loop: asyncio.AbstractEventLoop
    context: contextvars.Context

    def stream(self, *, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Iterator[Delta]:
        asked = [_chat.ChatMessageSystem(content=system), *(part for one in messages for part in _shown(one))]
        offered = [_offered(tool) for tool in tools]

        async def told() -> Any:  # noqa: ANN401 - a ModelOutput
            return await _chat.get_model().generate(asked, tools=offered)

        try:
            output = self.context.copy().run(asyncio.run_coroutine_threadsafe, told(), self.loop).result()
        except Exception as error:
            raise ModelError(f"Inspect's model failed: {error}") from error
        answer = _answer(output, self.name)
        yield TextDelta(answer.message.text)
        yield answer


def _shown(message: Message) -> Iterator[Any]:
    if message.role == "assistant":
        calls = [_tool.ToolCall(id=one.id, function=one.name, arguments=_object(one)) for one in message.calls]
        yield _chat.ChatMessageAssistant(content=message.text, tool_calls=calls or None)
        return
    for part in message.parts:
        if isinstance(part, NativeResult):
            yield _chat.ChatMessageTool(content=part.text, tool_call_id=part.id)
    if message.text:
        yield _chat.ChatMessageUser(content=message.text)


def _offered(tool: ToolSpec) -> Any:  # noqa: ANN401 - a ToolInfo
    schema = json.loads(tool.schema)
    facts = {name: schema[name] for name in ("properties", "required") if name in schema}
    parameters = _tool.ToolParams.model_validate({"type": "object", **facts})
    return _tool.ToolInfo(name=tool.name, description=tool.description, parameters=parameters)


def _answer(output: Any, name: str) -> ModelAnswer:  # noqa: ANN401 - a ModelOutput
    message, used = output.message, output.usage
    parts: list[MessagePart] = [TextPart(message.text)] if message.text else []
    parts += [NativeCall(one.id, one.function, json.dumps(one.arguments)) for one in message.tool_calls or ()]
    names = ("input_tokens", "output_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
    usage = Usage(*(getattr(used, name, 0) or 0 for name in names))
    stop = "tool_use" if message.tool_calls else _STOPS.get(output.stop_reason, "cut")
    return ModelAnswer(Message("assistant", tuple(parts)), stop, usage, name)


def _object(call: NativeCall) -> dict[str, Any]:
    try:
        found = json.loads(call.arguments or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
