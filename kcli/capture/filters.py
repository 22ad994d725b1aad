"""Which exchanges of a capture are wanted: by API, client, topic, time, or because something failed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from kcli.capture.clock import parse_instant
from kcli.capture.events import Event, Exchange, error_codes
from kcli.errors import UsageError
from kcli.jsontext import loads
from kcli.schemas.catalog import catalog

__all__ = ["Filter", "Name", "Time", "chosen", "mentions"]

Item = Exchange | Event
Name: TypeAlias = "str | int"  # of an API, or its key
Time: TypeAlias = "str | float | datetime"


def mentions(value: Any, topic: str) -> bool:
    """Whether a message names a topic; ids count where their name is known (`_topicName`)."""
    if isinstance(value, list):
        return any(mentions(item, topic) for item in value if isinstance(item, (dict, list)))
    return any(
        mentions(item, topic) if isinstance(item, dict) else is_named(name, item, topic) for name, item in value.items()
    )


def is_named(field: str, item: Any, topic: str) -> bool:
    if isinstance(item, list):
        return ("opic" in field and topic in item) or mentions(item, topic)
    return item == topic and (field in ("name", "resourceName") or "opic" in field)


@dataclass(frozen=True, slots=True)
class Filter:
    """Empty: everything. since, until: nanoseconds, of the request."""

    apis: frozenset[int] = frozenset()
    client_id: str | None = None
    topic: str | None = None
    errors: bool = False
    since: int | None = None
    until: int | None = None

    @property
    def takes_all(self) -> bool:
        """Whether everything passes."""
        return self == Filter()

    def wants(self, item: Item) -> bool:
        """Whether an exchange or event passes."""
        return self.wants_event(item) if isinstance(item, Event) else self.wants_exchange(item)

    def wants_event(self, event: Event) -> bool:
        """Events stay where only time or errors are asked for: which exchanges they would have been nobody knows."""
        return (
            not self.apis
            and self.client_id is None
            and self.topic is None
            and (not event.connection or self.in_time(event.ns))
        )

    def in_time(self, ns: int) -> bool:
        """Whether a time (ns) lies between `since` and `until`, both included."""
        return (self.since is None or ns >= self.since) and (self.until is None or ns <= self.until)

    def wants_exchange(self, exchange: Exchange) -> bool:
        """Whether an exchange passes; its bodies are decoded where topic or errors are asked for."""
        if not self.in_time(exchange.request_ns) or (self.apis and exchange.api_key not in self.apis):
            return False
        if self.client_id is not None and exchange.client_id != self.client_id:
            return False
        if self.topic is not None and not any(
            mentions(each, self.topic) for each in (exchange.request, exchange.response) if each
        ):
            return False
        return not self.errors or self.failed(exchange)

    def wants_line(self, line: bytes) -> bool:
        """Whether an exchange's line names the topic; the rest of the filter was looked at before."""
        row = loads(line)
        assert self.topic is not None
        return any(mentions(row[side], self.topic) for side in ("request", "response") if row[side])

    @staticmethod
    def failed(exchange: Exchange) -> bool:
        """An error code in the answer, or a body that can't be read."""
        answer = exchange.response
        return next(error_codes(answer), None) is not None or bool(exchange.failures)


def chosen(
    api: Name | Iterable[Name] | None = None,
    client_id: str | None = None,
    topic: str | None = None,
    errors: bool = False,
    since: Time | None = None,
    until: Time | None = None,
    dialect: str | None = None,
) -> Filter:
    """The filter that names, keys and times make. UsageError: no such API, or no time."""
    named = () if api is None else (api,) if isinstance(api, str | int) else api
    if not isinstance(named, Iterable):
        raise UsageError(f"api {api!r}: a name, a key, or several of these expected")
    for name, value in (("client_id", client_id), ("topic", topic)):
        if value is not None and not isinstance(value, str):
            raise UsageError(f"{name} {value!r}: text expected")
    known = catalog(dialect)
    return Filter(
        frozenset(known.api_key(each) for each in named),
        client_id,
        topic,
        bool(errors),
        None if since is None else parse_instant(since),
        None if until is None else parse_instant(until),
    )
