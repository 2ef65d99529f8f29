"""JavaScript's statements, run one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from rails.n8n.try_run import values
from rails.n8n.try_run.code_tree import CodePart
from rails.n8n.try_run.functions import BreakLoop, Closure, ContinueLoop, ReturnValue, Scope
from rails.n8n.try_run.values import UNDEFINED, NodeFault, NotModelled, Thrown, Value

if TYPE_CHECKING:
    from rails.n8n.try_run.interpreter import Interpreter


def run_block(engine: Interpreter, statements: Iterable[CodePart], scope: Scope) -> None:
    """Run statements; functions are known before the first of them."""
    todo = list(statements)
    for node in todo:
        if node.type in {"function_declaration", "generator_function_declaration"}:
            scope.names[node.text_of("name")] = Closure(engine, node, scope, UNDEFINED)
    for node in todo:
        run_statement(engine, node, scope)


def run_statement(engine: Interpreter, node: CodePart, scope: Scope) -> None:
    """Run one statement."""
    engine.count()
    work = STATEMENTS.get(node.type)
    if work is None:
        raise NotModelled(f"JavaScript's {node.type.replace('_', ' ')}")
    work(engine, node, scope)


def _expression_statement(engine: Interpreter, node: CodePart, scope: Scope) -> None:
    for part in node.parts:
        engine.value(part, scope)


def _block(engine: Interpreter, node: CodePart, scope: Scope) -> None:
    run_block(engine, node.parts, Scope({}, scope))


def _declare(engine: Interpreter, node: CodePart, scope: Scope) -> None:
    for one in node.parts:
        written = one.get("value")
        engine.bind(one.field("name"), UNDEFINED if written is None else engine.value(written, scope), scope)


def _if(engine: Interpreter, node: CodePart, scope: Scope) -> None:
    branch = "consequence" if values.truthy(engine.value(node.field("condition"), scope)) else "alternative"
    chosen = node.get(branch)
    if chosen is not None:
        for part in chosen.parts if chosen.type == "else_clause" else [chosen]:
            run_statement(engine, part, scope)


def _while(engine: Interpreter, node: CodePart, scope: Scope) -> None:
    first = node.type == "do_statement"
    while first or values.truthy(engine.value(node.field("condition"), scope)):
        first = False
        if not _once(engine, node.field("body"), scope):
            break


def _once(engine: Interpreter, body: CodePart, scope: Scope) -> bool:
    try:
        run_statement(engine, body, scope)
    except BreakLoop:
        return False
    except ContinueLoop:
        pass
    return True


def _for(engine: Interpreter, node: CodePart, scope: Scope) -> None:
    inner = Scope({}, scope)
    begin, condition, increment = (node.get(k) for k in ("initializer", "condition", "increment"))
    if begin is not None and begin.type != "empty_statement":
        run_statement(engine, begin, inner) if begin.type in STATEMENTS else engine.value(begin, inner)
    while True:
        if condition is not None and condition.type != "empty_statement":
            tested = condition.parts[0] if condition.type == "expression_statement" else condition
            if not values.truthy(engine.value(tested, inner)):
                return
        if not _once(engine, node.field("body"), inner):
            return
        names = dict(inner.names)
        inner = Scope(names, scope)  # each turn has its own, which functions made in it keep
        if increment is not None:
            engine.value(increment, inner)


def _for_in(engine: Interpreter, node: CodePart, scope: Scope) -> None:
    given = engine.value(node.field("right"), scope)
    is_of = node.text_of("operator") == "of"
    for one in list(engine.iterate(given) if is_of else _keys(given)):
        inner = Scope({}, scope)
        engine.bind(node.field("left"), one, inner)
        if not _once(engine, node.field("body"), inner):
            return


def _keys(given: Value) -> Iterator[Value]:
    yield from (
        map(str, range(len(given))) if isinstance(given, list | str) else given if isinstance(given, dict) else ()
    )


def _switch(engine: Interpreter, node: CodePart, scope: Scope) -> None:
    given, inner = engine.value(node.field("value"), scope), Scope({}, scope)
    cases = node.field("body").parts
    found = next(
        (n for n, one in enumerate(cases) if one.type == "switch_case"
         and values.same(given, engine.value(one.field("value"), inner))),
        next((n for n, one in enumerate(cases) if one.type == "switch_default"), len(cases)),
    )  # fmt: skip
    try:
        for one in cases[found:]:
            label = one.get("value")
            run_block(engine, [part for part in one.parts if part != label], inner)
    except BreakLoop:
        return


def _return(engine: Interpreter, node: CodePart, scope: Scope) -> None:
    parts = node.parts
    raise ReturnValue(engine.value(parts[0], scope) if parts else UNDEFINED)


def _throw(engine: Interpreter, node: CodePart, scope: Scope) -> None:
    raise Thrown(engine.value(node.parts[0], scope))


def _try(engine: Interpreter, node: CodePart, scope: Scope) -> None:
    handler, last = node.get("handler"), node.get("finalizer")
    try:
        run_statement(engine, node.field("body"), scope)
    except (Thrown, NodeFault) as fault:
        if handler is None:
            raise
        thrown = fault if isinstance(fault, Thrown) else values.error(str(fault), "ExpressionError")
        inner = Scope({}, scope)
        name = handler.get("parameter")
        if name is not None:
            engine.bind(name, thrown.value, inner)
        _block(engine, handler.field("body"), inner)
    finally:
        if last is not None:
            _block(engine, last.field("body"), scope)


def _jump(engine: Interpreter, node: CodePart, scope: Scope) -> None:
    del engine, scope
    if node.get("label") is not None:
        raise NotModelled("a jump to a label")
    raise BreakLoop if node.type == "break_statement" else ContinueLoop


STATEMENTS: Final[Mapping[str, Callable[[Interpreter, CodePart, Scope], None]]] = {
    "break_statement": _jump,
    "continue_statement": _jump,
    "do_statement": _while,
    "empty_statement": lambda *_: None,
    "expression_statement": _expression_statement,
    "for_in_statement": _for_in,
    "for_statement": _for,
    "function_declaration": lambda *_: None,
    "if_statement": _if,
    "lexical_declaration": _declare,
    "return_statement": _return,
    "statement_block": _block,
    "switch_statement": _switch,
    "throw_statement": _throw,
    "try_statement": _try,
    "variable_declaration": _declare,
    "while_statement": _while,
}
