"""The session log for people: one view-model for terminal, page and programs."""
