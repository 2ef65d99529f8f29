"""A named tuple of ours is what the standard library's is, without a compiled annotation."""

from __future__ import annotations

import pickle
import typing

from rails.core.dataclass import NamedTuple

SOURCE = '''
class Row(NamedTuple):
    """One row."""

    text: str
    old: int | None = 7

    @property
    def both(self) -> str:
        return f"{self.text}{self.old}"
'''


class Kept(NamedTuple):
    text: str
    old: int | None = 7


def made(base):
    namespace = {"NamedTuple": base, "__name__": "m"}
    exec("from __future__ import annotations\n" + SOURCE, namespace)
    return namespace["Row"]


def test_it_is_made_as_the_standard_library_makes_it():
    ours, theirs = made(NamedTuple), made(typing.NamedTuple)
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "_fields", "_field_defaults", "__mro__"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert mine == other or (name == "__mro__" and mine[1:] == other[1:])
    assert typing.get_type_hints(ours) == typing.get_type_hints(theirs)
    row = ours("a", old=1)
    assert (repr(row), row, row.both, row._replace(old=2)) == ("Row(text='a', old=1)", ("a", 1), "a1", ("a", 2))


def test_it_survives_pickling():
    assert pickle.loads(pickle.dumps(Kept("a"))) == Kept("a", 7)
