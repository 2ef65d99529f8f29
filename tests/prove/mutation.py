"""Every small change of a module's syntax tree that its tests should notice: the mutants of one file.

A mutant is named by a digest of its module, its function, the statement it changes, what it changes there and
how often the same came before: it keeps its name while other lines come and go.
"""

import ast
import copy
import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

COMPARED = {
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
}  # fmt: skip
COUNTED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr, ast.LShift: ast.RShift,
}  # fmt: skip
SWAPPED = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list", "reversed": "list"}
#: Keywords that only assert what holds, or only show: nobody could see them change.
UNSEEN = ("strict", "repr")
#: Calls whose arguments may stand in any order.
UNORDERED = ("min", "max", "suppress")
LEAVES = (ast.Raise, ast.Return, ast.Continue, ast.Break)


@dataclass(frozen=True)
class Mutant:
    """One change: ``node`` is the number of the node in a walk of the tree, ``option`` which of its changes."""

    module: str
    line: int
    digest: str
    what: str
    node: int
    option: int
    at_import: bool

    def __str__(self) -> str:
        return f"{self.digest}  {self.module}:{self.line}  {self.what}"


def mutants_of(root: Path, module: str) -> list[Mutant]:
    """Return the mutants of ``module``, a path from ``root``."""
    tree = ast.parse((root / module).read_text(encoding="utf-8"))
    found = []
    same = Counter()
    for number, (node, statement, function) in enumerate(_sites(tree)):
        for option, (what, _) in enumerate(_changes(node)):
            text = f"{module} {function} {_head(statement)} {what}"
            same[text] += 1
            digest = hashlib.sha256(f"{text} {same[text]}".encode()).hexdigest()[:12]
            found.append(Mutant(module, node.lineno, digest, what, number, option, not function))
    return found


def mutated(root: Path, module: str, chosen: list[Mutant]) -> tuple[ast.Module, list[Mutant]]:
    """Return the tree of ``module`` with all of ``chosen`` in it, and those that no longer had a place."""
    tree = ast.parse((root / module).read_text(encoding="utf-8"))
    sites = list(_sites(tree))
    lost = []
    touched = set()
    for mutant in chosen:
        node = sites[mutant.node][0]
        if touched & {id(inner) for inner in ast.walk(node)}:
            lost.append(mutant)
            continue
        touched |= {id(inner) for inner in ast.walk(node)}
        list(_changes(node))[mutant.option][1]()
    return ast.fix_missing_locations(tree), lost


def _head(statement):
    """Return a statement's text without the statements in it."""
    return ast.unparse(statement).partition("\n")[0]


def _sites(tree):
    """Yield every node that may change, with its statement and the name of its function, in one fixed order."""

    def inside(node, statement, function):
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "bases", "type_comment", "type_params"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if not isinstance(child, ast.AST) or isinstance(child, (ast.Import, ast.ImportFrom, ast.arg)):
                    continue
                if isinstance(child, ast.keyword) and child.arg in UNSEEN:
                    continue
                if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                    continue  # a docstring
                if isinstance(child, ast.Subscript) and ast.unparse(child.value) in ("Literal", "Callable"):
                    continue  # a type
                if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                    continue  # what only a type checker imports
                own = child if isinstance(child, ast.stmt) else statement
                place = function
                if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    place = f"{function}.{child.name}"
                if hasattr(child, "lineno"):
                    yield child, own, place
                yield from inside(child, own, place)

    yield from inside(tree, tree.body[0], "")


def _changes(node):  # a table of kinds
    """Yield (what, the function that does it) for every change of one node, in one fixed order."""

    def become(new):
        """Turn ``node`` itself into ``new``; what holds it need not know."""

        def do():
            kept = copy.deepcopy(new)
            for key in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
                setattr(kept, key, getattr(node, key))
            node.__class__ = kept.__class__
            node.__dict__ = kept.__dict__

        return f"{ast.unparse(node)} -> {ast.unparse(new)}"[:200], do

    def with_field(name, value):
        new = copy.copy(node)
        setattr(new, name, value)
        return become(new)

    match node:
        case ast.Compare(ops=ops):
            for number, op in enumerate(ops):
                for other in COMPARED[type(op)]:
                    yield with_field("ops", [*ops[:number], other(), *ops[number + 1 :]])
        case ast.BoolOp(op=op, values=values):
            yield with_field("op", ast.Or() if isinstance(op, ast.And) else ast.And())
            for number in range(len(values)):
                rest = values[:number] + values[number + 1 :]
                yield become(rest[0]) if len(rest) == 1 else with_field("values", rest)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield become(operand)
        case ast.BinOp(op=op) if type(op) in COUNTED:
            yield with_field("op", COUNTED[type(op)]())
        case ast.Constant(value=bool()):
            yield with_field("value", not node.value)
        case ast.Constant(value=int()):
            yield with_field("value", node.value + 1)
            if node.value > 1:
                yield with_field("value", node.value - 1)
        case ast.IfExp(body=body, orelse=other):
            yield become(body)
            yield become(other)
        case ast.Tuple(elts=parts, ctx=ast.Load()) | ast.List(elts=parts, ctx=ast.Load()) | ast.Set(elts=parts):
            for number in range(len(parts)) if len(parts) > 1 else ():
                yield with_field("elts", parts[:number] + parts[number + 1 :])
        case ast.Dict(keys=keys, values=values):
            for number in range(len(keys)) if len(keys) > 1 else ():
                rest = {"keys": keys[:number] + keys[number + 1 :], "values": values[:number] + values[number + 1 :]}
                what = "no entry " + ast.unparse(keys[number] or values[number])
                yield what, become(ast.Dict(**rest))[1]
        case ast.Call(func=function, args=arguments, keywords=keywords):
            if isinstance(function, ast.Name) and function.id in SWAPPED:
                yield with_field("func", ast.Name(SWAPPED[function.id], ast.Load()))
            ordered = getattr(function, "id", "") not in UNORDERED
            if len(arguments) > 1 and ordered and ast.dump(arguments[0]) != ast.dump(arguments[1]):
                yield with_field("args", [arguments[1], arguments[0], *arguments[2:]])
            for number in (n for n, keyword in enumerate(keywords) if keyword.arg not in UNSEEN):
                yield with_field("keywords", keywords[:number] + keywords[number + 1 :])
        case ast.comprehension(ifs=[_, *_]):
            yield with_field("ifs", [])
        case ast.If(test=test, body=body, orelse=other):
            if not other and isinstance(body[-1], LEAVES):
                yield "guard removed: " + _head(node), become(ast.Pass())[1]
            else:
                for value in (True, False):
                    yield f"if {ast.unparse(test)} -> if {value}", with_field("test", ast.Constant(value))[1]
            if not isinstance(test, (ast.Compare, ast.UnaryOp)):
                denied = ast.UnaryOp(ast.Not(), test)
                yield f"if {ast.unparse(test)} -> if not", with_field("test", denied)[1]
        case ast.For(body=body):
            yield "only the first: " + _head(node), with_field("body", [*body, ast.Break()])[1]
        case ast.Raise() | ast.AugAssign() | ast.Delete() | ast.Expr(value=ast.Call()):
            yield "removed: " + ast.unparse(node), become(ast.Pass())[1]
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield with_field("value", ast.Constant(None))
