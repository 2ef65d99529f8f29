"""Folds over a session's records: views, progress, totals."""
