"""Sentences next to a call that say it is only spoken of: it would be sent, it was sent, or its reader is asked first.

    above   the last sentence, where it ends in a colon: ``I would send:``, ``My previous request was:``,
            ``If you agree, I will run:``, ``Never send this:``, ``An example of a call:``, ``The page says:``
    below   the sentences of the next paragraph: ``Should I run this?``, ``I will not send it.``, ``Only an example.``

They are read in English, and only where they speak of the call as a call: "an example configuration" or "the change
that I made" may well stand above one that is meant, and a call that is held for nothing costs a turn.
"""

from __future__ import annotations

from typing import Final

from rails.core.lazy_pattern import lazy

_CHARS: Final = 400
_MARKS: Final = lazy(r"[*_`#>❌✗✘🚫⛔]+")
_NEW_ITEM: Final = lazy(r"\n(?=[ \t]*(?:[-*+]|\d{1,3}[.)]|#{1,6})[ \t])")
_SENTENCE: Final = lazy(r"(?<=[.!?…。！？])[)\"'”]?\s+(?=\S)|;\s+")
_ITEM: Final = "-+0123456789.) \t"
#: What is done with a call and with nothing else; the call; and what stands for it.
_RUN: Final = r"(?:call|emit|execute|invoke|issue|run|send|submit)"
_DONE: Final = r"(?:called|emitted|executed|invoked|issued|ran|run|sent|submitted)"
_CALL: Final = r"(?:(?:tool|function) )?(?:call|command|invocation|request)s?"
_IT: Final = rf"(?:it|so|that|them|these|this|those|the (?:above|following)|(?:such an?|that|the|this) {_CALL})"
_NOT: Final = r"(?:cannot|never|not|refuse to|won't|wouldn't|don't|didn't|can't|couldn't|haven't|shouldn't|must not)"
_YES: Final = r"(?:agree|approv\w+|confirm\w*|consent|permission|say (?:so|yes)|your (?:go-ahead|ok|okay))"
#: Who does not, or not yet: "I will not", "nobody should", "I'm not able to".
_REFUSES: Final = rf"(?:i|we|you|nobody)\b[^.:?]*?\b(?:{_NOT}|nobody|should)(?: \w+){{0,3}}?"
_SHOWN: Final = (
    # supposed: "I would then send this", "one could call", "a call would look like this"
    rf"(?:[^,]*, )?(?:\w+ )?(?:i|we|you|one|it|users?|(?:an?|the) \w+)(?:'d| would| could| might)(?: have)?(?: \w+)?"
    rf" (?:{_RUN}|{_DONE})(?: {_IT})?",
    rf".*\b{_CALL} (?:(?:can|could|might|would) (?:be|look like)|looks? like)(?: this| so)?",
    # refused, or on a condition: "never send this", "I will not run it", "if you agree, I'll send", "not executed"
    rf"(?:please )?(?:avoid|{_NOT})(?: \w+)? {_RUN}(?:ning|ing)?(?: {_IT})?|not (?:yet )?{_DONE}",
    rf"(?:.*, )?{_REFUSES} (?:{_RUN}|{_DONE})(?:ning|ing)?(?: {_IT})?(?: for you)?",
    rf"(?:after|if|once|unless|until|when|with)\b[^.]*\b{_YES}[^.]*\b(?:i|we)\b[^.]*\b{_RUN}(?: {_IT})?",
    r"(?:please )?(?:disregard|ignore) (?:it|that|this|the following)\b.*",
    # past: "my previous request was", "the call that failed", "I had sent"
    rf"(?:(?:it|that|this|here) (?:is|was) )?(?:my|the|your) (?:earlier|failed|last|old|original|previous|refused"
    rf"|rejected|wrong) {_CALL}(?: was| (?:that|which) .*)?|(?:it|that|this) was (?:my|the|your) {_CALL}"
    rf"|(?:it is |this is )?the {_CALL} (?:(?:that|which) (?:failed|was)\b.*"
    r"|(?:that )?(?:i|you)(?:'d| had| have| would)\b.*)"
    rf"|(?:i|we) (?:had|previously|already|just) (?:already |just |previously )?{_DONE}(?: {_IT})?",
    # an example of a call, or its form
    rf"(?:as |here(?:'s| is) |this is )?(?:an?|for|one|the) (?:\w+ )?(?:example|illustration|instance|sample)(?:,? \w+"
    rf"| of)? (?:an? |the )?{_CALL}\b.*|(?:the )?(?:form|format|shape|syntax) of (?:an?|the|such an?) {_CALL}",
    r"(?:(?:an?|another|bad|good|here(?:'s| is)|minimal|simple|simplest|the|toy|worked) ){0,4}example(?: \d+)?",
    # said by others: "the page says", "notes.md contains the following"
    r"(?!(?:i|we)\b)(?:\S+ ){1,6}(?:answered|contain(?:s|ed)|printed|replied|returned|says|said|sent|wrote)(?: back)?"
    r"(?: this| the following)?",
    rf"(?!(?:i|we|you|the (?:task|user))\b)(?:\S+ ){{1,6}}(?:asks?|tells?|wants?) (?:me|us|you) to {_RUN}(?: {_IT})?",
    r".*\b(?:attackers?|inject\w+|malicious)\b.*",
)
_CHOICE: Final = (
    r"which (?:one|option|of (?:them|these|those|the two))?[^.?]*\b(?:choose|like|prefer|take|want)\b[^.?]*\?"
)
_LATER: Final = r"(?: (?:for you|now|unless .*|until .*|without .*|yet))?[.!)]*"
_SAID: Final = (
    _CHOICE,
    # asked: "Should I run this?", "Is that OK?", "Proceed?"
    rf"\(?(?:can|could|may|shall|should) (?:i|we)(?: actually| go ahead and| now| really)? (?:go ahead|proceed"
    rf"|(?:apply|do|{_RUN}) {_IT})(?: for you| now| then)?\?",
    rf"(?:(?:do|would) you (?:like|want)|want) (?:me|us) to (?:actually |really )?(?:go ahead|proceed"
    rf"|(?:apply|do|{_RUN}) {_IT})\?",
    r"(?:is|would) (?:it|that|this)(?: be)? (?:all ?right|fine|ok|okay)(?: (?:if|to|with) .*)?\?",
    r"do (?:i have your (?:approval|ok|okay|permission)|you (?:agree|approve))\b.*\?",
    r"(?:agreed|ok|okay|proceed|yes or no)\?",
    # refused, or on a condition: "I did not send it", "Do not run this", "If you agree, I'll send it"
    rf"(?:.{{0,30}}\b)?{_REFUSES} (?:be )?(?:{_RUN}|{_DONE}|do)(?:ning|ing)? {_IT}{_LATER}",
    rf"(?:please )?(?:do not|don't|never)(?: \w+ly)? (?:copy|{_RUN}) {_IT}\b.*",
    rf"(?:please )?(?:disregard|ignore) {_IT}\b.*|(?:that|this) {_CALL} (?:failed|was (?:denied|refused|rejected))\.",
    rf"(?:.*\b{_YES}\b.*|reply .*)\b(?:i|we)(?:'ll| will| may)? (?:only )?(?:proceed|(?:do|{_RUN}) {_IT})\b.*",
    rf"(?:i|we)(?:'ll| will) (?:only )?(?:do|{_RUN}) {_IT} (?:if|once|only|when)\b.*",
    # an example, or not a call: "(This is only an example.)", "It was not sent.", "(not a real call)"
    rf"\(?(?:{_IT} (?:is|was) )?(?:just|merely|only|purely) (?:an? )?(?:\w+ )?"
    r"(?:example|illustrati\w+|quote|template)\b.*",
    rf"\(?(?:all of this|{_IT}|the (?:block|call|json|request) above)(?: above)? (?:has|is|must|should|was|were)"
    rf"(?: not|n't| never) (?:be |been |meant to be )?(?:an? (?:actual|real) \w+|carried out|{_DONE})\b.*",
    r"\(?the (?:(?:block|call|json|request) above|above (?:block|call|json|request)) is (?:an example|from|quoted)\b.*",
    rf"\(?(?:as an example|(?:do not|don't) {_RUN}|example only|for illustration(?: only)?|hypothetical"
    rf"|not (?:an? (?:actual|real) {_CALL}|{_DONE}))\)?\.?",
)
_ABOVE: Final = lazy(rf"(?:{'|'.join(_SHOWN)}) ?[:：]\Z")
_BELOW: Final = lazy(rf"(?:{'|'.join(_SAID)})\Z")
_ASKED: Final = lazy(_CHOICE)


def said_above(text: str) -> str:
    """Return the last sentence of ``text``, which ends at a call, if it says that the call is not meant; else ""."""
    paragraph = text.rstrip()[-_CHARS:].rpartition("\n\n")[2]
    last = _NEW_ITEM.split(f"\n{paragraph}")[-1].strip()
    sentence = _SENTENCE.split(last)[-1].strip()
    return sentence if _ABOVE.match(_plain(sentence)) else ""


def said_below(text: str) -> str:
    """Return the sentence in the first paragraph of ``text``, behind a call, which says so; else "".

    One that ends in a colon is said of what follows it.
    """
    sentences = _SENTENCE.split(text.strip()[:_CHARS].partition("\n\n")[0])
    return next((one.strip() for one in sentences if one.rstrip()[-1:] not in ":：" and _BELOW.match(_plain(one))), "")


def asked_last(text: str) -> str:
    """Return the question at the end of an answer that leaves the choice of its calls to the reader; else ""."""
    sentence = _SENTENCE.split(text.rstrip()[-_CHARS:].rpartition("\n\n")[2])[-1].strip()
    return sentence if _ASKED.match(_plain(sentence)) else ""


def _plain(text: str) -> str:
    return " ".join(_MARKS.sub("", text.replace("’", "'")).lower().split()).lstrip(_ITEM)
