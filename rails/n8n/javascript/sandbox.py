"""What n8n's expression sandbox refuses although it is JavaScript.

n8n checks the tree of every expression before it runs: names that lead out of the sandbox, ``$`` without a call,
``with``, destructuring by computed names; and it makes a plain function of it, where ``await`` and ``yield`` mean
nothing. Anchors: ``n8n-workflow`` 2.41, ``expression-sandboxing`` and ``Expression.resolveSimpleParameterValue``;
each form was run there (``tests/n8n/expression_verdicts.json``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rails.n8n.javascript.early_errors import FUNCTIONS, Early, error_at, inside_parentheses, is_in, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from rails.n8n.javascript.syntax import ParsedScript

#: Properties and free names that an expression may not use.
FORBIDDEN: Final = (
    "__proto__", "prototype", "constructor", "getPrototypeOf", "setPrototypeOf", "getOwnPropertyDescriptor",
    "getOwnPropertyDescriptors", "defineProperty", "defineProperties", "mainModule", "binding", "_linkedBinding",
    "_load", "prepareStackTrace", "__lookupGetter__", "__lookupSetter__", "__defineGetter__", "__defineSetter__",
    "caller", "callee", "arguments", "getBuiltinModule", "dlopen",
)  # fmt: skip
_NAME: Final = re.compile(rf"(?<![\w$])(?:{'|'.join(FORBIDDEN)})(?![\w$])")
#: n8n looks for this in the whole text of an expression, whatever it stands in.
_CONSTRUCTOR: Final = re.compile(r"\.\s*constructor")
_DOLLAR: Final = re.compile(r"(?<![\w$])\$(?![\w$({])")
_WORDS: Final = re.compile(r"\b(?:with|import|class|await|yield|super|let|enum)\b|\$if\b|#\w|\[|=>|function\b")
_IDENTIFIERS: Final = frozenset(
    {"identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern"}
)
_DECLARES: Final = frozenset(
    {"formal_parameters", "variable_declarator", "rest_pattern", "catch_clause", "array_pattern"}
    | {"pair_pattern", "assignment_pattern"}
)
_PLAIN_FUNCTIONS: Final = frozenset({"function_expression", "function_declaration", "method_definition"})
_GENERATORS: Final = frozenset({"generator_function", "generator_function_declaration", "method_definition"})
_VALUES_THAT_ARE_FUNCTIONS: Final = frozenset({"arrow_function", "function_expression", "generator_function", "class"})
#: Classes that n8n gives to expressions: as a value they are functions, which no parameter can hold.
_CLASSES: Final = frozenset({"DateTime", "Interval", "Duration", "Date", "Object", "Array", "String", "Number"})
_MOST: Final = 2_000


def is_suspicious(code: str) -> bool:
    """Whether the tree of ``code`` has to be looked at; most expressions have nothing that could be refused."""
    return _NAME.search(code) is not None


def constructor_access(text: str) -> tuple[int, int] | None:
    """Return where a whole text (with its ``=``) has ``.constructor``, which n8n refuses even in plain text."""
    found = _CONSTRUCTOR.search(text, 1)
    return found.span() if found else None


def refusal(parsed: ParsedScript, *, alone: bool) -> Early | None:
    """Return the first thing in an expression's code that n8n refuses. ``alone``: no text stands around it."""
    code = parsed.code
    found: list[Early] = []
    if _NAME.search(code):
        found += _names(parsed)
    if _DOLLAR.search(code):
        found += _dollars(parsed)
    if _WORDS.search(code):
        found += _forms(parsed.tree.root_node)
    if alone and (value := _function_value(parsed.tree.root_node)):
        found.append(value)
    return min(found, default=None)


def _names(parsed: ParsedScript) -> Iterator[Early]:
    declared: set[str] = set()
    free: list[tuple[str, Node]] = []
    for match in _NAME.finditer(parsed.code):
        node = parsed.node_at(match.start(), match.end())
        if node is None:
            continue
        name, parent = match.group(), node.parent
        if node.type in _IDENTIFIERS and _declares(node):
            declared.add(name)
        elif node.type in _IDENTIFIERS:
            free.append((name, node))
        elif _is_access(node, parent, name):
            yield error_at(node, _forbidden(name))
    for name, node in free:
        if name not in declared:
            yield error_at(node, _forbidden(name))


def _forbidden(name: str) -> str:
    return f"no expression may use the name {name!r}"


def _declares(node: Node) -> bool:
    parent = node.parent
    if parent is None or node.type == "shorthand_property_identifier_pattern":
        return False
    if parent.type == "arrow_function":
        return parent.child_by_field_name("parameter") == node
    return (
        parent.type in _DECLARES
        and parent.child_by_field_name("right") != node
        and (parent.child_by_field_name("value") != node or parent.type == "pair_pattern")
    )


def _is_access(node: Node, parent: Node | None, name: str) -> bool:
    """Whether a name reads a property: ``a.name``, ``a['name']``, or a key that is taken out of an object."""
    if parent is None:
        return False
    if node.type == "property_identifier":
        return parent.type in {"member_expression", "pair_pattern"}
    if node.type != "string_fragment" or text_of(node) != name:
        return False
    holder = parent.parent
    return holder is not None and (
        (holder.type == "subscript_expression" and holder.child_by_field_name("index") == parent)
        or (holder.type == "pair_pattern" and holder.child_by_field_name("key") == parent)
    )


def _dollars(parsed: ParsedScript) -> Iterator[Early]:
    for match in _DOLLAR.finditer(parsed.code):
        node = parsed.node_at(match.start(), match.end())
        if node is not None and node.type in {*_IDENTIFIERS, "property_identifier"} and not _may_be_dollar(node):
            yield error_at(node, '"$" may only stand before a call: $("Node name")')


def _may_be_dollar(node: Node) -> bool:
    here, parent = node, node.parent
    while parent is not None and parent.type == "parenthesized_expression":
        here, parent = parent, parent.parent
    if parent is None:
        return False
    if parent.type in {"call_expression", "new_expression"}:
        return here in (parent.child_by_field_name("function"), parent.child_by_field_name("constructor"))
    whole = parent.parent
    return (
        node.type == "property_identifier"
        and parent.type == "member_expression"
        and whole is not None
        and whole.type == "expression_statement"
    )


def _forms(root: Node) -> Iterator[Early]:
    todo, seen = [root], 0
    while todo and seen < _MOST:
        node, seen = todo.pop(), seen + 1
        message = _form(node)
        if message:
            yield error_at(node, message)
        todo.extend(reversed(node.named_children))


def _form(node: Node) -> str:
    match node.type:
        case "with_statement":
            return 'no expression may use "with"'
        case "import" | "private_property_identifier":
            return f"no expression may use {text_of(node)[:20]!r}"
        case "computed_property_name":
            return "no expression may take a computed name out of an object" if _in_pattern(node) else ""
        case "class_heritage":
            base = node.named_children[0] if node.named_children else None
            is_plain = base is not None and base.type == "identifier" and not text_of(base).endswith("Function")
            return "" if is_plain and text_of(base) != "Buffer" else "no expression may extend this class"
        case "await_expression":
            return "" if is_in(node, FUNCTIONS) else "await is in a function that is not async"
        case "yield_expression":
            return "" if is_in(node, _GENERATORS, _PLAIN_FUNCTIONS) else "yield is outside a generator function"
        case "super":
            return "" if is_in(node, {"class_body", "method_definition"}) else "super is outside a method"
        case "identifier" if text_of(node) in {"let", "enum"}:
            return f"{text_of(node)!r} is a word of the language, not a name"
        case "call_expression" if text_of(node.child_by_field_name("function")) == "$if":
            return _too_few(node)
    return ""


def _in_pattern(node: Node) -> bool:
    return node.parent is not None and node.parent.type == "pair_pattern"


def _too_few(node: Node) -> str:
    given = node.child_by_field_name("arguments")
    values = [one for one in given.named_children if one.type != "comment"] if given is not None else []
    if len(values) >= 2 or any(one.type == "spread_element" for one in values):
        return ""
    return "$if needs a condition, a value and, if you like, another value"


def _function_value(root: Node) -> Early | None:
    """An expression whose value is a function, or the promise of an ``async`` one."""
    statement = next((child for child in root.named_children if child.type == "expression_statement"), None)
    value = inside_parentheses(statement.named_children[0]) if statement and statement.named_children else None
    if value is None or len([one for one in root.named_children if "comment" not in one.type]) > 1:
        return None
    if value.type in _VALUES_THAT_ARE_FUNCTIONS or (value.type == "identifier" and text_of(value) in _CLASSES):
        return error_at(value, "its value is a function: call it")
    called = inside_parentheses(value.child_by_field_name("function")) if value.type == "call_expression" else None
    if called is not None and called.type in FUNCTIONS and any(child.type == "async" for child in called.children):
        return error_at(value, "its value is a promise, and n8n does not wait for it in an expression")
    return None
