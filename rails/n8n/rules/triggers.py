"""What starts a workflow and what it answers: publishable triggers, responses, credentials."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from rails.core.verdict import Severity
from rails.n8n.model import Issue, Node, Workflow, listed, shown_value
from rails.n8n.nodes.catalogue import Catalogue, Credential, Description
from rails.n8n.nodes.display import compiled
from rails.n8n.rules.graph import is_trigger

_ONLY_BY_HAND: Final = frozenset(
    {
        "n8n-nodes-base.manualTrigger",
        "n8n-nodes-base.start",
        "n8n-nodes-base.evaluationTrigger",
        "@n8n/n8n-nodes-langchain.manualChatTrigger",
    }
)
_RESPOND: Final = "n8n-nodes-base.respondToWebhook"
_WEBHOOK: Final = "n8n-nodes-base.webhook"
#: Nodes that take a credential of any type by a parameter.
_TAKES_ANY: Final = ("nodeCredentialType", "genericAuthType", "authentication")


def check(workflow: Workflow, known: Catalogue, held: Mapping[int, Mapping[str, Any]], profile: str) -> Iterator[Issue]:
    """Yield the issues of triggers and responses, and of credentials where the catalogue knows them."""
    running = [node for node in workflow.nodes if not node.disabled]
    if profile in {"publish", "strict"}:
        yield from _publishable(running)
    yield from _responses(running)
    severity: Severity = "warning" if profile in {"publish", "strict"} else "info"
    for node in running:
        description, values = known.describe(node.type, node.version), held.get(node.index)
        if description is not None and values is not None:
            yield from _credentials(node, description, values, severity)


def _publishable(running: list[Node]) -> Iterator[Issue]:
    triggers = [node for node in running if is_trigger(node)]
    if triggers and all(node.type in _ONLY_BY_HAND for node in triggers):
        message = "Only started by hand: n8n cannot publish this workflow"
        remedy = "Add a trigger that n8n can wait for: a schedule, a webhook, a form, an app's event."
        yield Issue("N8N082", triggers[0].path, message, remedy, "warning")


def _responses(running: list[Node]) -> Iterator[Issue]:
    webhooks = [node for node in running if node.type == _WEBHOOK]
    answers = [node for node in running if node.type == _RESPOND]
    waiting = [node for node in webhooks if node.parameters.get("responseMode") == "responseNode"]
    if waiting and not answers:
        node = waiting[0]
        message = f"{node.title} leaves the answer to a Respond to Webhook node, and there is none"
        remedy = f'Add {shown_value(_RESPOND)}, or set "responseMode": "lastNode".'
        yield Issue("N8N083", (*node.path, "parameters", "responseMode"), message, remedy, "warning")
    triggers = [node for node in running if is_trigger(node)]
    open_ended = any(str(node.parameters.get("responseMode", "")).startswith("=") for node in webhooks)
    if answers and webhooks and not waiting and not open_ended and len(triggers) == len(webhooks):
        message = f"{answers[0].title} answers nobody: no webhook has responseMode responseNode"
        remedy = f'Set "responseMode": "responseNode" in {listed(node.name for node in webhooks)}.'
        yield Issue("N8N083", answers[0].path, message, remedy, "warning")


def _credentials(
    node: Node, description: Description, values: Mapping[str, Any], severity: Severity
) -> Iterator[Issue]:
    given = node.raw.get("credentials")
    names = dict(given) if isinstance(given, dict) else {}
    active = [item for item in description.credentials if _shows(item, node, values)]
    missing = [item.name for item in active if item.required and item.name not in names]
    if missing and not names:
        message = f"{node.title} has no credential; it needs {listed(missing)}"
        yield Issue("N8N092", node.path, message, "Let the user choose one in n8n after the import.", severity)
    if not description.credentials or any(name in values for name in _TAKES_ANY):
        return
    possible = {item.name for item in description.credentials}
    for name in names:
        if name not in possible:
            message = f"{node.title} does not use credentials of type {shown_value(name)}"
            remedy = f"It uses {listed(sorted(possible))}."
            yield Issue("N8N093", (*node.path, "credentials", name), message, remedy, "warning", on_key=True)


def _shows(item: Credential, node: Node, values: Mapping[str, Any]) -> bool:
    display = compiled(item.display)
    return display is None or display.visible(values, values, node.version or 0, node.type.endswith("Tool"))
