"""Node descriptions of our own, in the form in which n8n's packages hold theirs."""


def options(name, *values, **more):
    return {"name": name, "type": "options", "default": values[0], "options": [{"value": v} for v in values], **more}


def text(name, **more):
    return {"name": name, "type": "string", "default": "", **more}


def node(name, version, properties, **more):
    return {
        "name": name,
        "version": version,
        "group": ["transform"],
        "inputs": ["main"],
        "outputs": ["main"],
        "properties": properties,
        **more,
    }


def shown(**when):
    return {"displayOptions": {"show": when}}


LETTER = [
    options("resource", "letter", "parcel"),
    options("operation", "send", "read", **shown(resource=["letter"])),
    options("operation", "weigh", "send", **shown(resource=["parcel"])),
    text("to", required=True, **shown(resource=["letter"], operation=["send"])),
    text("stamp", required=True, **shown(resource=["letter"], **{"@version": [{"_cnd": {"gte": 2}}]})),
    text("weight", displayOptions={"hide": {"resource": ["letter"]}}),
    {
        "name": "office",
        "type": "resourceLocator",
        "default": {"mode": "list", "value": ""},
        "required": True,
        "modes": [
            {"name": "list"},
            {"name": "id", "validation": [{"type": "regex", "properties": {"regex": "[0-9]{3}"}}]},
        ],
        **shown(resource=["parcel"]),
    },
    {
        "name": "extras",
        "type": "collection",
        "default": {},
        "options": [text("note"), options("speed", "slow", "fast"), {"name": "copies", "type": "number", "default": 1}],
    },
    {
        "name": "pages",
        "type": "fixedCollection",
        "default": {},
        "typeOptions": {"multipleValues": True},
        "options": [{"name": "page", "values": [text("title", required=True), text("body")]}],
    },
    {
        "name": "seal",
        "type": "fixedCollection",
        "default": {},
        "options": [{"name": "wax", "values": [text("colour"), text("motto", required=True)]}],
    },
    {"name": "kinds", "type": "multiOptions", "default": [], "options": [{"value": "air"}, {"value": "sea"}]},
    options("branch", "any", typeOptions={"loadOptionsMethod": "getBranches"}),
    {"name": "urgent", "type": "boolean", "default": False},
    {"name": "when", "type": "filter", "default": {}},
    {"name": "letterNotice", "type": "notice", "default": ""},
]

NODES = [
    node("post", [2, 2.1], LETTER, usableAsTool=True, credentials=[{"name": "postApi", "required": True}]),
    node("post", 1, LETTER, defaultVersion=2.1),
    node("manualTrigger", 1, [], group=["trigger"], inputs=[]),
    node("set", 1, [text("field")]),
    node("code", 2, [options("language", "javaScript", "pythonNative"), text("jsCode"), text("pythonCode")]),
    node("merge", 3, [{"name": "numberInputs", "type": "number", "default": 2}], inputs="={{ code }}"),
    node(
        "switch",
        3,
        [
            options("mode", "rules", "expression"),
            {"name": "numberOutputs", "type": "number", "default": 4},
            {
                "name": "rules",
                "type": "fixedCollection",
                "default": {},
                "typeOptions": {"multipleValues": True},
                "options": [{"name": "values", "values": [text("outputKey")]}],
            },
            {
                "name": "options",
                "type": "collection",
                "default": {},
                "options": [options("fallbackOutput", "none", "extra")],
            },
        ],
        outputs="={{ code }}",
    ),
    node("odd", 1, [], inputs="={{ code }}", outputs="={{ code }}"),
    node("brain", 1, [], inputs=[], outputs=["ai_languageModel"]),
    node("note", 1, [], inputs=[], outputs=["ai_memory"]),
    node(
        "asker",
        1,
        [],
        inputs=[
            "main",
            {"type": "ai_languageModel", "required": True, "maxConnections": 1, "filter": {"excludedNodes": ["x.y"]}},
            {"type": "ai_tool"},
        ],
    ),
    node("stickyNote", 1, [text("content")], inputs=[], outputs=[]),
]
