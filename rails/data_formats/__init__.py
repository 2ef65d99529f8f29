"""JSON, YAML and TOML texts: strict reading, and the position of each value."""
