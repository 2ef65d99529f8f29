"""Sessions in the formats of other programs."""
