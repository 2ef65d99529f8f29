"""``python -m rails`` is ``ai-rails``."""

from rails.cli import console

if __name__ == "__main__":
    console()
