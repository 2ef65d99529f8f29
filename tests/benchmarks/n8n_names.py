"""Make the list of names, versions and ports that ships from n8n's packages.

    npm pack n8n-nodes-base @n8n/n8n-nodes-langchain
    python tests/benchmarks/n8n_names.py . > rails/n8n/nodes/names.json

Ports of one main input and one main output are left out; "*" stands for every version not named.
"""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from rails.n8n.nodes import catalogue
from rails.n8n.nodes.build import compact, packages_with_nodes

#: A list of numbers, or an object of texts, as ``json.dumps`` lays it out.
FLAT = re.compile(r'([\[{])\n\s+((?:(?:[\d.]+|"[^"\n]*": "[^"\n]*")(?:,\n\s+)?)+)\n\s+([\]}])')


def names_list(source):
    """Return the names, versions and ports of the packages at ``source``."""
    full = catalogue.catalogue_from_json(compact(packages_with_nodes(source), str(source)))
    types = {}
    ports = {}
    for node_type in sorted(full.versions):
        package, _, name = node_type.rpartition(".")
        if catalogue.base_of_tool(node_type) in full.tools:
            continue
        versions = full.versions[node_type]
        types.setdefault(package, {})[name] = [int(one) if one == int(one) else one for one in versions]
        written = {f"{version:g}": written_ports(full, node_type, version) for version in versions}
        newest = written[f"{versions[-1]:g}"]
        odd = {version: text for version, text in written.items() if text != newest}
        if odd or newest != "main>main":
            ports[node_type] = {"*": newest, **odd}
    return {"n8n": full.n8n.rpartition(".")[0], "types": types, "ports": ports, "tools": sorted(full.tools)}


def names_text(names):
    """Return a list of names as it is kept in ``names.json``: a line for each type, so that a newer n8n is a diff."""
    text = json.dumps(names, indent=2, ensure_ascii=False)
    return FLAT.sub(lambda found: f"{found[1]}{' '.join(found[2].split())}{found[3]}", text) + "\n"


def written_ports(full, node_type, version):
    description = full.describe(node_type, version)
    sides = (description.inputs, description.outputs) if description else (None, None)
    return ">".join("?" if side is None else ",".join(map(written_port, side)) for side in sides)


def written_port(port):
    return port.type + "!" * port.required


if __name__ == "__main__":
    print(names_text(names_list(Path(sys.argv[1]))), end="")
