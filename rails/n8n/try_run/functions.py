"""What running code is made of: the names of a block, functions, and how they are called and left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rails.n8n.try_run import values
from rails.n8n.try_run.code_tree import CodePart
from rails.n8n.try_run.values import UNDEFINED, Value

if TYPE_CHECKING:
    from rails.n8n.try_run.interpreter import Interpreter


class BreakLoop(Exception):
    """``break`` in a loop or ``switch``."""


class ContinueLoop(Exception):
    """``continue`` in a loop."""


class ReturnValue(Exception):
    """``return`` from a function."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


class ShortCircuit(Exception):
    """``?.`` met nothing: the whole chain is ``undefined``."""


class Scope:
    """Names of a block; what it does not have, its parent may."""

    __slots__ = ("names", "parent")

    def __init__(self, names: dict[str, Value], parent: Scope | None = None) -> None:
        self.names, self.parent = names, parent

    def find(self, name: str) -> dict[str, Value] | None:
        """Return the names among which ``name`` is."""
        here: Scope | None = self
        while here is not None:
            if name in here.names:
                return here.names
            here = here.parent
        return None


class Closure:
    """A function of the code, callable from Python."""

    kind = "function"

    def __init__(self, engine: Interpreter, node: CodePart, scope: Scope, this: Value) -> None:
        self._engine, self._node, self._scope, self._this = engine, node, scope, this

    def __call__(self, *given: Value) -> Value:
        """Call without ``this``."""
        return self.invoke(given, UNDEFINED)

    def __str__(self) -> str:
        return self._node.text

    def invoke(self, given: Sequence[Value], this: Value) -> Value:
        """Call with ``this``, which an arrow function has from where it stands."""
        node, engine = self._node, self._engine
        is_arrow = node.type == "arrow_function"
        scope = Scope({"this": self._this if is_arrow else this}, self._scope)
        if not is_arrow:
            scope.names["arguments"] = list(given)
            if node.type == "function_expression" and node.get("name") is not None:
                scope.names[node.text_of("name")] = self
        parameters = node.get("parameters") or node.get("parameter")
        if parameters is not None:
            named = [parameters] if parameters.type == "identifier" else parameters.parts
            engine.bind_list(named, list(given), scope)
        body = node.get("body")
        if body is None:
            return UNDEFINED
        if body.type != "statement_block":
            return engine.value(body, scope)
        from rails.n8n.try_run.statements import run_block

        try:
            run_block(engine, body.parts, Scope({}, scope))
        except ReturnValue as returned:
            return returned.value
        return UNDEFINED


def call_function(function: Value, *given: Value, this: Value = UNDEFINED) -> Value:
    """Call a function with as many of the arguments as it takes, as JavaScript does."""
    if isinstance(function, Closure):
        return function.invoke(given, this)
    if not callable(function):
        raise values.error(f"{values.to_text(function)[:60]} is not a function")
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & 4:  # it takes any number
        return function(*given)
    bound = int(hasattr(function, "__self__"))
    most, least = code.co_argcount - bound, code.co_argcount - bound - len(function.__defaults__ or ())
    return function(*[*given, *[UNDEFINED] * (least - len(given))][:most])
