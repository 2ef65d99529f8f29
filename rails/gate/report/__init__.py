"""The forms of a verdict for people and programs."""
