"""``python -m rails`` is ``ai-rails``."""

import sys

from rails.cli import main

if __name__ == "__main__":
    sys.exit(main())
