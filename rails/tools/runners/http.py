"""A tool that is a plain HTTP service: parameters out, JSON or text back.

``{name}`` in the address is a percent-encoded parameter; others are the query of GET and DELETE, else a JSON body.
Failures as in the original AI-Rails: ``{"status": "error", "message": …, "details": …}``. Only idempotent tools are
retried, only when the network failed.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlencode

from rails.core.text import one_line
from rails.core.tool_request import Json, ToolRequest, ToolResult
from rails.data_formats.json_document import JsonError, parse_document
from rails.tools.registry import Definition, Http
from rails.tools.runners.answer_form import form_problem, masked_and_cut
from rails.tools.runners.exchange import ExchangeError, HttpResponse, exchange
from rails.tools.runners.secrets import Secrets
from rails.tools.transports import as_text, fill, placeholders

#: Pauses before the second and third try, in seconds.
_PAUSES: Final = (0.2, 0.8)


def run_http_tool(request: ToolRequest, definition: Definition, project: Path) -> ToolResult:
    """Run an HTTP tool."""
    transport = definition.transport
    assert isinstance(transport, Http)
    endpoint = os.environ.get(transport.endpoint_env) or transport.endpoint
    if not endpoint:
        return failed(f"{definition.tool_name} has no address; set {transport.endpoint_env}")
    secrets = Secrets.find(definition.secrets, project)
    if secrets.missing:
        return failed(secrets.complaint())
    headers = {"Accept": "application/json", **secrets.fill(transport.headers)}
    try:
        url, body = _compose(endpoint, transport.method, request.parameters)
        if body:
            headers.setdefault("Content-Type", "application/json; charset=utf-8")
        answer = _try(transport, url, headers, body, definition.timeout_s)
    except ExchangeError as error:
        return failed(secrets.mask(str(error)))
    return _result(answer, definition, secrets)


def failed(message: str, details: Json = None, facts: Mapping[str, Json] | None = None) -> ToolResult:
    """Return a failed result in the original's form."""
    value: dict[str, Json] = {"status": "error", "message": message}
    if details is not None:
        value["details"] = details
    return ToolResult(False, json.dumps(value, ensure_ascii=False), facts=facts or {})


def _compose(endpoint: str, method: str, parameters: Mapping[str, Json]) -> tuple[str, bytes | None]:
    """Return address and body, filled. Raises ExchangeError when a placeholder has no value."""
    used = set(placeholders(endpoint))
    for name in used:
        if parameters.get(name) is None:
            raise ExchangeError(f"the address needs the parameter {name!r}")
    url = fill(endpoint, lambda name: _encoded(parameters[name]))
    rest = {name: value for name, value in parameters.items() if name not in used}
    if method not in ("GET", "DELETE"):
        return url, json.dumps(rest, ensure_ascii=False).encode("utf-8")
    pairs = [(name, as_text(item)) for name, value in rest.items() for item in _each(value)]
    if pairs:
        url += ("&" if "?" in url else "?") + urlencode(pairs)
    return url, None


def _encoded(value: Json) -> str:
    """Percent-encode a value, ``.`` and ``..`` too: no climbing."""
    text = quote(as_text(value), safe="")
    return text.replace(".", "%2E") if set(text) <= {"."} else text


def _each(value: Json) -> list[Json]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _try(transport: Http, url: str, headers: Mapping[str, str], body: bytes | None, seconds: float) -> HttpResponse:
    deadline = time.monotonic() + seconds
    pauses = _PAUSES if transport.idempotent else ()
    for pause in (*pauses, None):
        try:
            return exchange(
                transport.method,
                url,
                headers=headers,
                body=body,
                seconds=max(deadline - time.monotonic(), 0.05),
                allow_private=transport.allow_private,
            )
        except ExchangeError as error:
            if pause is None or not error.is_network or time.monotonic() + pause >= deadline:
                raise
            time.sleep(pause)
    raise AssertionError("the last try returns or raises")


def _result(answer: HttpResponse, definition: Definition, secrets: Secrets) -> ToolResult:
    text = answer.body.decode("utf-8", "replace")
    told, facts = masked_and_cut(text, secrets, status=answer.status, bytes=len(answer.body))
    if 300 <= answer.status < 400:
        where = one_line(secrets.mask(answer.headers.get("location", "")), 200)
        return failed(f"the service redirects to {where!r}; redirects are not followed", None, facts)
    if not 200 <= answer.status < 300:
        return failed(f"the service answered with status {answer.status}", _details(told), facts)
    wrong = form_problem(definition, secrets.mask(text), "service's answer") if text or answer.status != 204 else None
    if wrong is not None:
        return failed(*wrong, facts)
    return ToolResult(True, told or f"(status {answer.status}, no content)", facts=facts)


def _details(text: str) -> Json:
    try:
        return parse_document(text).value
    except JsonError:
        return text or None
