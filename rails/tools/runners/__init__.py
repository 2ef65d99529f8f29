"""What runs a validated request: file tools, commands, HTTP, MCP. Edits: ``rails.edits``."""
