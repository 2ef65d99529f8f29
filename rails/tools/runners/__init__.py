"""Runners of validated requests: file tools, commands, HTTP, MCP. Edits: ``rails.edits``."""
