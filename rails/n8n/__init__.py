"""n8n workflows as data: reading, rules, editing, comparison and pictures."""
