"""20,000 random changes: every changed byte is on the card and on the page, or a named risk asks for the typed word."""

import os
import random
from collections import Counter
from types import SimpleNamespace

import pytest

from rails.core.text import decode_text

#: Another seed every time, and it is printed, so that a failure can be seen again.
SEED = int(os.environ.get("AI_RAILS_PROVE_SEED") or int.from_bytes(os.urandom(3)))


def text_of(data):
    found = decode_text(data)
    return found.text if found else ""


@pytest.mark.timeout(3_600)
def test_no_changed_byte_is_unseen(loaded):
    shown = loaded("shown")
    factories = loaded("conftest")
    make = SimpleNamespace(change=factories.change, ask=factories.ask)
    rng = random.Random(SEED)
    changes = 0
    kinds = Counter()
    plain = 0
    while changes < int(os.environ.get("AI_RAILS_PROVE_INPUTS", "20000")):
        request = shown.random_request(rng, make)
        if request is None:
            continue
        changes += len(request.changes.changes)
        plain += not request.risks
        kinds.update(risk.kind for risk in request.named)
        assert shown.unseen(request, text_of) == [], (SEED, request.changes)
    print(f"seed {SEED}: {changes} changes, {plain} questions without a risk, {dict(kinds)}")
    assert plain * 3 > changes
