"""Anthropic's official SDK as what sends a request.

Events are read raw (:mod:`rails.models.anthropic`). No retries.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from rails.models.http import ModelServer, client_of, patience

if TYPE_CHECKING:
    import httpx2


class SdkServer(ModelServer, frozen=True):
    """A server of the Messages API."""

    @contextmanager
    def asked(self, url: str, body: bytes | None, seconds: float) -> Iterator[httpx2.Response]:
        """Send a request; yield the response, as :meth:`ModelServer.asked`."""
        import anthropic
        import httpx2

        sdk = anthropic.Anthropic(
            api_key=self.headers.get("Authorization", "none").removeprefix("Bearer "),  # it takes no empty one
            base_url=self.url,
            max_retries=0,
            timeout=patience(seconds),
            http_client=client_of(self.url),
        )
        answered: httpx2.Response
        try:
            # As text: what the SDK is given as an object it copies, all of the conversation at every turn.
            answered = sdk.post(  # type: ignore[assignment]
                url,
                cast_to=httpx2.Response,
                content=body,
                options={"headers": {"Content-Type": "application/json"}},
                stream=True,
                stream_cls=anthropic.Stream[object],
            )
        except anthropic.APIStatusError as error:
            answered = error.response
        except anthropic.APIConnectionError as error:
            raise error.__cause__ or error from None
        with closing(answered):
            yield answered
