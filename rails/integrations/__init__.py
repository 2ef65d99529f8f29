"""Protocols by which other programs use our tools, gate and log."""
