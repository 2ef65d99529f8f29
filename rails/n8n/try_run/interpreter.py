"""JavaScript run in Python over the tree that the rules read: bounded, with nothing of the machine in reach.

Why not Node's ``vm``: it is no boundary, needs Node and a person's consent, and knows neither luxon nor n8n's
methods. Here a step is counted for every part of the code, so that each loop ends; what is missing raises
:class:`~rails.n8n.try_run.values.NotModelled` with its name. ``await`` waits for nothing, since nothing is ever late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from time import process_time
from typing import Final

from rails.n8n.javascript import expressions
from rails.n8n.try_run import values
from rails.n8n.try_run.code_tree import CodePart, code_tree
from rails.n8n.try_run.functions import Closure, ReturnValue, Scope, ShortCircuit, call_function
from rails.n8n.try_run.operators import int32, operate
from rails.n8n.try_run.statements import run_block
from rails.n8n.try_run.values import UNDEFINED, NotModelled, OverBudget, Value

_STEPS: Final = 2_000_000
#: Names of Node.js and of n8n's runner, some of which n8n allows.
_OF_NODE: Final = frozenset(
    {"Buffer", "Intl", "URL", "URLSearchParams", "TextDecoder", "TextEncoder", "atob", "btoa", "crypto", "fetch",
     "global", "globalThis", "helpers", "process", "require", "setTimeout", "Symbol", "Proxy", "Reflect", "WeakMap"}
)  # fmt: skip


class Interpreter:
    """Runs code with the names of ``globals``; ``steps`` are left for all that it runs.

    ``member`` reads a property of a value, methods of its kind included. In expressions n8n has methods of its own:
    ``called`` finds the method that is called, ``absent`` calls one on nothing.
    """

    def __init__(
        self,
        names: Mapping[str, Value],
        member: Callable[[Value, str], Value],
        called: Callable[[Value, str], Value],
        absent: Callable[[str, Value], Value],
        *,
        steps: int = _STEPS,
        until: float = float("inf"),
    ) -> None:
        self.globals = Scope(dict(names))
        self._member, self._called, self._absent = member, called, absent
        self._in_expression = True
        self._left, self._until = steps, until

    def expression(self, code: str, names: Mapping[str, Value]) -> Value:
        """Return the value of one expression, as it stands between ``{{`` and ``}}``."""
        text = f"({code})" if code.lstrip().startswith("{") else code
        if expressions.syntax_fault(code, alone=True) is not None:
            raise values.NodeFault("invalid syntax")
        tree, self._in_expression = code_tree(text), True
        statement = next((one for one in tree.parts if one.type == "expression_statement"), None)
        if statement is None:
            return UNDEFINED
        return self._guarded(lambda: self.value(statement.parts[0], Scope(dict(names), self.globals)))

    def program(self, code: str, names: Mapping[str, Value]) -> Value:
        """Return what a piece of code gives back that stands in a function of its own."""
        tree, self._in_expression = code_tree(code), False

        def run() -> Value:
            try:
                run_block(self, tree.parts, Scope(dict(names), self.globals))
            except ReturnValue as returned:
                return returned.value
            return UNDEFINED

        return self._guarded(run)

    def _guarded(self, run: Callable[[], Value]) -> Value:
        try:
            return run()
        except RecursionError:
            raise OverBudget("functions that call themselves this deeply") from None

    def count(self, steps: int = 1) -> None:
        """Count steps. Raises OverBudget when none are left."""
        self._left -= steps
        if self._left < 0:
            raise OverBudget("the steps that JavaScript may take")
        if not self._left & 63 and process_time() >= self._until:
            raise OverBudget("the seconds of computing")

    # -- binding ------------------------------------------------------------------------------------

    def bind(self, pattern: CodePart, given: Value, scope: Scope) -> None:
        """Give the names of a pattern their values in ``scope``."""
        if pattern.type in {"identifier", "shorthand_property_identifier_pattern"}:
            scope.names[pattern.text] = given
        elif pattern.type in {"assignment_pattern", "object_assignment_pattern"}:
            used = self.value(pattern.field("right"), scope) if given is UNDEFINED else given
            self.bind(pattern.field("left"), used, scope)
        elif pattern.type == "array_pattern":
            self.bind_list(pattern.slots(), list(self.iterate(given)), scope)
        elif pattern.type == "object_pattern":
            self._bind_object(pattern, given, scope)
        else:
            raise NotModelled(f"JavaScript's {pattern.type.replace('_', ' ')}")

    def bind_list(self, patterns: Sequence[CodePart | None], given: list[Value], scope: Scope) -> None:
        """Give the names of patterns in a row their values; the last may take the rest."""
        for index, pattern in enumerate(patterns):
            if pattern is None:
                continue
            if pattern.type == "rest_pattern":
                self.bind(pattern.parts[0], given[index:], scope)
            else:
                self.bind(pattern, given[index] if index < len(given) else UNDEFINED, scope)

    def _bind_object(self, pattern: CodePart, given: Value, scope: Scope) -> None:
        if given in values.NOTHING:
            raise values.error(f"Cannot destructure '{values.to_text(given)}' as it is {values.to_text(given)}.")
        taken: set[str] = set()
        for part in pattern.parts:
            if part.type == "rest_pattern":
                rest = {key: one for key, one in given.items() if key not in taken} if isinstance(given, dict) else {}
                self.bind(part.parts[0], rest, scope)
                continue
            inner = part.field("value") if part.type == "pair_pattern" else part
            named = part.field("key") if part.type == "pair_pattern" else part
            key = self._key(named.get("left") or named, scope)
            taken.add(key)
            self.bind(inner, self.member(given, key), scope)

    def _key(self, node: CodePart, scope: Scope) -> str:
        if node.type == "computed_property_name":
            return values.property_key(self.value(node.parts[0], scope))
        return values.property_key(self.value(node, scope)) if node.type in {"string", "number"} else node.text

    # -- expressions --------------------------------------------------------------------------------

    def value(self, node: CodePart, scope: Scope) -> Value:
        """Return the value of an expression."""
        try:
            return self._link(node, scope)
        except ShortCircuit:
            return UNDEFINED

    def _link(self, node: CodePart, scope: Scope) -> Value:
        """Return the value of a part of a chain, which ``?.`` may end as a whole."""
        self.count()
        work = _VALUES.get(node.type)
        if work is None:
            raise NotModelled(f"JavaScript's {node.type.replace('_', ' ')}")
        return work(self, node, scope)

    def _inner(self, node: CodePart, scope: Scope) -> Value:
        return self.value(node.parts[0], scope)

    def _identifier(self, node: CodePart, scope: Scope) -> Value:
        name = node.text
        found = scope.find(name)
        if found is None:
            if name in expressions.VARIABLES or name in _OF_NODE:
                raise NotModelled(name)
            raise values.error(f"{name} is not defined", "ReferenceError")
        return found[name]

    def _string(self, node: CodePart, scope: Scope) -> Value:
        del scope
        return "".join(part.piece() for part in node.parts)

    def _template(self, node: CodePart, scope: Scope) -> Value:
        inner = (
            values.to_text(self._inner(one, scope)) if one.type == "template_substitution" else one.piece()
            for one in node.parts
        )
        return "".join(inner)

    def _array(self, node: CodePart, scope: Scope) -> Value:
        slots = node.slots()
        return list(self._spread((one for one in slots if one is not None), scope)) if None not in slots else [
            UNDEFINED if one is None else self.value(one, scope) for one in slots
        ]  # fmt: skip

    def _spread(self, nodes: Iterable[CodePart], scope: Scope) -> Iterator[Value]:
        for one in nodes:
            if one.type == "spread_element":
                yield from self.iterate(self.value(one.parts[0], scope))
            else:
                yield self.value(one, scope)

    def _object(self, node: CodePart, scope: Scope) -> Value:
        made: dict[str, Value] = {}
        for part in node.parts:
            if part.type == "spread_element":
                given = self.value(part.parts[0], scope)
                pairs = given.items() if isinstance(given, dict) else ((str(n), one) for n, one in enumerate(given)) \
                    if isinstance(given, list | str) else ()  # fmt: skip
                made.update(pairs)
            elif part.type == "shorthand_property_identifier":
                made[part.text] = self._identifier(part, scope)
            elif part.type == "pair":
                made[self._key(part.field("key"), scope)] = self.value(part.field("value"), scope)
            elif part.type == "method_definition" and part.children[0].type not in {"get", "set"}:
                made[self._key(part.field("name"), scope)] = Closure(self, part, scope, UNDEFINED)
            else:
                raise NotModelled(f"JavaScript's {part.type.replace('_', ' ')} in an object")
        return made

    def iterate(self, given: Value) -> Iterator[Value]:
        """Yield what can be looped over."""
        if given in values.NOTHING or not hasattr(given, "__iter__") or isinstance(given, dict):
            raise values.error(f"{values.type_of(given)} is not iterable")
        for one in given:
            self.count()
            yield one

    def member(self, of: Value, key: str) -> Value:
        """Return a property."""
        if of in values.NOTHING:
            raise values.error(f"Cannot read properties of {values.to_text(of)} (reading '{key}')")
        return self._member(of, key)

    def _object_of(self, node: CodePart, scope: Scope) -> Value:
        of = self._link(node.field("object"), scope)
        if of in values.NOTHING and node.get("optional_chain") is not None:
            raise ShortCircuit
        return of

    def _get(self, node: CodePart, scope: Scope) -> Value:
        return self.member(self._object_of(node, scope), self._name(node, scope))

    def _name(self, node: CodePart, scope: Scope) -> str:
        named = node.get("property")
        return named.text if named is not None else values.property_key(self.value(node.field("index"), scope))

    def _call(self, node: CodePart, scope: Scope) -> Value:
        called, arguments = node.field("function"), node.field("arguments")
        this: Value = UNDEFINED
        if called.type in {"member_expression", "subscript_expression"}:
            this, name = self._object_of(called, scope), self._name(called, scope)
            if self._in_expression and this in values.NOTHING:
                return self._absent(name, this)
            function = (self._called if self._in_expression else self.member)(this, name)
        else:
            function = self._link(called, scope)
        if node.get("optional_chain") is not None and function in values.NOTHING:
            raise ShortCircuit
        if arguments.type == "template_string":
            raise NotModelled("a tagged template")
        if not callable(function):
            raise values.error(f"{called.text[:60]} is not a function")
        return call_function(function, *self._spread(arguments.parts, scope), this=this)

    def _new(self, node: CodePart, scope: Scope) -> Value:
        made = self.value(node.field("constructor"), scope)
        make = getattr(made, "construct", None)
        if make is None:
            raise NotModelled(f"new {node.field('constructor').text[:40]}")
        arguments = node.get("arguments")
        return make(*self._spread(arguments.parts if arguments is not None else (), scope))

    def _unary(self, node: CodePart, scope: Scope) -> Value:
        sign, argument = node.text_of("operator"), node.field("argument")
        if sign == "typeof" and argument.type == "identifier" and scope.find(argument.text) is None:
            return "undefined"
        if sign == "delete":
            return self._delete(argument, scope)
        given = self.value(argument, scope)
        if sign == "!":
            return not values.truthy(given)
        if sign in {"typeof", "void"}:
            return values.type_of(given) if sign == "typeof" else UNDEFINED
        number = values.to_number(given)
        return ~int32(number) if sign == "~" else -number if sign == "-" else number

    def _delete(self, node: CodePart, scope: Scope) -> bool:
        if node.type in {"member_expression", "subscript_expression"}:
            of = self._object_of(node, scope)
            if isinstance(of, dict):
                of.pop(self._name(node, scope), None)
        return True

    def _binary(self, node: CodePart, scope: Scope) -> Value:
        sign = node.text_of("operator")
        left = self.value(node.field("left"), scope)
        if sign in _SHORT:
            return left if _SHORT[sign](left) else self.value(node.field("right"), scope)
        return operate(sign, left, self.value(node.field("right"), scope))

    def _ternary(self, node: CodePart, scope: Scope) -> Value:
        chosen = "consequence" if values.truthy(self.value(node.field("condition"), scope)) else "alternative"
        return self.value(node.field(chosen), scope)

    def _assign(self, node: CodePart, scope: Scope) -> Value:
        target, sign = node.field("left"), node.text_of("operator").removesuffix("=")
        if sign in _SHORT:
            left = self.value(target, scope)
            return left if _SHORT[sign](left) else self._put(target, self.value(node.field("right"), scope), scope)
        given = self.value(node.field("right"), scope)
        if node.type == "augmented_assignment_expression":
            given = operate(sign, self.value(target, scope), given)
        return self._put(target, given, scope)

    def _update(self, node: CodePart, scope: Scope) -> Value:
        target = node.field("argument")
        before = values.to_number(self.value(target, scope))
        sign = node.text_of("operator")
        after = values.whole(before + (1 if sign == "++" else -1))
        self._put(target, after, scope)
        return after if node.children[0].type == sign else before

    def _put(self, target: CodePart, given: Value, scope: Scope) -> Value:
        if target.type == "identifier":
            names = scope.find(target.text)
            (self.globals.names if names is None else names)[target.text] = given
        elif target.type in {"member_expression", "subscript_expression"}:
            self._put_member(self.value(target.field("object"), scope), self._name(target, scope), given)
        elif target.type in {"array_pattern", "object_pattern", "array", "object"}:
            raise NotModelled("an assignment to a pattern")
        return given

    def _put_member(self, of: Value, key: str, given: Value) -> None:
        if isinstance(of, dict):
            of[key] = given
        elif isinstance(of, list) and key.isdigit() and int(key) <= len(of) + 10_000:
            of.extend([UNDEFINED] * (int(key) + 1 - len(of)))
            of[int(key)] = given
        elif isinstance(of, list) and key == "length":
            del of[int(values.to_number(given)) :]
        elif of in values.NOTHING:
            raise values.error(f"Cannot set properties of {values.to_text(of)} (setting '{key}')")

    def _function(self, node: CodePart, scope: Scope) -> Value:
        return Closure(self, node, scope, (scope.find("this") or {}).get("this", UNDEFINED))

    def _sequence(self, node: CodePart, scope: Scope) -> Value:
        return [self.value(part, scope) for part in node.parts][-1]

    def _number(self, node: CodePart, scope: Scope) -> Value:
        del scope
        written = node.text.replace("_", "")
        if written.endswith("n"):
            raise NotModelled("a BigInt")
        return values.to_number(written)

    def _regex(self, node: CodePart, scope: Scope) -> Value:
        made: Callable[..., Value] = (self.globals.find("RegExp") or {})["RegExp"].construct
        del scope
        return made(node.field("pattern").text, node.text_of("flags"))


#: Whether the left side is the answer, so that the right one is not run.
_SHORT: Final[Mapping[str, Callable[[Value], bool]]] = {
    "&&": lambda left: not values.truthy(left),
    "||": values.truthy,
    "??": lambda left: left not in values.NOTHING,
}
_VALUES: Final[Mapping[str, Callable[[Interpreter, CodePart, Scope], Value]]] = {
    "array": Interpreter._array,
    "arrow_function": Interpreter._function,
    "assignment_expression": Interpreter._assign,
    "augmented_assignment_expression": Interpreter._assign,
    "await_expression": Interpreter._inner,
    "binary_expression": Interpreter._binary,
    "call_expression": Interpreter._call,
    "false": lambda *_: False,
    "function_expression": Interpreter._function,
    "identifier": Interpreter._identifier,
    "member_expression": Interpreter._get,
    "new_expression": Interpreter._new,
    "null": lambda *_: None,
    "number": Interpreter._number,
    "object": Interpreter._object,
    "parenthesized_expression": Interpreter._inner,
    "regex": Interpreter._regex,
    "sequence_expression": Interpreter._sequence,
    "string": Interpreter._string,
    "subscript_expression": Interpreter._get,
    "template_string": Interpreter._template,
    "ternary_expression": Interpreter._ternary,
    "this": lambda _engine, _node, scope: (scope.find("this") or {}).get("this", UNDEFINED),
    "true": lambda *_: True,
    "unary_expression": Interpreter._unary,
    "undefined": lambda *_: UNDEFINED,
    "update_expression": Interpreter._update,
}
