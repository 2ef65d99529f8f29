import pytest

STRING = {"type": "string"}

SHAPES = {
    "write_file": {
        "type": "object",
        "properties": {"file_path": STRING, "path": STRING, "content": STRING},
        "required": ["content"],
        "additionalProperties": False,
    },
    "delete_file": {
        "type": "object",
        "properties": {"file_path": STRING, "path": STRING},
        "additionalProperties": False,
    },
    "edit_file": {
        "type": "object",
        "properties": {
            "file_path": STRING,
            "path": STRING,
            "old_string": STRING,
            "new_string": STRING,
            "replace_all": {"type": "boolean"},
            "search_replace": {
                "type": "object",
                "properties": {"old_string": STRING, "new_string": STRING},
                "required": ["old_string", "new_string"],
                "additionalProperties": False,
            },
        },
        "additionalProperties": False,
    },
    "run_code": {
        "type": "object",
        "properties": {"code": STRING, "timeout": {"type": "integer"}},
        "required": ["code"],
        "additionalProperties": False,
    },
    "read_file": {
        "type": "object",
        "properties": {
            "file_path": STRING,
            "path": STRING,
            "offset": {"type": "integer"},
            "limit": {"type": "integer"},
            "ratio": {"type": "number"},
        },
        "additionalProperties": False,
    },
    "multi_edit": {
        "type": "object",
        "properties": {
            "edits": {
                "type": "array",
                "minItems": 1,
                "maxItems": 50,
                "items": {
                    "type": "object",
                    "properties": {
                        "path": STRING,
                        "oldString": STRING,
                        "newString": STRING,
                        "replace_all": {"type": "boolean"},
                    },
                    "required": ["path", "oldString", "newString"],
                    "additionalProperties": False,
                },
            },
            "explanation": STRING,
        },
        "required": ["edits"],
        "additionalProperties": False,
    },
    "fetch_webpage": {
        "type": "object",
        "properties": {"urls": {"type": "array", "items": STRING, "minItems": 1}, "query": STRING},
        "required": ["urls"],
        "additionalProperties": False,
    },
    "CodebaseSummaryMCP": {
        "type": "object",
        "properties": {"query": STRING, "path": STRING},
        "required": ["query"],
    },
}
SHAPES["fast_editor"] = SHAPES["multi_edit"]


@pytest.fixture
def tools():
    return SHAPES
