"""Only the statements of a Python text that changed are compiled again, and never is a broken text called sound."""

import ast
import inspect
import random
import textwrap
import warnings

import pytest

from rails.gate import baseline
from rails.gate.languages.python import syntax
from rails.gate.languages.python.syntax import Compiled, same_statements, still_compiles
from rails.gate.support import fix_and_lint, partial_format, suppressions

OLD = "import os\n\n\n@cache\ndef f(x):\n    return x\n\n\nclass A:\n    y = 1\n\n\nz = '''\ntext\n'''\n"
OLD += "w = 1; \\\nv = 2\n"


def compiles(data):
    return syntax.error_in("x.py", data) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    return x\n", "    return x + 1\n"),
        ("import os\n", "import os\nimport sys\n"),
        ("import os\n\n\n", ""),
        ("    y = 1\n", "    y = 1\n\n    def g(self):\n        return self.y\n"),
        ("v = 2\n", "v = 3\n"),
        ("text\n", "other text\n"),
        ("v = 2\n", "v = 2\nu = 3"),
    ],
)
def test_a_sound_change_is_seen_without_the_rest(old, new):
    text = OLD.replace(old, new)
    assert compiles(text.encode())
    found = still_compiles(Compiled(OLD.encode()), text.encode())
    assert found is not None
    assert found.data == text.encode()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    return x\n", ""),
        ("    return x\n", "return x\n"),
        ("def f(x):\n", ""),
        ("@cache\n", "@cache\nimport sys\n"),
        ("import os\n", "import os\nelse:\n    pass\n"),
        ("v = 2\n", "if v: pass\n"),
        ("'''\ntext", "text"),
        ("text\n'''\n", "text\n"),
        ("    y = 1\n", "    y = 1\n\n    continue\n"),
        ("import os\n\n\n", "import os \\\n"),
        ("import os\n", "x = (\n"),
        ("v = 2\n", "v = 2\n    u = 3\n"),
        ("import os\n", "import os\x00\n"),
        ("import os\n\n\n", "import os \\"),
    ],
)
def test_a_broken_change_is_never_sound(old, new):
    text = OLD.replace(old, new, 1).encode()
    assert not compiles(text)
    assert still_compiles(Compiled(OLD.encode()), text) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"x = 1\ny = 2\nw = 1\nv = 1\n", b"x = 1\ny = 2\nw = 1\nv = 1\nglobal x\n"),
        (b"x = 1\ny = 2\nw = 1\nv = 1\n", b"x = 1\ny = 2\nw = 1\nv = 1\nfrom __future__ import annotations\n"),
        (b"from __future__ import annotations\ny = 2\nx: (yield) = 1\n", b"y = 2\nx: (yield) = 1\n"),
        (
            b"from __future__ import annotations\nw = 1\ny = 2\nx = 3\n",
            b"from __future__ import annotations\nw = 1\ny = 2\nx: (a if (yield) else b)\n",
        ),
        (b"x = 1\nw = 1\ny = 2\nx = 3\n", b"x = 1\nw = 1\ny = 2\nfrom __future__ import barry_as_FLUFL\n"),
        (b"# -*- coding: latin-1 -*-\nx = '\xe9'\ny = 1\n", b"x = '\xe9'\ny = 1\n"),
        ("# coding: latin-1\n\n'é'\ny = 1\nz = 3\n".encode(), b"# coding: nope\n\n'\xc3\xa9'\ny = 1\nz = 3\n"),
        (b"if x:\r\n    y\r\nz\r\n", b"if x:\r\n    y\r\n  z\r\n"),
    ],
    ids=[
        "global",
        "future too late",
        "future taken away",
        "future",
        "other operators",
        "encoding taken away",
        "encoding",
        "line ends",
    ],
)
def test_what_one_statement_says_of_another_is_compiled_whole(old, new):
    assert still_compiles(Compiled(old), new) is None


MODULES = [
    textwrap.dedent(inspect.getsource(module))
    for module in (baseline, fix_and_lint, partial_format, suppressions, syntax)
]
LINES = [line for module in MODULES for line in module.split("\n") if line.strip()]
ODD = [
    "return 1",
    "yield",
    "global x",
    "x = (",
    "x = 1 \\",
    "'''",
    "else:",
    "@decorated",
    "\tx = 1",
    "",
    "# remark",
    "f(x):",
]


def mutated(text, chance):
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    kind = chance.randrange(6)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, chance.choice(LINES))
    elif kind == 2:
        lines[at] = "    " + lines[at]
    elif kind == 3:
        lines[at] = lines[at].lstrip()
    elif kind == 4:
        lines[at:at] = [chance.choice(ODD)]
    else:
        other = chance.randrange(len(lines))
        lines[at], lines[other] = lines[other], lines[at]
    return "\n".join(lines)


def pieces(text, border):
    lines = text.split("\n")
    return "\n".join([*lines[:border], ""]), "\n".join(lines[border:])


def test_whatever_is_done_to_a_text_the_compiler_agrees():
    chance = random.Random(20)
    sound = 0
    for _ in range(60):
        text = chance.choice(MODULES)
        known = Compiled(text.encode())
        for _ in range(12):
            text = plain(known)
            new = mutated(text, chance)
            found = still_compiles(known, new.encode())
            whole = compiles(new.encode())
            assert whole or found is None, new
            if found is not None:
                sound += 1
                known = found
                for border in chance.sample(known.starts, min(2, len(known.starts))):
                    for piece in pieces(new, border):
                        with warnings.catch_warnings(action="ignore"):  # of an escape in what was cut out of a text
                            ast.parse(piece)
            elif whole:
                known = Compiled(new.encode())
    assert sound > 100


def plain(known):
    return known.data.decode()


def test_a_line_that_goes_on_needs_the_empty_line_after_it():
    old = b"a = 1\nb = 2\nc = 3\nx = 1\\\n\n"
    assert compiles(old)
    assert not compiles(old[:-1])
    assert still_compiles(Compiled(old), old[:-1]) is None


def test_a_name_made_global_by_a_function_does_not_make_the_whole_text_compile_again():
    old = "def f():\n    global x\n    x = 1\n\n\ny = 1\nz = 2\nw = 3\n"
    assert still_compiles(Compiled(old.encode()), old.replace("w = 3", "w = 4").encode())
    inside = old.replace("def f():", "if y:")
    assert still_compiles(Compiled(inside.encode()), inside.replace("w = 3", "w = 4").encode()) is None


def test_warnings_about_the_code_at_hand_are_nobodys():
    old = "x = '\\d'\ny = 1\nz = 2\nw = 3\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert still_compiles(Compiled(old.encode()), old.replace("w = 3", "w = '\\s'").encode())


def test_texts_are_the_same_program_when_the_statements_that_differ_are():
    known = Compiled(OLD.encode())
    assert same_statements(known, OLD.replace("return x", "return ( x )").encode(), 100, syntax.same_program)
    assert not same_statements(known, OLD.replace("return x", "return y").encode(), 100, syntax.same_program)
    assert not same_statements(known, OLD.replace("return x", "return ( x )").encode(), 2, syntax.same_program)
