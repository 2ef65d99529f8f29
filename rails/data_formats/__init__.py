"""JSON, YAML and TOML texts: strict reading, and where each value stands."""
