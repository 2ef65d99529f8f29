"""Model text in, parsed calls out: every request is found, repaired only where that is safe, never silently wrong.

:func:`rails.parsing.parse.read` takes a whole answer, :class:`rails.parsing.parse.Reader` takes it piece by piece.
Both return requests, refusals, what was ignored, and the prose around them.
"""
