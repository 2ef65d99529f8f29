"""What validating one tool request costs, beside the usual ways to call a validator.

Run: python tests/benchmarks/contract.py [--calls N]

Each line is the median of N calls in microseconds. ``naive`` is ``jsonschema.validate(value, schema)``, as
the original sketch has it: it checks the schema itself and builds a validator at every call. ``compiled`` is
one ready ``Draft202012Validator``. ``jsonschema-rs`` is measured when it is installed. ``ours`` does more
than any of them: access, bounds, other names, conversion, closed objects, all errors in words.
"""

import argparse
import importlib.util
import statistics
import time

import jsonschema

from rails.core.app_dirs import builtin_folder
from rails.core.tool_request import RawRequest, ToolRequest
from rails.tools.loader import load_definitions
from rails.tools.validate import validate

CONTENT = "def f(x):\n    return x\n" * 200
CASES = {
    "write_file, 5 kB": ("write_file", {"file_path": "src/app.py", "content": CONTENT}),
    "edit_file": ("edit_file", {"file_path": "src/app.py", "old_string": "a = 1", "new_string": "a = 2"}),
    "multi_edit, 50 edits": (
        "multi_edit",
        {"edits": [{"file_path": f"f{n}.py", "old_string": "a", "new_string": "b"} for n in range(50)]},
    ),
    "edit_file, 3 errors": ("edit_file", {"file_path": 3, "old_string": "", "newstring": "x"}),
}
ALIASED = ("fast_editor", {"edits": '[{"path": "a.py", "oldString": "a", "newString": "b"}]'})


def median(call, calls):
    call()
    times = []
    for _ in range(calls):
        started = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - started)
    return statistics.median(times) / 1000


def naive(schema, value):
    try:
        jsonschema.validate(value, schema)
    except jsonschema.ValidationError:
        return


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=500)
    calls = parser.parse_args().calls
    registry = load_definitions([builtin_folder("mcp_definitions")])
    columns = ["ours", "naive", "compiled"]
    rust = importlib.util.find_spec("jsonschema_rs") is not None
    columns += ["jsonschema-rs"] if rust else []
    print(f"{'median µs':24}" + "".join(f"{column:>15}" for column in columns))
    for name, (tool, value) in CASES.items():
        schema = dict(registry.get(tool).request_schema)
        raw = RawRequest("r1", tool, value)
        compiled = jsonschema.Draft202012Validator(schema)
        figures = [
            median(lambda raw=raw: validate(raw, registry, "coder"), calls),
            median(lambda schema=schema, value=value: naive(schema, value), min(calls, 200)),
            median(lambda compiled=compiled, value=value: list(compiled.iter_errors(value)), calls),
        ]
        if rust:
            import jsonschema_rs

            fast = jsonschema_rs.validator_for(schema)
            figures.append(median(lambda fast=fast, value=value: list(fast.iter_errors(value)), calls))
        print(f"{name:24}" + "".join(f"{figure:15.1f}" for figure in figures))
    raw = RawRequest("r1", *ALIASED)
    assert isinstance(validate(raw, registry, "coder"), ToolRequest)
    print(f"{'fast_editor, JSON text':24}{median(lambda: validate(raw, registry, 'coder'), calls):15.1f}")


if __name__ == "__main__":
    main()
