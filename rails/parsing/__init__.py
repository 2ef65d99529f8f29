"""Model text in, parsed calls out: requests, refusals, what was ignored, and the prose around them.

``parse.parse`` takes a whole answer, ``parse.AnswerParser`` takes it piece by piece.
"""
