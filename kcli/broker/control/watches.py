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

# Gets a request and returns the response's body, or None to let the broker respond. It may be a coroutine function.
Callback = Callable[[ClientRequest], Mapping[str, Any] | Awaitable[Mapping[str, Any] | None] | None]


@dataclass(frozen=True, slots=True)
class Filter:
    """A choice of requests. apis: API keys, empty for all; client: a client.id, "" for any; topic: one that the request
    names, "" for no condition.
    """

    apis: frozenset[int] = frozenset()
    client: str = ""
    topic: str = ""

    @classmethod
    def of(cls, api: str | Iterable[str], client: str, topic: str, dialect: str | None) -> Filter:
        """Make a filter. api: one name or several. Raises UsageError if there is no such API."""
        names = [api] if isinstance(api, str) else list(api)
        return cls(frozenset(catalog(dialect).api_key(name) for name in names if name), client, topic)

    def keeps(self, kept: ClientRequest) -> bool:
        """Return whether a request of the journal matches."""
        if self.apis and kept.api_key not in self.apis:
            return False
        return (not self.client or kept.client == self.client) and (not self.topic or self.topic in kept.topics)

    def matches(self, request: Request) -> bool:
        """Return whether a request matches."""
        if self.apis and request.api.key not in self.apis:
            return False
        if self.client and request.client_id != self.client:
            return False
        return not self.topic or self.topic in request.topic_names_asked()


@dataclass(slots=True, eq=False)
class Watch:
    """Counts the requests that match a filter. hits: how many; requests: the latest 1,000 of them."""

    filter: Filter
    requests: list[ClientRequest] = field(default_factory=list)
    hits: int = 0

    def hit(self, kept: ClientRequest) -> None:
        """Count a request and keep it."""
        self.hits += 1
        self.requests.append(kept)
        del self.requests[:-1000]


@dataclass(slots=True, eq=False)
class Interception(Watch):
    """Answers the requests that match a filter with a program's function. count: how many requests at most, 0 for all;
    failures: the list for errors of the function.
    """

    callback: Callback = lambda request: None
    count: int = 0
    failures: list[UsageError] = field(default_factory=list)

    async def answer(self, request: Request, kept: ClientRequest) -> EncodedBody | None:
        """Return the response of the program's function, None to let the broker respond.

        Raises HangUpError if the function raised ConnectionError, and UsageError if its result can't be encoded.
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
