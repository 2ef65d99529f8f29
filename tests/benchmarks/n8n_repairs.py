"""n8n workflows: what ``gate --fix`` makes of faults that n8n would drop without a word.

    python tests/benchmarks/n8n_repairs.py PACKAGES [--modules MODULES] [--per-kind 25] [--seed 7]

PACKAGES and MODULES as for ``n8n.py``. Sound workflows (the templates that n8n-mcp carries, where they are, and one
made of each node type of the catalogue) are damaged in one node as models damage them: each fault is a repair turned
round. Then they are repaired and judged by the same checks, and with ``--modules`` by n8n's own code. Meaning is kept
when n8n would hold the same parameters as before the damage, and nothing else differs.
"""

import argparse
import collections
import copy
import json
import os
import random
import re
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent.parent), str(HERE)]

import n8n as benchmark  # noqa: E402 - the file beside this one

# -- faults: each returns whether it could be put into these parameters ------------------------------------

OLD_NAMES = {"equals": "equal", "notEquals": "notEqual", "empty": "isEmpty", "notEmpty": "isNotEmpty", "gt": "larger"}
OLD_NAMES |= {"gte": "largerEqual", "lt": "smaller", "lte": "smallerEqual"}
SPOKEN = {"gt": "greaterThan", "gte": "greaterThanOrEqual", "lt": "less_than", "notContains": "doesNotContain"}
SPOKEN |= {"equals": "isEqual", "notEquals": "not_equals", "startsWith": "starts_with", "true": "isTrue"}


def conditions_of(node):
    from rails.n8n.nodes.given import filters_in

    for _, value in filters_in(node["parameters"]):
        yield value


def operators_renamed(names):
    def damage(node, _rng, _know):
        done = False
        for value in conditions_of(node):
            for one in value["conditions"]:
                operator = one.get("operator")
                if isinstance(operator, dict) and operator.get("operation") in names:
                    operator["operation"], done = names[operator["operation"]], True
        return done

    return damage


def operator_as_text(node, _rng, _know):
    done = False
    for value in conditions_of(node):
        for one in value["conditions"]:
            operator = one.get("operator")
            if isinstance(operator, dict) and operator.get("operation") in {
                "gt",
                "gte",
                "lt",
                "startsWith",
                "endsWith",
            }:
                one["operator"], done = operator["operation"], True
    return done


def combinator_in_capitals(node, _rng, _know):
    done = False
    for value in conditions_of(node):
        if value.get("combinator") in {"and", "or"}:
            value["combinator"], done = value["combinator"].upper(), True
    return done


def old_conditions(node, _rng, _know):
    if node["type"] not in {"n8n-nodes-base.if", "n8n-nodes-base.filter"} or node["typeVersion"] < 2:
        return False
    value = node["parameters"].get("conditions", {})
    made = collections.defaultdict(list)
    for one in value.get("conditions", ()):
        kind = (one.get("operator") or {}).get("type")
        name = (one.get("operator") or {}).get("operation")
        old = OLD_NAMES.get(name, name)
        if kind not in {"string", "number"} or (kind == "number" and name in {"empty", "notEmpty"}):
            return False
        if kind == "string" and old not in {"equal", "notEqual", "contains", "isEmpty", "isNotEmpty", "startsWith"}:
            return False
        made[kind].append({"value1": one.get("leftValue", ""), "operation": old, "value2": one.get("rightValue", "")})
    if len(made) != 1:  # the order of two types is another one afterwards
        return False
    node["parameters"]["conditions"] = dict(made)
    if value.get("combinator") == "or":
        node["parameters"]["combineOperation"] = "any"
    return True


def old_fields(node, _rng, _know):
    given = node["parameters"]
    rows = (given.get("assignments") or {}).get("assignments") if isinstance(given.get("assignments"), dict) else None
    if node["type"] != "n8n-nodes-base.set" or node["typeVersion"] < 3.3 or not rows or "mode" in given:
        return False
    kinds = [row.get("type") for row in rows]
    if any(kind not in {"string", "number", "boolean"} for kind in kinds) or len(set(kinds)) > 1:
        return False
    values = {kinds[0]: [{"name": row["name"], "value": row.get("value", "")} for row in rows]}
    rest = {name: one for name, one in given.items() if name not in {"assignments", "includeOtherFields"}}
    kept = given.get("includeOtherFields", False)
    node["parameters"] = {**rest, "values": values} | ({} if kept else {"keepOnlySet": True})
    return True


def old_method(node, _rng, _know):
    if node["type"] != "n8n-nodes-base.httpRequest" or "method" not in node["parameters"] or node["typeVersion"] < 3:
        return False
    node["parameters"]["requestMethod"] = node["parameters"].pop("method")
    return True


def old_merge(node, _rng, _know):
    given = node["parameters"]
    if node["type"] != "n8n-nodes-base.merge" or node["typeVersion"] < 3 or "combineBy" not in given:
        return False
    back = {"combineByPosition": "mergeByPosition", "combineByFields": "mergeByFields", "combineAll": "multiplex"}
    given["combinationMode"] = back[given.pop("combineBy")]
    return True


def spelt_otherwise(node, rng, know):
    names = [name for name in know.given() if re.search("[a-z][A-Z]", name)]
    if not names:
        return False
    name = rng.choice(names)
    other = rng.choice(
        [re.sub("([A-Z])", lambda m: f"_{m[1].lower()}", name), name.lower(), name[0].upper() + name[1:]]
    )
    node["parameters"] = {other if key == name else key: value for key, value in node["parameters"].items()}
    return other not in know.level.by_name


def option_beside(node, rng, know):
    found = [
        (item.name, name)
        for item in know.shown()
        if item.type == "collection" and isinstance(node["parameters"].get(item.name), dict)
        for name in node["parameters"][item.name]
        if item.children and name in item.children.by_name and name not in know.level.by_name
    ]
    if not found:
        return False
    around, name = rng.choice(found)
    node["parameters"][name] = node["parameters"][around].pop(name)
    return True


def parameter_inside(node, rng, know):
    around = [
        item for item in know.shown() if item.type == "collection" and item.children and item.multiple is not True
    ]
    names = [name for name in know.given() if isinstance(node["parameters"][name], str | int | bool)]
    names = [name for name in names if not know.decides(name)]
    if not around or not names:
        return False
    item = rng.choice(around)
    name = rng.choice(names)
    inside = node["parameters"].setdefault(item.name, {})
    if not isinstance(inside, dict) or name in item.children.by_name:
        return False
    inside[name] = node["parameters"].pop(name)
    return True


def groups_of(node, know, *, several):
    for item in know.shown():
        value = node["parameters"].get(item.name)
        if (
            item.type == "fixedCollection"
            and isinstance(value, dict)
            and len(value) == 1
            and bool(item.multiple) == several
        ):
            (group, rows), *_ = value.items()
            if group in item.groups and rows and not (several and not isinstance(rows, list)):
                yield item, group, rows


def rows_without_group(node, rng, know):
    found = list(groups_of(node, know, several=True))
    if not found:
        return False
    item, _, rows = rng.choice(found)
    node["parameters"][item.name] = rows
    return all(isinstance(row, dict) and row for row in rows)


def group_spelt_otherwise(node, rng, know):
    found = list(groups_of(node, know, several=True))
    if not found:
        return False
    item, group, rows = rng.choice(found)
    node["parameters"][item.name] = {rng.choice([f"{group}s", group.upper(), f"{group}Values", "value", "items"]): rows}
    return node["parameters"][item.name].keys().isdisjoint(item.groups) and all(row for row in rows)


def row_for_rows(node, rng, know):
    found = [one for one in groups_of(node, know, several=True) if len(one[2]) == 1 and one[2][0]]
    if not found:
        return False
    item, group, rows = rng.choice(found)
    node["parameters"][item.name] = {group: rows[0]}
    return True


def numbered_rows(node, rng, know):
    found = [one for one in groups_of(node, know, several=True) if len(one[2]) > 1 and all(one[2])]
    if not found:
        return False
    item, group, rows = rng.choice(found)
    node["parameters"][item.name] = {group: {str(number): row for number, row in enumerate(rows)}}
    return True


def list_for_object(node, rng, know):
    found = [
        item.name
        for item in know.shown()
        if item.type == "collection"
        and item.multiple is not True
        and isinstance(node["parameters"].get(item.name), dict)
    ]
    names = [name for name in found if node["parameters"][name]]
    if not names:
        return False
    name = rng.choice(names)
    node["parameters"][name] = [node["parameters"][name]]
    return True


def locators(node, know):
    for item in know.shown():
        value = node["parameters"].get(item.name)
        if item.type == "resourceLocator" and isinstance(value, dict) and value.get("value") and "mode" in value:
            yield item, value


def locator_without_sign(node, rng, know):
    found = [value for _, value in locators(node, know) if "__rl" in value]
    if not found:
        return False
    rng.choice(found).pop("__rl")
    return True


def locator_mode_spelt_otherwise(node, rng, know):
    found = [value for _, value in locators(node, know)]
    if not found:
        return False
    value = rng.choice(found)
    value["mode"] = value["mode"].upper()
    return True


def locator_value_under_its_mode(node, rng, know):
    found = [value for _, value in locators(node, know) if isinstance(value["value"], str) and value["mode"] != "list"]
    if not found:
        return False
    value = rng.choice(found)
    value[value["mode"]] = value.pop("value")
    return True


def choice_spelt_otherwise(node, rng, know):
    names = [item.name for item in know.shown() if item.type == "options" and item.raw.get("values")]
    names = [name for name in names if isinstance(node["parameters"].get(name), str) and node["parameters"][name]]
    names = [name for name in names if not node["parameters"][name].startswith("=")]
    if not names:
        return False
    name = rng.choice(names)
    old = node["parameters"][name]
    node["parameters"][name] = rng.choice([old.upper(), re.sub("([A-Z])", r"_\1", old).lower(), old.title()])
    return node["parameters"][name] not in next(i for i in know.shown() if i.name == name).raw["values"]


def assignments_as_list(node, _rng, know):
    value = node["parameters"].get("assignments")
    if node["type"] != "n8n-nodes-base.set" or not isinstance(value, dict) or not value.get("assignments"):
        return False
    node["parameters"]["assignments"] = value["assignments"]
    return "assignments" in know.kept


SAFE = {
    "operators of version 1": operators_renamed(OLD_NAMES),
    "operators in words": operators_renamed(SPOKEN),
    "operator as a text": operator_as_text,
    "combinator in capitals": combinator_in_capitals,
    "conditions of version 1": old_conditions,
    "fields of version 1": old_fields,
    "method of version 1": old_method,
    "merge of version 2": old_merge,
    "parameter spelt otherwise": spelt_otherwise,
    "option beside its parent": option_beside,
    "parameter inside options": parameter_inside,
    "rows without their group": rows_without_group,
    "group spelt otherwise": group_spelt_otherwise,
    "one row for a list": row_for_rows,
    "rows under numbers": numbered_rows,
    "list for an object": list_for_object,
    "locator without its sign": locator_without_sign,
    "mode spelt otherwise": locator_mode_spelt_otherwise,
    "value under the mode": locator_value_under_its_mode,
    "choice spelt otherwise": choice_spelt_otherwise,
    "assignments as a list": assignments_as_list,
}


class Known:
    """What the catalogue knows of a node: the level, what n8n keeps, what shows."""

    def __init__(self, node, known):
        from rails.n8n.nodes.parameters import Context, filled, levels

        description = known.describe(node["type"], node["typeVersion"])
        self.known = known
        self.node = node
        self.level = levels(description)
        self.context = Context(node["typeVersion"], node["type"].endswith("Tool"))
        self.kept = filled(self.level, node["parameters"], self.context)

    def shown(self):
        for item in self.level.properties:
            display = item.display
            if display is None or display.visible(self.kept, self.kept, self.context.version, self.context.is_tool):
                yield item

    def given(self):
        return [
            name for name, value in self.node["parameters"].items() if name in self.kept and value not in ("", [], {})
        ]

    def decides(self, name):
        return any(item.display and name in item.display.depends_on for item in self.level.properties)


# -- workflows -----------------------------------------------------------------------------------------------


def of_each_type(known):
    """Yield a workflow of a trigger and one node for each type, with a value for what shows."""
    for node_type in sorted(known.versions):
        node = {"id": "2", "name": "It", "type": node_type, "typeVersion": known.versions[node_type][-1]}
        node |= {"position": [200, 0], "parameters": {}}
        if node["typeVersion"] == int(node["typeVersion"]):
            node["typeVersion"] = int(node["typeVersion"])
        know = Known(node, known)
        node["parameters"] = {item.name: value for item in know.shown() if (value := sample(item)) is not None}
        start = {
            "id": "1",
            "name": "Start",
            "type": "n8n-nodes-base.manualTrigger",
            "typeVersion": 1,
            "position": [0, 0],
        }
        wires = {"Start": {"main": [[{"node": "It", "type": "main", "index": 0}]]}}
        is_plain = known.describe(node_type, None).inputs and known.describe(node_type, None).inputs[0].type == "main"
        yield {
            "name": node_type,
            "nodes": [{**start, "parameters": {}}, node],
            "connections": wires if is_plain else {},
        }


def sample(item, depth=3):
    """Return a value of a parameter, or None."""
    default = item.raw.get("default")
    if item.type == "options":
        values = [value for value in item.raw.get("values", ()) if isinstance(value, str)]
        return default if default in values else values[0] if values and item.required else None
    if item.type == "string":
        return default or ("text" if item.required else None)
    if item.type in {"number", "boolean"}:
        return default
    if item.type == "resourceLocator" and item.modes:
        modes = [mode for mode, rules in item.modes.items() if not rules and mode != "list"]
        return {"__rl": True, "mode": modes[0], "value": "abc123"} if modes else None
    if item.type == "collection" and item.children and depth and item.multiple is not True:
        inside = {one.name: sample(one, depth - 1) for one in item.children.properties if one.display is None}
        return {name: value for name, value in list(inside.items())[:4] if value is not None} or None
    if item.type == "fixedCollection" and item.multiple and depth:
        for group, level in item.groups.items():
            row = {one.name: sample(one, depth - 1) for one in level.properties if one.display is None}
            row = {name: value for name, value in row.items() if value is not None}
            return {group: [row]} if row else None
    return None


def bases(options, known):
    """Return the workflows in which our checks find no error."""
    try:
        templates = list(benchmark.templates(options.packages))
    except StopIteration:
        templates = []
    flows = [*templates, *of_each_type(known)]
    return [flow for flow in flows if isinstance(flow.get("nodes"), list) and not judged(flow)]


def judged(flow):
    from rails.n8n.check import check_workflow

    data = json.dumps(flow).encode()
    return {(f.rule, f.json_path) for f in check_workflow(data, "flow.json") if f.severity == "error"}


def damaged(flows, damage, count, rng, known):
    left = count
    for index in rng.sample(range(len(flows)), len(flows)):
        numbers = list(range(len(flows[index]["nodes"])))
        rng.shuffle(numbers)
        for number in numbers if left else ():
            node = flows[index]["nodes"][number]
            described = known.describe(node.get("type"), node.get("typeVersion"))
            if (
                node.get("disabled")
                or node.get("type", "").endswith("stickyNote")
                or described is None
                or not isinstance(node.get("parameters"), dict)
            ):
                continue
            if "typeVersion" not in node:
                continue
            flow = copy.deepcopy(flows[index])
            node = flow["nodes"][number]
            if damage(node, rng, Known(node, known)) and node != flows[index]["nodes"][number]:
                if held(node, known) == held(flows[index]["nodes"][number], known):
                    continue  # n8n reads it all the same
                left -= 1
                yield index, number, flow
                break


def held(node, known):
    """Return what n8n would hold of a node's parameters, without ids and what only the editor asks of conditions."""
    from rails.n8n.nodes.parameters import Malformed

    try:
        return plain(Known(node, known).kept)
    except (Malformed, AttributeError):
        return None


def plain(value):
    if isinstance(value, dict):
        gone = (
            {"id", "cachedResultName", "cachedResultUrl"}
            if {"leftValue", "value", "operator"} & value.keys()
            else set()
        )
        made = {name: plain(one) for name, one in value.items() if name not in gone}
        if "conditions" in made and "combinator" in made:
            made.pop("options", None)
        if "operation" in made and "type" in made and "singleValue" in made:
            del made["singleValue"]
        if str(made.get("name")).startswith("filter.operator."):
            del made["name"]
        return {name: one for name, one in made.items() if one != {"parameters": []}}
    if isinstance(value, list):
        return [one for one in map(plain, value) if one != {"name": "", "value": ""}]
    return value


# -- measuring -----------------------------------------------------------------------------------------------


def measure(options, known):
    from rails.n8n import formatting

    rng = random.Random(options.seed)
    flows = bases(options, known)
    print(f"{len(flows)} sound workflows, n8n {known.n8n}")
    touched = sum(json.loads(repaired(formatting, flow, known)[0]) != flow for flow in flows)
    print(f"sound workflows in which a sure repair changes anything: {touched}")
    print(f"\n{'fault':28} made  repaired  accepted  same meaning  else unchanged")
    rows = collections.Counter()
    made = []
    for kind, damage in SAFE.items():
        row = collections.Counter()
        for index, number, flow in damaged(flows, damage, options.per_kind, rng, known):
            data, fixed = repaired(formatting, flow, known)
            after = json.loads(data)
            row["made"] += 1
            row["repaired"] += bool(fixed)
            accepted = not judged(after)
            same = meaning(after, flows[index], number, known)
            row["accepted"] += bool(fixed) and accepted
            row["same"] += bool(fixed) and same
            row["rest"] += rest(after, number) == rest(flow, number)
            if fixed:
                made.append((flows[index], after))
            if options.show and not (fixed and accepted and same):
                before = flows[index]["nodes"][number]
                print("   ", before["type"], before["typeVersion"], [one.rule for one in fixed], judged(after))
                print("       was ", json.dumps(plain(before["parameters"]))[:600])
                print("       now ", json.dumps(plain(after["nodes"][number]["parameters"]))[:600])
        print(f"{kind:28} {row['made']:4} {row['repaired']:9} {row['accepted']:9} {row['same']:13} {row['rest']:15}")
        rows.update(row)
    counts = [rows[what] for what in ("made", "repaired", "accepted", "same", "rest")]
    print(f"{'together':28} {counts[0]:4} {counts[1]:9} {counts[2]:9} {counts[3]:13} {counts[4]:15}")
    if options.modules:
        before, _ = benchmark.oracle([one for one, _ in made], options)
        after, _ = benchmark.oracle([other for _, other in made], options)
        worse = sum(bool(new - old) for old, new in zip(before, after, strict=True))
        print(f"n8n's own code: {len(made)} repaired workflows, {worse} with anything new refused, flagged or dropped")


def repaired(formatting, flow, known):
    return formatting.repaired_file(json.dumps(flow, indent=2).encode(), "flow.json", known)


def meaning(after, base, number, known):
    return held(after["nodes"][number], known) == held(base["nodes"][number], known)


def rest(flow, number):
    return [node for index, node in enumerate(flow["nodes"]) if index != number], flow["connections"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", type=Path)
    parser.add_argument("--modules", type=Path)
    parser.add_argument("--per-kind", type=int, default=25)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--show", action="store_true", help="show what is not as it was")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["AI_RAILS_N8N_CATALOGUE"] = str(Path(folder) / "catalogue.json.gz")
        from rails.n8n.nodes import catalogue
        from rails.n8n.nodes.build import build_catalogue

        build_catalogue(options.packages)
        measure(options, catalogue.current())


if __name__ == "__main__":
    main()
