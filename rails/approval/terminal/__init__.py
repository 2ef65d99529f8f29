"""Questions at the terminal."""
