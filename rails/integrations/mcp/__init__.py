"""The Model Context Protocol server: gate, changes and project tools."""
