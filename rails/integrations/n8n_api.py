"""What an n8n says of itself through its public API: read only, and only by the person who names it.

The key goes to the address that was named and nowhere else: redirects are not followed, and without TLS only this
machine is asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, urlsplit

from rails.core.errors import UsageError
from rails.core.text import one_line
from rails.tools.runners.exchange import ExchangeError, HttpResponse, exchange

_SECONDS: Final = 30.0
_PAGE: Final = 100
_MOST_PAGES: Final = 100
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class N8nApi:
    """The public API of the n8n at ``address``, such as ``http://localhost:5678``. Raises UsageError for none."""

    def __init__(self, address: str, key: str) -> None:
        self._address, self._key = address.rstrip("/"), key
        parts = urlsplit(address)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query:
            raise UsageError("Name your n8n as http://localhost:5678 or https://n8n.example.com. Nothing was asked.")
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            raise UsageError(
                f"The key would go to {one_line(parts.hostname)} unprotected: use https. Nothing was asked."
            )

    def version(self) -> str:
        """Return n8n's version, "" where it does not tell."""
        answer = self._get("/rest/settings", with_key=False)
        value = _parsed(answer) if answer.status == 200 else None
        found = value.get("data", value).get("versionCli") if isinstance(value, dict) else None
        return found if isinstance(found, str) else ""

    def listed(self, what: str) -> list[Mapping[str, Any]] | None:
        """Return all ``workflows``, ``credentials`` or ``community-packages``; ``None``: the key may not see them."""
        found: list[Mapping[str, Any]] = []
        for answer in self._pages(what):
            if answer.status in {403, 404, 405}:
                return None
            if answer.status == 401:
                raise UsageError("n8n refused the key (HTTP 401). Make one under Settings, n8n API. Nothing was read.")
            value = _parsed(answer)
            rows = value.get("data") if isinstance(value, dict) else value
            if answer.status != 200 or not isinstance(rows, list):
                raise UsageError(f"n8n did not give its {what} (HTTP {answer.status}). Nothing was read.")
            found += [row for row in rows if isinstance(row, dict)]
        return found

    def _pages(self, what: str) -> Iterator[HttpResponse]:
        cursor = ""
        for _ in range(_MOST_PAGES):
            answer = self._get(f"/api/v1/{what}?limit={_PAGE}{cursor}")
            yield answer
            value = _parsed(answer)
            following = value.get("nextCursor") if isinstance(value, dict) else None
            if not isinstance(following, str) or not following:
                return
            cursor = f"&cursor={quote(following, safe='')}"
        raise UsageError(f"n8n has more than {_MOST_PAGES * _PAGE} {what}. Nothing was read.")

    def _get(self, path: str, *, with_key: bool = True) -> HttpResponse:
        headers = {"Accept": "application/json", **({"X-N8N-API-KEY": self._key} if with_key else {})}
        url = f"{self._address}{path}"
        try:
            return exchange("GET", url, headers=headers, body=None, seconds=_SECONDS, allow_private=True)
        except ExchangeError as error:
            raise UsageError(f"n8n cannot be asked: {str(error).replace(self._key, '…')}. Nothing was read.") from None


def _parsed(answer: HttpResponse) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError):
        return None
