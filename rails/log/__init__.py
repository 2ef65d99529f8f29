"""The session log: an append-only record of everything that happened, and the ways to read it.

``writer`` appends, ``reader`` reads and verifies, ``lines`` holds the form of one record, ``secrets``
masks before anything is written, ``blobs`` keeps large values once, by their hash.
"""
