"""A session, from its task to its result. Start reading at ``turn.py``."""
