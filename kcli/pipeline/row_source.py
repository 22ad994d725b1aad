"""Captures whose exchanges and events become rows of the tables, those that a filter chooses."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from kcli.capture.decoder import CaptureDecoder, Item
from kcli.capture.filters import ALL, Filter
from kcli.capture.io.files import FOREVER
from kcli.capture.kafka.exchange import Exchange
from kcli.grammar.topics import naming_apis
from kcli.pipeline.exchange_columns import ExchangeColumns
from kcli.pipeline.exchange_facts import FIELDS, TEXTS, THROTTLE, fact_batch, fields_of
from kcli.pipeline.fact_columns import FactColumns
from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.fetch_frames import FRAMED, frame_batch
from kcli.pipeline.noted_exchanges import noted_batch
from kcli.pipeline.partition_columns import PartitionColumns
from kcli.pipeline.projections import layout
from kcli.pipeline.rows import MAKERS, Maker, Rows
from kcli.pipeline.tables import TABLES
from kcli.schemas.apikeys import API_VERSIONS, FETCH, PRODUCE

AT_END = ": the capture ends"
EVERY_TABLE = frozenset(TABLES) | frozenset(FACTS)


class Packets(Protocol):
    """Packets on their way through an engine."""

    def run(self, until: int) -> None: ...
    def close(self) -> None: ...


Opened = Callable[[Any, Callable[[], Any]], Packets]  # (engine, new_reader)


class RowSource(CaptureDecoder):
    """A capture whose exchanges and events become rows as they come out.

    What exchanges that are not chosen say of their client and of topic names counts all the same.

    makers: by API, what puts the rows that are about its messages.
    """

    makers: Mapping[int, Maker] = MAKERS

    def __init__(
        self,
        put: Any,
        wanted: frozenset[str] = EVERY_TABLE,
        put_batch: Callable[[str, int, Any, bool], None] | None = None,
        paths: Sequence[str] = (),
        chosen: Filter = ALL,
        **options: Any,
    ) -> None:
        """put_batch(table, day, batch, nameless): takes rows that the core makes as columns; None: all are put one by
        one. paths: for `read`; whoever runs packets needs none."""
        self.put_batch, self.wanted_tables = put_batch if chosen.is_times else None, wanted
        self.since, self.until = chosen.since, chosen.until
        # The numbers out of messages that the core makes columns of.
        self.field_names = (
            FIELDS if "exchange_facts" in wanted else FIELDS[THROTTLE:] if "noted_exchanges" in wanted else ()
        )
        self.counted = 0  # bytes of exchanges that the engine gave to the sink
        self.overhears = naming_apis(options.get("dialect")) | {API_VERSIONS}
        # What is not chosen never becomes text, which learns names by itself.
        self.rows = Rows(put, wanted, self.makers)
        super().__init__(paths, chosen=chosen, **{"names": not chosen.takes_all} | options)
        if self.sink is not None:
            self.rows.outcomes.on_error = self.sink.end_runs
            self.rows.uses.ask = self.known_voice
        self.end_ns = 0  # when the whole capture ends, which the packets of some connections don't show

    def choose_engine(self, ports: Sequence[int]) -> tuple[Any, Callable[[], Any]]:
        self.sink = None
        if self.put_batch is not None:
            from kcli.core.columns.exchange_columns import ExchangeRows

            wanted = self.wanted_tables
            whole = "exchanges" in wanted
            self.sink = ExchangeRows(
                self,
                forwarded=self.makers.keys() - {FETCH, PRODUCE},
                framed=FRAMED if "fetch_frames" in wanted else (),
                headed=whole,
                texts=None if whole else TEXTS,
                fields=len(self.field_names),
                since=self.since,
                until=self.until,
            )
        if "connection_sums" in self.wanted_tables:
            self.connection_ended = self.rows.sums.end if self.sink is None else self.sink.end_connection
        return super().choose_engine(ports)

    # Called by the core for exchanges that it makes columns of

    def layout(self, api_key: int, version: int) -> Any:
        """Where the core finds the columns of a Fetch or Produce version; None: it can't read that version."""
        return layout(self.bodies, api_key, version)

    def fields(self, api_key: int, version: int) -> Any:
        """The numbers of this version that the core makes columns of."""
        return fields_of(self.bodies, api_key, version, self.field_names)

    def voice(self, link: bytes) -> int:
        """Of a connection that is new to the core."""
        talk = self.rows.uses.talks.get(link.decode())
        return 0 if talk is None else self.rows.uses.number(talk)

    def known_voice(self, connection: str) -> int | None:
        """Of a connection that the core knows."""
        return None if self.sink is None else self.sink.voice(connection.encode())

    def heard(self, link: bytes, voice: int, *exchange: Any) -> int:
        """The voice of a connection after this ApiVersions, when it had `voice` before."""
        return self.rows.uses.learn(self.exchange_of(link, *exchange), voice)

    def learn(self, link: bytes, *exchange: Any) -> None:
        """Put the topic names that this exchange has taught."""
        item = self.exchange_of(link, *exchange)
        self.rows.learn(item, item.response_ns or item.request_ns)

    def more(self, link: bytes, *exchange: Any) -> None:
        """Put the rows of an exchange that the core does not make."""
        self.rows.more(self.exchange_of(link, *exchange), self.engine.last_ns)

    def flush(self, last: bool = False) -> None:
        """Put the rows that are columns. last: also what later rows might still add to."""
        if self.sink is None or self.put_batch is None:
            return
        self.tally.exchange_bytes += self.engine.message_bytes - self.counted
        self.counted = self.engine.message_bytes
        columns = ExchangeColumns(self.sink.take_columns(last), self.bodies.name, len(self.field_names))
        partitions, wanted = PartitionColumns(columns), self.rows.wanted
        if len(columns.numbers):
            self.rows.exchanges += len(columns.numbers)
            exchanges = columns.batches() if "exchanges" in wanted else ()
            for each in (*exchanges, *partitions.batches(wanted)):
                self.put_batch(*each)
            if "exchange_facts" in wanted:
                self.put_batch("exchange_facts", -1, fact_batch(columns), False)
            for table, make in (("fetch_frames", frame_batch), ("noted_exchanges", noted_batch)):
                batch = make(columns) if table in wanted else None
                if batch is not None:
                    self.put_batch(table, -1, batch, False)
        ended = columns.taken["ended"]
        if ended is not None:
            self.rows.uses.remember_all(ended["voices"])
            for table, batch in FactColumns(ended, self.rows.uses.voices, partitions.names).batches():
                self.put_batch(table, -1, batch, False)

    def emit(self, item: Item) -> None:
        """Put the rows of an exchange or event, if it passes the filter."""
        if self.chosen.takes_all:
            self.put_item(item)
            return
        self.learn_names(item)
        if self.chosen.wants(item):
            self.put_item(item)
        elif isinstance(item, Exchange):
            self.overlook(item)

    def overlook(self, item: Exchange) -> None:
        """Take what an exchange says of its client, and of topic names."""
        self.rows.learn(item, item.response_ns or item.request_ns)
        if item.api_key == API_VERSIONS:
            self.rows.uses.learn(item, self.rows.uses.voice(item.connection))

    def put_item(self, item: Item) -> None:
        """Put the rows of an exchange or event."""
        if isinstance(item, Exchange):
            self.rows.exchange(item, self.engine.last_ns)
            if item.api_key == API_VERSIONS and self.sink is not None:
                talk = self.rows.uses.talks[item.connection]
                self.sink.set_voice(item.connection.encode(), self.rows.uses.number(talk))
        else:
            # A connection that was silent for long has ended before, with its last packet.
            if item.kind == "unanswered-at-end" and item.reason.endswith(AT_END) and item.ns >= self.engine.last_ns:
                item.ns = max(item.ns, self.end_ns)
            self.rows.event(item)

    def run(self, opened: Opened, until: int = FOREVER, before_end: Callable[[], None] = lambda: None) -> None:
        """Rows of packets up to a moment (ns). Where there are none behind that, connections still open are ended.
        before_end: called when all packets were read, before that."""
        with contextlib.closing(opened(self.engine, self.new_reader)) as packets:
            packets.run(until)
        self.flush(last=True)
        before_end()
        if until == FOREVER:
            self.engine.finish()
            self.flush(last=True)
            self.rows.finish()
