"""What is searched for secrets before each question takes eight times the time for eight times the text."""

import time

from rails.log.masking import named_secret
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
