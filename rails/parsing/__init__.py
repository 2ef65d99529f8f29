"""Model text in, parsed calls out: every request is found, repaired only where that is safe, never silently wrong.

``rails.parsing.parse.parse`` takes a whole answer, ``rails.parsing.parse.AnswerParser`` takes it piece by piece.
Both return requests, refusals, what was ignored, and the prose around them.
"""
