"""A refused edit comes with the places that a human may accept, each with exactly what it would do there."""

from rails.edits.offer_places import place_choices, with_choice
from rails.edits.plan import plan

from .helpers import at, edit, request, save

FILE = "def total(items):\n    result = 0\n    for item in items:\n        result += item.price\n    return result\n"
STALE = "    for item in items:\n        result += item.cost\n"
NEW = "    for item in items:\n        result += item.price * item.count\n"


def offered(project, *requests):
    return place_choices(requests, plan(requests, project), project)


def test_a_place_is_offered_with_the_change_that_would_be_made_there(tmp_path):
    save(tmp_path, "a.py", FILE)
    asked = edit("a.py", STALE, NEW)
    (offer,) = offered(tmp_path, asked)
    assert (offer.request_id, offer.path, offer.edit) == ("r1", "a.py", 0)
    assert "not in the file" in offer.message
    best = offer.places[0]
    assert (best.first_line, best.last_line) == (3, 4)
    assert best.likeness < 1
    assert best.changes.get(at("a.py")).after == FILE.replace("item.price", "item.price * item.count").encode()
    planned = plan(with_choice([asked], offer, best.handle), tmp_path)
    assert planned.changes == best.changes
    assert planned.fuzzy == (at("a.py"),)
    assert planned.label == " (fuzzy match)"
    assert "Fuzzy match in a.py" in planned.doubts[0]


def test_the_edit_of_several_that_has_no_place_is_the_one_that_is_offered(tmp_path):
    save(tmp_path, "a.py", FILE)
    good = {"file_path": "a.py", "old_string": "def total", "new_string": "def sum_up"}
    stale = {"file_path": "a.py", "old_string": STALE, "new_string": NEW}
    asked = request("multi_edit", edits=[good, stale])
    (offer,) = offered(tmp_path, asked)
    assert offer.edit == 1
    planned = plan(with_choice([asked], offer, offer.places[0].handle), tmp_path)
    after = planned.changes.get(at("a.py")).after.decode()
    assert after == FILE.replace("def total", "def sum_up").replace("item.price", "item.price * item.count")


def test_a_text_that_is_in_several_places_is_offered_at_each_and_is_not_fuzzy(tmp_path):
    save(tmp_path, "a.py", "x = 1\ny = 2\nx = 1\n")
    asked = edit("a.py", "x = 1", "x = 3")
    (offer,) = offered(tmp_path, asked)
    assert [place.first_line for place in offer.places] == [1, 3]
    planned = plan(with_choice([asked], offer, offer.places[1].handle), tmp_path)
    assert planned.changes.get(at("a.py")).after == b"x = 1\ny = 2\nx = 3\n"
    assert planned.fuzzy == ()


def test_nothing_is_offered_where_one_refusal_has_no_place(tmp_path):
    save(tmp_path, "a.py", FILE)
    assert offered(tmp_path, edit("a.py", STALE, NEW), edit("gone.py", "a", "b", 2)) == ()
    assert offered(tmp_path, edit("a.py", STALE, NEW), edit("../a.py", "a", "b", 2)) == ()
    assert offered(tmp_path, edit("a.py", "nothing like it at all\n" * 3, NEW)) == ()
    assert offered(tmp_path, edit("a.py", "def total", "def sum_up")) == ()


def test_a_handle_is_only_good_for_the_file_as_it_was(tmp_path):
    save(tmp_path, "a.py", FILE)
    asked = edit("a.py", STALE, NEW)
    (offer,) = offered(tmp_path, asked)
    save(tmp_path, "a.py", "import os\n" + FILE)
    planned = plan(with_choice([asked], offer, offer.places[0].handle), tmp_path)
    assert [refusal.code for refusal in planned.refusals] == ["stale"]
