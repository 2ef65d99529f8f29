"""The verbs: a static table, so that help and completion import none."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Final

#: What each verb does, by what it is for, the most used first. Its options and work are in ``rails/commands/VERB.py``.
GROUPS: Final[Mapping[str, Mapping[str, str]]] = {
    "commands": {
        "run": "let an agent work on a task",
        "chat": "talk with an agent; ai-rails alone does the same at a terminal",
        "apply": "apply a saved answer: find, validate, gate, show, approve, write",
        "gate": "check files: syntax, linters, formatters, n8n workflows",
        "sandbox": "run a command sandboxed, show its changes, and ask",
        "answer": "answer what an agent asked before its session paused",
        "undo": "undo a step of a session, byte for byte",
        "redo": "redo an undone step",
        "demo": "run the shipped example on a fresh copy",
        "prompt": "print a page to paste into a chat, so that apply can read its answers",
        "new": "begin a project: a folder and a plan to fill in",
        "feature": "begin a feature: a plan to fill in",
        "takeover": "take over a project: a plan with what is there, to fill in",
    },
    "history": {
        "review": "list sessions, show one turn by turn, or count them",
        "batch": "run many jobs, and compare models, agents and the gate on your repositories",
        "serve": "show the sessions in the browser, on this machine only",
        "why": "show which edit made a line, and who approved it",
        "log": "search all sessions, verify a log, export a session",
    },
    "integrations": {
        "tools": "list, show, check, begin, trust, test and import tools",
        "agents": "list the agents, show one, or accept a project's own",
        "hook": "the gate inside other agents: Claude Code, Codex, Gemini CLI",
        "acp": "an agent for editors (Zed, JetBrains, Neovim): the Agent Client Protocol",
        "mcp": "the gate, changes and tools for any client of the Model Context Protocol",
    },
    "n8n": {"n8n": "workflows of n8n: rules, node catalogue, picture, diff"},
    "setup": {
        "doctor": "show what works here and what is missing",
        "config": "show every setting, its value and where it comes from",
        "policy": "check your policy file and try it on past sessions",
        "completion": "print a completion script for your shell",
        "parse": "show what is found in a text: requests, refusals, ignored blocks",
    },
}
VERBS: Final[Mapping[str, str]] = {verb: words for group in GROUPS.values() for verb, words in group.items()}


def with_verb(words: Sequence[str]) -> Sequence[str]:
    """Return the command line with its verb: ``chat`` if a model is first, or if it is empty on a terminal."""
    if words:
        talks = words[0].startswith(("-m", "--model"))
    else:
        talks = all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout)) and os.access(".git", os.F_OK)
    return ["chat", *words] if talks else words
