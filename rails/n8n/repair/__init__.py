"""Repairs of what n8n would silently drop, with one valid or, if asked for, likely form."""
