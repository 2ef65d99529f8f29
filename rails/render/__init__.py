"""Blocks and their drawing, independent of their source."""
