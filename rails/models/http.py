"""What the adapters of all providers share: words for faults, and tool calls on their way back."""

from __future__ import annotations

import json
import re
from typing import Final, NoReturn

from rails.core import limits
from rails.core.errors import ModelError, ModelRetryable, ModelTooLongError
from rails.core.text import one_line
from rails.core.tool_request import Json

#: Statuses where the same request may succeed a little later.
_PASSING: Final = {
    408: "took too long to take the request",
    409: "was busy with another request",
    425: "was not ready for the request",
    429: "has had too many requests from this key",
    529: "is overloaded",
}
_REMEDIES: Final = {
    400: "The request was refused as wrong; a model name, a limit or a tool definition may not suit this server.",
    401: "Check that the API key is right and still valid.",
    402: "Check the account's billing.",
    403: "The key may not use this model; choose another model or ask for access.",
    404: "There is no such model or address; check the name after the colon and the base URL.",
    413: "The conversation is too large for this server; start a new session or choose another model.",
    422: "The request was refused as wrong; a model name, a limit or a tool definition may not suit this server.",
}
#: Types of an error event inside a stream, as statuses.
_EVENT_STATUS: Final = {
    "overloaded_error": 529,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "api_error": 500,
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
}
_TOO_LONG: Final = re.compile(
    r"context.?(length|window|size)|(prompt|input|request|conversation)( is|s are)? too (long|large)|too many tokens"
    r"|(prompt|input) (tokens? )?exceeds",
    re.I,
)
_LIMIT: Final = re.compile(r"(?:maximum|max|limit|context.?(?:length|window|size))\D{0,40}?(\d{3,})|> ?(\d{3,})", re.I)
#: How much of a call that was not JSON goes back: enough to see the slip, too little to fill the context.
_ECHO_CHARS: Final = 800


def status_error(who: str, status: int, detail: str, retry_after: str | None = None) -> ModelError:
    """Return the error for an HTTP ``status`` of ``who``; a ModelRetryable where another try may help.

    ``retry_after`` is that header's value; only its form in seconds is understood.
    """
    said = f" It says: {one_line(detail, 1_000)}" if detail else ""
    if status in _PASSING or status >= 500:
        what = _PASSING.get(status, "failed")
        pause = _seconds(retry_after)
        wait = f", and asks to wait {pause:g} s" if pause is not None else ""
        return ModelRetryable(f"{who} {what} (HTTP {status}){wait}.{said}", pause)
    if status in (400, 413, 422) and _TOO_LONG.search(detail):
        found = _LIMIT.search(detail.replace(",", ""))
        return ModelTooLongError(f"{who} finds the prompt too long.{said}", int(found[1] or found[2]) if found else 0)
    remedy = _REMEDIES.get(status, "Another try would give the same answer.")
    return ModelError(f"{who} refused the request (HTTP {status}).{said} {remedy}")


def event_status(kind: str | None) -> int:
    """Return the HTTP status that an error event of type ``kind`` stands for; unknown ones are passing."""
    return _EVENT_STATUS.get(kind or "", 500)


def echo_arguments(raw: str) -> dict[str, Json]:
    """Return a call's arguments as the object that a provider wants in the history.

    What is not one plain JSON object goes back as ``{"INVALID_JSON": …}``, so that the model sees what it
    sent and never something that looks like a good call. Nothing is ever executed from this value.
    """
    try:
        value = json.loads(raw or "{}", object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"INVALID_JSON": encodable(raw[:_ECHO_CHARS])}


def encodable(text: str) -> str:
    """Return ``text`` with lone surrogates, which no request can carry, replaced by ``?``."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key occurs twice")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _seconds(value: str | None) -> float | None:
    try:
        seconds = float(value or "")
    except ValueError:
        return None
    return min(seconds, limits.MODEL_PAUSE_SECONDS) if 0 <= seconds < 86_400 else None
