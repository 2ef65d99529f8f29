"""ruff, black, flake8 and the compiler."""
