"""The whole outcome of one answer of each kind: places, ends, codes, words, repairs, order and prose, as it was read.

``UPDATE_GOLDEN=1`` writes ``outcomes.txt`` anew; read the difference before it is committed.
"""

import os
from pathlib import Path

from rails.parsing.parse import AnswerParser, parse

from .conftest import SHAPES
from .test_corpus import ROWS
from .test_forms import BROKEN, TOOLS

GOLDEN = Path(__file__).parent / "outcomes.txt"


def told(found):
    """An outcome in lines, in the order in which it is given."""
    for one in found.requests:
        repairs = "".join(f"; {note.name} at {note.offset} ({note.confidence})" for note in one.repairs)
        keys = ", ".join(f"{key}: {len(str(value))}" for key, value in one.parameters.items())
        where = f"{one.start}-{one.end} of {found.blocks.get(one.id)}"
        yield f"request {one.id} {one.tool_name} {where} {one.dialect!r} ({keys}){repairs}; {one.explanation!r}"
    for one in found.refusals:
        where = f"{one.start}-{one.end} of {found.blocks.get(one.request_id)}"
        yield f"refusal {one.request_id} {one.code} {where}: {one.message!r} {one.hint!r}"
    for one in found.ignored:
        yield f"ignored {one.start}-{one.end}: {one.reason!r}"
    yield f"prose of {len(found.prose)}: {found.prose[:60]!r}"
    for signal in found.late:
        yield f"signal {type(signal).__name__} {getattr(signal, 'id', '') or ''}".rstrip()


def answers():
    seen = set()
    for row in ROWS:
        if row.kind not in seen:
            seen.add(row.kind)
            for finish in dict.fromkeys((row.finish, "end_turn", "max_tokens")):
                yield f"{row.kind}, {finish}", parse(row.message, SHAPES, finish=finish)
    for name, text in BROKEN.items():
        yield f"broken {name}", parse(text, TOOLS, dialects=[name])
        reader = AnswerParser(TOOLS, report_unread_calls=True)
        reader.feed(text)
        yield f"unread {name}", reader.flush("end_turn")


def test_every_kind_of_answer_is_read_with_all_that_stands_beside_it():
    text = "".join(f"## {name}\n" + "".join(f"{line}\n" for line in told(found)) for name, found in answers())
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text, "utf-8")
    assert text.splitlines() == GOLDEN.read_text("utf-8").splitlines()
