"""Hundreds of random trees of links at each level of the sandbox: no command reads anything of a home through them."""

import os
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sandbox.conftest import label_of
from tests.sandbox.link_trees import LINKS, leaks

EXAMPLES = int(os.environ.get("AI_RAILS_EXAMPLES", "300"))


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("level", [3, 2, 1])
def test_no_tree_of_links_lets_a_command_read_what_is_not_the_projects(level, capsys):
    """What is readable is the project, the system and our list; the counts are printed."""
    label = label_of(level)
    counts = Counter()

    @given(LINKS, st.booleans())
    @settings(max_examples=EXAMPLES, deadline=None, database=None)
    def holds(links, writes):
        counts["trees"] += 1
        counts["links"] += len(links)
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            home = Path(folder).resolve() / "home"
            patch.setenv("HOME", str(home))
            assert leaks(home, links, label, writes=writes) == set()

    holds()
    with capsys.disabled():
        print(f"\nlevel {level}: {counts['trees']} trees, {counts['links']} links, nothing readable beyond the list")
