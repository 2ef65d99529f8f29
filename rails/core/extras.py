"""The packages of optional parts."""

from __future__ import annotations


def install_command(extra: str) -> str:
    """Return an extra's command: ``pip install 'mcp<3,>=2.3'``."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("ai-rails") or []
    except PackageNotFoundError:
        lines = []
    mark = f"extra == '{extra}'"
    wanted = [line.partition(";")[0].strip() for line in lines if line.replace('"', "'").endswith(mark)]
    return f"pip install {' '.join(map(repr, wanted))}" if wanted else f"what the extra {extra} of ai-rails names"
