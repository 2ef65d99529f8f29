"""The gate: linters, formatters and parsers check proposed bytes before anyone approves them."""
