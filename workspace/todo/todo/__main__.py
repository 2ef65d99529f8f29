"""Run the command line."""

import sys

from todo.cli import main

if __name__ == "__main__":
    sys.exit(main())
