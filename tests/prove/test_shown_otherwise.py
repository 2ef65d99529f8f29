"""20,000 more random changes, by another generator: whole Unicode, flips of ends, marks and encodings, hunks, modes."""

import os
import random
import sys
import unicodedata
from collections import Counter
from types import SimpleNamespace

import pytest

from rails.approval.terminal.screen import Look
from rails.core.text import decode_text

SEED = int(os.environ.get("AI_RAILS_PROVE_SEED") or int.from_bytes(os.urandom(3)))
#: Characters by what they are: each class is drawn from as a whole, not from a list of known ones.
CLASSES = {}
for point in range(0x20, sys.maxunicode + 1):
    if not 0xD800 <= point <= 0xDFFF:
        CLASSES.setdefault(unicodedata.category(chr(point)), []).append(point)
RARE = [kind for kind in CLASSES if kind not in ("Ll", "Lu", "Nd")]
FLIPS = ["final newline", "ends", "one end", "mark", "encoding", "blanks", "tabs", "normal form", "case", "none"]
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "shift_jis", "koi8-r", "utf-7"]
CHARS = "abcdefghij ()=.,'\"{}[]<>&;:#/\\-_+*0123456789"


def odd(rng):
    text = chr(rng.choice(CLASSES[rng.choice(RARE)]))
    return text * rng.choice([1, 1, 1, 2, 40])


def line(rng):
    text = "".join(rng.choices(CHARS, k=rng.choice([0, 1, 5, 20, 60, 60])))
    roll = rng.random()
    if roll < 0.04:
        at = rng.randint(0, len(text))
        return text[:at] + odd(rng) + text[at:]
    if roll < 0.06:
        return text + "".join(chr(rng.choice(CLASSES[kind])) for kind in rng.choices(["Mn", "Lo", "Ll", "Cf"], k=3))
    if roll < 0.07:
        return text + rng.choice(["⤷", "→", "[… 3 tabs …]", "…", "+~", "^ ", "    1 + x", "    7   y"])
    if roll < 0.09:
        return rng.choice(["\t", " ", "\t ", " \t"]) * rng.randint(1, 90) + text + rng.choice(["", " ", "\t", "   "])
    if roll < 0.10:
        return text * rng.randint(8, 40)
    return text


def lines(rng):
    count = rng.choice([0, 1, 2, 8, 30, 30, 120])
    found = [line(rng) for _ in range(count)]
    if found and rng.random() < 0.15:  # the same lines again and again: what belongs to what is not clear
        found = [rng.choice(found[:4]) for _ in range(count)]
    return found


def hunks(rng, old):
    new = list(old)
    for _ in range(rng.choice([0, 1, 1, 2, 3, 9])):
        start = rng.randint(0, len(new))
        end = min(len(new), start + rng.choice([0, 0, 1, 2, 7]))
        piece = new[start:end]
        new[start:end] = rng.choice(
            [
                [],
                piece[::-1],
                piece * 2,
                [line(rng) for _ in range(rng.choice([1, 2, 5]))],
                [one + odd(rng) for one in piece],
                [one.replace(" ", "\xa0", 1) for one in piece],
                [one[:-1] for one in piece],
                [one.swapcase() for one in piece],
            ]
        )
    return new


def encoded(text, encoding):
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        return text.encode("utf-8")


def flipped(rng, text, encoding):
    match rng.choice(FLIPS):
        case "final newline":
            text = text[:-1] if text.endswith("\n") else f"{text}\n"
        case "ends":
            text = (
                text.replace("\r\n", "\n")
                if "\r\n" in text
                else text.replace("\n", rng.choice(["\r\n", "\r", "\x85", "\u2028"]))
            )
        case "one end":
            text = text.replace("\n", "\r\n", 1)
        case "mark":
            text = text[1:] if text.startswith("\ufeff") else f"\ufeff{text}"
        case "encoding":
            encoding = rng.choice(ENCODINGS)
        case "blanks":
            text = text.replace("\n", rng.choice([" \n", "\t\n"]), rng.choice([1, -1]))
        case "tabs":
            text = text.expandtabs(4) if "\t" in text else text.replace("    ", "\t")
        case "normal form":
            text = unicodedata.normalize(rng.choice(["NFC", "NFD", "NFKC"]), text)
        case "case":
            text = text.swapcase()
    return encoded(text, encoding)


def change(rng, make, path):
    old = lines(rng)
    encoding = rng.choice(["utf-8"] * 8 + ENCODINGS)
    text = "\n".join(old) + ("\n" if old and rng.random() < 0.8 else "")
    new = "\n".join(hunks(rng, old)) + ("\n" if old and rng.random() < 0.8 else "")
    before = None if rng.random() < 0.15 else encoded(text, encoding)
    after = flipped(rng, new, encoding) if rng.random() < 0.4 else encoded(new, encoding)
    if before is not None and rng.random() < 0.04:
        after = None
    return None if after == before else make.change(path, before, after)


@pytest.mark.timeout(3_600)
def test_no_changed_byte_is_unseen(loaded):
    shown = loaded("shown")
    factories = loaded("conftest")
    # So wide that no line is wrapped: a reader who counts characters cannot know how wide each is drawn.
    shown.Look = lambda width: Look(width=width * 1_000)
    make = SimpleNamespace(change=factories.change, ask=factories.ask)
    rng = random.Random(SEED)
    changes = 0
    kinds = Counter()
    plain = 0

    def text_of(data):
        found = decode_text(data)
        return found.text if found else ""

    while changes < int(os.environ.get("AI_RAILS_PROVE_INPUTS", "20000")):
        paths = rng.sample(["a.py", "b/c.txt", "d.md", "e.json", "f.xyz"], rng.choice([1, 1, 1, 1, 2, 5]))
        made = [one for path in paths if (one := change(rng, make, path))]
        if not made:
            continue
        request = make.ask(*made, tools=("write_file",))
        changes += len(made)
        plain += not request.risks
        kinds.update(risk.kind for risk in request.named)
        assert shown.unseen(request, text_of) == [], (SEED, request.changes)
    print(f"seed {SEED}: {changes} changes, {plain} questions without a risk, {dict(kinds)}")
    assert plain * 4 > changes
