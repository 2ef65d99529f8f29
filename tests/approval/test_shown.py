"""What is shown is what is written: every changed byte is on card and page, or a named risk says why not."""

import importlib.util
import random
from pathlib import Path

from rails.core.text import decode_text

SPEC = importlib.util.spec_from_file_location("shown", Path(__file__).parent / "shown.py")
shown = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(shown)


def text_of(data):
    found = decode_text(data)
    return found.text if found else ""


def test_a_reader_of_card_or_page_knows_every_changed_byte_or_is_told_of_a_risk(make):
    for seed in range(4):
        rng = random.Random(seed)
        plain = 0
        for _ in range(100):
            request = shown.random_request(rng, make)
            if request is None:
                continue
            plain += not request.risks
            assert shown.unseen(request, text_of) == [], request.changes
        assert plain > 40, "most changes hide nothing and are no risk"
