"""``fetch_webpage``: pages of the hosts that the user allows, as text.

Each address, redirects' too, must be listed with host and port, a private or loopback one literally. No cookie, key or
proxy.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from html import unescape
from itertools import groupby
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit

from rails.core import limits
from rails.core.text import counted, head_and_tail, one_line
from rails.core.tool_request import Json, ToolResult
from rails.sandbox.proxy import names_host
from rails.tools.registry import BuiltinRunner
from rails.tools.runners.exchange import ExchangeError, HttpResponse, exchange

_SECONDS: Final = 60.0  # for all pages of a request together
_REDIRECTS: Final = 5
_HEADERS: Final = {"Accept": "text/html, text/*, application/json, application/xml;q=0.9"}
_READ: Final = re.compile(r"text/.*|application/(?:(?:.*\+)?(?:json|xml)|javascript|yaml|toml)|")
#: What nobody reads, elements that begin a line, and what else has angle brackets.
_SILENT: Final = re.compile(r"<!--.*?(?:-->|\Z)|<(script|style|template|noscript|svg)\b.*?(?:</\1\s*>|\Z)", re.I | re.S)
_BLOCKS: Final = re.compile(
    r"</?(?:address|article|aside|blockquote|br|d[dlt]|div|figure|footer|form|h[1-6]|header|hr|li|main|nav|[ou]l|p|pre|"
    r"section|t(?:able|[dhr]|itle))\b[^<>]*>",
    re.I,
)
_TAG: Final = re.compile(r"</?[a-z!][^<>]*>", re.I)


def page_fetcher(hosts: Sequence[str]) -> BuiltinRunner:
    """Return a runner for these hosts (:data:`rails.sandbox.values.HOST`)."""

    def fetch(parameters: Mapping[str, Json], _project: Path) -> ToolResult:
        urls = parameters["urls"]
        query = str(parameters.get("query") or "")
        until = time.monotonic() + _SECONDS
        pages = list[str]()
        fetched = 0
        for url in map(str, urls if isinstance(urls, list) else []):
            try:
                pages.append(_page(*_get(url, hosts, until), query))
                fetched += 1
            except ExchangeError as error:
                why = str(error).partition('. Add "allow_private"')[0]
                pages.append(f"{one_line(url, 300)}: not fetched: {why}.")
        return ToolResult(fetched > 0, "\n\n".join(pages), facts={"fetched": fetched, "asked": len(pages)})

    return fetch


def _get(url: str, hosts: Sequence[str], until: float) -> tuple[str, HttpResponse]:
    for _ in range(_REDIRECTS + 1):
        _check(url, hosts)
        seconds = until - time.monotonic()
        if seconds <= 0:
            raise ExchangeError(f"the {_SECONDS:.0f} s for all pages are over")
        answer = exchange("GET", url, headers=_HEADERS, body=None, seconds=seconds)
        where = answer.headers.get("location", "")
        if not (300 <= answer.status < 400 and where):
            return url, answer
        url = urljoin(url, where)
    raise ExchangeError(f"it redirects more than {_REDIRECTS} times")


def _check(url: str, hosts: Sequence[str]) -> None:
    try:
        parts = urlsplit(url)
        name = (parts.hostname or "").casefold()
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise ExchangeError(f"{one_line(url, 200)!r} is not an address") from None
    inner = name.rpartition(".")[2] in ("", "localhost") or name[-1:].isdigit()
    named = [host for host in hosts if not (inner and host.startswith("*"))]
    if parts.scheme not in ("http", "https") or not any(names_host(host, name, port) for host in named):
        raise ExchangeError(
            f"{one_line(f'{parts.scheme}://{name}:{port}', 200)} is not allowed; the user allows: {', '.join(hosts)}"
        )


def _page(url: str, answer: HttpResponse, query: str) -> str:
    """Return an answer as text under its address. Raises ExchangeError."""
    if not 200 <= answer.status < 300:
        raise ExchangeError(f"it answered with status {answer.status}")
    kind = answer.media_type
    if not _READ.fullmatch(kind):
        raise ExchangeError(f"it is {one_line(kind, 100)}, which is not text")
    text = _decoded(answer)
    text, note = _near(_text_of(text) if "html" in kind else text, query)
    shown, left_out = head_and_tail(text, limits.RESULT_CHARS // 10)
    cut = f"; {counted(left_out, 'character')} left out" if left_out else ""
    return f"{one_line(url, 300)} (status {answer.status}, {kind or 'no type'}{note}{cut}):\n{shown}"


def _decoded(answer: HttpResponse) -> str:
    named = re.search(r"charset=[\"']?([\w.:-]{1,40})", answer.headers.get("content-type", ""), re.I)
    try:
        return answer.body.decode(named[1] if named else "utf-8", "replace")
    except (LookupError, ValueError):
        return answer.body.decode("utf-8", "replace")


def _near(text: str, query: str) -> tuple[str, str]:
    """Return the lines that have a word of the query, with two around each, and a note; else the whole text."""
    words = query.casefold().split()
    lines = text.split("\n")
    hits = [number for number, line in enumerate(lines) if any(word in line.casefold() for word in words)]
    shown = one_line(query, 100)
    if not hits:
        return text, f"; no line has a word of {shown!r}" if words else ""
    near = {number for hit in hits for number in range(hit - 2, hit + 3)}
    rows = [line if number in near else "…" for number, line in enumerate(lines)]
    return "\n".join(row for row, _ in groupby(rows)), f"; lines near {shown!r}"


def _text_of(page: str) -> str:
    page = _BLOCKS.sub("\n", _SILENT.sub(" ", page.replace("\n", " ")))
    lines = (" ".join(unescape(_TAG.sub("", line)).split()) for line in page.split("\n"))
    return "\n".join(filter(None, lines))
