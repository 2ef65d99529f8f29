"""macOS: a profile for ``sandbox-exec``, on a copy of the project. Its text is tested; it has run on no Mac yet."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from rails.sandbox.none import launch as as_user
from rails.sandbox.places import roots
from rails.sandbox.process import Launch
from rails.sandbox.view import SandboxLimits, SandboxView

_PROGRAM: Final = Path("/usr/bin/sandbox-exec")
_SYSTEM: Final = ("/usr", "/bin", "/sbin", "/System", "/Library/Apple", "/private/etc/ssl", "/private/var/db/timezone")
_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")


def has_seatbelt() -> bool:
    """Whether this is macOS with the program that applies a profile."""
    return sys.platform == "darwin" and _PROGRAM.is_file()


def launch(argv: Sequence[str], view: SandboxView, limits: SandboxLimits, join: Callable[[], None]) -> Launch:
    """Return how to start ``argv`` under the profile."""
    return as_user((str(_PROGRAM), "-p", profile(view), *argv), view, limits, join)


def profile(view: SandboxView) -> str:
    """Return the profile: everything is denied but reading the system and the copy, and writing the copy."""
    assert view.layer, "whoever asks without one is given one"
    layer = view.layer
    writable = [layer.root, layer.temporary] if layer.writable else [layer.temporary]
    readable = [*map(Path, _SYSTEM), *roots(view), layer.output, layer.root, layer.temporary]
    lines = [
        "(version 1)",
        "(deny default)",
        "(allow process-fork)",
        "(allow process-exec)",
        "(allow signal (target same-sandbox))",
        "(allow sysctl-read)",
        '(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))',
        "(allow file-read-metadata)",
        f"(allow file-read* {' '.join(_below(path) for path in readable)})",
        f"(allow file-read* file-write* {' '.join(f'(literal {_quoted(name)})' for name in _DEVICES)})",
        f"(allow file-write* {' '.join(_below(path) for path in writable)})",
        "(deny network*)",
    ]
    return "\n".join(lines) + "\n"


def _below(path: Path) -> str:
    return f"(subpath {_quoted(str(path))})"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
