"""Formats of data that files and requests are written in, read strictly, with places."""
