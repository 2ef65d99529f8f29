"""The search index over session logs; without it only speed changes."""
