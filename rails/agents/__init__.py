"""Role agents: a Markdown template becomes a role, and a role becomes the prompt that the model reads.

A template is a valid Claude Code subagent: YAML front matter with ``name``, ``description``, ``tools``,
``model`` and ``maxTurns``, then the prompt. What is ours stands under the one key ``x-rails``.

The system prompt is the template's text, the protocol (``agent_templates/_protocol.md``), the role's own
tools with their schemas, and the role's guidance. It depends on nothing else, so that caches hold. Texts
are joined, never substituted into each other: what is injected arrives byte for byte.
"""
