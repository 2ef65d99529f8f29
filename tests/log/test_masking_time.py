"""What is searched for secrets before each question takes eight times the time for eight times the text."""

import time

from rails.log.masking import Masker, named_secret
from tests.rows import walked


def seconds(text):
    begun = time.process_time()
    assert named_secret(text) == ""
    return time.process_time() - begun


@walked("letters", ["A", "aB3/", "a-", "a.", "1", "api_key", '\\"', "[", "= ", "\n"])
def test_the_worst_letters_take_time_in_proportion(letters):
    size = 60_000 // len(letters)
    assert seconds(letters * size * 8) < 30 * max(seconds(letters * size), 0.004)


@walked("sign", ["", "--", "export ", "1.", "self.", "\t"])
def test_a_name_is_found_behind_whatever_stands_before_it(sign):
    assert named_secret(f'{sign}api_key = "aB3dE5gH7jK9mN1pQ3"').endswith("api_key")


@walked("words", ["alpha beta ", "add(a, b); ", "https://example.org/a?b=%20c ", "aB3/"])
def test_words_beside_an_encoded_one_take_no_longer_than_they_are(words):
    begun = time.process_time()
    assert "hunter2" not in Masker(b"k", ["hunter2-hunter2"]).text(f"{words * 60_000} hunter2%2Dhunter2")
    assert time.process_time() - begun < 1


def test_every_shape_is_looked_for_in_a_text_of_all_their_beginnings():
    letters = "skghpxoAKIzacefwyJtdm-_./:=$ "
    text = "".join(letters[n * n % 7919 % len(letters)] for n in range(300_000))
    for said in ("glpat-" + "x" * 20, "AuthoriZation: Bearer abcdefgh12", "sk-ant-" + "a1" * 20, "://u:hunter2@h"):
        assert "«secret:" in Masker(b"k").text(f"{text}\ud800 {said}")
