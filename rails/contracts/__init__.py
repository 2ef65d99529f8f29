"""JSON Schemas of the machine-readable results. A field is never taken out or given another meaning."""
