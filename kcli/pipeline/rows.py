"""Rows of the tables out of exchanges and events: one maker for each concern, chosen by API."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from kcli.grammar.topics import NAME_FIELDS
from kcli.pipeline import facts, partitions
from kcli.pipeline.exchange_facts import fact_row
from kcli.pipeline.facts import ClientUses, ConnectionSums, Outcomes
from kcli.pipeline.fetch_frames import FRAMED, frame_row
from kcli.pipeline.logins import principal_of
from kcli.pipeline.noted_exchanges import noted_row
from kcli.schemas.apikeys import FETCH, FETCH_SNAPSHOT, PRODUCE, SASL_AUTHENTICATE, SHARE_FETCH
from kcli.schemas.errors import error_name

ERROR = re.compile(rb'rrorCode":(-?[1-9]\d*)')
NO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"
DATA_BYTES = 1 << 20  # of what could not be decoded, kept in its row

Put = Callable[[str, tuple[Any, ...]], None]


class Rows:
    """Takes what comes out of one share of the connections, and puts rows.

    put(table, row): takes a row as a tuple in the order of the table's columns. wanted: tables to make rows for.
    """

    def __init__(self, put: Put, wanted: frozenset[str], makers: Mapping[int, Maker] | None = None) -> None:
        self.put = put
        self.makers = MAKERS if makers is None else makers
        self.wanted = wanted
        self.outcomes = Outcomes(put)
        self.uses = ClientUses(put)
        self.sums = ConnectionSums(put)
        self.known = 0
        self.exchanges = self.events = 0

    def put_to(self, put: Put) -> None:
        """From here on rows go elsewhere."""
        self.put = self.outcomes.put = self.uses.put = self.sums.put = put

    def exchange(self, item: Exchange, clock: int) -> None:
        """clock: ns, of the packet with which this exchange came out."""
        header, request, response = item.texts()
        for failure in item.failures:
            self.event(failure, inside=True)
        self.exchanges += 1
        completed = max(clock, item.response_ns or 0)
        who = who_of(item)
        if not self.wanted.isdisjoint(("exchanges", "exchange_facts")):
            row = who + exchange_columns(item, header, request, response, completed)
            self.put("exchanges", row)
            if "exchange_facts" in self.wanted:
                self.put("exchange_facts", fact_row(item, row))
            self.note(item, row)
        self.learn(item, item.response_ns or item.request_ns)
        self.uses.add(item, who[4])
        self.sums.add(item, completed, failed=bool(ERROR.search(response)))
        self.put_parts(item, who, completed)

    def note(self, item: Exchange, exchange: tuple[Any, ...]) -> None:
        """Put what some tables look at, if this is of their concern. exchange: its row."""
        row = noted_row(item, exchange) if "noted_exchanges" in self.wanted else None
        if row is not None:
            self.put("noted_exchanges", row)

    def more(self, item: Exchange, clock: int) -> None:
        """The rest of an exchange whose row was made as columns. clock: as for `exchange`."""
        self.put_parts(item, who_of(item), max(clock, item.response_ns or 0))

    def put_parts(self, item: Exchange, who: tuple[Any, ...], completed: int) -> None:
        """The rows of what this API is about; none where a body can't be decoded."""
        maker = self.makers.get(item.api_key)
        framed = item.api_key in FRAMED and "fetch_frames" in self.wanted
        if not (maker or framed) or item.request is None or (item.response is None and item.response_frame is not None):
            return
        if maker is not None:
            maker(self, item, who)
        if framed:
            self.put("fetch_frames", frame_row(item, completed))

    def learn(self, item: Exchange, since: int) -> None:
        """Topic names that this exchange has taught."""
        if len(item.bodies.names) == self.known:
            return
        self.known = len(item.bodies.names)
        for value in (item.request, item.response):
            for topic_id, name in named(value):
                self.put("topic_names", (topic_id, name, since))

    def event(self, item: Event, inside: bool = False) -> None:
        """inside: its bytes are in an exchange, too."""
        self.events += 1
        data = None if item.data is None or item.hidden else item.data[:DATA_BYTES]
        row = (item.ns // 1000, item.kind, item.connection, item.sender, item.file, item.offset, item.size)
        alone = item.captured and item.connection is not None and not inside
        self.put("undecodable", (*row, alone, item.reason, data))

    def finish(self) -> None:
        """Put what was counted over connections."""
        self.outcomes.finish()
        self.uses.finish()
        self.sums.finish()


def who_of(item: Exchange) -> tuple[Any, ...]:
    """The columns that all tables of exchanges begin with."""
    ends = (item.connection, item.link.server, item.link.client)
    return (item.request_ns // 1000, *ends, item.client_id, item.correlation_id, item.api_version)


def exchange_columns(item: Exchange, header: bytes, request: bytes, response: bytes, completed: int) -> tuple[Any, ...]:
    codes = dict.fromkeys(ERROR.findall(response))
    return (
        item.api_key,
        item.bodies.name(item.api_key),
        header,
        None if request == b"null" else request,
        None if response == b"null" else response,
        item.request_bytes,
        item.response_bytes,
        item.latency_ms,
        list(dict.fromkeys(error_name(int(code)) for code in codes)),
        completed,
    )


def named(value: Any) -> Iterator[tuple[str, str]]:
    """(id, name) of each topic that has both."""
    if isinstance(value, list):
        for each in value:
            yield from named(each)
    elif isinstance(value, dict):
        topic_id = value.get("topicId")
        name = next((value[each] for each in NAME_FIELDS if value.get(each)), None)
        if isinstance(topic_id, str) and isinstance(name, str) and topic_id != NO_UUID:
            yield topic_id, name
        for each in value.values():
            if isinstance(each, (dict, list)):
                yield from named(each)


def put_fetch(rows: Rows, item: Exchange, who: tuple[Any, ...]) -> None:
    answers = partitions.of_fetch(item)
    partitions.put_fetch(rows.put, rows.wanted, item, who, answers)
    rows.outcomes.add(item, who, answers)


def put_produce(rows: Rows, item: Exchange, who: tuple[Any, ...]) -> None:
    answers = partitions.of_produce(item)
    partitions.put_produce(rows.put, rows.wanted, item, who, answers)
    rows.outcomes.add(item, who, answers)


def put_share_fetch(rows: Rows, item: Exchange, who: tuple[Any, ...]) -> None:
    partitions.put_batches(rows.put, rows.wanted, "SHARE_FETCH", who, partitions.of_share_fetch(item))


def put_snapshot(rows: Rows, item: Exchange, who: tuple[Any, ...]) -> None:
    for row in facts.snapshot_parts(item):
        rows.put("snapshot_parts", who + row)


def put_login(rows: Rows, item: Exchange, _who: tuple[Any, ...]) -> None:
    principal = principal_of(item)
    if principal is not None:
        rows.put("logins", (item.connection, principal, item.response_ns or item.request_ns))


Maker = Callable[[Rows, Exchange, tuple[Any, ...]], None]
MAKERS: dict[int, Maker] = {
    FETCH: put_fetch,
    PRODUCE: put_produce,
    SHARE_FETCH: put_share_fetch,
    FETCH_SNAPSHOT: put_snapshot,
    SASL_AUTHENTICATE: put_login,
}
