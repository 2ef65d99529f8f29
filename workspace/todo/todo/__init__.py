"""A todo list for the terminal."""
