"""Where a user's own configuration of AI-Rails is."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def config_folder() -> Path:
    """Return the user's configuration folder: ``AI_RAILS_CONFIG_DIR``, or the platform's own place."""
    if override := os.environ.get("AI_RAILS_CONFIG_DIR"):
        return Path(override)
    if sys.platform == "linux" and "ANDROID_DATA" not in os.environ:
        # What platformdirs answers here, by the XDG Base Directory Specification; importing it takes as long as
        # Python's own start.
        named, home = os.environ.get("XDG_CONFIG_HOME", ""), os.environ.get("HOME", "")
        if not named and home.startswith("/"):
            return Path(home, ".config", "ai-rails")
        if named.startswith("/") and named == named.strip():
            return Path(named, "ai-rails")
    from platformdirs import user_config_path

    return user_config_path("ai-rails", appauthor=False)
