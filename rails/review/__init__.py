"""The session log, read for people: one view-model, drawn for the terminal, a page or a program."""
