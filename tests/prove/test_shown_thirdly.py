"""20,000 changes of a third kind: what commands leave behind. Moves, modes, swaps, deletions, blanks and near copies.

Several files in one question, as a contained command hands them in: files that change places, that are moved with a
line changed on the way, emptied, deleted whole however long, made executable, changed in blanks only, or written with
letters and signs that pass for those of the file beside them.
"""

import os
import random
from collections import Counter
from types import SimpleNamespace

import pytest

from rails.core.text import decode_text

SEED = int(os.environ.get("AI_RAILS_PROVE_SEED") or int.from_bytes(os.urandom(3)))
PATHS = ["src/model.py", "src/mode1.py", "src/views.js", "README.md", "bin/run", "data/a.json", "b.txt", "c/d/e.css"]
#: What another letter or sign passes for. The reader of a card cannot tell them apart.
PASSING = {"a": "а", "e": "е", "o": "ο", "p": "р", "c": "ϲ", "!": "ǃ", "|": "ǀ", ":": "ː", ";": "\u037e", "/": "⁄"}
WORDS = ["model", "payload", "if a != b:", "open(path)", "x = {}", "return a | b", "echo;", "https://example.org/a"]
BLANKS = [("    ", "\t"), ("\n", " \n"), ("\n", "\n\n"), ("\n\n", "\n"), (" ", "  "), (" ", "\xa0"), ("\n", "\r\n")]


def text(rng):
    count = rng.choice([0, 1, 3, 12, 40, 40, 2_000 if rng.random() < 0.03 else 9])
    lines = [
        f"{rng.choice(['', '    ', '	'])}{' '.join(rng.choices(WORDS, k=rng.randint(0, 4)))}" for _ in range(count)
    ]
    return "\n".join(lines) + ("\n" if lines and rng.random() < 0.9 else "")


def passing(rng, old):
    places = [at for at, char in enumerate(old) if char in PASSING]
    for at in rng.sample(places, min(len(places), rng.choice([1, 1, 3]))):
        old = old[:at] + PASSING[old[at]] + old[at + 1 :]
    return old


def touched(rng, old):
    match rng.choice(["same", "line", "blanks", "one blank", "passing", "end", "swap"]):
        case "line":
            lines = old.split("\n")
            at = rng.randrange(len(lines))
            return "\n".join([*lines[:at], rng.choice(WORDS), *lines[at + rng.randint(0, 1) :]])
        case "blanks":
            return old.replace(*rng.choice(BLANKS))
        case "one blank":
            return old.replace(*rng.choice(BLANKS), 1)
        case "passing":
            return passing(rng, old)
        case "end":
            return old[:-1] if old.endswith("\n") else f"{old}\n"
        case "swap":
            lines = old.split("\n")
            first = rng.randrange(len(lines))
            second = rng.randrange(len(lines))
            lines[first], lines[second] = lines[second], lines[first]
            return "\n".join(lines)
    return old


def request(rng, make):
    """Return what a command did to some files: (before, after) of each path, then a question about them."""
    before = {path: text(rng).encode() for path in rng.sample(PATHS, rng.choice([1, 2, 2, 4, 6]))}
    after = dict(before)
    modes = {}
    names = list(before)
    for _ in range(rng.choice([1, 1, 2, 4])):
        one = rng.choice(names)
        other = rng.choice([*names, *PATHS])
        match rng.choice(["move", "swap", "delete", "empty", "touch", "copy", "new", "mode"]):
            case "move" if one in after and one != other:
                after[other] = touched(rng, after.pop(one).decode()).encode()
            case "swap" if one in after and other in after:
                after[one], after[other] = after[other], after[one]
            case "delete":
                after.pop(one, None)
            case "empty" if one in after:
                after[one] = b""
            case "touch" if one in after:
                after[one] = touched(rng, after[one].decode()).encode()
            case "copy" if one in after:
                after[other] = passing(rng, after[one].decode()).encode()
            case "new":
                after[other] = text(rng).encode()
            case "mode":
                modes[one] = rng.choice([0o755, 0o600, 0o777])
    paths = [path for path in {**before, **after} if before.get(path) != after.get(path)]
    made = [make.change(path, before.get(path), after.get(path), mode=modes.get(path, 0o644)) for path in paths]
    return make.ask(*made, tools=("run_command",)) if made else None


@pytest.mark.timeout(3_600)
def test_no_changed_byte_is_unseen(loaded):
    shown = loaded("shown")
    factories = loaded("conftest")
    shown.Look = lambda width, look=shown.Look: look(width=width * 1_000)  # no line is wrapped: letters differ in width
    make = SimpleNamespace(change=factories.change, ask=factories.ask)
    rng = random.Random(SEED)
    changes = 0
    kinds = Counter()
    plain = 0

    def text_of(data):
        found = decode_text(data)
        return found.text if found else ""

    while changes < int(os.environ.get("AI_RAILS_PROVE_INPUTS", "20000")):
        asked = request(rng, make)
        if asked is None:
            continue
        changes += len(asked.changes.changes)
        plain += not asked.risks
        named = {(risk.kind, risk.path) for risk in asked.named}
        kinds.update(kind for kind, _ in named)
        assert shown.unseen(asked, text_of, ("hidden", "not_text")) == [], (SEED, asked.changes)
        for change in asked.changes.changes:
            path = str(change.path)
            data = change.after
            if data is None:
                assert ("delete", path) in named, (SEED, path)
            new = set(text_of(data or b"")) - set(text_of(change.before or b""))
            if new & {"ǃ", "ǀ", "ː", "\u037e", "⁄"} and ("not_text", path) not in named:
                assert {("lookalike", path), ("hidden", path)} & named, (SEED, path, data)
            if change.before is None and change.mode & 0o111:
                assert ("executable", path) in named, (SEED, path)
    print(f"seed {SEED}: {changes} changes, {plain} questions without a risk, {dict(kinds)}")
    assert plain * 5 > changes / 3
