"""Other programs: what they can listen to."""
