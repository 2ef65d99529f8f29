"""Shared by all server models: address, key, optional fields, echoed parts."""

from __future__ import annotations

import json
import re
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Final

from msgspec import Struct, field
from msgspec.structs import replace

from rails.core import limits
from rails.core.conversation import (
    BAD_CALL,
    Delta,
    Message,
    MessagePart,
    ModelAnswer,
    NativeResult,
    Opaque,
    ToolSpec,
)
from rails.core.errors import ModelError
from rails.core.tool_request import Json
from rails.models.http import ModelCallError, ModelServer, is_here
from rails.models.model import Model
from rails.models.reading import BESIDE, Reading
from rails.models.structured_output import StrictRules, strict_tools

#: What a server may refuse, with a pattern of such a refusal: the request is then sent without it, once and from then
#: on. "bare" are answers without thoughts, which DeepSeek and Kimi refuse once tools are called.
_OPTIONAL: Final[Mapping[str, str]] = {
    "bare": r"reasoning_content\W.*(missing|passed back)|(missing|include|requires?) \W?reasoning_content",
    "temperature": "temperature",
    "strict": "strict|grammar|schema",
    "thoughts": "signature|thinking|thought|reasoning|encrypted|unsupported|not permitted|extra",
}


#: A message, a part of one or a tool, as an API takes it.
WireObject = dict[str, Any]


class ServerModel(Model, Struct, frozen=True):
    """A model of a server; each answer has its own connection.

    ``strict``: ask for strict tools. ``refused``: optional things the server refused.
    """

    #: The provider's own address, the window of its models, what its strict tools take.
    URL: ClassVar[str]
    WINDOW: ClassVar[int] = limits.OPENAI_WINDOW
    RULES: ClassVar[StrictRules | None] = None
    #: The interface: its name, the path of its requests, where the messages are, and what a whole answer has.
    KIND: ClassVar[str]
    PATH: ClassVar[str]
    MESSAGES: ClassVar[str] = "messages"
    ANSWER: ClassVar[str]
    READING: ClassVar[type[Reading]]
    #: Where a tool's schema is.
    SCHEMA: ClassVar[str] = "parameters"

    name: str
    api_key: str
    base_url: str = ""
    max_tokens: int = limits.ANSWER_TOKENS
    silence_s: float = limits.MODEL_SILENCE_SECONDS
    window: int = limits.LOCAL_WINDOW
    strict: bool = False
    temperature: float | None = None
    seed: int | None = None
    refused: set[str] = field(default_factory=set)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"  # without the key

    @property
    def provider(self) -> str:
        """Return its API's name."""
        return self.KIND

    @property
    def local(self) -> bool:
        """Whether the server is local."""
        return is_here(self.url)

    @property
    def url(self) -> str:
        """Return the address without a trailing slash."""
        return (self.base_url or self.URL).rstrip("/")

    @property
    def sender(self) -> str:
        """Return who can read its opaque parts: server, and whose model."""
        place = "" if self.url == self.URL else f"@{urllib.parse.urlsplit(self.url).netloc.rpartition('@')[2]}"
        return f"{self.KIND}{place}/{self.name.rpartition('/')[0]}".rstrip("/")

    def at(self, temperature: float, /) -> ServerModel:
        """Return it at a temperature, or without if refused."""
        return replace(self, temperature=temperature)

    def stream(self, *, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Iterator[Delta]:
        """Ask for the next answer; see :class:`rails.models.model.Model`."""
        begun = False
        try:
            body = self._request(system, messages, tools)
            reading = self.READING(self.sender, self.name)
            for delta in self.server().answer(self.path(), body, self.ANSWER, reading):
                begun = True
                yield delta
            return
        except ModelCallError as error:
            yield ModelAnswer(Message("assistant", ()), "cut", model=self.name, note=f"{BAD_CALL}. {error}")
            return
        except ModelError as error:
            refused = self._refused(str(error).casefold())
            if begun or not refused:
                raise
            self.refused.add(refused)
        yield from self.stream(system=system, messages=messages, tools=tools)

    def is_sent(self, what: str) -> bool:
        """Return whether requests have that option."""
        chosen = getattr(self, what, True)
        return chosen is not None and chosen is not False and what not in self.refused

    def _refused(self, words: str) -> str:
        if "(http 400)" not in words and "(http 422)" not in words:
            return ""
        named = (what for what, signs in _OPTIONAL.items() if re.search(signs, words))
        return next(filter(self.is_sent, named), "")

    def options(self) -> dict[str, Json]:
        """Return temperature and seed, if chosen and accepted."""
        return {name: getattr(self, name) for name in ("temperature", "seed") if self.is_sent(name)}

    def served_window(self) -> int:
        """Return the server's window in tokens, 0 if unknown."""
        with suppress(ModelError):
            return self.find_window(self.server().document)
        return 0

    def find_window(self, document: Callable[..., WireObject]) -> int:
        """Return the window from the server's documents, 0 if none."""
        del document
        return 0

    def path(self) -> str:
        """Return the path of a request."""
        return self.PATH

    def headers(self) -> dict[str, str]:
        """Return the key headers."""
        return {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}

    def _head(self, system: str) -> dict[str, Json]:
        raise NotImplementedError

    def items(self, sender: str, names: dict[str, str], message: Message) -> list[WireObject]:
        """Return a message in the API's form, with opaque parts of ``sender`` only.

        ``names``: earlier calls by id.
        """
        raise NotImplementedError

    def sent(self, messages: Sequence[Message]) -> list[WireObject]:
        """Return messages in the API's form; earlier ones as before, so that the provider's cache knows them."""
        sender = self.sender if self.is_sent("thoughts") else ""
        names: dict[str, str] = {}
        return [item for message in messages for item in self.items(sender, names, message)]

    def tools(self, described: list[WireObject]) -> list[WireObject]:
        """Return tools, each with its name, description and schema, in the API's form."""
        return described

    def _request(self, system: str, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> bytes:
        rules = self.RULES if self.is_sent("strict") else None
        fitting = strict_tools(tools, rules) if rules else {}
        described: list[WireObject] = []
        for tool in tools:
            facts = {"name": tool.name, "description": tool.description}
            strict = {"strict": True} if tool.name in fitting else {}
            schema = fitting.get(tool.name) or json.loads(tool.schema)
            described.append({**facts, **strict, self.SCHEMA: schema})
        body: WireObject = self._head(system)
        body[self.MESSAGES] = [*body.pop(self.MESSAGES, []), *self.sent(messages)]
        if described:
            body["tools"] = self.tools(described)
        return json.dumps(body).encode()

    def server(self) -> ModelServer:
        """Return the server."""
        return ModelServer(self.url, self.headers(), self.silence_s)


def own_fields(part: Opaque, sender: str) -> WireObject:
    """Return a part's fields for ``sender``, {} if another sent it."""
    with suppress(ValueError, RecursionError):
        value = json.loads(part.data) if part.provider == sender else None
        return value if isinstance(value, dict) else {}
    return {}


def blocks_of(message: Message, sender: str, block: Callable[[MessagePart], WireObject]) -> list[WireObject]:
    """Return a message's blocks, results first; ``block`` may return {} for none."""
    found: list[WireObject] = []
    for part in sorted(message.parts, key=lambda part: not isinstance(part, NativeResult)):
        made = own_fields(part, sender) if isinstance(part, Opaque) else block(part)
        if BESIDE in made and found:
            found[-1].update(made[BESIDE])
        elif made and BESIDE not in made:
            found.append(made)
    return found
