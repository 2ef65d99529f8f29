"""The lowest layer: pure data and pure functions, standard library only."""
