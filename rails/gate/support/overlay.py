"""Empty stand-ins for the Python files that a change set brings, so that import sorting finds them.

The workspace is not touched while a change is judged; a linter that looks there for ``import todo`` would
take a new package for somebody else's, and put the import where it is wrong once the package is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


class Overlay:
    """A folder outside the workspace, made when first needed."""

    def __init__(self) -> None:
        self.folder = ""

    def show(self, created: Iterable[str]) -> tuple[str, ...]:
        """Make a stand-in for each Python file among ``created`` paths; return their places."""
        places = sorted(path.removeprefix("src/") for path in created if path.endswith((".py", ".pyi")))
        if not places and not self.folder:
            return ()
        import shutil
        import tempfile

        if not self.folder:
            self.folder = tempfile.mkdtemp(prefix="ai-rails-overlay-")
        shutil.rmtree(self.folder, ignore_errors=True)
        for path in places:
            place = Path(self.folder, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
        return tuple(places)

    def close(self) -> None:
        """Remove the folder."""
        if self.folder:
            import shutil

            shutil.rmtree(self.folder, ignore_errors=True)
        self.folder = ""
