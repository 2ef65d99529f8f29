"""The gate: what linters, formatters and parsers say about proposed bytes, before anyone approves them."""
