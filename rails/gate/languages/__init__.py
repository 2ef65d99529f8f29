"""The tools of each programming language."""
