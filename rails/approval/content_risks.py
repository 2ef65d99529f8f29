"""Named risks of the content of a change or the parameters of a run. Pure.

Every changed byte is visible on the card, or a risk here says why not. A named risk asks for the typed word; policy
rules can name it. Not covered: meaning, such as a command assembled from variables.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from rails.approval.diff_view import card_lines, file_diff
from rails.core.changes import FileChange
from rails.core.lazy_pattern import lazy
from rails.core.text import counted, decode_text, one_line, printable
from rails.core.tool_request import Json
from rails.log.masking import Masker, named_secret
from rails.log.suspicious_text import (
    LOOKED_AT,
    credential,
    danger,
    instruction,
    piped_to_shell,
    runs_what_it_fetches,
    texts_of,
)
from rails.render.blocks import show

RiskKind = Literal[
    "hidden", "not_text", "control", "invisible", "lookalike", "secret", "command", "instruction", "variable_path",
    "protected", "delete", "large_deletion", "executable", "checks", "run", "project_tool", "doubt", "policy",
]  # fmt: skip
#: What an ``allow`` has to name before it covers it: the rule would vouch for what nobody has looked at.
UNNAMED_NEVER: Final = frozenset(
    ("not_text", "control", "invisible", "lookalike", "secret", "command", "instruction", "variable_path")
)
#: Lines of a run's parameters that a card shows unless the reader asks for all.
PARAMETER_LINES: Final = 40
#: The longest name of a file that every place shows in full.
_NAME_CHARS: Final = 300
_NAMED: Final = 3

_SYMBOL: Final = "\u2190-\u21ff\u231a-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
#: What draws as people expect: the selector behind a symbol, the joiner between two, the spaces of real typesetting.
_EXPECTED: Final = lazy(f"(?<=[{_SYMBOL}0-9#*])\ufe0f|(?<=[{_SYMBOL}\ufe0f])\u200d(?=[{_SYMBOL}])|[\xa0\u202f\u3000\f]")
_WORD: Final = lazy(r"[^\W\d_]+")
#: Letters of other scripts that most fonts draw as one of these (Unicode's confusables, the ones that are alike).
_ALIKE: Final = str.maketrans(
    "аеорсухіјѕһԁԛԝѵӏАВЕКМНОРСТУХІЈЅԚԜΑΒΕΖΗΙΚΜΝΟΡΤΥΧονρυϲϳօսոհցԱՕՍıɡɑᴏᴄᴠᴡᴢꜱᎪᏴᏟᎠᎬᏀᎻᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᎩᏃꓐꓑꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ",
    "aeopcyxijshdqwvlABEKMHOPCTYXIJSQWABEZHIKMNOPTYXovpucjounhgUOUigaocvwzsABCDEGHJKLMPRSTVWYZBPDTGKJCZFMNLSRVHWXYAEIOU",
)
#: Signs that most fonts draw as one of ASCII's and that no text needs for itself: clicks as ! and |, and the like.
_SIGNS: Final = lazy(
    "[\u01c0\u01c3\u02d0\u037e\u0589\u05c3\u1fef\u2024\u2044\u204e\u2215\u2236\ua789\ua78a\ufe52\ufe54\ufe55]"
)
#: A full-width word that is called as if it were plain, which it is to Python.
_CALLED: Final = lazy("(?<![\uff21-\uff3a\uff41-\uff5a])[\uff21-\uff3a\uff41-\uff5a]{2,}+(?=\\()")
_LEAST_WORD: Final = 3
#: A letter of Turkish and Azerbaijani words, which are no mixture for it.
_DOTLESS: Final = "\u0131"
_DOCUMENTS: Final = (".md", ".markdown", ".rst", ".txt", ".adoc", ".html", ".htm")
_VARIABLE: Final = lazy(r"\$\{|\$\(|\$[A-Z_]{2,}|\$(?i:home|user|pwd)\b|%[A-Za-z_]+%|`|(?:^|/)~")
_ESCAPE: Final = lazy(r"\\.")
#: What a card itself writes for blanks at an end, for tabs and for what it leaves out.
_OWN_SIGNS: Final = lazy(r"\\x20$|^\s*→")
_MASKER: Final = Masker(b"shape")


class Risk(NamedTuple):
    """A risk: its name, the file ("" for all), and a sentence."""

    kind: RiskKind
    path: str
    text: str


def content_risks(change: FileChange, files: int) -> Iterator[Risk]:
    """Yield the risks of ``change``, hidden content included."""
    path = str(change.path)
    yield from _name_risks(change, path)
    old, new = (decode_text(data or b"") for data in (change.before, change.after))
    if old is None or new is None:
        yield Risk("not_text", path, f"{path} is not text, so it cannot be shown.")
        return
    diff = file_diff(change, max_lines=card_lines(files))
    if diff.hidden or diff.shortened:
        what = (
            counted(diff.hidden, "line is", "lines are")
            if diff.hidden
            else f"the middle of {counted(diff.shortened, 'long line')} is"
        )
        yield Risk("hidden", path, f"{path} is long: {what} left out at a terminal until you type v.")
    # By place, not by number of line: what is shown of a line is not what would be written.
    before = old.text.split("\n")
    after = new.text.split("\n")
    known = set(before)
    added = [line.removesuffix("\r") for line in after if line not in known]
    yield from _text_risks(path, added, lambda: f"{old.text}\n{new.text}")
    if own := next(filter(_OWN_SIGNS.search, _between(before, after)), None):
        yield Risk("hidden", path, f"{path} gets a line with signs that mean something else here: {one_line(own, 80)}")
    yield from _command_risks(path, "\n".join(added))
    gone = set(after)
    if what := _secret("\n".join([*added, *(line for line in before if line not in gone)])):
        yield Risk("secret", path, f"{path}: a changed line holds what looks like a key or token ({what}).")


def _between(before: Sequence[str], after: Sequence[str]) -> Sequence[str]:
    same = []
    for old, new in ((before, after), (before[::-1], after[::-1])):
        differ = (n for n, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1])
        same.append(next(differ, min(len(old), len(new))))
    twice = max(0, sum(same) - min(len(before), len(after)))
    return [line.removesuffix("\r") for line in after[same[0] - twice : len(after) - same[1] + twice]]


def parameter_risks(tool: str, parameters: Mapping[str, Json]) -> Iterator[Risk]:
    """Yield the risks of a run's parameters, hidden content included."""
    lines = parameter_lines(parameters)
    if len(lines) > PARAMETER_LINES or any(show(line) != show(line, full=True) for line in lines):
        yield Risk("hidden", "", f"The parameters of {tool} are long: a terminal shows all of them when you type v.")
    texts = list(texts_of(dict(parameters)))
    yield from _text_risks("", [line for text in texts for line in text.split("\n")], lambda: "", tool)
    found = next((hit for text in texts if (hit := _damage(text))), "")
    if found:
        yield Risk("command", "", f"{tool} would get a command that {found}.")
    if what := _secret("\n".join(texts)):
        yield Risk("secret", "", f"A parameter of {tool} holds what looks like a key or token ({what}).")


def returned_risks(text: str) -> Iterator[Risk]:
    """Yield the risks of a tool's output."""
    if words := instruction(text):
        yield Risk("instruction", "", f"It speaks to the agent: {one_line(words, 80)}")
    if what := _secret(text):
        yield Risk("secret", "", f"It holds what looks like a key or token ({what}).")
    yield from _text_risks("", text.split("\n"), lambda: "", "the result")


def parameter_lines(parameters: Mapping[str, Json]) -> list[str]:
    """Return the parameters as JSON, broken after each escaped line break."""
    text = json.dumps(dict(parameters), indent=2, ensure_ascii=False)
    return _ESCAPE.sub(lambda escape: escape[0] + ("\n" if escape[0] == r"\n" else ""), text).split("\n")


def _name_risks(change: FileChange, path: str) -> Iterator[Risk]:
    if len(path) > _NAME_CHARS:
        yield Risk("hidden", path, f"The name {one_line(path, 100)} is too long to be shown everywhere.")
    if change.before is None and _VARIABLE.search(path):
        yield Risk("variable_path", path, f"{path} is a folder or file of this very name; no variable is filled in.")
    for part in change.path.parts:
        if part.isascii():
            continue
        like = _plain(part)
        if (like != part and like.isascii()) or _SIGNS.search(part) or any(map(_mixed, _WORD.findall(part))):
            yield Risk(
                "lookalike", path, f"The name {part} is written with letters of another script: it looks like {like}."
            )
            return


def _text_risks(path: str, lines: Sequence[str], around: Callable[[], str], what: str = "") -> Iterator[Risk]:
    name = path or what
    suspicious = [line for line in lines if not (line.isascii() and line.expandtabs(1).isprintable())]
    hidden = {c for line in suspicious for c in _EXPECTED.sub("", line) if printable(c) != c}
    deceiving = sorted(c for c in hidden if not unicodedata.combining(c))
    kinds: tuple[RiskKind, ...] = ("control", "invisible")
    for kind in kinds:
        found = [c for c in deceiving if (unicodedata.category(c) == "Cc") is (kind == "control")]
        if found:
            yield Risk(kind, path, f"{name} gets {kind} characters: {_listed(found)}.")
    if words := _passing(suspicious, around):
        shown = ", ".join(one_line(word, 40) for word in words[:_NAMED])
        yield Risk("lookalike", path, f"{name} gets words with letters that pass for others: {shown}.")
    if signs := sorted({sign for line in suspicious for sign in _SIGNS.findall(line)}):
        yield Risk("lookalike", path, f"{name} gets signs that pass for others: {_listed(signs)}.")


def _listed(chars: Sequence[str]) -> str:
    named = [f"U+{ord(char):04X} {unicodedata.name(char, '')}".rstrip() for char in chars[:_NAMED]]
    return ", ".join(named) + (f" and {len(chars) - _NAMED} more" if len(chars) > _NAMED else "")


def _passing(lines: Sequence[str], around: Callable[[], str]) -> list[str]:
    """Return the words that mix two scripts, or look like another word of the text."""
    words = list(dict.fromkeys(word for line in lines for word in _WORD.findall(line) if not word.isascii()))
    alike = {word: like for word in words if (like := _plain(word)) != word and like.isascii()}
    for word in [word for word in alike if len(word) < _LEAST_WORD]:
        # A word of many languages; but not alone among plain ones, as in code.
        lone = (found for line in lines if word in (found := _WORD.findall(line)))
        if word.translate(_ALIKE) == word or not any(_is_lone(word, found) for found in lone):
            del alike[word]
    there = set(_WORD.findall(around())) if alike else set()
    called = {word for line in lines for word in _CALLED.findall(line)}
    return [word for word in words if _mixed(word) or alike.get(word) in there or word in called or _styled(word)]


def _is_lone(word: str, words: Sequence[str]) -> bool:
    return any(map(str.isascii, words)) and all(other.isascii() or other == word for other in words)


def _plain(word: str) -> str:
    return unicodedata.normalize("NFKC", word).translate(_ALIKE)


def _styled(word: str) -> bool:
    """Return whether a word is all styled Latin letters, except full-width ones, which prose has too."""
    return len(word) > 1 and all(char < "\uff00" or char > "\uffff" for char in word) and all(map(_variant, word))


def _mixed(word: str) -> bool:
    if not any(map(str.isascii, word)):
        return False
    return any(
        "\u0400" <= char <= "\u052f" or char.translate(_ALIKE) != char or _variant(char)
        for char in word
        if not char.isascii() and char != _DOTLESS
    )


def _variant(char: str) -> bool:
    plain = unicodedata.normalize("NFKC", char)
    return char not in "ªº" and len(plain) == 1 and plain.isascii() and plain.isalpha()


def _command_risks(path: str, added: str) -> Iterator[Risk]:
    document = path.casefold().endswith(_DOCUMENTS)
    if found := _damage(added, document=document):
        yield Risk("command", path, f"{path} gets a command that {found}.")


def _damage(text: str, *, document: bool = False) -> str:
    """Return a command's damage; in a document, only of commands to paste."""
    if found := runs_what_it_fetches(text) if document else danger(text):
        return f"{found[0]}: {one_line(found[1])}"
    if piped := piped_to_shell(text):
        return f"pipes into a shell: {one_line(piped)}"
    return f"cannot be ruled out: {LOOKED_AT:,} characters of it were searched" if len(text) > LOOKED_AT else ""


def _secret(text: str) -> str:
    if _MASKER.may_touch(text) or "«secret:" in text:
        if found := credential(text):
            return found[0]
        if _MASKER.text(text, certain=True) != text:
            return "masked in the log"
    return one_line(named_secret(text), 60)
