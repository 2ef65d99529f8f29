"""A dry run of a workflow: what can be said of it without n8n, and by name what cannot."""
