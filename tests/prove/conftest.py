"""What the property runs share."""

import importlib.util
import os
from pathlib import Path

import pytest

os.environ["GIT_TEST_FSYNC"] = "1"  # a kill may come there, too
APPROVAL = Path(__file__).parent.parent / "approval"


@pytest.fixture
def loaded():
    """Load a fresh module that stands beside the tests of approval, by its name."""

    def load(name):
        spec = importlib.util.spec_from_file_location(f"prove_{name}", APPROVAL / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load
