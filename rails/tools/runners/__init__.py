"""What runs a validated request: file tools, commands, HTTP services, MCP servers.

Edits are planned and applied by ``rails.edits``.
"""
