"""What keeps a dry run from evaluating something: each is said in the words of the exception."""

from __future__ import annotations


class NotModelled(Exception):
    """Something of n8n's or JavaScript's that the dry run does not do; the text names it."""


class OverBudget(Exception):
    """A bound of the dry run was reached; the text says which."""


class BoundReached(Exception):
    """A bound of one expression or piece of code was reached: its node ends, the dry run goes on."""


class NodeFault(Exception):
    """An error that n8n itself raises in a node or an expression, which expressions do not swallow."""
