"""A Python function of the project (``module:function``) as a contained command.

JSON in on standard input; JSON, or lines of findings, out. Its own prints go to the errors.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from rails.core.lazy_pattern import lazy

#: How a function is named.
FUNCTION: Final = lazy(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
#: A line of a check's findings.
PATTERN: Final = r"(?m)^(?P<path>[^\t\n]*)\t(?P<line>\d+)\t(?P<column>\d+)\t(?P<rule>[^\t\n]*)\t(?P<message>[^\n]+)$"
_CALL: Final = """
import contextlib, importlib, json, sys
sys.path.insert(0, "")
module, _, name = sys.argv[1].partition(":")
with contextlib.redirect_stdout(sys.stderr):
    function = getattr(importlib.import_module(module), name)
    given = json.load(sys.stdin)
    made = function(given) if sys.argv[2:] else function(**given)
"""
_TOOL: Final = "print(made if isinstance(made, str) else json.dumps(made, ensure_ascii=False, default=str))\n"
_CHECK: Final = """
if isinstance(made, dict) and isinstance(made.get("valid"), bool):
    made = [] if made["valid"] else [str(made.get("reason") or "it is not valid")]
made = [made] if isinstance(made, str) else made
if not isinstance(made, list) or not all(isinstance(one, (str, dict)) for one in made):
    sys.exit("It must return a dict with valid and reason, a sentence, or a list of findings.")
for one in made:
    one = dict(message=one) if isinstance(one, str) else one
    values = [one.get("path") or ".", int(one.get("line") or 0), int(one.get("column") or 0)]
    values += [one.get("rule") or sys.argv[2], one.get("message") or "it is not valid"]
    print("\\t".join(" ".join(str(value).split()) for value in values))
"""


def function_argv(python: str, function: str, check: str = "") -> tuple[str, ...]:
    """Return the command for a function as a tool, or as the named check."""
    return (python, "-c", _CALL + (_CHECK if check else _TOOL), function, *((check,) if check else ()))


def function_of(argv: Sequence[str]) -> str:
    """Return the function that a command calls, or ""."""
    return argv[3] if len(argv) > 3 and argv[2].startswith(_CALL) else ""


def module_file(function: str) -> str:
    """Return the path of a function's module in its project."""
    return f"{function.partition(':')[0].replace('.', '/')}.py"
