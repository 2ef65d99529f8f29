"""Role agents: a Markdown template becomes a role, and a role the model's prompt.

A template is a valid Claude Code subagent with our fields under ``x-rails``. Prompts depend only on template, protocol
and tools, so caches hold.
"""
