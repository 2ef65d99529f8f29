"""The command line, run for real on a temporary file."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

from todo.cli import main


class CommandLine(unittest.TestCase):
    """Every test has a list of its own."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "todo.json"

    def run_todo(self, *words: str) -> str:
        """Run one command and return what it printed."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            self.code = main(["--file", str(self.file), *words])
        return output.getvalue()

    def test_a_task_that_was_added_is_listed(self) -> None:
        self.run_todo("add", "buy milk")
        self.assertEqual(self.run_todo("list"), "  1 [ ] buy milk\n")

    def test_a_task_that_is_done_has_a_cross(self) -> None:
        self.run_todo("add", "buy milk")
        self.run_todo("done", "1")
        self.assertEqual(self.run_todo("list"), "  1 [x] buy milk\n")

    def test_an_unknown_number_is_an_error(self) -> None:
        self.assertEqual(self.run_todo("done", "7"), "There is no task 7.\n")
        self.assertEqual(self.code, 1)


if __name__ == "__main__":
    unittest.main()
