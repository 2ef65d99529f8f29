"""Role agents: a Markdown template becomes a role, and a role the model's prompt.

A template is a valid Claude Code subagent with our fields under ``x-rails``. The system prompt depends only on the
template, the protocol and the role's tools, so caches hold; texts are joined, never substituted into each other.
"""
