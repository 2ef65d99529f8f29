"""Folds over a session's records: sessions, turns, progress, totals and open questions."""
