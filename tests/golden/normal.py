"""What differs from run to run, taken out of a text; everything else stays as it is, byte for byte."""

import json
import re
import sys
from pathlib import Path

from rails.gate.languages.javascript.node_worker import find_node

#: A record's own characters that the log writes as escapes (rails/log: what breaks lines or deceives a screen).
_ESCAPED = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_TOOLS = "python|ruff|ruff format|black|flake8|git|node|eslint|prettier|biome|ai-rails|AI-Rails"
_ALWAYS = (
    (rf"\b({_TOOLS}) \d+\.\d+(\.\d+)?\w*", r"\1 VERSION"),
    (r"\S*/ai-rails-demo-\w+/todo", "PROJECT"),
    (r"\(bubblewrap [\d.]+, overlay\)", "(bubblewrap VERSION, overlay)"),
)
_LIVE = (
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?", "TIME"),
    (r"\b\d{8}-\d{6}-[0-9a-f]{4}\b", "SESSION"),
    (r"\b\d+(\.\d+)?(e-\d+)? ?(ms|s|seconds)\b", r"0 \3"),
    (r"in \d+\.\d+s", "in 0s"),
    (r"process \d+", "process 0"),
    (r"committed [0-9a-f]{12}\b", "committed COMMIT"),
    (r"until \d\d:\d\d UTC", "until TIME"),
    (r"the hash [0-9a-f]{64}", "the hash HASH"),
    (r'("(?:ends|at|timestamp)": ?)\d{9,}(?:\.\d+)?', r"\g<1>0"),
    (r'("cached": ?)\d+', r"\g<1>0"),
    (r'("journal": ?)"[0-9a-f]{16}"', r'\1"JOURNAL"'),
    (r'("(?:duration_ms|seconds)": ?)[\d.e-]+', r"\g<1>0"),
    (r'("version": ?)"(?!2\.1\.0")\d[\w.]*"', r'\1"VERSION"'),
    (r'\btime="[\d.]+"', 'time="0"'),
    (r"(?m)^(python|ruff|black|flake8)  +\d+\.[\d.]+ ", r"\1 VERSION "),
    (r"(?m)^(\w+) +(\S.*?|) *\b(\d+) +(\d+) +\d+\.\d\b", r"\1 \2 \3 \4 0"),
    (r"(?m)^check +version +files +known +ms +rules", "check version files known ms rules"),
)
#: What was known when it was asked (``cached``) depends on how busy the machine is.
_ZERO = ("duration_ms", "seconds", "cached", "ends")


#: Where the programs are that a verdict names.
_PROGRAMS = (
    (sys.executable, "PYTHON"),
    (Path(sys.executable).parent, "BIN"),
    (find_node(Path("/nowhere")) or "no node", "NODE"),
)


def text_of(text, paths=(), *, live=True):
    """Return ``text`` without what varies; ``paths`` are folders, each with the word that stands for it."""
    for path, word in sorted((*paths, *_PROGRAMS), key=lambda pair: -len(str(pair[0]))):
        text = text.replace(str(path), word)
    for pattern, put in (*_ALWAYS, *(_LIVE if live else ())):
        text = re.sub(pattern, put, text)
    return text


def log_of(data, paths=(), *, whole=True):
    """Return a session's log, a record on each line in the order and with the keys that it has.

    ``whole`` says that the first record is in it.
    """
    hashes = {"": ""} if whole else {}
    lines = []
    for line in data.decode("utf-8").splitlines():
        record = json.loads(line)
        assert line == dumped(record), "a record is not written as records are"
        if not hashes:
            hashes[record["prev"]] = "HASH BEFORE"
        assert record["prev"] in hashes, "the chain is broken"
        record["prev"] = hashes[record["prev"]]
        hashes[record["hash"]] = f"HASH {record['seq']}"
        if "seal" in (limits := record["details"].get("limits", {})):
            limits["seal"] = "SEAL"
        if str(record["details"].get("id", "")).startswith("user-"):
            record["details"]["digest"] = "DIGEST"  # of words that name the session
        record |= {"hash": f"HASH {record['seq']}", "timestamp": "TIME", "session_id": "SESSION"}
        lines.append(text_of(dumped(_scrubbed(record)), paths))
    return "\n".join(lines) + "\n"


def dumped(record):
    """Return a record as the log has it."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _scrubbed(value, name=""):
    if isinstance(value, dict):
        value = {key: _scrubbed(item, key) for key, item in value.items()}
        if "version" in value and isinstance(value["version"], str):
            value["version"] = "VERSION" if value["version"] else ""
        return value
    if isinstance(value, list):
        items = [_scrubbed(item) for item in value]
        return sorted(items, key=dumped) if name == "checks" else items
    if name in _ZERO and isinstance(value, int | float) and not isinstance(value, bool):
        return 0
    return value


def transcript(steps, paths, *, live=True):
    """Return what commands printed, one after the other, with their exit codes."""
    parts = []
    for words, result in steps:
        shown = " ".join(json.dumps(str(word)) if re.search(r"\s", str(word)) else str(word) for word in words)
        said = f"{result.out}[stderr]\n{result.err}" if result.err else result.out
        parts.append(text_of(f"$ ai-rails {shown}\n{said}[exit {result.code}]\n", paths, live=live))
    return "\n".join(parts)
