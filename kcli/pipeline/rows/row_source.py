"""Turns the exchanges and events of captures that a filter chooses into rows of the tables."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Container, Generator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

from kcli.capture.decoder import CaptureDecoder, DecodeOptions
from kcli.capture.filters import ALL, Filter
from kcli.capture.io.files import FOREVER
from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange, Item
from kcli.capture.kafka.record_fields import WITH_RECORDS
from kcli.capture.sinks import Sink
from kcli.capture.tables.columns import put_exchange
from kcli.capture.tables.selected_fields import fields_of
from kcli.core.capture.tcp_facts import TcpFacts
from kcli.grammar.topic_ids import naming_apis
from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.rows.exchange_columns import ExchangeColumns
from kcli.pipeline.rows.exchange_facts import FIELDS, TEXTS, fact_batch, noted_batch
from kcli.pipeline.rows.fact_columns import FactColumns
from kcli.pipeline.rows.fetch_frames import FRAMED, frame_batch
from kcli.pipeline.rows.makers import SAID, SAID_LINKS, makers_for
from kcli.pipeline.rows.origins import Origins
from kcli.pipeline.rows.partition_columns import PartitionColumns
from kcli.pipeline.rows.partitions import loaded
from kcli.pipeline.rows.projections import commit_layout, layout
from kcli.pipeline.rows.record_rows import CHUNK, UNKNOWN, RecordRows, holds_records
from kcli.pipeline.rows.refused_records import FAILING, may_refuse
from kcli.pipeline.rows.single_rows import SingleRows
from kcli.pipeline.rows.tcp import tcp_batch
from kcli.pipeline.rows.uncommitted import may_lack_offsets
from kcli.pipeline.tables import RECORDS, TABLES
from kcli.schemas.apikeys import API_VERSIONS, OFFSET_FETCH, PRODUCE
from kcli.tables.arrays import strings
from kcli.tables.exchanges import fields_of_columns

if TYPE_CHECKING:
    from kcli.payloads import PayloadDecoder

AT_END = ": the capture ends"
EXCHANGE_FIELDS = fields_of_columns(TABLES["exchanges"].names)
COUNTED = ("client_uses", "connection_sums", "outcomes")  # made from the core's counts when connections end
# Columns that no message contains: they take as much time as all the others.
POSITIONS = ("effective_offset", "high_watermark_seen", "log_start_seen", "lag")
EVERY_TABLE = frozenset(TABLES) | frozenset(FACTS)


class Packets(Protocol):
    """Packets that an engine reads."""

    captures: list[str]  # URIs, by number
    entered: Callable[[int], None]  # called with a capture's number before its packets are read

    @property
    def next_ns(self) -> int: ...
    def run(self, until: int) -> None: ...
    def close(self) -> None: ...


def ignored(*_batch: Any) -> None:
    """Ignore a batch of rows: it is not wanted, or used elsewhere."""


PutBatch = Callable[[str, int, Any, bool], None]
Opened = Callable[[Any, Callable[[], Any]], Packets]  # (engine, new_reader)


class RowSource(Sink):
    """Makes rows of the exchanges and events of a capture, as the decoder `capture` finds them.

    Clients and topic names are learned from all exchanges, chosen or not. direct: the engine may give exchanges to the
    core's columns instead of `exchange`.
    """

    direct = True
    learns = False
    chosen_columns: Mapping[str, Container[str]] = {}  # by table, if only some columns are wanted
    by_day = True  # a batch has rows of one day; rows that lack topic names are in separate batches
    rows_at_once = 20_000  # exchanges of which the core makes columns before they are put, at most

    def __init__(
        self,
        put: Any,
        wanted: frozenset[str] = EVERY_TABLE,
        put_batch: PutBatch = ignored,
        paths: Sequence[str] = (),
        chosen: Filter = ALL,
        origins: Origins | None = None,
        decoder: PayloadDecoder | None = None,
        **options: Any,
    ) -> None:
        """Prepare to make rows. put_batch(table, day, batch, nameless): takes rows that are columns. paths: the files
        for `read`; not needed for `run`. origins: makes the columns that tell where rows come from; None: there are no
        such columns. decoder: decodes keys and values of records.
        """
        self.origins = origins
        self.put_batch, self.wanted_tables = put_batch, wanted
        # The fields of messages for which the core makes columns.
        of_tables = {"exchange_facts": FIELDS, "noted_exchanges": ("throttle_ms",), "exchanges": EXCHANGE_FIELDS}
        names = (name for table, fields in of_tables.items() if table in wanted for name in fields)
        self.field_names = tuple(dict.fromkeys(names))
        self.counted = 0  # bytes of the exchanges that the engine gave to the taker
        self.dialect = options.get("dialect")
        self.wants_calls = SAID in wanted
        self.rows = SingleRows(put, wanted, makers_for(wanted))
        secrets = bool(options.get("secrets"))
        self.records = RecordRows(secrets, decoder, self.note_fault) if RECORDS.name in wanted else None
        # Topic names are learned when exchanges become text, which exchanges that are not chosen never do.
        read = DecodeOptions(chosen=chosen, **{"names": not chosen.takes_all} | options)
        self.capture = CaptureDecoder(paths, self, read)
        self.engine, self.new_reader, self.tally = self.capture.engine, self.capture.new_reader, self.capture.tally
        self.end_ns = 0  # when the whole capture ends; some connections end earlier
        self.servers: set[str] = set()  # the servers of exchanges
        self.tcp = TcpFacts(full=self.put_tcp) if "tcp" in wanted else None
        if self.tcp is not None:
            self.engine.count_tcp(self.tcp)

    def begin(self, capture: CaptureDecoder[Any]) -> None:
        """Prepare the core's columns, and use them for exchanges if the filter chooses only by time."""
        from kcli.core.columns.exchange_columns import ExchangeRows

        self.bodies = capture.bodies
        self.rows.sayings.numbers.read_commits(partial(commit_layout, self.bodies))
        wanted, chosen = self.wanted_tables, capture.chosen
        whole = "exchanges" in wanted
        self.taker = ExchangeRows(
            self,
            rows=self.rows_at_once,
            forwarded=(*(self.rows.makers.keys() - FAILING), *(() if self.records is None else WITH_RECORDS)),
            failing=FAILING if self.wants_calls else None,
            framed=FRAMED if "fetch_frames" in wanted else (),
            headed=whole,
            texts=None if whole else TEXTS if "noted_exchanges" in wanted else (),
            fields=len(self.field_names),
            counted=not wanted.isdisjoint(COUNTED),
            sayings=self.rows.sayings.numbers if self.wants_calls else None,
            since=chosen.since,
            until=chosen.until,
            positions=self.chooses("fetch_partitions", *POSITIONS),
            checksums=self.chooses("record_batches", "crc_valid"),
            talks=self.rows.uses.profiles,
        )
        if self.direct and chosen.is_times:
            self.compiled = self.taker
        if "connection_sums" in wanted:
            self.connection_end = self.taker.end_connection

    def chooses(self, table: str, *columns: str) -> bool:
        """Return whether one of these columns of a table is wanted."""
        chosen = self.chosen_columns.get(table)
        return chosen is None or any(each in chosen for each in columns)

    def read(self, moved: Callable[[int], None] = lambda count: None) -> Generator[None, None, None]:
        """Read the files piece by piece. Raises InputError at the end for damaged files."""
        return self.capture.read(moved)

    @cached_property
    def overhears(self) -> frozenset[int]:  # type: ignore[override]
        """The APIs from which names are learned, and ApiVersions, in which clients introduce themselves; see Sink."""
        return naming_apis(self.dialect) | {API_VERSIONS}

    # Called by the core for exchanges of which it makes columns

    def layout(self, api_key: int, version: int) -> Any:
        """Return where the core finds the columns in a version of Fetch or Produce; None if it can't read that
        version.
        """
        return layout(self.bodies, api_key, version)

    def fields(self, api_key: int, version: int) -> Any:
        """Return the fields of this version for which the core makes columns."""
        return fields_of(self.bodies, api_key, version, self.field_names)

    def voice(self, link: bytes) -> int:
        """Return the voice (see ClientUses) of a connection that is new to the core."""
        profile = self.rows.uses.profiles.get(link.decode())
        return 0 if profile is None else self.rows.uses.number(profile)

    def heard(self, link: bytes, voice: int, *exchange: Any) -> int:
        """Return the voice of a connection after this ApiVersions. voice: the one before."""
        return self.rows.uses.learn(self.capture.handover.exchange_of(link, *exchange), voice)

    def learn(self, link: bytes, *exchange: Any) -> None:
        """Put the topic names learned from this exchange."""
        self.learn_from(self.capture.handover.exchange_of(link, *exchange))

    def partitions(self, link: bytes, *exchange: Any) -> Any:
        """Return the partitions of an exchange in which the core can't find them."""
        return loaded(self.capture.handover.exchange_of(link, *exchange))

    def more(self, link: bytes, *exchange: Any) -> None:
        """Put the rows of an exchange that are not columns."""
        key, _version, _ns, request, _answered, response, _timing, *cut = exchange
        if cut and key in WITH_RECORDS and key != PRODUCE:
            return  # its records are in the response
        if self.records is not None and key in WITH_RECORDS:
            if holds_records(request if key == PRODUCE else response):
                item = self.capture.handover.exchange_of(link, *exchange)
                self.records.add(item, UNKNOWN if self.origins is None else self.origins.row())
                if self.records.size >= CHUNK:
                    self.put_records()
            if key not in self.rows.makers or (key in FAILING and not may_refuse(response)):
                return
        if key == OFFSET_FETCH and not may_lack_offsets(response):
            return
        self.rows.more(self.capture.handover.exchange_of(link, *exchange))

    def put_records(self) -> None:
        """Put the records collected so far."""
        if self.records is not None:
            for each in self.records.taken():
                self.put_batch(*each)

    def note_fault(self, event: Event) -> None:
        """Put the row of a batch of records that can't be read."""
        self.rows.event(event, inside=True)

    @property
    def problems(self) -> list[str]:
        """The error that stopped the decoding of records, if any; faults of single records are in their columns."""
        decoder = None if self.records is None else self.records.decoder
        return [] if decoder is None or decoder.failure is None else [str(decoder.failure)]

    def flush(self, last: bool = False) -> None:
        """Put the rows that are columns. last: also those to which later rows could still add."""
        self.tally.exchange_bytes += self.engine.message_bytes - self.counted
        self.counted = self.engine.message_bytes
        counts = self.taker.take_columns(last)
        columns = ExchangeColumns(counts, self.bodies.name, self.field_names, self.origins)
        partitions = PartitionColumns(columns, self.chosen_columns)
        if columns.rows.count:
            self.put_exchanges(columns, partitions)
        if self.origins is not None:
            self.origins.marks.restart()
        self.put_records()
        for table, batch in ((SAID_LINKS, self.rows.sayings.take_links()), (SAID, self.rows.sayings.take())):
            if batch is not None:
                self.put_batch(table, -1, batch, False)
        if self.tcp is not None:
            self.servers.update(strings(columns.taken["servers"]).to_pylist())
            self.put_tcp(last)
        ended = columns.taken["ended"]
        if ended is not None:
            self.rows.uses.remember_all(ended["voices"])
            for table, batch in FactColumns(ended, self.rows.uses.voices, partitions.exchanges.topics).batches():
                self.put_batch(table, -1, batch, False)

    def put_exchanges(self, columns: ExchangeColumns, partitions: PartitionColumns) -> None:
        """Put the rows of exchanges and of their contents."""
        wanted = self.rows.wanted
        self.rows.exchanges += columns.rows.count
        exchanges = columns.batches() if "exchanges" in wanted else ()
        for each in (*exchanges, *partitions.batches(wanted, by_day=self.by_day)):
            self.put_batch(*each)
        if "exchange_facts" in wanted:
            batch = fact_batch(columns, self.chosen_columns.get("exchange_facts"))
            self.put_batch("exchange_facts", -1, batch, False)
        for table, make in (("fetch_frames", frame_batch), ("noted_exchanges", noted_batch)):
            batch = make(columns) if table in wanted else None
            if batch is not None:
                self.put_batch(table, -1, batch, False)

    def put_tcp(self, last: bool = False) -> None:
        """Put the TCP facts of connections. last: also those of open connections."""
        if self.tcp is not None:
            ends, numbers = self.tcp.take(last)
            if ends:
                batch = tcp_batch(ends, numbers, self.servers, frozenset(self.capture.options.ports))
                self.put_batch("tcp", -1, batch, False)

    def exchange(self, exchange: Exchange) -> None:
        note = partial(self.rows.event, inside=True)
        put_exchange(self.taker, exchange, self.engine.last_ns, note, self.field_names)
        self.learn_from(exchange)

    def event(self, event: Event) -> None:
        # A connection that was silent for long has ended already, at its last packet.
        if event.kind == "unanswered-at-end" and event.reason.endswith(AT_END) and event.ns >= self.engine.last_ns:
            event.ns = max(event.ns, self.end_ns)
        self.rows.event(event)

    def overlook(self, item: Item) -> None:
        """Learn about the client and topic names from an exchange that makes no rows."""
        if isinstance(item, Exchange):
            self.learn_from(item)
            self.taker.hear(item)

    def learn_from(self, item: Exchange) -> None:
        """Put the topic names learned from an exchange."""
        self.rows.learn(item, item.response_ns or item.request_ns)

    def enter(self, number: int) -> None:
        """Record that the next packets are those of another capture."""
        if self.origins is not None:
            self.origins.marks.enter(number, self.taker.count, self.engine.last_ns or -1)

    def run(self, opened: Opened, until: int = FOREVER, before_end: Callable[[], None] = lambda: None) -> None:
        """Make rows of packets up to a time (ns). If it is FOREVER, connections that are still open are then ended.
        before_end: called after all packets were read, before the connections are ended.
        """
        with contextlib.closing(opened(self.engine, self.new_reader)) as packets:
            if self.origins is not None:
                self.origins.begin(packets.captures)
                packets.entered = self.enter
            self.engine.begin_at(packets.next_ns)
            packets.run(until)
        self.flush(last=True)
        before_end()
        if until == FOREVER:
            self.engine.finish()
            self.flush(last=True)
