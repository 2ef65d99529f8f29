"""The session log, an append-only record of everything, and its readers."""
