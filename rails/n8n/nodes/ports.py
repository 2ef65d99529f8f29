"""A node's inputs and outputs, also where n8n computes them from the parameters.

The catalogue has the ports of most types. For the few that n8n gives as code, the functions here say the
same from the filled parameters. Where an expression decides, or the type is not among them, the answer is
``None``: not known, so not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from rails.n8n.nodes.catalogue import Description, Port

ParameterValues = Mapping[str, Any]

_MAIN: Final = Port("main")
_MODEL: Final = Port("ai_languageModel", required=True, max_connections=1)
_NO_CHAT: Final = tuple(
    f"@n8n/n8n-nodes-langchain.{name}" for name in ("lmCohere", "lmOllama", "lmOpenHuggingFaceInference")
)
_CHAT_MODEL: Final = Port("ai_languageModel", required=True, max_connections=1, never=_NO_CHAT)
_MEMORY: Final = Port("ai_memory", max_connections=1)
_PARSER: Final = Port("ai_outputParser", max_connections=1)
_TOOL: Final = Port("ai_tool")
_SPLITTER: Final = Port("ai_textSplitter", required=True, max_connections=1)
_DOCUMENT: Final = Port("ai_document", required=True, max_connections=1)
#: More ports than any node has: a number from a parameter is not trusted further.
_MOST: Final = 200


#: AI inputs: what n8n writes below them, in its order.
AI_PORTS: Final[Mapping[str, str]] = {
    "ai_languageModel": "Model", "ai_memory": "Memory", "ai_tool": "Tool", "ai_outputParser": "Parser",
    "ai_embedding": "Embedding", "ai_document": "Document", "ai_textSplitter": "Splitter", "ai_vectorStore": "Vectors",
    "ai_retriever": "Retriever", "ai_reranker": "Reranker", "ai_agent": "Agent", "ai_chain": "Chain",
}  # fmt: skip
#: Sub-nodes that one would take for a required input, before any other.
USUAL_SUB_NODES: Final[Mapping[str, str]] = {
    "ai_languageModel": "@n8n/n8n-nodes-langchain.lmChatOpenAi",
    "ai_embedding": "@n8n/n8n-nodes-langchain.embeddingsOpenAi",
    "ai_document": "@n8n/n8n-nodes-langchain.documentDefaultDataLoader",
    "ai_vectorStore": "@n8n/n8n-nodes-langchain.vectorStoreInMemory",
    "ai_memory": "@n8n/n8n-nodes-langchain.memoryBufferWindow",
    "ai_retriever": "@n8n/n8n-nodes-langchain.retrieverVectorStore",
    "ai_textSplitter": "@n8n/n8n-nodes-langchain.textSplitterRecursiveCharacterTextSplitter",
    "ai_tool": "@n8n/n8n-nodes-langchain.toolCalculator",
    "ai_outputParser": "@n8n/n8n-nodes-langchain.outputParserStructured",
    "ai_reranker": "@n8n/n8n-nodes-langchain.rerankerCohere",
}


class _Unknown(Exception):
    """An expression decides; what it gives is only known when the workflow runs."""


def inputs(description: Description, values: ParameterValues, version: float) -> tuple[Port, ...] | None:
    """Return the inputs of a node with these filled parameters."""
    if description.inputs is not None:
        return description.inputs
    return _computed(_INPUTS, description, values, version)


def outputs(
    description: Description, values: ParameterValues, version: float, *, error_output: bool = False
) -> tuple[Port, ...] | None:
    """Return the outputs of a node. ``error_output`` is whether ``onError`` adds one more at the end."""
    found = description.outputs
    if found is None:
        found = _computed(_OUTPUTS, description, values, version)
    return (*found, _MAIN) if error_output and found is not None else found


_Compute = Callable[[ParameterValues, float], "tuple[Port, ...]"]


def _computed(
    table: Mapping[str, _Compute], description: Description, values: ParameterValues, version: float
) -> tuple[Port, ...] | None:
    short = description.type.rpartition(".")[2]
    compute = table.get("vectorStore" if "ectorStore" in short else short)
    if compute is None:
        return None
    try:
        return compute(values, version)
    except _Unknown:
        return None


def _at(values: Any, *path: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value at a path, ``None`` where there is none. Raises _Unknown for an expression."""
    for part in path:
        values = values.get(part) if isinstance(values, dict) else None
    if isinstance(values, str) and values.startswith("="):
        raise _Unknown
    return values


def _word(values: Any, *path: str) -> str | bool | None:  # noqa: ANN401
    """Return the text or flag at a path. Raises _Unknown for an expression or anything else."""
    found = _at(values, *path)
    if found is not None and not isinstance(found, str | bool):
        raise _Unknown
    return found


def _count(values: ParameterValues, name: str, otherwise: int) -> int:
    number = _at(values, name)
    if isinstance(number, bool) or not isinstance(number, int | float):
        return otherwise
    return int(min(max(number, 0), _MOST)) or otherwise


def _rows(values: ParameterValues, *path: str) -> list[Any]:
    rows = _at(values, *path)
    return rows[:_MOST] if isinstance(rows, list) else []


# -- inputs ----------------------------------------------------------------------------------------


def _beside(port: Port, test: Callable[[ParameterValues, float], bool]) -> _Compute:
    """Return what gives one main port, and another beside it where a test of the parameters holds."""
    return lambda values, version: (_MAIN, port) if test(values, version) else (_MAIN,)


def _judges(values: ParameterValues, _: float) -> bool:
    return _word(values, "operation") == "setMetrics" and _word(values, "metric") in {"correctness", "helpfulness"}


def _responds(values: ParameterValues, version: float) -> bool:
    return version == 1.3 or (version >= 1.4 and bool(_at(values, "enableResponseOutput")))


_vendor: Final = _beside(
    _TOOL, lambda values, _: _word(values, "resource") == "text" and _word(values, "operation") == "message"
)


def _open_ai(values: ParameterValues, _: float) -> tuple[Port, ...]:
    resource, operation = _word(values, "resource"), _word(values, "operation")
    if resource == "assistant" and operation == "message":
        return (_MAIN, _TOOL) if _word(values, "memory") == "threadId" else (_MAIN, _TOOL, _MEMORY)
    if resource == "text" and operation in {"message", "response"} and _word(values, "hideTools") != "hide":
        return (_MAIN, _TOOL)
    return (_MAIN,)


def _agent_parts(values: ParameterValues) -> tuple[Port, ...]:
    fallback = (_CHAT_MODEL,) if _word(values, "needsFallback") is True else ()
    parser = (_PARSER,) if _word(values, "hasOutputParser") in {None, True} else ()
    return (_CHAT_MODEL, *fallback, _MEMORY, _TOOL, *parser)


def _agent(values: ParameterValues, version: float) -> tuple[Port, ...]:
    if version >= 2:
        return (_MAIN, *_agent_parts(values))
    parser = (_PARSER,) if _word(values, "hasOutputParser") in {None, True} else ()
    kinds = {
        "conversationalAgent": (_MEMORY, _TOOL, *parser),
        "toolsAgent": (_MEMORY, _TOOL, *parser),
        "openAiFunctionsAgent": (_MEMORY, _TOOL, *parser),
        "reActAgent": (_TOOL, *parser),
        "planAndExecuteAgent": (_TOOL, *parser),
        "sqlAgent": (_MEMORY,),
    }
    kind = _word(values, "agent")
    if kind is None:
        return (_MAIN, _MODEL, _MEMORY, _TOOL, *parser)
    if kind not in kinds:
        raise _Unknown
    chat_only = kind in {"conversationalAgent", "toolsAgent", "openAiFunctionsAgent"}
    return (_MAIN, _CHAT_MODEL if chat_only else _MODEL, *kinds[kind])


def _chain(values: ParameterValues, _: float) -> tuple[Port, ...]:
    fallback = (_MODEL,) if _word(values, "needsFallback") is True else ()
    parser = (_PARSER,) if _word(values, "hasOutputParser") in {None, True} else ()
    return (_MAIN, _MODEL, *fallback, *parser)


def _summary(values: ParameterValues, _: float) -> tuple[Port, ...]:
    if _word(values, "operationMode") == "documentLoader":
        return (_MAIN, _MODEL, _DOCUMENT)
    if _word(values, "chunkingMode") == "advanced":
        return (_MAIN, _MODEL, Port("ai_textSplitter", max_connections=1))
    return (_MAIN, _MODEL)


def _vector_store(values: ParameterValues, _: float) -> tuple[Port, ...]:
    mode = _word(values, "mode")
    found = [Port("ai_embedding", required=True, max_connections=1)]
    if mode in {"load", "retrieve", "retrieve-as-tool"} and _at(values, "useReranker"):
        found.append(Port("ai_reranker", required=True, max_connections=1))
    if mode in {"insert", "load", "update"}:
        found.append(_MAIN)
    if mode == "insert":
        found.append(_DOCUMENT)
    return tuple(found)


def _loader(values: ParameterValues, version: float) -> tuple[Port, ...]:
    # Version 1 has no choice and always needs a splitter; since 1.1 the default is a simple one of its own.
    mode = _word(values, "textSplittingMode") or ("custom" if version < 1.1 else "simple")
    return (_SPLITTER,) if mode == "custom" else ()


def _chat_trigger(values: ParameterValues, _: float) -> tuple[Port, ...]:
    if _word(values, "mode") not in {"hostedChat", "webhook"}:
        return ()
    remembers = _word(values, "options", "loadPreviousSession") == "memory"
    return (Port("ai_memory", required=True, max_connections=1),) if remembers else ()


def _guardrails(values: ParameterValues, version: float) -> tuple[Port, ...]:
    if version < 2:
        return (_MAIN,) if _word(values, "operation") == "sanitize" else (_MAIN, _CHAT_MODEL)
    checks = _at(values, "guardrails")
    asks = isinstance(checks, dict) and bool({"nsfw", "topicalAlignment", "custom", "jailbreak"} & checks.keys())
    return (_MAIN, _CHAT_MODEL) if asks else (_MAIN,)


def _code_ports(kind: str) -> _Compute:
    def compute(values: ParameterValues, _: float) -> tuple[Port, ...]:
        rows = _rows(values, f"{kind}s", kind)
        if not rows:
            raise _Unknown
        typed = (row for row in rows if isinstance(row, dict) and isinstance(row.get("type"), str))
        return tuple(Port(row["type"], row.get("required") is True) for row in typed)

    return compute


# -- outputs ---------------------------------------------------------------------------------------


def _switch(values: ParameterValues, version: float) -> tuple[Port, ...]:
    if _word(values, "mode") == "expression":
        return (_MAIN,) * _count(values, "outputsAmount" if version < 3 else "numberOutputs", 4)
    if version < 3:
        return (_MAIN,) * len(_rows(values, "rules", "rules"))
    extra = 1 if _at(values, "options", "fallbackOutput") == "extra" else 0  # it may be the number of an output
    return (_MAIN,) * (len(_rows(values, "rules", "values")) + extra)


def _webhook(values: ParameterValues, _: float) -> tuple[Port, ...]:
    methods = _at(values, "httpMethod")
    if isinstance(methods, list):
        return (_MAIN,) * min(len(methods), _MOST)
    # Several methods are GET and POST until others are chosen.
    return (_MAIN, _MAIN) if methods is None and _at(values, "multipleMethods") else (_MAIN,)


def _sentiment(values: ParameterValues, _: float) -> tuple[Port, ...]:
    named = _at(values, "options", "categories")
    return (_MAIN,) * (min(named.count(",") + 1, _MOST) if isinstance(named, str) else 3)


def _classified(values: ParameterValues, _: float) -> tuple[Port, ...]:
    other = 1 if _word(values, "options", "fallback") == "other" else 0
    return (_MAIN,) * (len(_rows(values, "categories", "categories")) + other)


def _stored(values: ParameterValues, _: float) -> tuple[Port, ...]:
    kinds = {None: "ai_vectorStore", "retrieve": "ai_vectorStore", "retrieve-as-tool": "ai_tool"}
    mode = _word(values, "mode")
    return (Port(kinds.get(mode, "main") if not isinstance(mode, bool) else "main"),)


#: Defaults that decide on ports, for when the catalogue has no parameters to fill in.
_TEXT_MESSAGE: Final[ParameterValues] = {"resource": "text", "operation": "message"}
_DEFAULTS: Final[Mapping[str, ParameterValues]] = {
    "alibabaCloud": _TEXT_MESSAGE,
    "anthropic": _TEXT_MESSAGE,
    "chatTrigger": {"mode": "hostedChat"},
    "googleGemini": _TEXT_MESSAGE,
    "minimax": _TEXT_MESSAGE,
    "moonshot": _TEXT_MESSAGE,
    "ollama": _TEXT_MESSAGE,
    "openAi": _TEXT_MESSAGE,
}


def with_defaults(node_type: str, parameters: ParameterValues) -> ParameterValues:
    """Return parameters as far as ports depend on them, where no full catalogue can fill them in."""
    return {**_DEFAULTS.get(node_type.rpartition(".")[2], {}), **parameters}


_INPUTS: Final[Mapping[str, _Compute]] = {
    "agent": _agent,
    "agentTool": lambda values, _: _agent_parts(values),
    "alibabaCloud": _vendor,
    "anthropic": _vendor,
    "chainLlm": _chain,
    "chainSummarization": _summary,
    "chat": _beside(_MEMORY, lambda values, _: bool(_at(values, "options", "memoryConnection"))),
    "chatTrigger": _chat_trigger,
    "code": _code_ports("input"),
    "documentDefaultDataLoader": _loader,
    "documentGithubLoader": _loader,
    "evaluation": _beside(Port("ai_languageModel", max_connections=1), _judges),
    "googleGemini": _vendor,
    "guardrails": _guardrails,
    "merge": lambda values, _: (_MAIN,) * _count(values, "numberInputs", 2),
    "microsoftAgent365Trigger": lambda values, _: _agent_parts(values),
    "minimax": _vendor,
    "modelSelector": lambda values, _: (_MODEL,) * _count(values, "numberInputs", 2),
    "moonshot": _vendor,
    "ollama": _vendor,
    "openAi": _open_ai,
    "outputParserStructured": lambda values, _: (_MODEL,) if _at(values, "autoFix") else (),
    "vectorStore": _vector_store,
}
_OUTPUTS: Final[Mapping[str, _Compute]] = {
    "code": _code_ports("output"),
    "evaluation": _beside(_MAIN, lambda values, _: _word(values, "operation") == "checkIfEvaluating"),
    "guardrails": _beside(_MAIN, lambda values, _: _word(values, "operation") in {None, "classify"}),
    "respondToWebhook": _beside(_MAIN, _responds),
    "sentimentAnalysis": _sentiment,
    "switch": _switch,
    "textClassifier": _classified,
    "vectorStore": _stored,
    "webhook": _webhook,
}
