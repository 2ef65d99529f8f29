"""Python's parser is asked about one text at a time."""

import gc
import re
import sys
import threading
import warnings
from pathlib import Path

import pytest

import rails
from rails.data_formats.python_code import alone, parse_tree


class Garbage:
    """What only the collector frees, and what takes a while then."""

    def __init__(self):
        self.itself = self

    def __del__(self):
        for _ in range(200):
            pass


PLACE = "data_formats/python_code.py"


def test_no_other_module_of_the_program_builds_a_syntax_tree():
    folder = Path(rails.__file__).parent
    modules = {str(path.relative_to(folder)): path.read_text("utf-8") for path in folder.rglob("*.py")}
    found = {name for name, text in modules.items() if re.search(r"\bast\.parse\(", text)}
    silencing = {name for name, text in modules.items() if "catch_warnings(" in text}
    assert (found, silencing) == ({PLACE}, {PLACE})


def test_many_threads_that_parse_deep_texts_all_get_their_tree():
    # Garbage is collected while a tree is built, and what it runs then lets another thread go on.
    text = "x = " + "(" * 60 + "1 + a[0].b(c=[1, 2, {3: 4}])" + ")" * 60 + "\n" + "y = [f(i) for i in z if i]\n" * 200
    before = sys.getswitchinterval()
    often = gc.get_threshold()
    failed = []

    def work():
        try:
            for _ in range(10):
                Garbage()
                assert len(parse_tree(text).body) == 201
        except BaseException as error:
            failed.append(error)

    sys.setswitchinterval(1e-6)
    gc.set_threshold(50)
    try:
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
        gc.set_threshold(*often)
    assert failed == []


def test_a_second_text_waits_until_the_first_is_done():
    began = threading.Event()
    order = []

    def second():
        began.set()
        parse_tree("x = 1\n")
        order.append("second")

    with alone():
        thread = threading.Thread(target=second)
        thread.start()
        assert began.wait(60)
        order.append("first")
    thread.join(60)
    assert order == ["first", "second"]


def test_warnings_are_kept_or_made_errors_and_the_filters_are_as_before():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        parse_tree("x = '\\d'\n")
        with pytest.raises((SyntaxWarning, DeprecationWarning, SyntaxError)):
            parse_tree("x = '\\d'\n", "error")
        assert told == []
        warnings.warn("as before", stacklevel=1)
    assert [str(one.message) for one in told] == ["as before"]
