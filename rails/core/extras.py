"""What to install for a part of AI-Rails that needs more than the rest: the packages themselves, by their own names."""

from __future__ import annotations


def install_command(extra: str) -> str:
    """Return the command that installs what an extra of ours needs, such as ``pip install 'mcp<3,>=2.3'``."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("ai-rails") or []
    except PackageNotFoundError:
        lines = []
    mark = f"extra == '{extra}'"
    wanted = [line.partition(";")[0].strip() for line in lines if line.replace('"', "'").endswith(mark)]
    return f"pip install {' '.join(map(repr, wanted))}" if wanted else f"what the extra {extra} of ai-rails names"
