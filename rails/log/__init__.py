"""The session log: an append-only record of everything that happened. ``writer`` appends, ``reader`` reads and
verifies, ``blobs`` keeps large values by hash.
"""
