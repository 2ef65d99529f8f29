"""Settings files, and where each value comes from."""
