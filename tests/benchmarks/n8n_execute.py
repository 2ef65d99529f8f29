"""The dry run's workflows and expressions, asked of n8n's own packages again: what differs from what was recorded.

    npm install --ignore-scripts n8n-core n8n-workflow n8n-nodes-base     # in a FOLDER outside the project
    python tests/benchmarks/n8n_execute.py FOLDER/node_modules [--write]

``--write`` keeps what n8n says now in ``tests/n8n/try_run``; ``tests/n8n/test_try_against_n8n.py`` holds the dry run
against it. A new workflow is added to ``flows.json`` by hand, without its ``n8n``, an expression with ``null``.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE.parent / "n8n" / "try_run"
sys.path[:0] = [str(HERE.parent.parent), str(HERE.parent / "n8n")]


def cases(flows, expressions):
    """Every workflow, and every expression in a workflow of its own."""
    from test_try_against_n8n import ITEM, workflow_of

    yield from flows.items()
    for code in expressions:
        yield f"x {code}", {"workflow": workflow_of(code), "data": {"Start": [ITEM]}}


def asked(modules, given):
    """What n8n puts out, node by node."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("cases.json", "said.json")]
        files[0].write_text(json.dumps(given), "utf-8")
        environment = {**os.environ, "NODE_PATH": str(modules), "TZ": "UTC", "N8N_USER_FOLDER": folder}
        argv = ["node", str(HERE / "n8n_execute.cjs"), *map(str, files)]
        subprocess.run(argv, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=600)
        return json.loads(files[1].read_text("utf-8"))


def kept(name, rows, note):
    lines = (
        f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(row, ensure_ascii=False)}" for key, row in rows.items()
    )
    text = f'{{\n"from": {json.dumps(note)},\n"{name}": {{\n' + ",\n".join(lines) + "\n}\n}\n"
    (FOLDER / f"{name}.json").write_text(text, "utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    read = {name: json.loads((FOLDER / f"{name}.json").read_text("utf-8")) for name in ("flows", "expressions")}
    flows, expressions = read["flows"]["flows"], read["expressions"]["expressions"]
    said = asked(options.modules, dict(cases(flows, expressions)))
    differ = []
    for name, flow in flows.items():
        said[name]["nodes"].pop("Start", None)
        differ += [name] * (flow.get("n8n") != said[name])
        flow["n8n"] = said[name]
    for code, before in list(expressions.items()):
        runs = said[f"x {code}"]["nodes"]["Set"][0]
        expressions[code] = runs[0][0] if isinstance(runs, list) else runs
        differ += [code] * (before != expressions[code])
    print(f"{len(flows)} workflows, {len(expressions)} expressions; {len(differ)} differ from what was recorded")
    print("\n".join(differ))
    if options.write:
        for name, rows in (("flows", flows), ("expressions", expressions)):
            kept(name, rows, read[name]["from"])


if __name__ == "__main__":
    main()
