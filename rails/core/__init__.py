"""The ground floor: pure data and pure functions, standard library only."""
