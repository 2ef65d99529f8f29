"""``ai-rails prompt``: what to paste into a chat for ``ai-rails apply``."""

from __future__ import annotations

import argparse

from rails.agents.prompt import chat_page
from rails.core.errors import EXIT_OK

OPTIONS = """
> What an agent is sent: ai-rails agents NAME.
"""


def run(_options: argparse.Namespace) -> int:
    """Print the page for a chat."""
    print(chat_page())
    return EXIT_OK
