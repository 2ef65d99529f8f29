"""Tables of a test: all rows are walked in one case, and the row that failed is in the words of the failure."""

import functools
import inspect


def walked(names, rows):
    """Return a decorator like ``pytest.mark.parametrize`` that makes one case of all rows; fixtures are shared."""
    keys, rows = [names] if isinstance(names, str) else names, list(rows)
    assert rows, names

    def decorate(test):
        @functools.wraps(test)
        def every_row(**given):
            for row in rows:
                values = [row] if len(keys) == 1 else row
                try:
                    test(**given, **dict(zip(keys, values, strict=True)))
                except BaseException as error:
                    error.add_note(f"in the row {row!r}")
                    raise

        signature = inspect.signature(test)
        left = [one for name, one in signature.parameters.items() if name not in keys]
        every_row.__signature__ = signature.replace(parameters=left)
        return every_row

    return decorate
