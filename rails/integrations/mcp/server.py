"""The MCP server on the official SDK: standard input and output, or HTTP on the loopback.

Questions go through the client: in the older protocol as our request, in the newer as a result that wants input, after
which the client calls again. Each call has its own thread, so that waiting ones block none.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import secrets
import signal
import socket
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.responses import PlainTextResponse

from rails import __version__
from rails.core import limits
from rails.core.errors import EXIT_OK, RailsError
from rails.core.text import one_line
from rails.integrations.mcp.approver import ClientCall, ClientQuestion
from rails.integrations.mcp.project_tools import McpResult, ProjectTools
from rails.integrations.newest import newest_sessions

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from starlette.types import ASGIApp, Receive, Scope, Send

    from rails.tools.registry import Definition

    _Context = ServerRequestContext[Any]
    _Paged = types.PaginatedRequestParams | None

#: Calls that are at work at a time; more are refused.
_AT_ONCE: Final = 32
#: Seconds between two notices of progress.
_BEAT_S: Final = 5.0
#: The address of a session's log, before its id; and what is sent of it.
_SESSIONS: Final = "ai-rails://sessions/"
_MARKDOWN: Final = "text/markdown"
#: What a client that calls again is asked for.
_DECISION: Final = "decision"
_OVER: Final = McpResult("This question is not open any more; ai-rails review says what became of it.", ok=False)
_INSTRUCTIONS: Final = (
    "gate checks files or contents. Change files with propose_changes: what it answers says what was written or what "
    "to correct. A person decides about every change."
)


class McpService:
    """The handlers. ``calls``: those waiting for their client to call again."""

    def __init__(self, tools: ProjectTools) -> None:
        self._tools = tools
        self._working: set[ClientCall] = set()
        self._waiting: dict[str, tuple[ClientCall, ClientQuestion]] = {}
        self.server = Server(
            "ai-rails",
            version=__version__,
            instructions=_INSTRUCTIONS,
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_list_resources=self._logs,
            on_read_resource=self._log,
        )

    async def _list(self, _: _Context, __: _Paged) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(one) for one in self._tools.offered()])

    async def _logs(self, _: _Context, __: _Paged) -> types.ListResourcesResult:
        found = []
        for one in await asyncio.to_thread(newest_sessions, self._tools.project):
            name, title = one.session_id, one_line(one.task, 200)
            found.append(types.Resource(name=name, title=title, uri=_SESSIONS + name, mime_type=_MARKDOWN))
        return types.ListResourcesResult(resources=found)

    async def _log(self, _: _Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        session_id = params.uri.removeprefix(_SESSIONS)
        try:
            text = await asyncio.to_thread(self._tools.log_text, session_id)
        except RailsError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        contents = types.TextResourceContents(uri=params.uri, mime_type=_MARKDOWN, text=text)
        return types.ReadResourceResult(contents=[contents])

    async def _call(
        self, context: _Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        call = self._resumed(params) if params.request_state else self._begun(context, params)
        beat = asyncio.ensure_future(_beat(context, params.name))
        try:
            said = await call.said.get()
            while isinstance(said, ClientQuestion):
                if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
                    return self._input_required(call, said)
                asked = asyncio.ensure_future(_elicited(context, said))
                try:
                    said = await call.said.get()  # what comes of the answer, be it the client's or another's
                finally:
                    asked.cancel()
        except asyncio.CancelledError:
            call.gone = True
            raise
        finally:
            beat.cancel()
        text = types.TextContent(text=said.text)
        return types.CallToolResult(content=[text], structured_content=said.value, is_error=not said.ok)

    def _begun(self, context: _Context, params: types.CallToolRequestParams) -> ClientCall:
        if len(self._working) >= _AT_ONCE:
            raise MCPError(types.INTERNAL_ERROR, f"{_AT_ONCE} calls are at work. Wait for one of them.")
        given = dict(params.arguments or {})
        if client := context.session.client_params:
            self._tools.client = f"mcp: {one_line(client.client_info.name, 60)}"
        return ClientCall(lambda: self._tools.call(params.name, given), self._working, can_ask=_can_ask(context))

    def _resumed(self, params: types.CallToolRequestParams) -> ClientCall:
        call, question = self._waiting.pop(params.request_state or "", (None, None))
        if call is None or question is None:
            return ClientCall(lambda: _OVER, self._working, can_ask=False)
        answer = (params.input_responses or {}).get(_DECISION)
        if isinstance(answer, types.ElicitResult):
            question.answer.set_result(_filled(answer))
        return call

    def _input_required(self, call: ClientCall, question: ClientQuestion) -> types.InputRequiredResult:
        state = secrets.token_urlsafe(32)
        self._waiting[state] = call, question
        if len(self._waiting) > _AT_ONCE:  # the client of the oldest has not come back
            del self._waiting[next(iter(self._waiting))]
        form = types.ElicitRequestFormParams(message=question.text, requested_schema=question.form)
        request = types.ElicitRequest(params=form)
        return types.InputRequiredResult(input_requests={_DECISION: request}, request_state=state)

    def close(self) -> None:
        """Cancel every call; end the session."""
        for call in tuple(self._working):
            call.gone = True
        self._tools.close()


def _tool(definition: Definition) -> types.Tool:
    promised = definition.response_format
    return types.Tool(
        name=definition.tool_name,
        title=definition.title or None,
        description=definition.description,
        input_schema=dict(definition.request_schema),
        output_schema=promised if isinstance(promised, dict) else None,
        annotations=types.ToolAnnotations.model_validate(definition.annotations),
    )


async def _beat(context: _Context, name: str) -> None:
    """Tell a client that wants progress that the call goes on: it may give up otherwise."""
    words = f"{name}: at work, or waiting for a person's answer"
    with contextlib.suppress(MCPError, OSError):
        while True:
            await asyncio.sleep(_BEAT_S)
            await context.session.report_progress(time.monotonic(), None, words)


def _can_ask(context: _Context) -> bool:
    asks = getattr(context.session.client_capabilities, "elicitation", None)
    return asks is not None and (asks.form is not None or asks.url is None)


async def _elicited(context: _Context, question: ClientQuestion) -> None:
    filled = None
    with contextlib.suppress(MCPError, ValueError):
        filled = _filled(await context.session.elicit_form(question.text, question.form, context.request_id))
    question.answer.set_result(filled)


def _filled(answer: types.ElicitResult) -> dict[str, str]:
    content = answer.content or {}
    return {name: str(value) for name, value in content.items()} if answer.action == "accept" else {}


# -- the two ways in ----------------------------------------------------------------------------------


#: Seconds that what serves has to end by itself once a signal came.
_ENDING_S: Final = 3.0
_ENDS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


async def on_stdio(service: McpService) -> None:
    """Serve standard input and output until hang-up; print nothing else there."""
    async with stdio_server() as (reading, writing):
        await service.server.run(reading, writing, service.server.create_initialization_options())


async def on_http(service: McpService, listening: socket.socket, token: str) -> None:
    """Serve clients with ``token`` on a loopback socket."""
    port = listening.getsockname()[1]
    hosts = [f"127.0.0.1:{port}", f"localhost:{port}"]
    origins = [f"http://{host}" for host in hosts]
    security = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)
    app = service.server.streamable_http_app(transport_security=security, max_request_body_size=limits.PAGE_BODY_BYTES)
    config = uvicorn.Config(_guarded(app, token), log_config=None, access_log=False, timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign,assignment]  # the command has its own
    serving = asyncio.ensure_future(server.serve([listening]))
    try:
        await asyncio.shield(serving)
    finally:
        server.should_exit = True
        await serving


def _guarded(app: ASGIApp, token: str) -> ASGIApp:
    wanted = f"Bearer {token}".encode()
    refusal = PlainTextResponse("The token is missing or wrong: send it as Authorization: Bearer TOKEN.", 401)

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        shown = dict(scope.get("headers", ())).get(b"authorization", b"")
        allowed = scope["type"] == "lifespan" or hmac.compare_digest(shown, wanted)
        await (app if allowed else refusal)(scope, receive, send)

    return guard


def run_until_ended(service: McpService, serve: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Serve until hang-up or a signal, then end the session properly."""
    stop = asyncio.Event()

    async def main() -> bool:
        task = asyncio.ensure_future(serve())
        stopped = asyncio.ensure_future(stop.wait())
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        task.cancel()
        await asyncio.wait({task}, timeout=_ENDING_S)
        service.close()
        if task.done() and not task.cancelled():
            task.result()
        return task.done()

    with asyncio.Runner() as runner:
        for number in _ENDS:  # before it runs: one may come at once
            runner.get_loop().add_signal_handler(number, stop.set)
        if not runner.run(main()):
            os._exit(EXIT_OK)  # a thread waits for the client's next line, and nothing else ends it
