"""The ``format`` keyword: linear-time checks without a further package.

They accept a little more than the RFCs: a format only catches wrong values.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from typing import Final
from urllib.parse import urlsplit

from rails.core.lazy_pattern import lazy

_UUID: Final = lazy(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_EMAIL: Final = lazy(r"[^\s@<>()\[\],;:\"]{1,64}@[A-Za-z0-9][A-Za-z0-9.-]{0,254}", re.ASCII)
_DATE_TIME: Final = lazy(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_TIME: Final = lazy(r"\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)?", re.ASCII)
_DATE: Final = lazy(r"\d{4}-\d\d-\d\d", re.ASCII)
_LABEL: Final = lazy(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?", re.ASCII)
_SCHEME: Final = lazy(r"[A-Za-z][A-Za-z0-9+.-]{0,31}:", re.ASCII)


def _date_time(text: str) -> bool:
    return bool(_DATE_TIME.fullmatch(text)) and _parses(datetime.fromisoformat, text.upper())


def _time(text: str) -> bool:
    return bool(_TIME.fullmatch(text)) and _parses(time.fromisoformat, text.upper())


def _date(text: str) -> bool:
    return bool(_DATE.fullmatch(text)) and _parses(date.fromisoformat, text)


def _parses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _uri(text: str) -> bool:
    if not _SCHEME.match(text) or any(char.isspace() or ord(char) < 32 for char in text):
        return False
    if not _parses(urlsplit, text):
        return False
    parts = urlsplit(text)
    needs_host = parts.scheme.lower() in {"http", "https", "ws", "wss", "ftp"}
    return bool(parts.netloc or (parts.path and not needs_host))


def _uri_reference(text: str) -> bool:
    return not any(char.isspace() or ord(char) < 32 for char in text) and _parses(urlsplit, text)


def _hostname(text: str) -> bool:
    return 0 < len(text) <= 253 and all(_LABEL.fullmatch(label) for label in text.split("."))


#: Formats that are checked.
CHECKED: Final[Mapping[str, Callable[[str], bool]]] = {
    "date-time": _date_time,
    "date": _date,
    "time": _time,
    "email": lambda text: bool(_EMAIL.fullmatch(text)),
    "uri": _uri,
    "url": _uri,
    "uri-reference": _uri_reference,
    "hostname": _hostname,
    "ipv4": lambda text: _parses(ipaddress.IPv4Address, text),
    "ipv6": lambda text: "%" not in text and _parses(ipaddress.IPv6Address, text),
    "uuid": lambda text: bool(_UUID.fullmatch(text)),
}
