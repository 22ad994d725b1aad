"""Filters of a capture's exchanges: by API, client, topic, time or errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol, TypeAlias

from kcli.capture.kafka.clock import parse_instant
from kcli.capture.kafka.error_codes import error_codes
from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange, Item
from kcli.capture.name_choice import Wanted, api_keys, error_choice, is_pattern, leaves_out, matches
from kcli.capture.tables.field_paths import TOPICS
from kcli.errors import UsageError
from kcli.grammar.topic_ids import TOPIC_NAME
from kcli.jsontext import loads
from kcli.schemas.catalog import catalog
from kcli.topic_names import METADATA_ID, NAME_FIELDS

MOST_IDS = 1000  # topic ids with a count of their own
TOPIC_ARRAYS = frozenset(parent for _, parent in TOPICS)
RESOURCE, TOPIC_RESOURCE = "resourceName", 2  # the latter: a topic, of ConfigResource.Type and of ResourceType
NO_IDS = frozenset({"AAAAAAAAAAAAAAAAAAAAAA", METADATA_ID})  # the zero id, and the metadata topic's
Name: TypeAlias = "str | int"  # an API's name or key
Time: TypeAlias = "str | float | datetime"
Body: TypeAlias = Any  # a message's value; None if there is no message, or it can't be decoded


def mentions(value: Any, topic: str, parent: str = "") -> bool:
    """Return whether a message names a topic that matches the name or pattern. A known id counts by its name
    (`_topicName`); one with a name or id behind a "!" does not. parent: the field that the value is in.
    """
    if isinstance(value, list):
        return any(mentions(item, topic, parent) for item in value if isinstance(item, (dict, list)))
    own = (value.get(field) for field in (TOPIC_NAME, *NAME_FIELDS, "topicId")) if "topicId" in value else ()
    if any(isinstance(each, str) and leaves_out(topic, each) for each in own):
        return any(mentions(item, topic, name) for name, item in value.items() if isinstance(item, (dict, list)))
    is_resource = value.get("resourceType") == TOPIC_RESOURCE
    return any(
        mentions(item, topic, name)
        if isinstance(item, dict)
        else is_named(item, topic, name, is_topic=is_topic_field(name, parent) or (is_resource and name == RESOURCE))
        for name, item in value.items()
    )


def is_named(item: Any, topic: str, field: str, *, is_topic: bool) -> bool:
    """Return whether a field's text or list names the topic. is_topic: its texts are topics."""
    if isinstance(item, list):
        named = is_topic and any(isinstance(each, str) and matches(each, topic) for each in item)
        return named or mentions(item, topic, field)
    return is_topic and isinstance(item, str) and matches(item, topic)


def is_topic_field(field: str, parent: str) -> bool:
    """Return whether a field has topics. Assignors, features, configs and users have a "name", too."""
    return ("opic" in field and "egex" not in field) or (
        field == "name" and ("opic" in parent or parent in TOPIC_ARRAYS)
    )


def nameless_ids(value: Any) -> Iterator[str]:
    """Yield the topic ids in a message that have no name beside them."""
    if isinstance(value, list):
        for item in value:
            yield from nameless_ids(item) if isinstance(item, (dict, list)) else ()
        return
    known = value.get("topicId")
    if (
        isinstance(known, str)
        and known not in NO_IDS
        and not any(value.get(name) for name in (TOPIC_NAME, *NAME_FIELDS))
    ):
        yield known
    for item in value.values():
        yield from nameless_ids(item) if isinstance(item, (dict, list)) else ()


class Condition(Protocol):
    """A condition on the columns of the table `exchanges`. wanted: the columns that it reads."""

    wanted: frozenset[str]

    def holds(self, batch: Any) -> Any:
        """Return for which rows of a record batch the condition holds: bool by row, as a numpy.ndarray.

        Raises UsageError if it fails for a value.
        """

    def close(self) -> None:
        """Release its resources."""


@dataclass(frozen=True, slots=True)
class Filter:
    """The default: everything passes. since, until: ns since 1970, compared with the request's time.

    client_id, topic: a name, list or pattern (see `kcli.capture.name_choice`). connection: the same, or a part of
    "server-client". error: codes. slower_than: latency in ns. where: a condition, which `wants` takes to hold, as it is
    tested for many exchanges at once (see `kcli.capture.tables.conditions`).
    """

    apis: frozenset[int] = frozenset()
    client_id: str | None = None
    topic: str | None = None
    errors: bool = False
    since: int | None = None
    until: int | None = None
    error: Wanted[int] | None = None
    slower_than: int | None = None
    connection: str | None = None
    where: Condition | None = None

    @property
    def takes_all(self) -> bool:
        """Return whether everything passes."""
        return self == Filter()

    @property
    def is_times(self) -> bool:
        """Return whether it restricts nothing but the time."""
        return replace(self, since=None, until=None).takes_all

    @property
    def patterns(self) -> tuple[bool, bool, bool]:
        """The names, out of client_id, connection and topic, whose values are patterns."""
        names = self.client_id, self.connection, self.topic
        client_id, connection, topic = (name is not None and is_pattern(name) for name in names)
        return client_id, connection, topic

    @property
    def is_plain(self) -> bool:
        """Return whether columns alone can decide the filter, apart from its condition. Otherwise each exchange becomes
        a value or a line.
        """
        names = (self.client_id or "") + (self.topic or "")
        more = (self.error, self.slower_than, self.connection)
        return all(each is None for each in more) and not is_pattern(names)

    def wants(self, item: Item) -> bool:
        """Return whether an exchange or event passes."""
        return self.wants_event(item) if isinstance(item, Event) else self.wants_exchange(item)

    def wants_event(self, event: Event) -> bool:
        """Return whether an event passes: only if the exchanges are restricted by time, connection or errors alone."""
        return (
            not self.apis
            and all(each is None for each in (self.client_id, self.topic, self.error, self.slower_than, self.where))
            and (self.connection is None or matches(event.connection or "", self.connection, part=True))
            and (not event.connection or self.in_time(event.ns))
        )

    def in_time(self, ns: int) -> bool:
        """Return whether a time (ns) is between `since` and `until`, both included."""
        return (self.since is None or ns >= self.since) and (self.until is None or ns <= self.until)

    def wants_exchange(self, exchange: Exchange) -> bool:
        """Return whether an exchange passes; its bodies are decoded if the filter restricts the topic or errors."""
        return self.fits_header(exchange) and self.fits_bodies(exchange)

    def fits_bodies(self, exchange: Exchange) -> bool:
        """Return whether an exchange's bodies pass."""
        if self.topic is not None and not self.fits_topic(exchange.request, exchange.response):
            return False
        if self.error is None and not self.errors:
            return True
        return self.fits_codes(exchange.error_codes or ()) or (self.error is None and bool(exchange.failures))

    def fits_topic(self, *bodies: Body) -> bool:
        """Return whether one of an exchange's bodies names the topic."""
        return self.topic is None or any(mentions(each, self.topic) for each in bodies if each)

    def fits_errors(self, response: Body) -> bool:
        """Return whether a response has the chosen error, or any error if none is chosen."""
        return self.fits_codes(error_codes(response or {}))

    def fits_codes(self, codes: Iterable[int]) -> bool:
        """Return whether a response with these error codes has the chosen one, or any if none is chosen."""
        if self.error is not None:
            return any(map(self.error.fits, codes))
        return not self.errors or next(iter(codes), None) is not None

    def wants_row(self, row: Body, ns: int, answered: int | None) -> bool:
        """Return whether an exchange passes, given its line of JSON. ns, answered: its times; 0, None: unknown."""
        header, request, response = row["requestHeader"], row["request"], row["response"]
        speaker = header["requestApiKey"], header.get("clientId"), row["connection"]
        return self.fits(ns, answered, *speaker) and self.fits_topic(request, response) and self.fits_errors(response)

    def fits_header(self, exchange: Exchange) -> bool:
        """Return whether an exchange passes, judged without its bodies."""
        ends = exchange.request_ns, exchange.response_ns
        return self.fits(*ends, exchange.api_key, exchange.client_id, exchange.connection)

    def fits(self, ns: int, answered: int | None, api_key: int, client_id: str | None, connection: str) -> bool:
        """Return whether the times (ns) of request and response, API, client and connection of an exchange pass."""
        if not self.in_time(ns) or (self.apis and api_key not in self.apis):
            return False
        if not self.fits_client(client_id) or not self.fits_connection(connection):
            return False
        return self.slower_than is None or (answered is not None and answered - ns > self.slower_than)

    def wants_line(self, line: bytes) -> bool:
        """Return whether an exchange's line passes, judged by its bodies alone."""
        row = loads(line)
        return self.fits_topic(row["request"], row["response"])

    def count_nameless(self, line: bytes, counts: Counter[str]) -> None:
        """Count a line that the topic filter leaves out, by each topic id in it without a name so far."""
        row = loads(line)
        count_ids(counts, nameless_in(row["request"], row["response"]))

    def fits_client(self, client_id: str | None) -> bool:
        """Return whether a client id fits."""
        return self.client_id is None or matches(client_id, self.client_id)

    def fits_connection(self, connection: str) -> bool:
        """Return whether a connection's name fits."""
        return self.connection is None or matches(connection, self.connection, part=True)


ALL = Filter()


def nameless_in(*bodies: Body) -> frozenset[str]:
    """Return the topic ids in an exchange's bodies that have no name beside them."""
    return frozenset(each for body in bodies if body for each in nameless_ids(body))


def count_ids(counts: Counter[str], ids: Iterable[str]) -> None:
    """Count an exchange for each of its topic ids; beyond MOST_IDS ids, count it for the id ""."""
    for each in ids:
        counts[each if each in counts or len(counts) < MOST_IDS else ""] += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Names, keys and times that choose exchanges. error: names, or codes as text. slower_than: ms."""

    api: Name | Iterable[Name] | None = None
    client_id: str | None = None
    topic: str | None = None
    errors: bool = False
    since: Time | None = None
    until: Time | None = None
    error: str | None = None
    slower_than: float | None = None
    connection: str | None = None


def chosen(choice: Choice, dialect: str | None = None) -> Filter:
    """Return the filter of a choice. Raises UsageError for an unknown API or error, or an invalid time."""
    api = choice.api
    named = () if api is None else (api,) if isinstance(api, str | int) else api
    if not isinstance(named, Iterable):
        raise UsageError(f"api {api!r}: a name, a key, or several of these expected")
    for name, value in (("client_id", choice.client_id), ("topic", choice.topic), ("connection", choice.connection)):
        if value is not None and not isinstance(value, str):
            raise UsageError(f"{name} {value!r}: text expected")
    if not isinstance(choice.slower_than, int | float | None) or isinstance(choice.slower_than, bool):
        raise UsageError(f"slower_than {choice.slower_than!r}: milliseconds expected")
    known = catalog(dialect)
    return Filter(
        api_keys([*named], known),
        choice.client_id,
        choice.topic,
        bool(choice.errors),
        None if choice.since is None else parse_instant(choice.since),
        None if choice.until is None else parse_instant(choice.until),
        None if choice.error is None else error_choice(choice.error),
        None if choice.slower_than is None else round(choice.slower_than * 1_000_000),
        choice.connection,
    )
