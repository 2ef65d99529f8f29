"""Frames: two lines that show together that what stands between them is quoted, in whatever language they are.

No list of markup languages is complete, so what decides is how the lines look, not what they mean. A line that closes
something (``++++``, ``-}``, ``@end example``, ``</%doc>``, ``##[endgroup]``, ``:END:``, ``"#;``) and an earlier one
that it mirrors frame the requests between them. So does a line of markup above a request that is indented below it,
and text that stands before a request on its own line and is no sentence (``> ``, ``# ``, ``12 | ``). What follows the
name of somebody else (``User:``, ``Observation:``) is made up for them, and what ``Example:`` announces is shown. A
rule between paragraphs (``---``), headings, lists, emphasis and tables frame nothing.

Nobody can know that such a request was meant or shown; it is held, and its author is told of both lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from rails.core.dataclass import NamedTuple, replace
from rails.core.errors import Refusal
from rails.core.lazy_pattern import lazy
from rails.core.tool_request import RawRequest
from rails.parsing.frame_hints import ASKING, OTHERS, SHOWN, bare_label
from rails.parsing.lead_ins import asked_last, said_above, said_below
from rails.parsing.quoted import INDENTED, OPEN, find_indented
from rails.parsing.uncertain_blocks import only_shown

#: How many pairs of lines are compared; beyond, everything is framed.
_PAIRS: Final = 50_000
#: How many delimited blocks are looked at.
_DELIMITED_BLOCKS: Final = 100
#: Characters of the text before a block that tell whether it is indented code.
_BEFORE: Final = 400
_ITEMS: Final = lazy(r"[ \t\ufeff]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+){0,4}")
#: A line of prose, whatever it begins with: a rule, a heading, an item, a fence, a quoted line, a row of a table,
#: inline code, emphasis, words between quotation marks, a link.
_PLAIN: Final = (
    r"([-*=])[ \t]*(?:\1[ \t]*)+\r?$|_{1,3}\r?$"
    r"|#{1,6}(?:[ \t]+(?!(?:END|end|BEGIN|begin|START|start)(?:[\W_]|\Z)|end[a-z]|[{}<>%@$+=~|:;^&/\\-]"
    r"|\[(?:END|end|/))|[ \t]*\r?$)|>[ \t]"
    r"|[-*+](?:[ \t]|\r?$)|`{3}|~{3}|\.\.\.\r?$"
    r"|\|(?!\|)[^\n]*[\w -]|(?=[^\n]*-)[-:| ]{3,}\r?$"
    r"|[`\"'“‘][^\n]*\w|\{:|(?:\*\*?|__?|~~)(?!(?i:end|stop|begin|start)[*_~]+\r?$)[^\W_]|!?\[[^\]\n]*\][(\[]"
)
_PROSE: Final = lazy(_PLAIN)
#: Begin and end in other languages than English.
_FIRST: Final = "anfang|beginn|début|inicio|início|inizio|начало|开始|開始|시작"
_LAST: Final = "ende|fin|fim|fine|конец|结束|結束|終了|끝"
#: The quick look: a line that could close a frame.
_CLOSER: Final = lazy(
    rf"^[ \t]*(?!{_PLAIN})"
    r"((?:[^\w\s]|_)[^\n]{0,99}|\w{1,30}(?:(?![.!?:…]+\r?$)(?:[^\w\s]{2,20}|[^\w\s\x00-\x7f]|[\])}])"
    r"|[:_./-](?:end|stop)\b[^\n]{0,60}|[ ](?:[Ee]nd|[Ss]top))"
    r"|(?:END|STOP)(?:[ _:-][A-Z _:-]{0,60})?;?|[Ee]nd[ _-]?\w{1,20}|[Ss]top-\w{1,20}|[Cc]lose[ _-]\w{1,20}"
    rf"|[A-Z][A-Z _-]{{0,60}}[ _:-](?:END|STOP)|fi|esac|done|\w{{0,20}}(?i:{_LAST}))[ \t]*\r?$",
    re.M,
)
#: A mark behind other text, at the end of its line.
_CLOSED: Final = lazy(
    r"[^\s][ \t]+((?![.,!?…:;`_'\"“”]|\(\)|\*+[ \t]*\r?$|/>|(?:-+>?|#+)[ \t]*\r?$)"
    r"(?:(?=[^\s]*[-+*%@#=|~^\\])[^\w\s]{2,20}"
    r"|[<{\[⟦〔【◁◀%(@|]{1,3}/[\w:-]{1,40}[^\w\s.,!?:;]{1,3}))[ \t]*\r?$",
    re.M,
)
#: The end of something named: ``/NAME``, ``end NAME``, ``NAME end`` behind symbols, or words joined to one another.
_SYMBOLS: Final = r"(?P<s>(?:[^\w\s]|_|[ \t]){0,20}?)[ \t]*"
_ENDS: Final = tuple(
    lazy(rf"{_SYMBOLS}{rest}", re.IGNORECASE)
    for rest in (
        r"(?:(?<=[^\w\s./~])|(?<=[^\w\s./~#][ \t]))/[^\w\s]{0,5}(?P<n>[\w:-]+)",
        rf"(?:(?:{_LAST})(?!\w)|end|stop|(?:close|fin|fi|cut|ee)(?![a-z]))(?:[ _:.-]*of(?=[ _-]))?[ _:.-]*(?P<n>\w*)",
        r"(?P<n>\w[\w-]{0,30}?)(?:[_:./]|(?<=[^\w\s])[_: .-]+|[_ :-]+(?=END|STOP)|-)(?:end|stop|finish)s?(?![a-z])",
        r"(?P<n>\w{1,20}?)(?:结束|結束|終了|끝)",
    )
)
_MIRRORS: Final = str.maketrans("()[]{}<>«»‹›“”‘’„‚┌└╔╚╭╰┏┗", ")(][}{><»«›‹”“’‘“‘└┌╚╔╰╭┗┏")
#: Words by which Unicode names the two of a pair.
_SIDES: Final = (("TOP LEFT", "BOTTOM RIGHT"), ("LEFT", "RIGHT"), ("LESS-THAN", "GREATER-THAN"), ("DOWN", "UP"))
_SAME_TWICE: Final = frozenset("{[%$@\\+~^=!:&")
#: Names of oneself, behind which one speaks again.
_OWN: Final = frozenset({"a", "action", "ai", "answer", "assistant", "final answer", "response", "thought"})
#: What two lines of markup next to a request may begin with; tags and comments begin alike for some characters more.
_SAME_NEXT: Final = lazy(r"[.@%$;{}^~+&:【]|<[/!]|\[//\]:|\\\w|!(?!\[)|#(?!\d|#+[ \t])|=(?!=+[ \t])")
#: Two of these without an empty line around a request are no rules between paragraphs.
_TIGHT_RULE: Final = lazy(r"([-=*_#~+])\1{3,}")
_TAG_BEGINS: Final = 6
_MARKUP_LINE: Final = 100
#: Characters of a line without a symbol that ``end`` and its first word may end.
_SHORT: Final = 40
_ENDS_PROSE: Final = frozenset(".,:;!?…。：！？)\"'`*_")
#: What rules between paragraphs are made of.
_RULES: Final = frozenset("-*=_.|#~")
_OPENING_END: Final = frozenset("([{`\"'“‘„‚«|>")
#: A line of markup that what is indented below it belongs to.
_OWNS: Final = lazy(
    r"(?:\.\.(?:\s|\Z)|!!!|\?\?\?|///|:::|===[ \t]|[<@%\\{:]|\[\^)|.*(?:::|:[ \t]*[|>][-+]?|[{(\[])[ \t]*\Z", re.S
)
_LISTED: Final = lazy(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
#: Tokens around the turn of the one who answers, which frame nothing.
_OWN_TURN: Final = lazy(r"(?<!to=)assistant|model\b|final|python_tag|im_start\|>[ \t]*\Z", re.IGNORECASE)
_TOKEN: Final = lazy(
    r"</?[|｜]?[^<>\n|｜]{0,40}[|｜]>|<[|｜][^<>\n|｜]{1,40}>|[<\[](?:ctrl|extra_id|reserved|unused)_?\d{1,5}[>\]]"
)
_FIRST_TOKEN: Final = lazy(r"<[|｜]?(?:start|begin)", re.IGNORECASE)
_LAST_TOKEN: Final = lazy(r"end|stop|eo[tm]|suffix|/", re.IGNORECASE)
_HIDDEN: Final = "\0"
#: Characters of a line that a refusal shows.
_WORDS_SHOWN: Final = 40


#: A delimited block of AsciiDoc below the line of its attributes, whose delimiters look like rules; and such a rule.
_DELIMITED: Final = lazy(r"^(\[[A-Za-z][^\]\n]{0,100}\])[ \t]*\r?\n([-=*_]{2,40})[ \t]*\r?\n", re.M)
#: The name of a file on a line of its own, above its block.
_PATH_LINE: Final = lazy(r"(?:\A|\n)[#*`\s]*[\w@\\/-]*[./\\][\w.@\\/-]*[\w`*:]+[ \t]*\Z")
_RULE: Final = lazy(r"^(?:--|[-=*_#~+]{4,40})[ \t]*\r?$", re.M)


class Frame(NamedTuple):
    """A stretch of the answer that two lines frame: its offsets, and what shows it, in words."""

    start: int
    end: int
    what: str


class _Line(NamedTuple):
    """A line of prose without its list markers: its offset, and its number from 1."""

    start: int
    number: int
    text: str


def hides(text: str, start: int) -> bool:
    """Return whether any line of ``text`` from ``start`` on could close a frame. Quick; says yes too often."""
    return any(mark.search(text, start) for mark in (_CLOSER, _CLOSED, _RULE))


def find_frames(
    text: str, blocks: Sequence[tuple[int, int]], hidden: Iterable[tuple[int, int]], *, said: bool = True
) -> list[Frame]:
    """Return the frames around ``blocks``, the offsets of the requests in the answer ``text``, in order.

    ``hidden`` are the offsets of what else is no prose: fences, containers. ``said``: sentences are read, too; whoever
    proposes a change in a chat says that it "would look like this".
    """
    prose = _masked(text, [*blocks, *hidden])
    frames = [frame for block in blocks if (frame := _above(text, prose, *block)) is not None]
    for found in islice(_DELIMITED.finditer(prose), _DELIMITED_BLOCKS):
        last = re.search(rf"^{re.escape(found[2])}[ \t]*\r?$", prose[found.end() :], re.M)
        if last:
            what = f"between two lines {_cut(found[2])} below {_cut(found[1])}"
            frames.append(Frame(found.start(), found.end() + last.end(), what))
    frames += [*_next_to(prose), *_spoken_of(prose, blocks, said=said)]
    opened: list[_Line] = []
    pos = pairs = 0
    for number, whole in enumerate(prose.splitlines(keepends=True), 1):
        start, pos, raw = pos, pos + len(whole), whole.replace(_HIDDEN, "")
        closer = _CLOSER.match(raw) or _CLOSED.search(raw)
        closing = closer[closer.lastindex or 0].strip() if closer else ""
        at = len(opened) if closing else 0
        while at and pairs <= _PAIRS and not _pairs(opened[at - 1].text, closing):
            at, pairs = at - 1, pairs + 1
        if pairs > _PAIRS:
            return [Frame(0, len(text), "in an answer with more lines of markup than can be told apart")]
        if at:
            line = opened[at - 1]
            if not _TOKEN.match(closing) or _LAST_TOKEN.search(closing):
                del opened[at - 1]
            frames.append(_between(line, _Line(start, number, closing), pos))
        elif start < blocks[-1][0]:
            shown = _ITEMS.sub("", raw, count=1).strip()
            mark = shown.rpartition(": ")[2]
            if _could_open(mark) and not (mark[0].isalnum() and mark != shown):
                opened.append(_Line(start, number, mark))
            elif _could_open(shown):
                opened.append(_Line(start, number, shown))
    return frames


def _next_to(prose: str) -> Iterator[Frame]:
    """Yield what the lines next to requests show, and the names behind which they stand."""
    above, made_up, first, answered = _Line(0, 1, ""), None, None, False
    between, spaced, pos = False, False, 0
    for number, whole in enumerate(prose.splitlines(keepends=True), 1):
        start, pos, raw = pos, pos + len(whole), whole.replace(_HIDDEN, "").strip()
        if not raw:
            is_hidden = _HIDDEN in whole
            between, spaced = between or is_hidden, spaced or not is_hidden
            continue
        ruled = not spaced and raw == above.text and _TIGHT_RULE.fullmatch(raw)
        last, above = above, _Line(start, number, raw)
        if between and (ruled or (_alike(last.text, raw) and _CLOSER.match(raw))):
            yield _between(last, above, pos)
        between = spaced = False
        name = bare_label(raw.partition(":")[0] + ":")
        if name in _OWN:
            answered = first is not None
            if made_up:
                yield _behind(made_up, start)
            made_up = None
        elif bare_label(raw) in OTHERS or name in ASKING:
            if first and answered:  # a conversation: what is said in it before this line is shown
                yield _behind(first, start)
            first = first or above
            made_up = above if bare_label(raw) in OTHERS else made_up
    if made_up:
        yield _behind(made_up, pos)


def _spoken_of(prose: str, blocks: Sequence[tuple[int, int]], *, said: bool) -> Iterator[Frame]:
    """Yield what the sentences next to requests, and the question at the end over all of them, say of them."""
    start = -1
    for n, block in enumerate(blocks):
        start = block[0] if start < 0 else start
        below = prose[block[1] : block[1] + _BEFORE].partition(_HIDDEN)[0]
        if n + 1 < len(blocks) and not prose[block[1] : blocks[n + 1][0]].strip():
            continue  # what is said above and below is said of all that follow one another
        first, start = start, -1
        above = prose[max(0, first - _BEFORE) : first].rpartition(_HIDDEN)[2].rstrip()
        line = _PATH_LINE.sub("", above).rstrip().rpartition("\n")[2]
        if words := (line if bare_label(line) in SHOWN else said and said_above(above)):
            number = prose.count("\n", 0, len(prose[:first].rstrip())) + 1
            yield Frame(first, block[1], f"behind {_cut(words)} (line {number})")
        elif said and (words := said_below(below)):
            yield Frame(first, block[1], f"above {_cut(words)} (line {prose.count(chr(10), 0, block[1]) + 1})")
    if words := asked_last(prose[blocks[-1][1] :].replace(_HIDDEN, "")):
        yield Frame(0, len(prose), f"above {_cut(words)}, the answer's last words")


def _behind(line: _Line, end: int) -> Frame:
    return Frame(line.start, end, f"behind {_cut(line.text)} (line {line.number})")


def _between(first: _Line, last: _Line, end: int) -> Frame:
    what = f"between {_cut(first.text)} (line {first.number}) and {_cut(last.text)} (line {last.number})"
    return Frame(first.start, end, what)


def _cut(text: str) -> str:
    return repr(" ".join(text.split())[:_WORDS_SHOWN])


def unless_framed(one: RawRequest | Refusal, frames: Sequence[Frame]) -> RawRequest | Refusal:
    """Return a request, or the refusal of one that stands in one of ``frames``."""
    around = next((frame for frame in frames if frame.start <= one.start < frame.end), None)
    if around is None or isinstance(one, Refusal):
        return one
    return replace(only_shown(around.what, one.start, one.end), request_id=one.id)


def _masked(text: str, stretches: Iterable[tuple[int, int]]) -> str:
    """Return ``text`` with a NUL for each character of ``stretches`` but line ends."""
    pieces, pos = list[str](), 0
    for start, end in sorted(stretches):
        if end > pos:
            hidden = (_HIDDEN * len(line) for line in text[max(start, pos) : end].split("\n"))
            pieces += [text[pos:start], "\n".join(hidden)]
            pos = end
    return "".join([*pieces, text[pos:]])


def _above(text: str, prose: str, start: int, end: int) -> Frame | None:
    """Return what the line above a block shows that is indented below it."""
    first = prose.rfind("\n", 0, start) + 1
    number = prose.count("\n", 0, start) + 1
    opening = text[first:end]
    indent = len(opening) - len(opening.lstrip(" \t")) if not prose[first:start].strip() else 0
    if not indent:
        return None
    for line in reversed(prose[max(0, first - _BEFORE) : first].splitlines()):
        if line.strip() and _HIDDEN not in line and len(line) - len(line.lstrip()) < indent:
            if _OWNS.match(line.strip()):
                return Frame(start, end, f"indented below {_cut(line)} (above line {number})")
            break
    before = prose[max(0, first - _BEFORE) : first]
    before = before if first <= _BEFORE else before.partition("\n")[2]
    return Frame(start, end, f"{INDENTED} on line {number}") if find_indented(opening, before) else None


def _could_open(line: str) -> bool:
    """Return whether a line without its list markers could open a frame."""
    if not line:
        return False
    if _ends_open(line) or line.endswith(("''", '""')) or _CLOSED.search(line):
        return True
    if line[0].isalnum():
        return bool(_WORDS.search(line)) or (len(line) < _SHORT and line[-1] not in _ENDS_PROSE)
    return not _PROSE.match(line)


def _ends_open(line: str) -> bool:
    """Return whether a line ends with a bracket that opens, or with a quotation mark that nothing before it opened."""
    last = line[-1]
    return last in _OPENING_END and (last not in "`\"'|" or (line.count(last) % 2 == 1 and line[0] != "|"))


_WORDS: Final = lazy(rf"(?i:(?:\b|_)(?:begin|start)(?:\b|_)|{_FIRST})|\b[A-Z]{3}|\b(?:then|do)\Z")


_WORD_END: Final = lazy(r"(\W{0,3}\w{1,20})[ ](?:end|stop)", re.IGNORECASE)
_COMMENTED_RULE: Final = lazy(r"(?://|[#;%])[ \t]*[-=*_~]{3}")


def _pairs(opening: str, closing: str) -> bool:
    """Return whether the two lines look like the ends of one frame."""
    if not any(char.isalnum() for char in closing):
        return _mirrors(opening, closing)
    head = _head(opening)
    if head[:1] in ("<", "[") and _TOKEN.match(opening) and _TOKEN.match(closing):
        return not (_OWN_TURN.search(opening) or _FIRST_TOKEN.match(closing))
    if opening == closing:
        return (head == "#" or head[:1] in _SAME_TWICE) and closing[-1] not in ".,;:!?" and len(closing.split()) < 3
    lead = closing.partition(" ")[0]
    if not any(map(str.isalnum, lead)) and _is_led(opening, lead):
        return True
    if opening.endswith(" " + closing) and not (closing[0].isalnum() or closing[-1].isalnum()):
        return True
    tail = re.search(r"\A(\w{1,30})([^\w\s]{2,20}|[^\w\s\x00-\x7f]|[\])}])\Z", closing)
    if tail:
        mirror = _mirror(tail[2])
        return head == mirror and (len(head) > 1 or (head != tail[2] and opening[1:] == tail[1]))
    if named := _WORD_END.fullmatch(closing):
        return re.match(rf"{re.escape(named[1])}[ ](?:begin|start)\b", opening, re.IGNORECASE) is not None
    if closing in ("fi", "esac", "done"):
        return opening.endswith(("then", "do", "in"))
    return any(_ends(end.match(closing), opening, head) for end in _ENDS)


def _is_led(opening: str, lead: str) -> bool:
    """Return whether symbols with text behind them end what ``opening`` begins."""
    mirror = _mirror(lead)
    if opening.startswith(lead) or lead == "<":
        return opening == lead == mirror
    return opening.endswith(f" {lead}" if mirror == lead else mirror) or opening.startswith(mirror)


def _alike(opening: str, closing: str) -> bool:
    """Return whether the lines next to a request, above and below it, begin alike, with a symbol that is no prose."""
    if opening == closing or opening[:1] != closing[:1] or len(opening) > _MARKUP_LINE:
        return False
    return bool(_SAME_NEXT.match(opening)) and (closing[0] != "<" or opening[:_TAG_BEGINS] == closing[:_TAG_BEGINS])


def _ends(found: re.Match[str] | None, opening: str, head: str) -> bool:
    """Return whether a line that ends something, matched, ends what ``opening`` begins."""
    if found is None:
        return False
    name = found["n"].lower()
    if name and found["s"] and head[:1] != found["s"][0] in opening:
        opening = opening[opening.rindex(found["s"][0]) :]
        head = _head(opening)
    if found["s"][:1] != head[:1]:
        return False
    if found["s"] == "<" and name in OPEN:
        return False
    if not head and not name:
        return bool(_WORDS.search(opening))
    rest = opening.lower()[len(head) :]
    if name:
        return re.search(rf"(?:(?<![a-z])|start|begin){re.escape(name)}", rest[:80]) is not None
    return any(char.isalpha() for char in rest)


def _mirrors(opening: str, closing: str) -> bool:
    """Return whether a line of symbols ends what ``opening`` begins, at its start or at its end."""
    end = "".join(closing.split())
    end = end.rstrip(";,.") or end
    head, tail, mirror = _head(opening), _head(opening[::-1])[::-1], _mirror(end)
    if end != mirror and end in opening[1:]:
        return False
    if len(end) > 1 and (
        head.startswith((mirror, "".join(map(_turned, end))))
        or "".join(opening.split()) == mirror
        or (head[:1] == mirror[0] and head.endswith(mirror[1:]))
        or (len(tail) > 1 and end.startswith(_mirror(tail)))
        or (opening == closing and (_COMMENTED_RULE.match(closing) or (len(end) > 2 and end[0] not in _RULES)))
        or (end[0] in "└╚╰┗" and head[:1] == _turned(end[0]))
    ):
        return True
    if head == mirror and opening.count(closing) < opening.count(mirror) + (mirror == end):
        return True
    return opening[-1] != ">" and _ends_open(opening) and _turned(opening[-1]) == end[0]


def _head(text: str) -> str:
    """Return the symbols that a line begins with."""
    return text[: next((n for n, char in enumerate(text) if char.isalnum() or char.isspace()), len(text))]


def _mirror(symbols: str) -> str:
    """Return symbols as they stand at the other side: in reverse, and each bracket turned round."""
    return "".join(_turned(char) for char in reversed(symbols))


def _turned(char: str) -> str:
    turned = char.translate(_MIRRORS)
    if turned != char or char.isascii():
        return turned
    import unicodedata

    name = unicodedata.name(char, "")
    for one, other in (*_SIDES, *((right, left) for left, right in _SIDES)):
        if one in name:
            try:
                return unicodedata.lookup(name.replace(one, other))
            except KeyError:
                continue
    return char
