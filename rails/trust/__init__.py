"""The parts of a project that a human accepted, by digest."""
