"""Triggers, responses, credentials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rails.core.verdict import Severity
from rails.n8n.facts import FACTS
from rails.n8n.model import Issue, Node, Workflow, issue, listed, shown_value
from rails.n8n.nodes.catalogue import CORE_PACKAGES, Catalogue, Credential, Description
from rails.n8n.nodes.display import compiled
from rails.n8n.rules.graph import is_trigger

_ONLY_BY_HAND: Final = frozenset(FACTS["types_started_by_hand"])
_RESPOND: Final = "n8n-nodes-base.respondToWebhook"
_WEBHOOK: Final = "n8n-nodes-base.webhook"
#: Nodes that take a credential of any type by a parameter.
_TAKES_ANY: Final = ("nodeCredentialType", "genericAuthType")
_ANY_BY: Final = ("predefinedCredentialType", "genericCredentialType")
#: Nodes that are no triggers and have a webhook, to wait for an answer: enough for n8n to publish.
_HAS_WEBHOOK: Final = frozenset(FACTS["types_with_webhook"])


def check(
    workflow: Workflow, known: Catalogue, held: Mapping[int, Mapping[str, Any]], *, publishes: bool
) -> Iterator[Issue]:
    """Yield the issues of triggers and responses, and of known credentials."""
    running = [node for node in workflow.nodes if not node.disabled]
    if publishes:
        yield from _publishable(running, waits=has_webhook(workflow, known))
    yield from _responses(running)
    for node in running:
        description = known.describe(node.type, node.version)
        values = held.get(node.index)
        if description is not None and values is not None:
            used = [item for item in description.credentials if item.required and _shows(item, node, values)]
            severity = _severity(workflow, node, description) if publishes else "info"
            yield from _lacking(node, used, severity, publishes=publishes)
            yield from _of_no_use(node, description, values)


def has_webhook(workflow: Workflow, known: Catalogue) -> bool:
    """Return whether an enabled node has its own webhook, as Wait: n8n publishes."""
    return any(_has_webhook(node, known) for node in workflow.nodes if not node.disabled)


def _has_webhook(node: Node, known: Catalogue) -> bool:
    described = known.describe(node.type, node.version)
    return node.type in _HAS_WEBHOOK or _is_foreign(node) or (described is not None and described.has_webhook)


def _publishable(running: list[Node], *, waits: bool) -> Iterator[Issue]:
    triggers = [node for node in running if is_trigger(node)]
    if triggers and all(node.type in _ONLY_BY_HAND for node in triggers):
        message = "Only started by hand: " + (
            "n8n publishes this workflow and nothing will start it" if waits else "n8n cannot publish this workflow"
        )
        remedy = "Add a trigger that n8n can wait for: a schedule, a webhook, a form, an app's event."
        yield Issue("N8N082", triggers[0].path, message, remedy, "warning" if waits else "error")


def _is_foreign(node: Node) -> bool:
    return node.type.rpartition(".")[0] not in CORE_PACKAGES and not node.is_sticky


def _responses(running: list[Node]) -> Iterator[Issue]:
    webhooks = [node for node in running if node.type == _WEBHOOK]
    answers = [node for node in running if node.type == _RESPOND]
    waiting = [node for node in webhooks if node.parameters.get("responseMode") == "responseNode"]
    if waiting and not answers:
        node = waiting[0]
        remedy = f'Add {shown_value(_RESPOND)}, or set "responseMode": "lastNode".'
        yield issue("N8N083", (*node.path, "parameters", "responseMode"), node=node, remedy=remedy)
    triggers = [node for node in running if is_trigger(node)]
    open_ended = any(str(node.parameters.get("responseMode", "")).startswith("=") for node in webhooks)
    if answers and webhooks and not waiting and not open_ended and len(triggers) == len(webhooks):
        yield issue("N8N083b", answers[0].path, node=answers[0], value=(node.name for node in webhooks))


def _severity(workflow: Workflow, node: Node, description: Description) -> Severity:
    """Return a missing credential's severity: unconnected nodes are ignored."""
    is_connected = bool(workflow.incoming.get(node.name) or _has_outputs(workflow, node))
    starts = description.is_trigger or description.has_webhook or is_trigger(node)
    return "error" if is_connected or (starts and node.type not in _ONLY_BY_HAND) else "info"


def _has_outputs(workflow: Workflow, node: Node) -> bool:
    connections = workflow.raw.get("connections")
    return isinstance(connections, dict) and bool(connections.get(node.name))


def _lacking(node: Node, used: list[Credential], severity: Severity, *, publishes: bool) -> Iterator[Issue]:
    given = node.raw.get("credentials")
    names = dict(given) if isinstance(given, dict) else {}
    missing = [item.name for item in used if not _is_truthy(names.get(item.name))]
    if missing and (publishes or not names):
        what = f"no credential of type {listed(missing)}" if names else f"no credential; it needs {listed(missing)}"
        yield issue(
            "N8N092",
            node.path,
            severity=severity,
            node=node,
            what=what,
            value=", which its settings ask for" if names else "",
        )
    for item in used if publishes else ():
        entry = names.get(item.name)
        if item.name in missing or (isinstance(entry, dict) and _is_configured(entry)):
            continue
        yield issue("N8N092b", (*node.path, "credentials", item.name), severity=severity, node=node, item=item)


def _is_configured(entry: Mapping[str, Any]) -> bool:
    return _is_truthy(entry.get("id")) or _is_truthy(entry.get("__aiGatewayManaged"))


def _is_truthy(value: Any) -> bool:  # noqa: ANN401
    """Return whether JavaScript takes it for true: an empty object is."""
    return isinstance(value, dict | list) or bool(value)


def _of_no_use(node: Node, description: Description, values: Mapping[str, Any]) -> Iterator[Issue]:
    given = node.raw.get("credentials")
    if not description.credentials or not isinstance(given, dict) or _takes_any(values):
        return
    possible = {item.name for item in description.credentials}
    for name in given:
        if name not in possible:
            yield issue(
                "N8N093", (*node.path, "credentials", name), on_key=True, node=node, name=name, sorted=sorted(possible)
            )


def _takes_any(values: Mapping[str, Any]) -> bool:
    chosen = values.get("authentication")
    return chosen in _ANY_BY or any(name in values for name in _TAKES_ANY) or str(chosen).startswith("=")


def _shows(item: Credential, node: Node, values: Mapping[str, Any]) -> bool:
    display = compiled(item.display)
    return display is None or display.visible(values, values, node.version or 0, node.type.endswith("Tool"))
