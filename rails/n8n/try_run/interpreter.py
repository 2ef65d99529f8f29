"""JavaScript run in Python over the tree that the rules read: bounded_list, with nothing of the machine in reach.

Why not CodePart's ``vm``: it is no boundary, needs CodePart and a person's consent, and knows neither luxon nor n8n's
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
from rails.n8n.try_run.operators import int32, operate
from rails.n8n.try_run.values import UNDEFINED, NotModelled, OverBudget, Thrown, Value

_STEPS: Final = 2_000_000


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class _Return(Exception):
    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


class _ShortCircuit(Exception):
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
        try:
            engine.block(body.parts, Scope({}, scope))
        except _Return as returned:
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


class Interpreter:
    """Runs code with the names of ``globals``; ``steps`` are left for all that it runs.

    ``member`` reads a property of a value, methods of its kind included; ``absent`` calls a method on nothing.
    """

    def __init__(
        self,
        names: Mapping[str, Value],
        member: Callable[[Value, str], Value],
        absent: Callable[[str, Value], Value] | None = None,
        steps: int = _STEPS,
        until: float = float("inf"),
    ) -> None:
        self.globals = Scope(dict(names))
        self._member, self._absent = member, absent
        self._left, self._until = steps, until

    def expression(self, code: str, names: Mapping[str, Value]) -> Value:
        """Return the value of one expression, as it stands between ``{{`` and ``}}``."""
        text = f"({code})" if code.lstrip().startswith("{") else code
        if expressions.syntax_fault(code, alone=True) is not None:
            raise values.NodeFault("invalid syntax")
        tree = code_tree(text)
        statement = next((one for one in tree.parts if one.type == "expression_statement"), None)
        if statement is None:
            return UNDEFINED
        return self._guarded(lambda: self.value(statement.parts[0], Scope(dict(names), self.globals)))

    def program(self, code: str, names: Mapping[str, Value]) -> Value:
        """Return what a piece of code gives back that stands in a function of its own."""
        tree = code_tree(code)

        def run() -> Value:
            try:
                self.block(tree.parts, Scope(dict(names), self.globals))
            except _Return as returned:
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

    # -- statements ---------------------------------------------------------------------------------

    def block(self, statements: Iterable[CodePart], scope: Scope) -> None:
        """Run statements; functions are known before the first of them."""
        todo = list(statements)
        for node in todo:
            if node.type in {"function_declaration", "generator_function_declaration"}:
                scope.names[node.text_of("name")] = Closure(self, node, scope, UNDEFINED)
        for node in todo:
            self.statement(node, scope)

    def statement(self, node: CodePart, scope: Scope) -> None:
        """Run one statement."""
        self.count()
        work = _STATEMENTS.get(node.type)
        if work is None:
            raise NotModelled(f"JavaScript's {node.type.replace('_', ' ')}")
        work(self, node, scope)

    def _expression_statement(self, node: CodePart, scope: Scope) -> None:
        for part in node.parts:
            self.value(part, scope)

    def _block(self, node: CodePart, scope: Scope) -> None:
        self.block(node.parts, Scope({}, scope))

    def _declare(self, node: CodePart, scope: Scope) -> None:
        for one in node.parts:
            written = one.get("value")
            self.bind(one.field("name"), UNDEFINED if written is None else self.value(written, scope), scope)

    def _if(self, node: CodePart, scope: Scope) -> None:
        branch = "consequence" if values.truthy(self.value(node.field("condition"), scope)) else "alternative"
        chosen = node.get(branch)
        if chosen is not None:
            for part in chosen.parts if chosen.type == "else_clause" else [chosen]:
                self.statement(part, scope)

    def _while(self, node: CodePart, scope: Scope) -> None:
        first = node.type == "do_statement"
        while first or values.truthy(self.value(node.field("condition"), scope)):
            first = False
            if not self._once(node.field("body"), scope):
                break

    def _once(self, body: CodePart, scope: Scope) -> bool:
        try:
            self.statement(body, scope)
        except _Break:
            return False
        except _Continue:
            pass
        return True

    def _for(self, node: CodePart, scope: Scope) -> None:
        inner = Scope({}, scope)
        begin, condition, increment = (node.get(k) for k in ("initializer", "condition", "increment"))
        if begin is not None and begin.type != "empty_statement":
            self.statement(begin, inner) if begin.type in _STATEMENTS else self.value(begin, inner)
        while True:
            if condition is not None and condition.type != "empty_statement":
                tested = condition.parts[0] if condition.type == "expression_statement" else condition
                if not values.truthy(self.value(tested, inner)):
                    return
            if not self._once(node.field("body"), inner):
                return
            names = dict(inner.names)
            inner = Scope(names, scope)  # each turn has its own, which functions made in it keep
            if increment is not None:
                self.value(increment, inner)

    def _for_in(self, node: CodePart, scope: Scope) -> None:
        given = self.value(node.field("right"), scope)
        is_of = node.text_of("operator") == "of"
        for one in list(self.iterate(given) if is_of else self._keys(given)):
            inner = Scope({}, scope)
            self.bind(node.field("left"), one, inner)
            if not self._once(node.field("body"), inner):
                return

    def _keys(self, given: Value) -> Iterator[Value]:
        yield from (
            map(str, range(len(given))) if isinstance(given, list | str) else given if isinstance(given, dict) else ()
        )

    def _switch(self, node: CodePart, scope: Scope) -> None:
        given, inner = self.value(node.field("value"), scope), Scope({}, scope)
        cases = node.field("body").parts
        found = next(
            (n for n, one in enumerate(cases) if one.type == "switch_case"
             and values.same(given, self.value(one.field("value"), inner))),
            next((n for n, one in enumerate(cases) if one.type == "switch_default"), len(cases)),
        )  # fmt: skip
        try:
            for one in cases[found:]:
                label = one.get("value")
                self.block([part for part in one.parts if part != label], inner)
        except _Break:
            return

    def _return(self, node: CodePart, scope: Scope) -> None:
        parts = node.parts
        raise _Return(self.value(parts[0], scope) if parts else UNDEFINED)

    def _throw(self, node: CodePart, scope: Scope) -> None:
        raise Thrown(self.value(node.parts[0], scope))

    def _try(self, node: CodePart, scope: Scope) -> None:
        handler, last = node.get("handler"), node.get("finalizer")
        try:
            self.statement(node.field("body"), scope)
        except Thrown as thrown:
            if handler is not None:
                inner = Scope({}, scope)
                name = handler.get("parameter")
                if name is not None:
                    self.bind(name, thrown.value, inner)
                self._block(handler.field("body"), inner)
        finally:
            if last is not None:
                self._block(last.field("body"), scope)

    def _jump(self, node: CodePart, scope: Scope) -> None:
        del scope
        if node.get("label") is not None:
            raise NotModelled("a jump to a label")
        raise _Break if node.type == "break_statement" else _Continue

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
        except _ShortCircuit:
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
            if name in expressions.VARIABLES:
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
            raise _ShortCircuit
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
            if this in values.NOTHING and self._absent is not None:
                return self._absent(name, this)
            function = self.member(this, name)
        else:
            function = self._link(called, scope)
        if node.get("optional_chain") is not None and function in values.NOTHING:
            raise _ShortCircuit
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
_STATEMENTS: Final[Mapping[str, Callable[[Interpreter, CodePart, Scope], None]]] = {
    "break_statement": Interpreter._jump,
    "continue_statement": Interpreter._jump,
    "do_statement": Interpreter._while,
    "empty_statement": lambda *_: None,
    "expression_statement": Interpreter._expression_statement,
    "for_in_statement": Interpreter._for_in,
    "for_statement": Interpreter._for,
    "function_declaration": lambda *_: None,
    "if_statement": Interpreter._if,
    "lexical_declaration": Interpreter._declare,
    "return_statement": Interpreter._return,
    "statement_block": Interpreter._block,
    "switch_statement": Interpreter._switch,
    "throw_statement": Interpreter._throw,
    "try_statement": Interpreter._try,
    "variable_declaration": Interpreter._declare,
    "while_statement": Interpreter._while,
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
