"""JSON Schema: which keywords are allowed, what a violation is called, and safe conversion of values."""
