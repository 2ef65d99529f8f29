"""Texts that a tool must say something about: one that says nothing does not look at the file in their place."""

from __future__ import annotations

from typing import Final

#: Breaks at least one rule of nearly every family a project can select.
LINT_CANARY: Final = b"""import sys,os
from os.path import *
import re, collections
def F(a, B = [], l=1):
    x = 1
    if a == None: return not a in B
    try:
        eval("1")
    except:
        pass
    print("%(a)s" % (a,))  # TODO
    assert a
    return dict([(i, i) for i in a]);
class c(object):
    def M(self): return undefined_name
password = 'hunter2'
# x = 1
"""
FORMAT_CANARY: Final = b"x = {  'a':1 }\n"
#: ruff reports this whatever rules are selected, unless it does not look at the file.
BROKEN_CANARY: Final = b"x = (\n"
