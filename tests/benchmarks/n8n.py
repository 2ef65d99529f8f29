"""n8n workflows: false alarms, recall and time, judged by n8n's own code.

    npm pack n8n-nodes-base @n8n/n8n-nodes-langchain n8n-mcp      # unpack each into PACKAGES
    npm install --ignore-scripts n8n-workflow                     # gives MODULES (a node_modules folder)
    python tests/benchmarks/n8n.py PACKAGES --modules MODULES [--names-only] [--bases 300]

Workflows are the templates that the package n8n-mcp carries (``data/nodes.db``), or ``--workflows FOLDER``.
Faults are put in by ``n8n_mutations.py``, one at a time; ``n8n_oracle.js`` asks n8n's code what it finds
before and after. Nothing of these packages is part of AI-Rails.
"""

import argparse
import base64
import collections
import copy
import gzip
import json
import os
import random
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent.parent), str(HERE)]

from n8n_mutations import AT_PUBLISH, FAULTS, HARMLESS  # noqa: E402 - the file beside this one

# -- measuring -----------------------------------------------------------------------------------------


def templates(packages):
    database = next(packages.rglob("data/nodes.db"))
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    for plain, packed in connection.execute(
        "select workflow_json, workflow_json_compressed from templates order by id"
    ):
        yield json.loads(plain or gzip.decompress(base64.b64decode(packed)))


def oracle(flows, options, *words):
    command = ["node", str(HERE / "n8n_oracle.js"), str(options.modules), str(options.packages), *words]
    made = subprocess.run(command, input=json.dumps(flows), capture_output=True, text=True, check=True)
    answer = json.loads(made.stdout)
    return [{tuple(one) for one in verdict} for verdict in answer["verdicts"]], answer["ms"]


def published(flows, options):
    """Return what n8n's checks say when each workflow is published."""
    return oracle(flows, options, "publish")[0]


def ours(flows, profile="import"):
    from rails.n8n.check import check_workflow

    found = []
    times = []
    for flow in flows:
        data = json.dumps(flow, indent=2).encode()
        # Processor time: what else the machine does is not the check's.
        started = time.process_time()
        found.append(list(check_workflow(data, "flow.json", profile)))
        times.append((time.process_time() - started) * 1e3)
    return found, sorted(times)


def errors(findings):
    return {identity(f) for f in findings if f.severity == "error"}


def identity(finding):
    return finding.rule, finding.json_path, finding.message


def names_its_place(finding):
    """Whether a finding says which field of which node it is about, where in the file, and what to do."""
    names_node = '"' in finding.message or re.search(r"Node \d", finding.message)
    whole = finding.json_path in ("nodes", "connections") and f"`{finding.json_path}`" in finding.message
    return bool(finding.remedy and finding.line and (whole or (names_node and finding.json_path != "workflow")))


def peer(flows, options):
    command = ["node", str(HERE / "n8n_peer.js"), str(options.peer)]
    made = subprocess.run(command, input=json.dumps(flows), capture_output=True, text=True, check=True)
    answer = json.loads(made.stdout)
    return [set(one) for one in answer["verdicts"]], sorted(answer["ms"])


def share(part, whole):
    return f"{part:5d} / {whole:5d} = {100 * part / whole if whole else 0:5.1f} %"


def mutants(bases, kinds, per_kind, rng):
    for name, mutate in kinds.items():
        left = per_kind
        for index in rng.sample(range(len(bases)), len(bases)):
            flow = copy.deepcopy(bases[index])
            if left and mutate(flow, rng) is not False:
                left -= 1
                yield name, index, flow


def measure(options):
    rng = random.Random(options.seed)
    source = (
        [json.loads(p.read_bytes()) for p in sorted(options.workflows.glob("*.json"))] if options.workflows else None
    )
    flows = source or list(templates(options.packages))
    verdicts, oracle_ms = oracle(flows, options)
    found, times = ours(flows)
    hard = [{fault for fault in verdict if fault[0] != "dropped"} for verdict in verdicts]
    clean = [i for i, faults in enumerate(hard) if not faults]
    print(f"{len(flows)} workflows; n8n's code finds nothing wrong in {len(clean)}")
    print("errors on those:               ", share(sum(bool(errors(found[i])) for i in clean), len(clean)))
    kept = [i for i in clean if not verdicts[i]]
    alarms = [i for i in kept if errors(found[i])]
    print("  of which nothing is discarded (false alarms):", share(len(alarms), len(kept)))
    for index in alarms:
        print(
            "   ",
            index,
            *sorted({f"{f.rule} {f.message}" for f in found[index] if f.severity == "error"})[:2],
            sep="  ",
        )
    broken = [i for i in range(len(flows)) if hard[i]]
    print("errors on the others (found):  ", share(sum(bool(errors(found[i])) for i in broken), len(broken)))
    quick = f"median {statistics.median(times):.1f} ms, p95 {at(times, 0.95):.1f} ms"
    print(f"processor time: {quick}; n8n's own code {oracle_ms:.1f} ms")

    if options.peer:
        told, peer_times = peer(flows, options)
        print("n8n-mcp, false alarms:", share(sum(bool(told[i]) for i in clean), len(clean)))
        print("n8n-mcp, found:       ", share(sum(bool(told[i]) for i in broken), len(broken)))
        print(f"n8n-mcp, time: median {statistics.median(peer_times):.1f} ms, p95 {at(peer_times, 0.95):.1f} ms")
    chosen = rng.sample(clean, min(options.bases, len(clean)))
    compare([flows[i] for i in chosen if len(flows[i]["nodes"]) > 2], options, rng)
    compare_at_publish([flows[i] for i in rng.sample(kept, min(options.bases, len(kept)))], options, rng)


def compare_at_publish(flows, options, rng):
    """Print how errors at publish compare with what n8n's checks say then."""
    flows = [with_credentials(flow, said) for flow, said in zip(flows, published(flows, options), strict=True)]
    bases = [flow for flow, said in zip(flows, published(flows, options), strict=True) if not said]
    found = ours(bases, "publish")[0]
    wrong = [sorted({f"{f.rule} {f.message}" for f in one if f.severity == "error"}) for one in found]
    print(f"\nat publish: {len(bases)} workflows that n8n's checks let pass, with their credentials")
    print("errors on those:", share(sum(map(bool, wrong)), len(bases)))
    told = collections.Counter(message.partition(" ")[0] for messages in wrong for message in messages[:1])
    print("  by rule:", dict(told))
    bases = [flow for flow, messages in zip(bases, wrong, strict=True) if not messages]
    made = list(mutants(bases, AT_PUBLISH, options.per_kind, rng))
    flows = [flow for _, _, flow in made]
    rows = collections.defaultdict(collections.Counter)
    for (kind, _, _), said, findings in zip(made, published(flows, options), ours(flows, "publish")[0], strict=True):
        rows[kind].update(made=1, n8n=bool(said), ours=bool(errors(findings)), both=bool(said and errors(findings)))
    print(f"{'fault at publish':28} made  n8n says  we say  of n8n's")
    for kind, row in rows.items():
        of = 100 * row["both"] / max(row["n8n"], 1)
        print(f"{kind:28} {row['made']:4d} {row['n8n']:9d} {row['ours']:7d} {of:7.1f} %")
    total = sum(rows.values(), collections.Counter())
    print("recall at publish:", share(total["both"], total["n8n"]))
    print("errors where n8n publishes:", share(total["ours"] - total["both"], total["made"] - total["n8n"]))


def with_credentials(flow, said):
    """Return a workflow in which each node has the credentials that n8n misses."""
    made = copy.deepcopy(flow)
    for kind, name in said:
        words = kind.split()
        for node in made["nodes"] if words[0] == "credential" else ():
            if node["name"] == name:
                given = node.get("credentials") if isinstance(node.get("credentials"), dict) else {}
                node["credentials"] = {**given, words[2]: {"id": "1", "name": "Mine"}}
    return made


def at(times, part):
    return times[int(part * len(times))]


def compare(bases, options, rng):
    noise = [errors(findings) for findings in ours(bases)[0]]
    base_verdicts, _ = oracle(bases, options)
    peer_noise = peer(bases, options)[0] if options.peer else []
    made = list(mutants(bases, FAULTS, options.per_kind, rng))
    flows = [flow for _, _, flow in made]
    labels = oracle(flows, options)[0]
    judged = ours(flows)[0]
    told = peer(flows, options)[0] if options.peer else [set()] * len(made)
    rows = collections.defaultdict(collections.Counter)
    for (kind, index, _), label, findings, errs in zip(made, labels, judged, told, strict=True):
        row = rows[kind]
        new = errors(findings) - noise[index]
        bad = bool(label - base_verdicts[index])
        row["made"] += 1
        row["n8n"] += bad
        row["ours"] += bool(new)
        row["both"] += bool(new and bad)
        row["named"] += any(names_its_place(f) for f in findings if identity(f) in new)
        row["peer"] += bool(options.peer and errs - peer_noise[index] and bad)
    print(f"\n{'fault':24} made  n8n says  we say  of n8n's   n8n-mcp, of n8n's")
    for kind, row in rows.items():
        of, peers = (100 * row[name] / max(row["n8n"], 1) for name in ("both", "peer"))
        print(f"{kind:24} {row['made']:4d} {row['n8n']:9d} {row['ours']:7d} {of:7.1f} % {peers:10.1f} %")
    total = sum(rows.values(), collections.Counter())
    print("errors that name node, field, place and remedy:", share(total["named"], total["ours"]))
    print("recall of what n8n refuses, flags, drops or fails on:", share(total["both"], total["n8n"]))
    if options.peer:
        print("n8n-mcp:                                             ", share(total["peer"], total["n8n"]))
    variants(bases, noise, base_verdicts, peer_noise, options, rng)


def variants(bases, noise, base_verdicts, peer_noise, options, rng):
    """Print the errors on variants that n8n does not mind; those that it does mind are left out."""
    made = list(mutants(bases, HARMLESS, options.per_kind, rng))
    labels, _ = oracle([flow for _, _, flow in made], options)
    # The oracle takes a name in a comment or a text for a reference; some variants have such.
    new = [label - base_verdicts[index] for (_, index, _), label in zip(made, labels, strict=True)]
    fine = [one for one, faults in zip(made, new, strict=True) if {kind for kind, _ in faults} <= {"reference"}]
    kept = collections.Counter(kind for kind, _, _ in fine)
    left_out = collections.Counter(kind for kind, _, _ in made) - kept
    alarms = collections.Counter()
    for (kind, index, _), findings in zip(fine, ours([flow for _, _, flow in fine])[0], strict=True):
        alarms[kind] += len(errors(findings)) > len(noise[index])
    print(f"errors on harmless variants ({len(kept)} kinds):", share(alarms.total(), len(fine)), dict(+alarms))
    print("  left out, because n8n's code does object:", dict(left_out) or "none")
    if options.peer:
        told = peer([flow for _, _, flow in fine], options)[0]
        count = sum(len(errs) > len(peer_noise[index]) for (_, index, _), errs in zip(fine, told, strict=True))
        print("n8n-mcp:", share(count, len(fine)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", type=Path)
    parser.add_argument("--modules", type=Path, required=True)
    parser.add_argument("--workflows", type=Path)
    parser.add_argument("--peer", type=Path, help="a node_modules folder with n8n-mcp, to compare with")
    parser.add_argument("--names-only", action="store_true", help="without the full catalogue")
    parser.add_argument("--bases", type=int, default=400)
    parser.add_argument("--per-kind", type=int, default=60)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["AI_RAILS_N8N_CATALOGUE"] = str(Path(folder) / "catalogue.json.gz")
        from rails.n8n.nodes.build import build_catalogue

        if not options.names_only:
            print(build_catalogue(options.packages))
        measure(options)


if __name__ == "__main__":
    main()
