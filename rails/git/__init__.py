"""Questions to git; nothing of the judged repository is run."""
