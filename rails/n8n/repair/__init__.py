"""Repairs of what n8n would drop without a word, where exactly one form is valid, or, if asked for, likely."""
