"""Edits: from validated requests to exact bytes, from approved bytes to the disk, and back again.

``plan`` (pure but for reading) → gate and approval elsewhere → ``apply`` (all or nothing) → ``history``.
"""
