"""Watches that count requests, and interceptions that answer them."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kcli.broker.control.client_request import ClientRequest
from kcli.broker.request import Request
from kcli.broker.response import EncodedBody, HangUpError
from kcli.errors import KcliError, UsageError
from kcli.schemas.catalog import catalog

# Gets a request; returns the answer's body, None to let the broker answer. It may be a coroutine function.
Callback = Callable[[ClientRequest], Mapping[str, Any] | Awaitable[Mapping[str, Any] | None] | None]


@dataclass(frozen=True, slots=True)
class Filter:
    """A choice of requests. apis: by key, empty for all; client: its client.id, "" for any; topic:
    "" for any, or none.
    """

    apis: frozenset[int] = frozenset()
    client: str = ""
    topic: str = ""

    @classmethod
    def of(cls, api: str | Iterable[str], client: str, topic: str, dialect: str | None) -> Filter:
        """Make a filter of a program's arguments: APIs by name. Raises UsageError if there is no such API."""
        names = [api] if isinstance(api, str) else list(api)
        return cls(frozenset(catalog(dialect).api_key(name) for name in names if name), client, topic)

    def keeps(self, kept: ClientRequest) -> bool:
        """Return whether a request that was kept is one of these."""
        if self.apis and kept.api_key not in self.apis:
            return False
        return (not self.client or kept.client == self.client) and (not self.topic or self.topic in kept.topics)

    def takes(self, request: Request) -> bool:
        """Return whether a request is one of these."""
        if self.apis and request.api.key not in self.apis:
            return False
        if self.client and request.client_id != self.client:
            return False
        return not self.topic or self.topic in request.topic_names_asked()


@dataclass(slots=True, eq=False)
class Watch:
    """Counts the requests of a filter. hits: how many came; requests: the latest of them."""

    filter: Filter
    requests: list[ClientRequest] = field(default_factory=list)
    hits: int = 0

    def hit(self, kept: ClientRequest) -> None:
        """Count one more request."""
        self.hits += 1
        self.requests.append(kept)
        del self.requests[:-1000]


@dataclass(slots=True, eq=False)
class Interception(Watch):
    """Answers the requests of a filter with a program's function. count: so many at most, 0 for all; failures: where
    errors of the function go.
    """

    callback: Callback = lambda request: None
    count: int = 0
    failures: list[UsageError] = field(default_factory=list)

    async def answer(self, request: Request, kept: ClientRequest) -> EncodedBody | None:
        """Return the program's answer, None where it leaves it to the broker.

        Raises HangUpError if it can't be sent.
        """
        try:
            found = self.callback(kept)
            body = await found if inspect.isawaitable(found) else found
        except ConnectionError as error:
            raise HangUpError(f"intercepted: {error or 'closed'}") from None
        if body is None:
            return None
        if not isinstance(body, Mapping):
            raise UsageError(f"intercept {kept.api}: the body of an answer expected, not {type(body).__name__}")
        try:
            return EncodedBody([request.api.encode(dict(body))], dict(body))
        except (KcliError, TypeError, AttributeError) as error:
            raise UsageError(f"intercept {kept.api}: {error}") from None
