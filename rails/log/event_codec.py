"""The form of a record: a JSON line, provable from its bytes.

    {"v":1,"seq":7,…,"message":"…","prev":"<64 hex>","details":{…},"hash":"<64 hex>"}
     └────────────── head ────────────────────────┘           └body┘

    hash = SHA-256( head, "\\n", SHA-256(body) in hexadecimal )

``head`` ends before ``,"details":``, impossible earlier: strings escape quotes. ``prev`` is the previous hash; the
body's own hash allows withholding it. Characters that break lines or deceive screens are escaped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

import msgspec

from rails.core.events.record import FORMAT_VERSION, Record
from rails.core.lazy_pattern import lazy
from rails.core.text import sha256
from rails.core.tool_request import Json

_HEAD_FIELDS: Final = ("timestamp", "session_id", "agent_role", "llm_model_used", "event_type", "message", "prev")
_DECODER: Final = msgspec.json.Decoder()
_BODY: Final = b',"details":'
#: Why a record of a later format is none for this version.
NEWER: Final = "written by a newer version of AI-Rails"
_HASH: Final = b',"hash":"'
_TAIL_LENGTH: Final = len(_HASH) + 64 + 2
# DEL and C1 controls, line and paragraph separators, bidirectional marks, byte-order mark, lone surrogates.
_ESCAPED: Final = lazy("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


_plain_json: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def dumps(value: object) -> str:
    """Return one-line JSON. Raises ValueError for NaN and infinities, TypeError for non-JSON."""
    return escape(_plain_json(value))


def unescaped(value: object) -> str:
    """Return ``value`` as JSON before :func:`escape`."""
    return _plain_json(value)


def escape(text: str) -> str:
    """Return JSON with the characters that break lines or deceive a screen escaped."""
    return (
        text if text.isascii() and "\x7f" not in text else _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    )


def encode_record(
    seq: int,
    timestamp: str,
    session_id: str,
    *,
    agent_role: str,
    llm_model_used: str,
    event_type: str,
    message: str,
    details: Mapping[str, Json],
    prev: str,
    body: bytes = b"",
) -> tuple[bytes, Record]:
    """Return a record's line, newline included, and the record. ``body``: ``dumps(details)``, if at hand."""
    head = dumps(
        {
            "v": FORMAT_VERSION,
            "seq": seq,
            "timestamp": timestamp,
            "session_id": session_id,
            "agent_role": agent_role,
            "llm_model_used": llm_model_used,
            "event_type": event_type,
            "message": message,
            "prev": prev,
        }
    ).encode()[:-1]
    body = body or dumps(details).encode()
    digest = _hash(head, body)
    record = Record(seq, timestamp, session_id, agent_role, llm_model_used, event_type, message, details, prev, digest)
    return b'%s%s%s%s%s"}\n' % (head, _BODY, body, _HASH, digest.encode()), record


def decode_record(line: bytes) -> tuple[Record, bool] | str:
    """Return a line's record and whether its hash is right, or the error."""
    if b"\0" in line:
        return f"it holds {line.count(0)} NUL bytes, as a power cut leaves them"
    try:
        value = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        return "it is not UTF-8"
    except (ValueError, RecursionError):
        return "it is not complete JSON"
    if not isinstance(value, dict):
        return "it is not a JSON object"
    record = _record(value)
    return record if isinstance(record, str) else (record, _proved(line, record.hash))


def unproved_record(line: bytes) -> Record | None:
    """Return a line's record unproved: proof takes a third of the time."""
    try:
        value = _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        decoded = decode_record(line)  # a lone surrogate, which only ``json`` reads
        return None if isinstance(decoded, str) else decoded[0]
    record = _record(value) if isinstance(value, dict) else ""
    return None if isinstance(record, str) else record


def follows(line: bytes, seq: int, prev: str) -> str | None:
    """Return the hash of ``line`` if surely record ``seq`` after ``prev``, unparsed; ``None``: look closer, as always
    for LOG_RECOVERED.
    """
    body_at = line.find(_BODY)
    head = line[:body_at]
    body = line[body_at + len(_BODY) : -_TAIL_LENGTH]
    if not head.startswith(b'{"v":%d,"seq":%d,"' % (FORMAT_VERSION, seq)):
        return None
    if not head.endswith(b',"prev":"%s"' % prev.encode()) or b'"LOG_RECOVERED"' in head:
        return None
    digest = _hash(head, body)
    return digest if line.endswith(b'%s%s"}' % (_HASH, digest.encode())) else None


def _record(value: dict[str, Json]) -> Record | str:
    version, seq, details, digest = (value.get(name) for name in ("v", "seq", "details", "hash"))
    if isinstance(version, int) and version > FORMAT_VERSION:
        return f"it was {NEWER} (format {version})"
    texts = [text for name in _HEAD_FIELDS if isinstance(text := value.get(name), str)]
    if type(seq) is not int or not isinstance(details, dict) or not isinstance(digest, str):
        return "it is not a record of this log"
    if len(texts) < len(_HEAD_FIELDS):
        return "it is not a record of this log"
    timestamp, session_id, agent_role, llm_model_used, event_type, message, prev = texts
    return Record(seq, timestamp, session_id, agent_role, llm_model_used, event_type, message, details, prev, digest)


def _proved(line: bytes, digest: str) -> bool:
    body_at = line.find(_BODY)
    if body_at < 0 or not line.endswith(b'%s%s"}' % (_HASH, digest.encode("utf-8", "replace"))):
        return False
    return _hash(line[:body_at], line[body_at + len(_BODY) : -_TAIL_LENGTH]) == digest


def _hash(head: bytes, body: bytes) -> str:
    return sha256(b"%s\n%s" % (head, sha256(body).encode()))
