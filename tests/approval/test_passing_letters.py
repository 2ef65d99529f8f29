"""Letters and signs that pass for ASCII's are a named risk in a text and in a name; those of real texts are none."""

import pytest

from rails.approval.content_risks import content_risks

SIGNS = "\u01c0\u01c3\u02d0\u037e\u0589\u05c3\u1fef\u2024\u2044\u204e\u2215\u2236\ua789\ua78a\ufe52\ufe54\ufe55"


@pytest.fixture
def kinds(make):
    def found(after, before="x\n", path="a.py"):
        change = make.change(path, None if before is None else before.encode(), after.encode())
        return {risk.kind for risk in content_risks(change, 1)}

    return found


def test_a_sign_that_passes_for_one_of_ascii_is_a_risk_in_text_and_name(kinds):
    for sign in SIGNS:
        assert kinds(f"if env{sign} == 1\n") == kinds(f"if env {sign}= 1\n") == {"lookalike"}
        assert "lookalike" in kinds("", None, f"src/a{sign}b.py")
        assert kinds(f"env{sign}\nnew\n", f"env{sign}\n") == set(), "it was there"


def test_a_word_in_other_letters_that_pass_is_a_risk(kinds):
    for text, before in [
        ("\u13da\u13aa\u13d9\u13ac = 1\n", "SAVE = 1\n"),
        ("\ua4e2\ua4ee\ua4e6\ua4f0 = 1\n", "SAVE = 1\n"),
        ("\u1d04\u1d0f\u1d20\u1d0f = 1\n", "covo = 1\n"),
        ("l\u1d0fg(1)\n", "x\n"),
        ("\uff45\uff56\uff41\uff4c('x')\n", "x\n"),
        ("\uff55\uff53\uff45\uff52 = 1\n", "user = 1\n"),
        ("\U0001d41e\U0001d42f\U0001d41a\U0001d425('x')\n", "x\n"),
        ("\U0001d5fd\U0001d5ee = 1\n", "x\n"),
    ]:
        assert kinds(text, before) == {"lookalike"}


def test_letters_and_signs_of_real_texts_are_no_risk(kinds):
    for text in [
        "\uff21\uff30\uff29\u306e\u4f7f\u3044\u65b9\n",
        "# \uff2f\uff2b\n",
        "\u211d \u2208 x\n",
        "\u5024\uff08\uff41\uff09\n",
        "\u13e3\u13b3\u13a9\n",
        "\u00bd \u2190 \u2022 \u2013 \u201c\u201d\n",
        "\u05e9\u05dc\u05d5\u05dd\n",
    ]:
        assert kinds(text) == set()


def test_a_name_in_full_width_letters_that_is_ascii_otherwise_is_a_risk(kinds):
    assert "lookalike" in kinds("", None, "\uff53\uff52\uff43/\uff41.py")
    assert "lookalike" not in kinds("", None, "\uff21\uff30\uff29\u4ed5\u69d8.md")
