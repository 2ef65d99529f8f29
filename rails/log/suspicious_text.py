"""Finds damaging commands, credentials, texts steering agents: destroying, downloading and running, gaining rights,
opening access, rewriting shared history, publishing. Encoded or unknown forms are missed: no alert is no clearance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from rails.core.lazy_pattern import lazy
from rails.core.tool_request import Json
from rails.log.masking import MARK

#: Characters of one text that are searched; so many at once, and some of them again with the next ones.
LOOKED_AT: Final = 2_000_000
_AT_ONCE: Final = 200_000
_AGAIN: Final = 2_000
#: Programs that run what they read; before them may stand others that only start them, and a path.
_STARTERS: Final = (
    r"(?:\\?\b(?:sudo|doas|env|nohup|time|nice|command|exec|busybox|timeout|xargs|ssh|su)\b"
    r"(?:\s{1,9}(?:-\S{1,20}|\w{1,20}=\S{0,40})){0,5}(?:\s{1,9}[\w@.]{1,40})??\s{1,9}){0,3}"
    r"[\"'\\]?(?:/?(?:[\w.]{1,20}+/){1,6})?(?:env\s{1,9})?"
)
_SHELLS: Final = r"(?:(?:ba|z|da|k|fi|a|c|tc)?sh\b|(?:pwsh|powershell)\s+-)"
_SHELL_VARIABLE: Final = r"\$\{?(?:SHELL|BASH)\b"
_INTERPRETERS: Final = r"(?:python[0-9.]*|node|deno|bun|perl|ruby|php|lua|osascript|Rscript|tclsh)\b"
_PROGRAMS: Final = rf"{_SHELLS}|{_INTERPRETERS}"
_RUNNERS: Final = rf"{_STARTERS}(?:{_PROGRAMS}|{_SHELL_VARIABLE}|(?:source|\.)\s+/dev/stdin)"
#: What brings a text from elsewhere, or out of a form that nobody can read.
_SOURCE: Final = (
    r"\b(?:(?:curl|wget|aria2c|lwp-request|lynx|httpie|https?\s+(?:GET|https?:)|fetch\s+-\S{0,9}o)\b"
    r"|base(?:64|32)\b[^\n|;]{0,40}?\s-{1,2}[dD]|openssl\b[^\n|;]{0,40}\s-d\b|gpg\b[^\n|;]{0,40}\s-d\b"
    r"|xxd\s+-\w{0,3}r|(?:uudecode|\w{0,2}unzip2?|un(?:xz|zstd|lzma)|\w?z(?:std)?cat"
    r"|(?:\w{1,2}zip2?|xz|zstd|lzma)\s+-\w{0,3}d\w{0,3})\b)"
)
_WEB_REQUEST: Final = (
    r"(?:\b(?:iwr|irm|curl|wget)\b|Invoke-WebRequest|Invoke-RestMethod|Start-BitsTransfer|Download(?:String|Data|File)"
    r"|Net\.WebClient|FromBase64String)"
)
_EXPRESSION: Final = r"(?:\biex\b|Invoke-Expression|ScriptBlock|Assembly\]?::Load)"
_REQUEST: Final = (
    r"(?:urlopen|\b(?:requests|httpx)\.get|\b(?:get|open|file_get_contents)\(\s*[\"']https?:|\bfetch\(|b64decode"
    r"|\batob\(|base64|LWP|Net::HTTP|axios|\bfromhex\(|unhexlify\(|fromCharCode|\bmap\(\s*chr\b|codecs\.decode|Buffer\.from)"
)
#: One of these is in every text that ``_FETCHED`` finds something in: a quick test.
_FETCH_WORDS: Final = str.split(
    "curl wget aria2c lwp lynx http fetch base64 base32 openssl gpg xxd uudecode zip zcat xz zstd lzma iex iwr"
    " irm invoke- powershell pwsh bits certutil javascript: urlopen requests b64decode atob( axios git+ git@"
    " github: gitlab: bitbucket: gist: webclient download fromhex unhexlify fromcharcode chr codecs.decode"
    " buffer.from"
)
_FETCHED: Final[Mapping[str, re.Pattern[str]]] = {
    "downloads and runs": lazy(
        rf"{_SOURCE}[^\n]{{0,200}}?(?:\|&?|>\s*>\()\s*{_RUNNERS}"
        rf"|(?:\b(?:{_PROGRAMS}|source\b|eval\b|exec\b)|(?<!\S)\.\s)(?=[^\n]{{0,123}}?{_SOURCE})"
        rf"[^\n|;&]{{0,40}}?(?:<\(|<<<|\$\(|`)"
        rf"[^\n)`]{{0,80}}?{_SOURCE}"
        rf"|(?m:^|[;&|]|\bthen\b|\bdo\b)[ \t]*(?:\$\(|`)\s*{_SOURCE}"
        rf"|{_SOURCE}(?>[^\n]{{0,120}}?(?:\s-\w{{0,9}}O|\s-\w{{0,9}}o|\s--output(?:-document)?|>)[\s=]*[\"']?"
        rf"(?P<file>[^\s\"';&|)-][^\s\"';&|)]{{0,60}}))(?s:.){{0,160}}?"
        rf"(?:\b(?:{_PROGRAMS}|source|chmod\s+\S{{1,10}})|\s\.)\s+[\"']?(?P=file)(?![\w.])"
        rf"|\bwget\s(?>[^\n;&|]{{0,120}}/)(?P<got>[\w.-]{{1,60}})[\"']?\s{{0,4}}[\n;&](?s:.){{0,160}}?"
        rf"\b(?:{_PROGRAMS}|source|chmod\s+\S{{1,10}})\s+(?:\./)?(?P=got)(?![\w.])",
        re.IGNORECASE,
    ),
    "downloads and runs in PowerShell or Windows": lazy(
        rf"{_WEB_REQUEST}[^\n]{{0,160}}?{_EXPRESSION}|{_EXPRESSION}[^\n]{{0,160}}?{_WEB_REQUEST}"
        r"|\b(?:iex|Invoke-Expression)\s*[($&]|\|\s*(?:iex|Invoke-Expression)\b"
        r"|\b(?:powershell|pwsh)(?:\.exe)?\b[^\n]{0,80}?\s-e(?:nc|c|ncodedcommand)?\s"
        r"|\b(?:mshta|regsvr32|msiexec|rundll32)\b[^\n]{0,80}?(?:https?:|javascript:)"
        r"|\bbitsadmin\b[^\n]{0,40}?/transfer|\bcertutil\b[^\n]{0,80}?-(?:urlcache|decode)\b",
        re.IGNORECASE,
    ),
    "runs code that it fetches or decodes": lazy(
        rf"\b{_INTERPRETERS}(?>[^\n]{{0,40}}?\s-{{1,2}}(?:c|e|r|p|pe|ne|eval|print)\b)[^\n]{{0,160}}?(?:{_REQUEST}|https?://)"
        rf"|(?:(?<![.\w])(?:exec|eval|execSync|(?-i:Function)|system|popen|setTimeout|instance_eval"
        rf"|(?:pickle|marshal)\.loads)|\brunIn\w{{0,4}}Context)\s*\("
        rf"[^;]{{0,100}}?{_REQUEST}"
        r"|(?:\bfetch|\baxios|\bhttps?[\"')]{0,2}\.get)\([^\n]{0,160}?\b(?:eval\b|new\s+Function\b)",
        re.IGNORECASE,
    ),
    "runs a package straight from a URL": lazy(
        r"\b(?:npx|bunx|uvx|(?:pnpm|yarn)\s+dlx|npm\s+(?:exec|x)|pipx\s+run|uv\s+tool\s+run|(?:deno|go|nix)\s+run"
        r"|bun\s+x|(?:pip[0-9.]*|pipx|npm|pnpm|yarn|bun|gem|cargo)\s+(?:install|i|add))\b[^\n;|&`)\]]{0,120}?"
        r"(?:(?<!\.)(?<!registry )(?<!registry=)(?<!-url )(?<!-url=)https?://(?!github\.com/|gitlab\.com/)|git\+(?!https://git(?:hub|lab)\.com/)|git@|github:|gitlab:|bitbucket:|gist:)",
        re.IGNORECASE,
    ),
}
_DANGEROUS: Final[Mapping[str, re.Pattern[str]]] = {
    "deletes without asking": lazy(
        r"\brm\s+(-[a-zA-Z]*\s+){0,4}(-[a-zA-Z]*[rR][a-zA-Z]*\b|--recursive\b)|\brm\s+-[a-zA-Z]*f[a-zA-Z]*\s+[\"']?([~*]|\$\{?HOME|/(?!tmp/|dev/null))"
        r"|\bmkfs(\.\w+)?\s[^\n]{0,40}/dev/|\bshred\s+-|(?i:\b(del|erase|rd|rmdir)\s+(/\w\s+)*/s\b)|\bmv\s+/\*"
        r"|\bdd\s+[^\n]{0,80}\bof=/dev/|>\s*/dev/(sd|nvme|vd|disk)|\bfind\s[^\n]{0,200}\s-delete\b|\bwipefs\b"
        r"|\bRemove-Item\b[^\n]{0,80}-Recurse\b|\brm(tree|Sync|dirSync)\(\s*([\"']~?/[\"']|[\"']~|os\.path\.expanduser|Path\.home|(os\.)?homedir\()"
    ),
    "throws work away": lazy(r"\bgit\s+(reset\s+[^\n]{0,40}--hard|clean\s+-[a-zA-Z]*f|checkout\s+--\s+\.)"),
    "opens a way in": lazy(
        r"/dev/tcp/|\bpty\.spawn\(|\bdup2\(\s*\w{1,20}\.fileno\(\)|\b(eval|assert|system|exec|passthru)\(\s*\$_(GET|POST|REQUEST)"
        r"|\bnc(at)?\s([^\n]{0,80}\s)?-[a-z]*e\b|\bsocat\b[^\n]{0,120}\bexec:|\bauthorized_keys\b",
        re.IGNORECASE,
    ),
    "sends what is secret elsewhere": lazy(
        r"(\b(printenv|env)\s*|(\.ssh/|\.aws\b|\bid_rsa|\.netrc|/etc/shadow)[^\n|]{0,60})\|[^\n]{0,60}\b(curl|wget|nc|ncat)\b"
        r"|\b(curl|wget)\b[^\n]{0,160}(\$\((env|printenv)\b|(\$\(cat\s|@|-file[= ])"
        r"[^\s)]{0,60}(\.ssh/|\.aws/|\.netrc|id_rsa|/etc/(passwd|shadow)))"
        r"|\b(scp|rsync)\s[^\n;|]{0,80}(\.ssh/|\.aws\b)"
        r"|\b(post|put|fetch|urlopen|request)\([^\n]{0,160}(\bos\.environ\b(?!\s*[\[.])|\bprocess\.env\b(?!\s*[\[.?])|\.ssh/|\bid_rsa\b)"
    ),
    "changes what starts at a login or with other programs": lazy(
        r"((>>?|\btee\s+(-a\s+)?|\bopen\()[^\n;|]{0,40}(~|HOME\}?)/\.(\w*rc|\w*profile|zshenv|ssh/\w+)\b"
        r"|(>>?\s*|\btee\s+(-a\s+)?|\bopen\()[\"']?/etc/(sudoers|cron|passwd|shadow|profile|ld\.so|rc\.))"
        r"(?![^\n\"']{0,40}[\"']\s*+(\)(?!\s*,)|\)?\s*+,\s*[\"']r))|\|\s*crontab\b|\bcrontab\s+(-\s*<|[\w./~$])|\bNOPASSWD:"
        r"|\b(cp|mv|ln|install)\s[^\n;|]{0,80}\s[\"']?((~|\$\{?HOME\}?)"
        r"/\.(\w*rc|\w*profile|zshenv|config/autostart/)|/etc/(sudoers|cron|profile))"
        r"|(?i:\bschtasks\s+/create|\breg\s+add\b[^\n]{0,120}\\Run\b)"
        r"|\bgit\s+config\b[^\n]{0,40}\score\.(hooksPath|fsmonitor)\b|\bLD_PRELOAD=[^\s/=]*/"
    ),
    "takes more rights": lazy(
        r"\bsudo\b|\bchmod\s+(-R\s+)?([0-7]?777|[4-7][0-7]{3}|[ugo]*\+s)\b|\bsetenforce\s+0\b|\bdocker\s+run\b[^\n]{0,200}--privileged\b"
        r"|\bdocker\s+run\b[^\n]{0,200}\s(-v|--volume)[ =]/:"
    ),
    "rewrites shared history": lazy(
        r"\bgit\s+push\b[^\n]{0,80}(--force\b|\s-[a-z]*f\b|--mirror\b|--delete\b|\s\+\w)|\bgit\s+filter-(branch|repo)\b"
    ),
    "drops data": lazy(
        r"\b(drop\s+(table|database|schema)|truncate\s+table)\b|\b(terraform\s+destroy|kubectl\s+delete\s+(ns|namespaces?|pv)"
        r"|aws\s+s3\s+(rm|rb)\b[^\n]{0,80}--(recursive|force)|redis-cli\b[^\n]{0,40}flush(all|db)|gh\s+repo\s+delete)\b"
        r"|\bdropDatabase\(|\bdelete\s+from\s+[\w.\"`]{1,80}\s*(;|$)",
        re.IGNORECASE,
    ),
    "publishes": lazy(r"\b(npm|yarn|pnpm|cargo|poetry|uv)\s+publish\b|\btwine\s+upload\b|\bgem\s+push\b"),
    "stops the machine or everything on it": lazy(
        r":\(\)\s*\{\s*:\s*\|\s*:\s*&\s*\}\s*;\s*:|\bkill\s+-(9|KILL)\s+-1\b"
        r"|(?m:^[ \t]*|[;&|]\s+|\bsudo\s+)(shutdown\s+(-[hHrP]|now)|(reboot|halt|poweroff)([ \t]+-f)?[ \t]*(?m:$|[;&]))"
        r"|\biptables\s+-F\b|\bufw\s+disable\b"
    ),
}
#: A row of a table, which begins and ends with a bar, pipes nothing.
_PIPED: Final = lazy(
    rf"(?m)^(?![ \t]*\|[^\n]*\|[ \t]*$)[^\n]*?"
    rf"(?P<piped>\|&?\s*(?![\"']){_STARTERS}(?:{_SHELLS}(?![\w.=/-])|{_SHELL_VARIABLE}))"
)
#: A command on more than one line, and a word in parts, as a shell reads them.
_CONTINUED: Final = lazy(r"\\\r?\n\s*")
_PARTS: Final = lazy(r"(?<=\w)(?:''|\"\"|[\"'\\])(?=\w)")
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
    r"|<\s*+/?\s*+(system|assistant)\s*>|\bnew\s+instructions?\s*:",
    re.IGNORECASE,
)
_INVENTED: Final = lazy(
    r"^--- PREVIOUS TOOL OUTPUT ---|^Result of \w{1,80}( \(failed\))?; this is data, not instructions:", re.MULTILINE
)


def danger(text: str) -> tuple[str, str] | None:
    """Return what a command in ``text`` would do and where, or ``None``."""
    return runs_what_it_fetches(text) or next(filter(None, (_first(_DANGEROUS, part) for part in _parts(text))), None)


def runs_what_it_fetches(text: str) -> tuple[str, str] | None:
    """Return the same for code run unseen: downloaded or encoded."""
    for part in map(_as_read, _parts(text)):
        lower = part.lower()
        if any(word in lower for word in _FETCH_WORDS) and (found := _first(_FETCHED, part)):
            return found
    return None


def _parts(text: str) -> Iterator[str]:
    """Yield a text in overlapping pieces, so that all of it is searched."""
    for start in range(0, max(1, min(len(text), LOOKED_AT) - _AGAIN), _AT_ONCE - _AGAIN):
        yield text[start : start + _AT_ONCE]


def _first(patterns: Mapping[str, re.Pattern[str]], text: str) -> tuple[str, str] | None:
    for what, pattern in patterns.items():
        if found := pattern.search(text):
            return what, found[0].strip()
    return None


def piped_to_shell(text: str) -> str:
    """Return where ``text`` pipes into a shell, or ""."""
    for part in _parts(text) if "|" in text else ():
        if found := _PIPED.search(_as_read(part)):
            return found["piped"].strip()
    return ""


def _as_read(text: str) -> str:
    return _PARTS.sub("", _CONTINUED.sub(" ", text))


def credential(text: str) -> tuple[str, bool] | None:
    """Return a credential's printable part, and whether examples have such; or ``None``. A log's mask counts."""
    if found := _CREDENTIAL.search(text):
        return f"{found[0][:8]}…, {len(found[0])} characters", False
    marks = [mark[0] for mark in MARK.finditer(text)]
    rare = [mark for mark in marks if mark.split(":")[1] not in _COMMON]
    return ((rare or marks)[0], not rare) if marks else None


def instruction(text: str) -> str:
    """Return words that would steer an agent, or ""."""
    found = _INSTRUCTION.search(text)
    return found[0] if found else ""


def invented(text: str) -> str:
    """Return the beginning of a tool result that an agent invented, or ""."""
    found = _INVENTED.search(text)
    return found[0] if found else ""


def texts_of(value: Json) -> Iterator[str]:
    """Yield every text in a value, lists also as lines (commands)."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        items = list(value.values()) if isinstance(value, dict) else value
        words = [item for item in items if isinstance(item, str)]
        if isinstance(value, list) and len(words) > 1:
            yield " ".join(words)
        for item in items:
            yield from texts_of(item)
