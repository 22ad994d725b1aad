"""The second stage: one share's packets, from all files, into rows of the tables."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Protocol

from kcli.capture.events import Event
from kcli.capture.exchange import Exchange
from kcli.capture.exchanges import CaptureDecoder, Item
from kcli.core.codec.values import uuid_bytes, uuid_text
from kcli.pipeline.exchange_columns import ExchangeColumns
from kcli.pipeline.exchange_facts import FIELDS, TEXTS, fact_batch, fields_of
from kcli.pipeline.fact_columns import FactColumns
from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.fetch_frames import FRAMED, frame_batch
from kcli.pipeline.open_connections import Carried, dump, restore
from kcli.pipeline.partition_columns import PartitionColumns
from kcli.pipeline.projections import layout
from kcli.pipeline.reading import FOREVER
from kcli.pipeline.rows import MAKERS, Rows
from kcli.pipeline.tables import TABLES
from kcli.pipeline.writing import TableWriter, Written
from kcli.schemas.apikeys import API_VERSIONS, FETCH, PRODUCE

__all__ = ["Decoded", "RowSource", "decode"]

AT_END = ": the capture ends"
WANTED = frozenset(TABLES) | frozenset(FACTS)


@dataclass(slots=True)
class Decoded:
    """What became of a share.

    passing: files of rows about connections still open, which the next run replaces. unnamed: topic ids without a name.
    under_way: the connections still open, for the next run. carried: bytes kept for that, less those that an earlier
    run had kept. open_rows, open_bytes: exchanges, events and, of bytes, TLS's own of the files that pass. window:
    the window's number, where the share is one.
    """

    share: int
    files: list[Written]
    passing: list[Written]
    unnamed: set[str]
    under_way: list[Carried] = field(default_factory=list)
    open_rows: tuple[int, int] = (0, 0)
    open_bytes: tuple[int, int, int] = (0, 0, 0)
    packets: int = 0
    payload: int = 0
    exchange_bytes: int = 0
    event_bytes: int = 0
    duplicates: int = 0
    strays: int = 0
    tls_bytes: int = 0
    carried: int = 0
    exchanges: int = 0
    events: int = 0
    first_ns: int = 0
    last_ns: int = 0
    problems: list[str] = field(default_factory=list)
    window: int | None = None


class Packets(Protocol):
    """Packets on their way through an engine."""

    def run(self, until: int) -> None: ...
    def close(self) -> None: ...


Opened = Callable[[Any, Callable[[], Any]], Packets]  # (engine, new_reader)


class RowSource(CaptureDecoder):
    """A capture whose exchanges and events become rows as they come out."""

    def __init__(
        self,
        put: Any,
        wanted: frozenset[str] = WANTED,
        put_batch: Callable[[str, int, Any, bool], None] | None = None,
        paths: Sequence[str] = (),
        **options: Any,
    ) -> None:
        """put_batch(table, day, batch, nameless): takes rows that the core makes as columns; None: all are put one by
        one. paths: for `read`; whoever runs packets needs none."""
        self.put_batch, self.wanted_tables = put_batch, wanted
        self.counted = 0  # bytes of exchanges that the engine gave to the sink
        super().__init__(paths, **{"names": False} | options)
        self.rows = Rows(put, wanted)
        if self.sink is not None:
            self.sink.streams = self.engine.streams
            self.rows.outcomes.on_answers = self.sink.end_runs
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
                forwarded=MAKERS.keys() - {FETCH, PRODUCE},
                framed=FRAMED if "fetch_frames" in wanted else (),
                headed=whole,
                texts=None if whole else TEXTS,
                fields=len(FIELDS) if "exchange_facts" in wanted else 0,
            )
        return super().choose_engine(ports)

    # Called by the core for exchanges that it makes columns of

    def layout(self, api_key: int, version: int) -> Any:
        """Where the core finds the columns of a Fetch or Produce version; None: it can't read that version."""
        return layout(self.bodies, api_key, version)

    def fields(self, api_key: int, version: int) -> Any:
        """The numbers of this version that the core makes columns of."""
        return fields_of(self.bodies, api_key, version)

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
        columns = ExchangeColumns(self.sink.take_columns(last), self.bodies.name)
        partitions, wanted = PartitionColumns(columns), self.rows.wanted
        if len(columns.numbers):
            self.rows.exchanges += len(columns.numbers)
            exchanges = columns.batches() if "exchanges" in wanted else ()
            for each in (*exchanges, *partitions.batches(wanted)):
                self.put_batch(*each)
            if "exchange_facts" in wanted:
                self.put_batch("exchange_facts", -1, fact_batch(columns), False)
            frames = frame_batch(columns) if "fetch_frames" in wanted else None
            if frames is not None:
                self.put_batch("fetch_frames", -1, frames, False)
        ended = columns.taken["ended"]
        if ended is not None:
            self.rows.uses.remember_all(ended["voices"])
            for table, batch in FactColumns(ended, self.rows.uses.voices, partitions.names).batches():
                self.put_batch(table, -1, batch, False)

    def emit(self, item: Item) -> None:
        if isinstance(item, Exchange):
            self.rows.exchange(item, self.engine.last_ns)
            if item.api_key == API_VERSIONS and self.sink is not None:
                talk = self.rows.uses.talks[item.connection]
                self.sink.set_voice(item.connection.encode(), self.rows.uses.number(talk))
        else:
            if item.kind == "unanswered-at-end" and item.reason.endswith(AT_END):
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


def decode(
    share: int,
    opened: Opened,
    folder: str,
    *,
    until: int = FOREVER,
    chosen: tuple[int, bool] | None = None,
    window: int | None = None,
    end_ns: int = 0,
    carried: Sequence[Carried] = (),
    clock: int = 0,
    names: Sequence[tuple[str, str]] = (),
    secret_blocks: Sequence[bytes] = (),
    **options: Any,
) -> Decoded:
    """Decode packets of a share into Parquet files below `folder`.

    until: the moment (ns) up to which they are read. chosen: the hash of a connection that is read alone (True), or
    left out. window: its number, where these are one. end_ns: of the last packet of all shares. carried, clock:
    connections under way since an earlier run, and the time of its end. names: (id, name) of topics known before.
    secret_blocks: the texts of TLS key logs.
    options: ports, dialect and secrets, as `kcli.capture.exchanges.CaptureDecoder` takes them.
    """
    name = f"{share:04d}-{os.urandom(4).hex()}" if window is None else f"{share:04d}-{window:03d}-{os.urandom(4).hex()}"
    writer, passing = TableWriter(folder, name), TableWriter(folder, f"{name}-open")
    source = RowSource(writer.put, put_batch=writer.put_batch, **options)
    for block in secret_blocks:
        source.add_secrets(block)
    if chosen is not None:
        source.engine.choose(*chosen)
    made = Decoded(share, [], [], set(), window=window)
    begin(source, end_ns, names, carried, clock)
    source.run(opened, until, partial(conclude, made, source, passing))
    sum_up_open(made, source)
    made.files, made.passing = writer.close(), passing.close()
    freeze()
    return made


@cache
def freeze() -> None:
    """By now all modules are loaded: no need for the collector to look through them again and again."""
    gc.freeze()


def begin(
    source: RowSource, end_ns: int, names: Sequence[tuple[str, str]], carried: Sequence[Carried], clock: int
) -> None:
    source.end_ns = end_ns
    for topic_id, topic in names:
        source.bodies.names.learn(uuid_bytes(topic_id), topic)
    source.rows.known = len(source.bodies.names)
    restore(source, carried, clock, source.rows.uses.talks)


def conclude(made: Decoded, source: RowSource, passing: TableWriter) -> None:
    """All packets were read: what is whole is counted, and rows of what is under way go where the next run replaces
    them."""
    source.end_ns = max(source.end_ns, source.engine.last_ns, source.engine.latest)
    made.under_way = dump(source.engine, source.rows.uses.talks)
    source.rows.finish()
    sum_up(made, source)
    source.rows.put_to(passing.put)
    source.put_batch = passing.put_batch


def sum_up(made: Decoded, source: RowSource) -> None:
    """The counts of what is whole."""
    engine, tally = source.engine, source.tally
    made.packets = engine.packets - engine.others - engine.cuts - engine.fragments - engine.unknown_links
    made.payload = engine.payload
    made.exchange_bytes, made.event_bytes = tally.exchange_bytes, tally.captured
    made.duplicates, made.strays = engine.duplicate, engine.stray + engine.ignored
    made.tls_bytes = tally.protection_bytes
    made.carried = tally.unaccounted(engine)
    made.exchanges, made.events = source.rows.exchanges, source.rows.events
    made.first_ns, made.last_ns = engine.first_ns or 0, engine.last_ns


def sum_up_open(made: Decoded, source: RowSource) -> None:
    """The counts of what was ended, and may go on in a later run."""
    made.unnamed = set(map(uuid_text, source.bodies.names.missing()))
    made.open_rows = source.rows.exchanges - made.exchanges, source.rows.events - made.events
    tally = source.tally
    before = made.exchange_bytes, made.event_bytes, made.tls_bytes
    now = tally.exchange_bytes, tally.captured, tally.protection_bytes
    made.open_bytes = now[0] - before[0], now[1] - before[1], now[2] - before[2]


def events_only(events: Sequence[Event], put: Any) -> None:
    """Damage that the first stage found, as rows."""
    rows = Rows(put, WANTED)
    for event in events:
        rows.event(event)
