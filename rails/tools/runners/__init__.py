"""What runs a validated request: built-in file tools, commands, HTTP services, MCP servers.

Edits are not run here: ``rails.edits`` plans and applies them after the gate and an approval.
"""
