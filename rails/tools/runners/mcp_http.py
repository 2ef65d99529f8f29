"""Streamable HTTP: one POST for each message, answered by JSON or by an event stream."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress

from rails.core.dataclass import dataclass
from rails.core.tool_request import Json
from rails.tools.runners.exchange import ExchangeError, HttpResponse, exchange
from rails.tools.runners.jsonrpc import OLDER, REVISION, McpError, Refused, hello, message, read_message, result_of


@dataclass(slots=True)
class HttpChannel:
    """Talks to one server until ``deadline`` (monotonic seconds); ``seconds`` is what the user set."""

    endpoint: str
    headers: Mapping[str, str]
    deadline: float
    seconds: float
    allow_private: bool
    number: int = 0
    #: Set once the server wanted a handshake: the header fields of its session.
    session: dict[str, str] | None = None

    def ask(self, method: str, params: Mapping[str, Json]) -> dict[str, Json]:
        """Send one request; shake hands first with a server that turns out to want it."""
        try:
            return self._once(method, params)
        except Refused as refused:
            # A call that a server of this revision refused is not sent again; an older one has not run it.
            if self.session is not None or refused.code not in (400, 404, 405, 406):
                raise
        self._greet()
        return self._once(method, params)

    def _greet(self) -> None:
        self.session = {"MCP-Protocol-Version": OLDER}
        answer = self._post("initialize", message(self._next(), "initialize", hello(), meta=False))
        chosen = result_of(self._reply(answer)).get("protocolVersion")
        self.session["MCP-Protocol-Version"] = str(chosen) if isinstance(chosen, str) else OLDER
        if "mcp-session-id" in answer.headers:
            self.session["Mcp-Session-Id"] = answer.headers["mcp-session-id"]
        self._tell("notifications/initialized")

    def _once(self, method: str, params: Mapping[str, Json]) -> dict[str, Json]:
        body = message(self._next(), method, params, meta=self.session is None)
        return result_of(self._reply(self._post(method, body, str(params.get("name", "")))))

    def _tell(self, method: str) -> None:
        self._post(method, message(None, method, {}, meta=self.session is None))

    def _next(self) -> int:
        self.number += 1
        return self.number

    def _post(self, method: str, body: bytes, name: str = "") -> HttpResponse:
        headers = {
            **self.headers,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        if self.session is None:
            headers |= {"MCP-Protocol-Version": REVISION, "Mcp-Method": method}
            headers |= {"Mcp-Name": name} if name else {}
        else:
            headers |= self.session
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise ExchangeError(f"no complete answer within {self.seconds:g} s")
        return exchange(
            "POST",
            self.endpoint,
            headers=headers,
            body=body,
            seconds=left,
            allow_private=self.allow_private,
            is_enough=self._is_answered,
        )

    def close(self) -> None:
        """End the session of a server that keeps one; a server that does not answer is left alone."""
        if self.session is not None and "Mcp-Session-Id" in self.session:
            headers = {**self.headers, **self.session}
            with suppress(ExchangeError):
                private = self.allow_private
                exchange("DELETE", self.endpoint, headers=headers, body=None, seconds=2.0, allow_private=private)

    def _is_answered(self, body: bytes) -> bool:
        """Say whether an event stream already holds the answer; servers may leave it open."""
        if not body.endswith((b"\n\n", b"\r\n\r\n")):
            return False
        try:
            _from_events(body, self.number)
        except McpError:
            return False
        return True

    def _reply(self, answer: HttpResponse) -> dict[str, Json]:
        if answer.media_type == "text/event-stream":
            return _from_events(answer.body, self.number)
        if answer.media_type == "application/json" and answer.body:
            reply = read_message(answer.body)
            if 200 <= answer.status < 300:
                return reply
            error = reply.get("error")
            raise Refused(answer.status, str(error.get("message", "")) if isinstance(error, dict) else "")
        if 300 <= answer.status < 400:
            raise McpError("the server redirects; redirects are not followed")
        raise Refused(answer.status, f"the server answered with status {answer.status}")


def _from_events(body: bytes, number: int) -> dict[str, Json]:
    """Find our reply in an event stream (HTML Living Standard, server-sent events)."""
    data: list[str] = []
    for line in [*body.decode("utf-8", "replace").replace("\r\n", "\n").split("\n"), ""]:
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            event = read_message("\n".join(data).encode("utf-8"))
            data = []
            if event.get("id") == number and "method" not in event:
                return event
    raise McpError("the server's event stream ended without an answer")
