"""Sentences next to a call that say it is only spoken of: it would be sent, it was sent, or its reader is asked first.

    above   the last sentence, where it ends in a colon or is only a label: ``I would send:``, ``The page says:``,
            ``My previous request was:``, ``Never do this:``, ``An example of a call:``
    below   the sentences of the next paragraph: ``Should I run this?``, ``I will not send it.``, ``It is an example.``

They are read in English. What decides above is a ladder: who refuses, or waits for a yes, does not mean it; who says
that he does it now (``let me``, ``I'll``, ``Deleting the file``) does, whatever he speaks of; of the rest, words for
what is shown, said, supposed or past tell.
"""

from __future__ import annotations

from typing import Final

from rails.core.lazy_pattern import lazy

_CHARS: Final = 400
_MARKS: Final = lazy(r"[*_`#>❌✗✘🚫⛔]+")
_NEW_ITEM: Final = lazy(r"\n(?=[ \t]*(?:[-*+]|\d{1,3}[.)]|#{1,6})[ \t])")
_SENTENCE: Final = lazy(r"(?<=[.!?…。！？])[)\"'”]?\s+(?=\S)|;\s+")
_ITEM: Final = "-+0123456789.) \t"
#: What is done with a call, where only a call can be meant, and where its object says so; the same, done already.
_SEND: Final = r"(?:call|emit|execute|invoke|issue|run|send|submit)(?:ning|ing)?"
_DO: Final = rf"(?:{_SEND}|apply|do|delete|make|output|perform|try|type|use|write)"
_DONE: Final = r"(?:applied|called|carried out|executed|issued|made|performed|ran|sent|submitted|tried|wrote)"
_CALL: Final = r"(?:(?:tool|function) )?(?:answer|attempt|block|call|command|invocation|message|request|try)s?"
_IT: Final = (
    rf"(?:(?:this|that|the|such an?|any such) {_CALL}|this|that|it|these|those|them|the following|the above|so)"
)
_EXAMPLE: Final = r"(?:anti-?pattern|demo|examples?|hypothe\w+|illustrat\w+|instance|samples?)"
_FAILED: Final = r"(?:cancelled|denied|executed|failed|refused|rejected|run|sent|skipped)"
_GRANT: Final = (
    r"(?:agree|allow|approv\w+|confirm\w*|consent|fine|go-ahead|green light|happy|object|ok|okay|permi\w+"
    r"|say (?:so|yes))"
)
#: What may stand before the clause that tells: the name of a step, or a clause of its own.
_ASIDE: Final = lazy(
    r"(?:(?:part|phase|step|task) ?\d{0,3}[:.)–—-]+ *)?"
    r"(?:(?:after|although|as(?! an? )|because|before|in \w+|instead of|since|while) [^,:]*, (?=\w))?"
)
#: Above a call, of one who does not mean it, whatever else he says: refused, on a condition.
_REFUSED: Final = (
    rf".*(?:\b(?:against|avoid|cannot|hesitate|never|no longer|nobody|no circumstances|not|refuse|wonder)|n't)(?:"
    rf" \w+){{0,3}}"
    rf" (?:{_DO}|{_DONE}|copy|follow|obey|work)(?: {_IT}| anything like this)?(?: for you)?:",
    r"(?:please )?(?:disregard|ignore)\b.*:|(?:not|nothing like) this\b.*:|(?:i|we)(?: was| were|'ve been| have"
    r" been) (?:asked|told) to\b.*:",
    r"[^,]*\b(?:awaiting|for your|needs|needs your|please|your) (?:approval|confirm\w*|ok|okay|permission)\b[^,]*:",
    rf"(?:please )?(?:avoid {_IT}|do not|don't|never|not like this|what not to do):|(?:not )?{_FAILED}:|not"
    rf" {_FAILED}\b.*:",
    rf"(?:(?:after|as soon as|assuming|if|once|pending|provided|subject to|unless|until|when|with)\b|.*\bonly with"
    rf" your)"
    rf"\b[^,]{{0,30}}\b{_GRANT}\b(?! given)[^.]*:|.*, (?:if|but only) [^,]*\byour?\b[^,]*\b{_GRANT}\b[^.]*:",
    r"(?:if|when|once|unless) you (?:want|like|wish|prefer|give|tell|say)\b[^,]*, i\b[^.]*:",
    r"(?:i|we)(?: will|'ll| am|'m) (?:skip|leav)\w*\b[^.]*:",
    r"(?:i|we) (?:almost|considered|nearly|thought (?:about|of)|(?:was|were) (?:about|going|planning|tempted)"
    r" to)\b[^,]*:",
)
#: Of one who means it, by what he says anywhere or first.
_MEANT: Final = lazy(
    r".*\b(?:let(?:'s| us)(?! (?:assume|imagine|say|suppose))|let me|(?:i|we)(?:'ll| will| shall|'m| am|'re| are|"
    r" have to| need"
    r"| must| want| should| can)(?! (?:\w+ )?not)|here (?:it is|we go)|so (?:i|we)|again|one more|should (?:do|fix"
    r"|work))\b|.*\w,? but\b"
    r"|(?:(?:and|first|next|now|then),? )*(?:i (?!almost|asked|called|could|did|found|had|have|just|might|previously"
    r"|already|propose|ran|saw|sent|suggest"
    r"|tried|was|would|wrote)\w"
    r"|(?!according|considering|during|excluding|given|nothing|pending|quoting|skipping|something|string)[a-z]{2,}ing\b"
    r"|(?:add|change|clean|create|delete|edit|fix|install|list|look|make|move|open|read|remove|rename|replace|revert"
    r"|search"
    r"|update|write)\b)"
)
#: Of the rest: what is an example or a form; what would be; what was sent; what somebody else says; what is asked.
_SHOWN: Final = (
    rf"(?!.*\bexamples? (?:file|has|is|must|needs?|should|was)\b)(?!.*\bused in the\b|for example, \S+\W*$)"
    rf".*\b(?:{_EXAMPLE}|e\.g"
    rf"|theor\w+|syntax|usage|schema|general (?:form|pattern)|(?:minimal|typical) {_CALL}|to reproduce"
    r"|reproduction|steps to|how (?:to|you|one|an?|it) [^.]*|something (?:like|along these lines))\b.*",
    r"(?:(?:expected|correct|general|for reference,?|its|request|the) ){0,4}(?:format|payload|input|output|json)(?:"
    r" (?:for|is|of)\b[^.]*)?",
    r".*\blooks? (?:as follows|like(?: this| so)?)|.*\b(?:as follows|like this)",
    r"(?:what|how|is|are|was|would|can|could|may|am)\b.*\b(?:i|this|the following)\b.*\b(?:allowed|call|correct|do"
    r"|happen|ok|run"
    r"|safe|send|valid|work)\b.*|what happens if\b.*|(?:can|may) i (?:send|run)\b.*",
    r"(?:assum|consider|imagin|suppos)\w*\b.*|let(?:'s| us) (?:assume|imagine|say|suppose)\b.*|say (?:you|i|we"
    r"|the)\b.*",
    r".*\b\w+(?:'d| could| might| would)(?: (?:also|have to|just|next|now|simply|then|\w+ly))? (?:be(?: \w+ as)?"
    r"|be (?:something like(?: this)?|bad|incorrect|wrong|to \w+)|(?:answer|contain|inject|look like|reply|say)\b.*"
    rf"|{_SEND}\b.*|{_DO}(?: {_IT})?|{_DO} .*\b(?:with|is)|{_DO} (?:it|the file).*)",
    rf"(?:users?|you|one|an? \w+|the (?:agent|assistant|client|model|user))\b[^,]* {_SEND}s?(?: {_IT})?",
    rf"to \w+ [^,]*?,? (?:one |you )?{_SEND}",
    r"(?:the )?(?:(?:excerpt|quote|transcript|fixture|culprit|draft|proposal|alternative(?:ly)?)\b.*|(?:\w+ )?log"
    r"|original(?: \w+)?)"
    r"|here is the transcript|.*\bconversation\b.*|(?:copied|excerpt|from|quoted|quoting|instead of|rather than)\b.*"
    r"|option \w+"
    r"|(?:actual|bad|before that|earlier|expected|incorrect|input|invalid|previously|wrong)(?: (?:call|example|one"
    r"|output|request"
    r"|way|result))?|.*\b(?:attacker|injected|injection|malicious)\b.*|\S+'s (?:proposal|suggestion)\b.*",
    r"(?:forbidden|harmful|not (?:allowed|recommended)|prohibited|suspicious|unsafe)\b.*|.*\b(?:dummy|fake) call"
    r"|(?:one|another|a possible)"
    rf" (?:option|possibility|way)\b.*|possible {_CALL}|(?:the )?(?:shape|structure) of an? {_CALL}|(?:message"
    rf"|request|wire) format",
    r"(?!my\b)(?:\w+ ){0,3}(?:his|her|our|their|your|\w+'s)(?: \w+)? (?:answer|e-?mail|example|log|message|reply"
    r"|request|response|text)"
    r"(?: (?:contain\w*|has|is|reads?|says?|was|were))?|you (?:asked about|pasted|quoted|sent|showed)\b.*",
    r"the following(?: \w+)? (?:is|was) (?:an? excerpt|copied|found|from|part of|quoted|taken|untrusted)\b.*"
    r"|here(?:'s| is) what (?!(?:i|we)"
    r" (?:need|want|will|have to|am)|i'll|has to|is needed|must|needs|we'll).*|(?:this|that) (?:did not|didn't|no"
    r" longer|used to) work.*|what \w+(?:"
    r" \w+)? (?:sent|said|would|wrote|looks?)\b.*|what (?:happened|went wrong)\b.*",
    r"(?:that|the following|this) (?:is|was|would be) (?:bad|dangerous|incorrect|invalid|wrong)",
    r"(?:(?:it|that|this) (?:is|was) )?(?:(?:my|that|the|this|your|our) )?(?:very )?(?:broken|earlier|failed|failing"
    r"|first|incorrect"
    rf"|last|malformed|old|original|previous|refused|rejected|skipped|wrong) {_CALL}(?: \(.*| (?:is|looked|that|was"
    rf"|were|which)\b.*)?",
    rf"(?:(?:it|that|this) (?:is|was) )?the {_CALL} (?:in question|i have in mind|(?:that|which) [^,]*|was|you [^,]*"
    rf"|i (?!need)[^,]*)",
    rf"(?:i|we)(?:'ve| had| have)?(?: already| just| previously)* {_DONE}\b(?: {_IT}| this {_CALL})?(?: \w+)?",
    rf"(?=.*\b(?:already|earlier|last|originally|previous|previously|just|before)\b).*\b(?:{_DONE}|run|call)(?:"
    rf" {_IT})?(?: was)?",
    rf"(?:(?:it|that|this) is )?what i (?:have in mind|(?:had )?(?:{_DONE}|did|considered))\b.*",
    r"(?:it|that|this|the (?:bug|cause|problem|failure)) (?:is|was|caused|broke|failed)\b(?=.*\b(?:broke|call|caused"
    r"|failed|failure"
    r"|triggered)\b).*|(?:that|this) failed",
    r"(?:i|we) (?:found|saw) (?:it|that|the following|this)\b.*|(?:in|line) \S+ (?:there )?(?:is|has|it says)\b.*"
    r"|line \d+ .*|.*\b(?:there"
    rf" is|this is) (?:an?|this|the following) {_CALL}\b.*|(?:this|that) {_CALL} is in\b.*",
    r"(?!(?:as|because|i|let|my|now|since|that|this|the (?:task|user)|we|you)\b)(?:[\w./'-]+ ){0,4}?[\w./'-]+"
    r" (?:answered|answers|asked for|emitted|has this block|mentions|responded with|used to send|sent"
    r"|commented|contain|contains|emits|expects|gives?|holds?|includes?|output|printed|prints|proposed|reads?"
    r"|recommended|replied"
    r"|returned|returns?|said|says?|sends|showed|shows?|suggested|uses|wrote)(?: back)?(?: an?| one| that| the"
    r" following| this)?"
    rf"(?: \w+)?(?: (?:instruction|text|{_CALL}))?",
    rf"(?!(?:i|we|you|the (?:task|user))\b)[\w./' -]{{2,40}} (?:asked|asks|instructs|says|tells|told|wants) (?:(?:me"
    rf"|us|you) )?to"
    rf" {_DO}(?: {_IT})?",
    r"(?:here(?:'s| is| are) )?(?:the )?(?:output|reply|response|result) (?:from|of)\b.*",
    r"explain (?:that|the|this)\b.*|you asked what\b.*",
)
#: What is asked or said below a call. The first may also be the last words of an answer, about all of its calls.
_CHOICE: Final = (
    r"which (?:one|option|way|of (?:them|these|those|the two))?[^.?]*\b(?:choose|like|prefer|take|want)\b[^.?]*\?"
)
_BELOW: Final = (
    _CHOICE,
    r"\(?(?:(?:can|could|may|shall|should) (?:i|we)|(?:do|would) you (?:like|want)(?: me| us) to|(?:want me"
    r"|ok(?:ay)?) to"
    r"|is it (?:all ?right|fine|ok(?:ay)?) (?:to|if (?:i|we)))(?: actually| go ahead (?:and|with)| now| really)?"
    rf" ?(?:go ahead(?: and .*)?|proceed|{_DO} {_IT})?(?: for you| now| then)?\?",
    r"(?:would|is|was|are you|do you|do i|may i)\b[^?]*\b(?:agree|all ?right|approve|fine|ok|okay|permission)\b[^?]*\?",
    r"(?:agreed|continue|ok|okay|proceed|yes or no)\?",
    rf"[^?]*\b(?:agree|allow|approve|confirm|ok|okay|permission|reply|say)\b[^?]*\bi(?:'ll| do| may| proceed| run|"
    rf" send| will)\b"
    rf" (?:{_DO}|proceed)\b.*|(?:i|we)(?:'ll| will) (?:only )?{_DO} {_IT} (?:once|only|if|when) you\b.*",
    r"(?:please )?(?:approve|confirm)\b.*\bi (?:run|send|do|proceed)\b.*",
    r"(?:please )?(?:let me know|say|tell me) (?:if|when|whether) (?:(?:i should|i may|i can|you want me to|you'd"
    r" like me to)"
    rf" (?:proceed|run|send|{_DO} {_IT})|(?:it|that|this)(?:'s| is) (?:all ?right|fine|ok))\b.*",
    rf"(?:.{{0,30}}\b)?(?:i|we)(?:'ll|'m| am| are| do| will| would)?(?: \w+ly)? ?(?:never|not|refuse to|won't"
    rf"|wouldn't|don't)"
    rf"(?: going to| want to)?(?: \w+ly)? {_DO} {_IT}(?= ?(?:[.,!:)]|\Z|unless|until|without)).*",
    rf"(?:.{{0,30}}\b)?(?:i|we) (?:did|have|had)(?: ?n[o']t|n't)? ?(?:\w+ly )?(?:not )?(?:issued?|sen[dt]"
    rf"|submit(?:ted)?) {_IT}\b.*",
    rf"(?:please )?(?:do not|don't|never)(?: \w+ly)? (?:call|copy|execute|run|send|use) {_IT}\b.*",
    rf"\(?{_IT} (?:has|is|must|should|was|will)(?: not|n't)(?: been| be| meant)?(?: to be)? (?:an? (?:actual|real)"
    rf" .*|carried out.*"
    r"|executed.*|run\b.*|sent\b.*)|that is not something i will do.*|\(?not (?:carried out|executed|run|sent)\b.*",
    rf"(?:\(|(?:all of this|{_IT}) (?:is|was|were) |(?=for |just |merely |only ))"
    rf"(?:(?:for|just|merely|only|simply|shown|an?) )*(?:{_EXAMPLE}|quote|reference)(?: (?:call|only|purposes"
    rf"|request|for reference))*(?: only)?[.)!]*",
    rf"\(?(?:all of this|{_IT}) (?:is|was|were) (?:just |merely |only |simply )?(?:an? )?(?:\w+ )?(?:{_EXAMPLE}"
    rf"|quote)\b.*",
    r"(?:only|it is only) shown\b.*",
    r"\(?(?:that|this)(?: is|'s| was) (?:just |only )?(?:how|what)(?: an?| it| such an?| the)?(?: tool)?(?: block|"
    r" call| request)?"
    r"(?: would)? (?:look|looks|looked|is|sent|works?)\b.*|(?:that|this) (?:is|was) what \w+(?: \w+)? (?:sent|ran"
    r"|wrote|said)\b.*",
    r"(?:it|that|this)(?: call| one| request)? (?:failed|was (?:denied|refused|rejected)|returned an)(?! .*"
    r" before)\b.*",
    r"(?:please )?(?:disregard|ignore) (?:it|that|the|this)\b.*|\(?(?:do not|don't) (?:copy|execute|run|send)\)?\.?",
    rf"(?:(?:i|we|you)(?:'d| will|'ll| would| should| must)? (?:decided not to|chose not to|hold|rather not|never"
    rf"|should not|must not) {_DO} {_IT}\b"
    rf"|{_IT} (?:must|should) never be (?:run|sent|executed)|i(?:'m| have| am) (?:held|holding) (?:it|that|this)"
    rf" back).*",
    rf".*\byour (?:approval|confirmation|ok|okay|permission)\b.*\b{_DO}(?:ning|ing)? (?:it|that|this)\b.*"
    rf"|.*\b{_DO} (?:it|that|this)\b.*\byour (?:approval|confirmation|ok|okay|permission)\b.*",
    r"\(?(?:so )?(?:that|this|it|the (?:above|block|call|json|request)(?: above| block)?)(?: is|'s| was| comes|"
    r" were) (?:(?:just|merely|not|only|purely"
    r"|simply|never) )?(?:data|from the (?:docs|file|log|page|readme)|mine|quoted|sent|an? (?:example|illustration"
    r"|sketch|template)|an? (?:actual )?request"
    rf"|my (?:last|previous) {_CALL}|the (?:old|previous|failed) {_CALL}|the {_CALL} that (?:failed|was)|the syntax"
    rf"|what (?:i|you|one|they) (?:sent|was|would)"
    r"|what i want)\b.*|\(?(?:quoted )?from (?:the (?:docs|file|log|page|readme)|\S+\.md)\)?\.?|\(?as an"
    r" example\)?\.?|\(?not a real call\)?\.?",
)
_SURELY: Final = lazy(rf"(?:{'|'.join(_REFUSED)})\Z")
_ABOVE: Final = lazy(rf"(?:{'|'.join(_SHOWN)})[:：.?]?\Z")
_BEHIND: Final = lazy(rf"(?:{'|'.join(_BELOW)})\Z")
_ASKED: Final = lazy(_CHOICE)


def said_above(text: str, heading: str = "") -> str:
    """Return the last sentence of ``text``, which ends at a call, if it says that the call is not meant; else "".

    ``heading`` is that of its section: "Example" is said of every call below it that is not said to be meant.
    """
    paragraph = text.rstrip()[-_CHARS:].rpartition("\n\n")[2]
    last = _NEW_ITEM.split(f"\n{paragraph}")[-1].strip()
    sentence = _SENTENCE.split(last)[-1].strip()
    plain = _plain(sentence)
    if _SURELY.match(plain):
        return sentence
    main = _ASIDE.sub("", plain, count=1)
    if _MEANT.match(main):
        return ""
    if (plain[-1:] in (":", "：", "?") or last[:1] in ("#", "*", "_") or plain.startswith("e.g")) and _ABOVE.match(
        main
    ):
        return sentence
    return heading.strip() if heading and _ABOVE.match(_plain(heading)) else ""


def said_below(text: str) -> str:
    """Return the sentence in the first paragraph of ``text``, behind a call, which says so; else "".

    One that ends in a colon is said of what follows it.
    """
    sentences = _SENTENCE.split(text.strip()[:_CHARS].partition("\n\n")[0])
    return next((one.strip() for one in sentences if one.rstrip()[-1:] not in ":：" and _BEHIND.match(_plain(one))), "")


def asked_last(text: str) -> str:
    """Return the question at the end of an answer that leaves the choice of its calls to the reader; else ""."""
    sentence = _SENTENCE.split(text.rstrip()[-_CHARS:].rpartition("\n\n")[2])[-1].strip()
    return sentence if _ASKED.match(_plain(sentence)) else ""


def _plain(text: str) -> str:
    return " ".join(_MARKS.sub("", text.replace("’", "'")).lower().split()).lstrip(_ITEM)
