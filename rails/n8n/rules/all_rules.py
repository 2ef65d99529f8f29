"""Every rule of the n8n check: its id, why it exists, and an example of what it catches.

Ids are grouped by tens: 00 the file, 01 nodes, 02 connections, 03 ports, 04 node types, 05 parameters,
06 expressions, 07 code, 08 triggers, 09 credentials and secrets, 10 the public API, 11 several workflows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rails.core.dataclass import dataclass
from rails.core.verdict import Severity


@dataclass(frozen=True, slots=True)
class WorkflowRule:
    """One rule: the reason in one line, an example of the fault, and the severity on ``import``."""

    id: str
    reason: str
    example: str
    severity: Severity = "error"


_ALL: Final = (
    WorkflowRule("N8N001", "The file must be one JSON document; n8n cannot read anything else.", '{"nodes": [}'),
    WorkflowRule("N8N002", "A workflow is an object with a `nodes` array and a `connections` object.", '{"nodes": {}}'),
    WorkflowRule(
        "N8N003", "An object names a key twice; n8n drops what stands before the last one.", '{"A": 1, "A": 2}'
    ),
    WorkflowRule("N8N010", "Every node is an object.", '"nodes": [null]'),
    WorkflowRule("N8N011", "A node has a non-empty `name`; connections and expressions refer to it.", '"name": ""'),
    WorkflowRule("N8N012", "A node has a non-empty `type`; the editor drops nodes without one.", '"type": 3'),
    WorkflowRule("N8N013", "A node's `position` is two numbers.", '"position": {"x": 0, "y": 0}'),
    WorkflowRule("N8N014", "A node's `parameters` is an object.", '"parameters": []'),
    WorkflowRule("N8N015", "A node's `id` is a string.", '"id": 1'),
    WorkflowRule("N8N016", "A node's `typeVersion` is a number.", '"typeVersion": "1"'),
    WorkflowRule("N8N017", "A node's `disabled` is true or false.", '"disabled": "no"'),
    WorkflowRule("N8N018", "Node names are unique; connections find nodes by name.", "two nodes named Set"),
    WorkflowRule("N8N019", "Node ids are unique where they are given.", 'two nodes with "id": "1"'),
    WorkflowRule(
        "N8N020", "Connections go from a node's name to output type to a list of outputs.", '"connections": []'
    ),
    WorkflowRule("N8N021", "Each output is a list of targets, or null.", '"main": [{"node": "B"}]'),
    WorkflowRule("N8N022", "Each target has `node`, `type` and `index`.", '{"node": "B"}'),
    WorkflowRule("N8N023", "A target's `index` is a whole number from 0.", '"index": "0"'),
    WorkflowRule("N8N024", "Connections start at a node that exists.", '"connections": {"Strat": …}'),
    WorkflowRule("N8N025", "Connections end at a node that exists.", '{"node": "Sett", "type": "main", "index": 0}'),
    WorkflowRule(
        "N8N030", "The connection type is one that n8n knows; others are dropped.", '"connections": {"A": {"0": …}}'
    ),
    WorkflowRule(
        "N8N031", "Both ends of a connection have the same type, or the editor drops it.", '"main" → "ai_tool"'
    ),
    WorkflowRule(
        "N8N032", "The source has an output of this type and number, or the editor drops it.", "main[4] of an If"
    ),
    WorkflowRule(
        "N8N033", "The target has an input of this type and number, or the editor drops it.", "main into a trigger"
    ),
    WorkflowRule("N8N034", "Some inputs take only certain nodes.", "a text model at a chat agent"),
    WorkflowRule("N8N035", "A sticky note has no inputs and outputs.", '"connections": {"Sticky Note": …}'),
    WorkflowRule("N8N036", "A node connected to itself runs until the time-out.", "A.main[0] → A", "warning"),
    WorkflowRule("N8N037", "A node that no trigger leads to never runs.", "a node without an incoming wire", "warning"),
    WorkflowRule("N8N038", "A cycle without a branch never ends.", "A → B → A", "warning"),
    WorkflowRule("N8N039", "A node cannot run without its required sub-nodes.", "an AI Agent without a model"),
    WorkflowRule("N8N040", "n8n has no such node type.", '"type": "n8n-nodes-base.htpRequest"'),
    WorkflowRule("N8N041", "The node type has no such version.", '"typeVersion": 99'),
    WorkflowRule("N8N042", "A community node's parameters cannot be checked.", '"type": "n8n-nodes-foo.bar"', "info"),
    WorkflowRule(
        "N8N043", "Without a `typeVersion` n8n takes the newest one, which may differ.", "no typeVersion", "warning"
    ),
    WorkflowRule("N8N044", "The node type is retired or replaced.", '"type": "n8n-nodes-base.function"', "warning"),
    WorkflowRule("N8N045", "n8n leaves the node out by default.", '"type": "n8n-nodes-base.executeCommand"', "warning"),
    WorkflowRule("N8N046", "n8n handles a node's error in one of three ways.", '"onError": "ignore"', "warning"),
    WorkflowRule("N8N047", "An input takes only so many nodes.", "two memories at one agent", "warning"),
    WorkflowRule("N8N050", "A required parameter that shows must have a value.", "HTTP Request without `url`"),
    WorkflowRule("N8N051", "n8n drops parameters that the node's version does not have.", '"metod": "GET"'),
    WorkflowRule(
        "N8N052", "n8n drops parameters that the other settings hide.", '"jsonBody" without "sendBody"', "warning"
    ),
    WorkflowRule("N8N053", "n8n drops groups that a collection does not have.", '"rules": {"value": […]}'),
    WorkflowRule("N8N054", "A choice must be in the list of the node's version.", '"operation": "sendd"'),
    WorkflowRule("N8N055", "n8n reads a list or an object here and nothing else.", '"values": {…} for "values": […]'),
    WorkflowRule(
        "N8N056", "n8n checks the form of locators, mapped fields and typed parameters.", "a document id with spaces"
    ),
    WorkflowRule("N8N057", "n8n has no such comparison, so it is never true.", '"operation": "equal"'),
    WorkflowRule("N8N058", "A number or boolean in quotes may be read as text.", '"limit": "10"', "warning"),
    WorkflowRule("N8N060", "An expression must be valid JavaScript, or the run fails.", '"={{ $json.a + }}"'),
    WorkflowRule("N8N061", "An expression or code may only name nodes that exist.", "\"={{ $('Gone').item.json.a }}\""),
    WorkflowRule("N8N062", "A node that does not run before has no data yet.", "$('Later')", "warning"),
    WorkflowRule("N8N063", 'Without a leading "=" n8n keeps an expression as text.', '"{{ $json.a }}"', "warning"),
    WorkflowRule("N8N064", "An expression is closed by its braces.", '"={{ $json.a"', "warning"),
    WorkflowRule("N8N065", "n8n defines no such variable.", '"={{ $jsn.a }}"', "warning"),
    WorkflowRule("N8N066", "Without its parser JavaScript is not checked.", "tree-sitter is not installed", "info"),
    WorkflowRule("N8N070", "The JavaScript of a Code node must parse.", '"jsCode": "return [;"'),
    WorkflowRule("N8N071", "The Python of a Code node must parse.", '"pythonCode": "return ["'),
    WorkflowRule("N8N072", "The language of a Code node is one that n8n runs.", '"language": "js"'),
    WorkflowRule("N8N073", "A Code node gives back items.", "code without a return", "warning"),
    WorkflowRule("N8N080", "Nothing can start the workflow.", "no trigger node", "warning"),
    WorkflowRule(
        "N8N081", "Two webhooks with one method and path cannot both be active.", "two POST /orders", "warning"
    ),
    WorkflowRule("N8N082", "n8n cannot publish what is only started by hand.", "only a Manual Trigger", "warning"),
    WorkflowRule(
        "N8N083", "A webhook's response mode and its Respond node belong together.", "responseNode alone", "warning"
    ),
    WorkflowRule(
        "N8N090", "A secret in a parameter is readable by everyone who can read the file.", '"Bearer abc…"', "warning"
    ),
    WorkflowRule("N8N092", "A node needs its credential before it can be published.", "Slack without slackApi", "info"),
    WorkflowRule("N8N093", "The node does not use credentials of this type.", '"credentials": {"slak": …}', "warning"),
    WorkflowRule("N8N094", "The account has no such credential.", '"slackApi": {"id": "…"} of another n8n', "warning"),
    WorkflowRule("N8N100", "The workflow has a `name` of 1 to 128 characters.", '"name": ""', "info"),
    WorkflowRule("N8N101", "The public API needs `settings`.", "no settings", "info"),
    WorkflowRule("N8N102", "The public API refuses keys that it does not know.", '"version": 1', "info"),
    WorkflowRule(
        "N8N103", "The public API refuses setting values that it does not know.", '"callerPolicy": "all"', "info"
    ),
    WorkflowRule("N8N104", "Pinned data belongs to a node.", '"pinData": {"Gone": […]}', "warning"),
    WorkflowRule(
        "N8N110", "A workflow that is called is there and takes what it is given.", "no such workflow id", "warning"
    ),
    WorkflowRule("N8N111", "The workflow for errors is there and has an Error Trigger.", "errorWorkflow", "warning"),
    WorkflowRule(
        "N8N112", "Two files with one workflow id are one workflow in n8n.", '"id" of another file', "warning"
    ),
)

#: Rule id → rule.
RULES: Final[Mapping[str, WorkflowRule]] = {rule.id: rule for rule in _ALL}
