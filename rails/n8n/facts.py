"""Lists of n8n's own, as its packages of version 2.41 have them: keys, types, operations, names. Data without rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

FACTS: Final[dict[str, Any]] = json.loads(Path(__file__).with_name("facts.json").read_text("utf-8"))
