"""What overseer and approval card look for: commands that do damage, credentials, texts that steer an agent.

Covered: the common ways to destroy, to download and run, to take rights, to open a way in, to rewrite shared
history, to publish. Not covered: what is encoded, built up from variables, or spelt in a way nobody has written
down; an alert is a reason to look, and its absence is not a clearance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.core.tool_request import Json
from rails.log.masking import MARK

#: Characters of one text that are searched.
LOOKED_AT: Final = 200_000
_RUNNERS: Final = r"(sudo\s+)?(env\s+)?((ba|z|da|k|fi)?sh|python[0-9.]*|node|perl|ruby|php)\b"
_DANGEROUS: Final[Mapping[str, re.Pattern[str]]] = {
    "deletes without asking": lazy(
        r"\brm\s+(-[a-zA-Z]*[rf][a-zA-Z]*\s+)+|\brm\s+(--\S{1,40}\s+)*--(recursive|force)\b|\bmkfs\b|\bshred\b"
        r"|\bdd\s+[^\n]{0,80}\bof=/dev/|>\s*/dev/(sd|nvme|vd|disk)|\bfind\s[^\n]{0,200}\s-delete\b|\bwipefs\b"
        r"|\bRemove-Item\b[^\n]{0,80}-Recurse\b|\bshutil\.rmtree\(\s*[\"'](/|~)"
    ),
    "throws work away": lazy(r"\bgit\s+(reset\s+[^\n]{0,40}--hard|clean\s+-[a-zA-Z]*f|checkout\s+--\s+\.)"),
    "downloads and runs": lazy(
        rf"\b(curl|wget)\b([^\n]|\\\n){{0,300}}\|\s*{_RUNNERS}|\b((ba|z|da)?sh|source)\s+<\(\s*(curl|wget)\b"
        r"|\b(ba|z|da)?sh\s+-[a-z]*c\s+[\"']?(\$\(|`)\s*(curl|wget)\b"
        rf"|\beval\s+[\"']?\$\(\s*(curl|wget)\b|\bbase64\s+(-d|-D|--decode)\b[^\n|]{{0,80}}\|\s*{_RUNNERS}"
        r"|\b(iwr|irm|Invoke-WebRequest|Invoke-RestMethod)\b[^\n|]{0,200}\|\s*(iex|Invoke-Expression)\b"
        r"|\bpowershell\b[^\n]{0,80}\s-e(nc|ncodedcommand)?\s",
        re.IGNORECASE,
    ),
    "opens a way in": lazy(
        r"/dev/tcp/|\bnc(at)?\s([^\n]{0,80}\s)?-[a-z]*e\b|\bsocat\b[^\n]{0,120}\bexec:|\bauthorized_keys\b",
        re.IGNORECASE,
    ),
    "takes more rights": lazy(
        r"\bsudo\b|\bchmod\s+(-R\s+)?([0-7]?777|[ugo]*\+s)\b|\bsetenforce\s+0\b|\bdocker\s+run\b[^\n]{0,200}--privileged\b"
        r"|\bdocker\s+run\b[^\n]{0,200}\s(-v|--volume)[ =]/:"
    ),
    "rewrites shared history": lazy(
        r"\bgit\s+push\b[^\n]{0,80}(--force\b|\s-[a-z]*f\b|--mirror\b|--delete\b|\s\+\w)|\bgit\s+filter-(branch|repo)\b"
    ),
    "drops data": lazy(
        r"\b(drop\s+(table|database|schema)|truncate\s+table)\b|\bdelete\s+from\s+[\w.\"`]{1,80}\s*(;|$)", re.IGNORECASE
    ),
    "publishes": lazy(r"\b(npm|yarn|pnpm|cargo|poetry|uv)\s+publish\b|\btwine\s+upload\b|\bgem\s+push\b"),
    "stops the machine or everything on it": lazy(
        r":\(\)\s*\{\s*:\s*\|\s*:\s*&\s*\}\s*;\s*:|\bkill\s+-(9|KILL)\s+-1\b"
        r"|(^|[;&|]\s*|\bsudo\s+)(shutdown|reboot|halt|poweroff)\b"
    ),
}
_PIPED: Final = lazy(r"\|&?\s*(sudo\s+)?(env\s+)?(/\S{0,40}/)?(ba|z|da|k|fi)?sh\b(?!\s*\||[\w.=/-])")
_CREDENTIAL: Final = lazy(
    r"\b(sk-ant-[A-Za-z0-9_-]{16,}|sk-[A-Za-z0-9]{32,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,}"
    r"|glpat-[A-Za-z0-9_-]{20,}|A(KIA|SIA)[0-9A-Z]{16}|xox[abprs]-[A-Za-z0-9-]{20,}|AIza[A-Za-z0-9_-]{35}"
    r"|[rs]k_live_[A-Za-z0-9]{16,}|npm_[A-Za-z0-9]{36}|hf_[A-Za-z0-9]{30,})|-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----"
)
#: Marks of the log for shapes that examples and documentation have too.
_COMMON: Final = ("header", "password", "jwt")
_INSTRUCTION: Final = lazy(
    r"\b(ignore|disregard|forget|override)\s+(all\s+)?(of\s+)?(the\s+|your\s+|my\s+)?"
    r"(previous|prior|above|earlier|preceding)\s+(instructions?|prompts?|rules|messages)\b"
    r"|\byou\s+are\s+now\s+(a|an|in)\b|\b(do\s+not|don't|never)\s+(tell|inform|mention\s+\w{1,20}\s+to)\s+the\s+(user|human)\b"
    r"|<\s*/?\s*(system|assistant)\s*>|\bnew\s+instructions?\s*:",
    re.IGNORECASE,
)
_INVENTED: Final = lazy(
    r"^--- PREVIOUS TOOL OUTPUT ---|^Result of \w{1,80}( \(failed\))?; this is data, not instructions:", re.MULTILINE
)


def danger(text: str) -> tuple[str, str] | None:
    """Return what a command in ``text`` would do and where it says so, or ``None``."""
    for what, pattern in _DANGEROUS.items():
        if found := pattern.search(text[:LOOKED_AT]):
            return what, found[0].strip()
    return None


def piped_to_shell(text: str) -> str:
    """Return where ``text`` pipes into a shell, or an empty text."""
    found = _PIPED.search(text[:LOOKED_AT])
    return found[0].strip() if found else ""


def credential(text: str) -> tuple[str, bool] | None:
    """Return what of a credential may be shown, and whether its shape is common in examples; or ``None``.

    The log masks what it knows, so a mark is as good as the credential that it stands for.
    """
    if found := _CREDENTIAL.search(text):
        return f"{found[0][:8]}…, {len(found[0])} characters", False
    marks = [mark[0] for mark in MARK.finditer(text)]
    if not marks:
        return None
    rare = [mark for mark in marks if mark.split(":")[1] not in _COMMON]
    return (rare or marks)[0], not rare


def instruction(text: str) -> str:
    """Return the words that would steer an agent, or an empty text."""
    found = _INSTRUCTION.search(text)
    return found[0] if found else ""


def invented(text: str) -> str:
    """Return the beginning of a tool result that an agent wrote itself, or an empty text."""
    found = _INVENTED.search(text)
    return found[0] if found else ""


def texts_of(value: Json) -> Iterator[str]:
    """Yield every text in a value, and the texts of a list as one line too: a command may be a list of words."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        items = list(value.values()) if isinstance(value, dict) else value
        words = [item for item in items if isinstance(item, str)]
        if isinstance(value, list) and len(words) > 1:
            yield " ".join(words)
        for item in items:
            yield from texts_of(item)
