"""Which check a file goes to: by its ending, by its name, or by what is in it."""

import json

from rails.gate import registry
from rails.gate.support.check import Kind, suffix_of
from tests.rows import walked

FLOW = json.dumps({"nodes": [], "connections": {}, "settings": {}}).encode()


@walked(
    ("path", "data", "checks"),
    [
        ("a/b.PY", b"", ["python"]),
        ("run", b"#!/usr/bin/env python3\n", ["python"]),
        ("run", b"#!/bin/bash\n", ["shell"]),
        ("run", b"plain\n", ["text"]),
        ("book.ipynb", b"{}", ["notebook", "data"]),
        ("flow.json", FLOW, ["n8n"]),
        ("flow.json", FLOW[:-1], ["data"]),
        ("flow.txt", FLOW, ["text"]),
    ],
)
def test_a_file_goes_to_the_checks_that_want_it_or_to_the_one_that_claims_it(path, data, checks):
    assert registry.checks_for(path, data) == checks


def test_a_kind_may_name_files_in_any_folder():
    kind = Kind("docker", names=frozenset({"dockerfile"}))
    assert [kind.wants(path) for path in ("Dockerfile", "a/Dockerfile", "Dockerfile.md")] == [True, True, False]


def test_the_ending_of_a_hidden_file_is_none():
    assert [suffix_of(path) for path in ("a/.env", "a.B/c", "x.TAR")] == ["", "", ".tar"]
