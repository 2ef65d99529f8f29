"""Tell the time."""


def now( ):
    """Return the time."""
    return datetime.now( )
