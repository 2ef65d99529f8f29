"""Blocks drawn as HTML."""
