"""The Model Context Protocol server: our gate, changes through it, and the project's tools, for any client."""
