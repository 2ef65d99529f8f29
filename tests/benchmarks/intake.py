"""The old name of ``parsing.py``, until the Makefile calls that one."""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.argv[0] = str(Path(__file__).with_name("parsing.py"))
    runpy.run_path(sys.argv[0], run_name="__main__")
