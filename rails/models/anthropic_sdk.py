"""Anthropic's service through its official SDK, for authentication, certificates and proxies.

Events are read raw (:mod:`rails.models.anthropic`). No retries; no redirects, which would take prompt and key
elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache
from typing import TYPE_CHECKING

from rails.core import limits
from rails.core.conversation import Delta
from rails.core.errors import ModelError, ModelRetryable
from rails.models.http import ModelServer, answer_of_events, error_text, fault, status_error, unreached
from rails.models.reading import Reading

if TYPE_CHECKING:
    import anthropic
    import httpx2


class SdkServer(ModelServer, frozen=True):
    """The service, with the key in its headers."""

    def answer(self, path: str, body: bytes, key: str, reading: Reading) -> Iterator[Delta]:
        """Yield the answer, as :meth:`ModelServer.answer`. Raises only ModelError."""
        import anthropic
        import httpx2

        client = _client(self.headers.get("Authorization", "").removeprefix("Bearer "), self.url, self.silence_s)
        try:
            # As text: what the SDK is given as an object it copies, all of the conversation at every turn.
            answered: httpx2.Response = client.post(  # type: ignore[assignment]
                path,
                cast_to=httpx2.Response,
                content=body,
                options={"headers": {"Content-Type": "application/json"}},
                stream=True,
                stream_cls=anthropic.Stream[object],
            )
            with closing(answered):
                yield from answer_of_events(answered.iter_bytes(), self.url, key, reading)
        except (anthropic.AnthropicError, httpx2.HTTPError, ValueError) as error:
            raise self._in_words(error) from error

    def _in_words(self, error: Exception) -> ModelError:
        import anthropic
        import httpx2

        who = f"The model server {self.url}"
        if isinstance(error, anthropic.APIStatusError):
            answered = error.response
            return status_error(who, error.status_code, error_text(answered.content), answered.headers.get)
        if isinstance(error, anthropic.APITimeoutError | httpx2.TimeoutException):
            return ModelRetryable(f"{who} did not answer within {self.silence_s:g} s.")
        if isinstance(error, anthropic.APIConnectionError):
            return unreached(self.url, error.__cause__ or error)
        return ModelRetryable(f"{who} broke off in the middle of its answer: {fault(error)}.")


@lru_cache(maxsize=8)
def _client(key: str, url: str, silence_s: float) -> anthropic.Anthropic:
    """Return a cached client: slower to make than a request. Each answer has its own connection."""
    import anthropic
    import httpx2

    return anthropic.Anthropic(
        api_key=key,
        base_url=url,
        max_retries=0,
        timeout=anthropic.Timeout(silence_s, connect=limits.MODEL_CONNECT_SECONDS),
        http_client=anthropic.DefaultHttpxClient(
            limits=httpx2.Limits(max_keepalive_connections=0), follow_redirects=False
        ),
    )
