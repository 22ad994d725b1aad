"""Rows that are made one by one: of events, topic names, and the few APIs with contents that no columns cover."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from kcli.pipeline.rows import facts
from kcli.pipeline.rows.facts import ClientUses
from kcli.pipeline.rows.logins import login_step
from kcli.pipeline.rows.sayings import Sayings
from kcli.schemas.apikeys import (
    FETCH_SNAPSHOT,
    OFFSET_FETCH,
    PRODUCE,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    SHARE_ACKNOWLEDGE,
    SHARE_FETCH,
)  # fmt: skip
from kcli.schemas.definition import ZERO_UUID
from kcli.topic_names import NAME_FIELDS

# APIs whose rows are not stored as sayings.
UNSAID = {FETCH_SNAPSHOT, OFFSET_FETCH, PRODUCE, SHARE_FETCH, SHARE_ACKNOWLEDGE}
DATA_BYTES = 1 << 20  # bytes of undecodable data that a row contains, at most

Put = Callable[[str, tuple[Any, ...]], None]


class SingleRows:
    """Takes the exchanges and events of one share of the connections, and puts rows.

    put(table, row): takes a row as a tuple in the order of the table's columns. wanted: the tables for which rows are
    made. uses: what clients and brokers say about themselves.
    """

    def __init__(self, put: Put, wanted: frozenset[str], makers: Mapping[int, Maker] | None = None) -> None:
        """Prepare to put rows. makers: by API; None: MAKERS."""
        self.put = put
        self.makers = MAKERS if makers is None else makers
        self.wanted = wanted
        self.uses = ClientUses()
        self.sayings = Sayings(self.makers.keys() - UNSAID)
        self.known = 0
        self.exchanges = self.events = 0

    def put_to(self, put: Put) -> None:
        """Put the following rows with another function."""
        self.put = put

    def say(self, table: str, row: tuple[Any, ...]) -> None:
        """Put a row of a table whose exchanges repeat the same contents (`kcli.tables.rule_facts.CALLS`)."""
        self.put(*self.sayings.said(table, row))

    def more(self, item: Exchange) -> None:
        """Put the rows of an exchange that are not columns; none if a body can't be decoded. For a response that is cut
        off they have what its beginning tells.
        """
        unread = item.response is None and item.response_frame is not None and item.cut.response is None
        if item.request is not None and not unread:
            self.makers[item.api_key](self, item, leading_values(item))

    def learn(self, item: Exchange, since: int) -> None:
        """Put the topic names learned from this exchange."""
        if len(item.bodies.names) == self.known:
            return
        self.known = len(item.bodies.names)
        for value in (item.request, item.response):
            for topic_id, name in named(value):
                self.put("topic_names", (topic_id, name, since))

    def event(self, item: Event, inside: bool = False) -> None:
        """Put the row of an event. inside: its bytes also belong to an exchange."""
        self.events += 1
        data = None if item.data is None or item.hidden else item.data[:DATA_BYTES]
        row = (item.ns // 1000, item.kind, item.connection, item.sender, item.file, item.offset, item.size)
        alone = item.captured and item.connection is not None and not inside
        self.put("undecodable", (*row, alone, item.reason, data))


def response_of(item: Exchange) -> dict[str, Any]:
    """Return a response, of one that is cut off only its error if that is known; {} without one."""
    if item.cut.response is None:
        return item.response or {}
    codes = item.error_codes
    return {"errorCode": codes[0]} if codes else {}


def is_answered(item: Exchange) -> bool | None:
    """Return whether there is a response; None if it is cut off, so that its error may be unknown."""
    return None if item.cut.response is not None else item.response is not None


def leading_values(item: Exchange) -> tuple[Any, ...]:
    """Return the columns that all tables of exchanges begin with."""
    ends = (item.connection, item.link.server, item.link.client)
    return (item.request_ns // 1000, *ends, item.client_id, item.correlation_id, item.api_version)


def named(value: Any) -> Iterator[tuple[str, str]]:
    """Yield (id, name) of each topic that has both."""
    if isinstance(value, list):
        for each in value:
            yield from named(each)
    elif isinstance(value, dict):
        topic_id = value.get("topicId")
        name = next((value[each] for each in NAME_FIELDS if value.get(each)), None)
        if isinstance(topic_id, str) and isinstance(name, str) and topic_id != ZERO_UUID:
            yield topic_id, name
        for each in value.values():
            if isinstance(each, (dict, list)):
                yield from named(each)


def put_snapshot(rows: SingleRows, item: Exchange, leading: tuple[Any, ...]) -> None:
    for row in facts.snapshot_parts(item):
        rows.put("snapshot_parts", leading + row)


def put_login(rows: SingleRows, item: Exchange, _leading: tuple[Any, ...]) -> None:
    """Put the row of a login's SaslHandshake or SaslAuthenticate, unless its result is cut off."""
    if item.cut.response is None:
        rows.put("logins", (item.connection, *login_step(item)))


Maker = Callable[[SingleRows, Exchange, tuple[Any, ...]], None]
MAKERS: dict[int, Maker] = {
    FETCH_SNAPSHOT: put_snapshot,
    SASL_HANDSHAKE: put_login,
    SASL_AUTHENTICATE: put_login,
}
