"""The XML example of the seed document, word for word: ``<explanation>`` is never a parameter of the tool's own."""

from rails.core.app_dirs import builtin_folder
from rails.parsing.parse import parse
from rails.tools.loader import load_definitions

SEED = """<tool name="fast_editor">
  <edits>
    [
      {
        "path": "src/components/Header.tsx",
        "oldString": "import { Button } from './Button'",
        "newString": "import { Button } from '@/components/ui/button'"
      }
    ]
  </edits>
  <explanation>
  Update all Button imports to use the new centralized UI component path
  </explanation>
</tool>
"""


def test_c6_01_the_seeds_own_example_is_one_request_with_its_explanation():
    found = parse(SEED, load_definitions([builtin_folder("mcp_definitions")]).shapes())
    assert [request.tool_name for request in found.requests] == ["fast_editor"], found.refusals
    assert found.requests[0].explanation.strip().startswith("Update all Button imports")
    assert found.requests[0].parameters["edits"][0]["path"] == "src/components/Header.tsx"
