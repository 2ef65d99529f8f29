"""Edits: from requests to exact bytes (``plan``), from approved bytes to disk (``apply``), and back (``history``)."""
