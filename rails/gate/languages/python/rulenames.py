"""The codes of ruff's rules by their names.

With ``preview`` on, ``ruff server`` reports names where ``ruff check`` reports codes, and codes are what people and
settings write. Rules that have a name only (some of the preview) keep it.
``ruff rule --all --output-format json`` lists both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache

from rails.core.errors import CheckError
from rails.processes import programs


def code_of(tool: programs.Tool, reported: str) -> str:
    """Return the code of the rule that ruff ``reported`` by its code or its name. Raises CheckError."""
    return reported if reported[:1].isupper() else _codes(tool).get(reported, reported)


@cache
def _codes(tool: programs.Tool) -> Mapping[str, str]:
    ran = programs.run([*tool.argv, "rule", "--all", "--output-format=json"])
    try:
        return {rule["name"]: rule["code"] for rule in json.loads(ran.out) if rule["code"]}
    except (ValueError, KeyError, TypeError) as error:
        raise CheckError("ruff did not list its rules as JSON.") from error
