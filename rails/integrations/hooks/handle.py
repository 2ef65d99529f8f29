"""A host's call: judge before the write, look after it, hold an end with findings.

Hosts allow an edit when a hook fails, and so do we, but the model and person are told, and the write is judged later.
Only findings hold an end, and once what cannot be judged. ``strict`` denies instead.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Final

from rails.core import limits
from rails.core.changes import ChangeSet, unified_diff
from rails.core.errors import FAULT
from rails.core.text import counted, head_and_tail, one_line
from rails.core.verdict import NotChecked, Verdict
from rails.gate.verdicts import LOOSER, checked_nothing
from rails.integrations.daemon.place import HookAnswer
from rails.integrations.hooks.contract import (
    HookCall,
    HookResult,
    Host,
    UnjudgedError,
    not_judged,
    reason_of,
)
from rails.session.hook_session import FoundOnDisk, HostCall, HostedSession, Judged

#: How often in a row the end of an answer is held up for findings that stay.
STOPS: Final = 3
#: Notes that are told of one edit.
_NOTES: Final = 3
_CLOSING: Final = "Nothing was written. Send the edit again, corrected; it is applied to the file on disk."
_TAKE_AWAY: Final = "Remove it, or tell the person what it is for; then end your answer."
_CHANGED_ANYWAY: Final = "It was changed anyway. Restore it, or tell the person why not."
_ANOTHER_WAY: Final = "Nothing was written. Do it another way, or ask the person."
_NOTHING: Final = Verdict("pass", ChangeSet(()))
_WRITTEN: Final = "The files are written as they are. Correct them now, with edits of their own."


def handle(
    host: Host,
    call: HookCall,
    session_of: Callable[[HookCall], HostedSession],
    *,
    strict: bool = False,
) -> HookAnswer:
    """Answer a call; a failure is an answer too (with ``strict`` a deny)."""
    try:
        return host.printed(call, _result(host, call, session_of(call), strict))
    except FAULT as error:
        with contextlib.suppress(*FAULT):  # where the log is what is broken
            session_of(call).failed(f"{call.tool or call.event}: {reason_of(error)}")
        return host.printed(call, not_judged(call, error, strict=strict))


def _result(host: Host, call: HookCall, session: HostedSession, strict: bool) -> HookResult:
    match call.event:
        case "before":
            return _before(host, call, session, strict)
        case "after" | "batch" | "stop":
            return _look(call, session, ends=call.event == "stop")
        case "prompt":
            session.engage(call.prompt)
        case "end":
            session.end("the host's session is over")
    return HookResult()  # of a start: opening the session has taken its snapshot


def _before(host: Host, call: HookCall, session: HostedSession, strict: bool) -> HookResult:
    # Rules are about paths, which are known also where the content is not.
    denied = session.denied(call.call_id, ChangeSet(tuple(host.named_files(call, session.project))))
    if denied:
        session.failed(f"{call.tool}: {denied}")
        return HookResult(deny=f"{denied} {_ANOTHER_WAY}")
    proposal = host.proposed(call, session.project)
    if proposal is None:
        return HookResult()
    for change in proposal.changes:
        if len(change.after or b"") > limits.FILE_BYTES:
            # It would keep every later call of the project waiting until the host's patience is over.
            raise UnjudgedError(f"{change.path} would have more than {limits.FILE_BYTES:,} bytes")
    judged = session.propose(HostCall(call.call_id, call.tool, call.input), proposal)
    result = _judged(host, call, proposal, judged, strict)
    if result.notice and not _is_news(judged.verdict, session):
        return HookResult()
    if told := result.deny or result.context:
        session.told(told, codes=("gate",) if judged.verdict.status == "fail" else ())
    return result


def _judged(host: Host, call: HookCall, proposal: ChangeSet, judged: Judged, strict: bool) -> HookResult:
    verdict = judged.verdict
    if judged.denied:
        return HookResult(deny=f"{judged.denied} {_ANOTHER_WAY}")
    if verdict.status == "fail":
        opening = f"AI-Rails: this edit has {counted(len(verdict.blocking), 'new finding')}."
        return HookResult(deny=_page_of(verdict, opening, _CLOSING))
    if verdict.status == "error":
        return not_judged(call, _shown(_required(verdict)), strict=strict)
    words = _looser_pins(verdict)
    # A host's module has this where the host takes another input without taking it for a permission.
    rewrites = getattr(host, "rewritten", None)
    if rewrites is None or verdict.proposal.digest() == proposal.digest():
        return HookResult(context=words)
    rewritten = rewrites(call, proposal, verdict.proposal)
    if rewritten is not None:
        words = f"{_told_of(verdict)}\n{words}".rstrip()
    return HookResult(rewritten=rewritten, context=words)


def _look(call: HookCall, session: HostedSession, *, ends: bool) -> HookResult:
    """Tell what is on the disk; hold an end for what the model can fix, within the budget; notify the person once."""
    held = session.stopped(again=call.again) if ends else 0
    found = session.look(None if ends else HostCall(call.call_id, call.tool, call.input))
    verdict = found.verdict or _NOTHING
    denied = f"AI-Rails: {found.denied} {_CHANGED_ANYWAY}" if found.denied else ""
    unknown = _unknown(found)
    page = _page(verdict, unknown)
    if page and held >= STOPS:
        stay = f"AI-Rails: findings remain after {held} rounds; see ai-rails review {session.name}."
        return HookResult(notice=stay)
    block = f"{denied}\n{page}".strip()
    missing = ""
    if not block and not unknown and verdict.status == "error" and _is_news(verdict, session):
        missing = f"AI-Rails could not judge what was written: {_shown(_required(verdict))}."
    words = block or unknown or missing or _minor(verdict)
    if ends and not words and verdict.status == "pass" and checked_nothing(verdict):
        words = f"AI-Rails: nothing that was written was checked: {_shown(verdict.not_checked)}."
    # At the end it is another text than the one after the tool.
    anew = bool(words) and session.told(f"{words}\n" if ends else words)
    if page and ends:
        return HookResult(block=block)
    if not anew:
        return HookResult()
    if ends:
        return HookResult(block=f"{words} {_TAKE_AWAY}") if block or unknown else HookResult(notice=words)
    return HookResult(block=block) if block else HookResult(context=words, notice=missing)


def _page(verdict: Verdict, unknown: str) -> str:
    if all(finding.rule == "format" for finding in verdict.blocking):
        return ""
    files = {finding.path for finding in verdict.blocking}
    opening = f"AI-Rails: {counted(len(verdict.blocking), 'new finding')} in {counted(len(files), 'file')} on the disk."
    return _page_of(verdict, opening, f"{_WRITTEN} {unknown}".rstrip())


def _page_of(verdict: Verdict, opening: str, closing: str) -> str:
    from rails.session.feedback import host_page  # where nothing is wrong, it is not needed

    return host_page(verdict, opening, closing)


def _few(words: Sequence[str]) -> str:
    more = f" and {len(words) - 3} more" if len(words) > 3 else ""
    return one_line(", ".join(words[:3]), 1_300) + more


def _unknown(found: FoundOnDisk) -> str:
    said = [f"{one_line(name, 200)} ({why})" for name, why in found.unknown.items()]
    return f"AI-Rails could not judge what was written: {_few(said)}." if said else ""


def _minor(verdict: Verdict) -> str:
    """Return what of formatting and pins is told, or ""."""
    names = sorted({finding.path for finding in verdict.blocking})
    if names:
        return f"AI-Rails: not in the project's format: {_few(names)}. ai-rails gate --fix formats it."
    return _looser_pins(verdict)


def _looser_pins(verdict: Verdict) -> str:
    notes = [one for one in verdict.findings if one.rule == LOOSER and one.new]
    words = [f"{one.path}:{one.line}: {one.message}" for one in notes[:_NOTES]]
    return f"AI-Rails note: {' '.join(words)} {notes[0].remedy}" if notes else ""


def _required(verdict: Verdict) -> list[NotChecked]:
    return [miss for miss in verdict.not_checked if miss.required]


def _shown(missed: Sequence[NotChecked]) -> str:
    return _few([f"{miss.path} by {miss.check} ({miss.reason})" for miss in missed])


def _is_news(verdict: Verdict, session: HostedSession) -> bool:
    """Return whether any of it is news to the person; a missing tool is reported once."""
    news = 0
    for miss in _required(verdict):
        place = "" if "install" in miss.reason else miss.path
        news += session.is_first(f"{miss.check} {miss.reason} {place}")
    return news > 0


def _told_of(verdict: Verdict) -> str:
    fixes = ", ".join(dict.fromkeys(f"{fix.rule} in {fix.path}" for fix in verdict.fixed)) or "formatting"
    lines = [f"AI-Rails changed your text before it was written ({one_line(fixes, 300)}). The file now has:"]
    for change in verdict.proposal.changes:
        if change.proposed is not None:
            lines += unified_diff(change.proposed, change.after, str(change.path), context=0)[2:]
    room = limits.HOST_PAGE_CHARS - 50  # for what says that it was cut
    return head_and_tail("\n".join(lines), room)[0]
