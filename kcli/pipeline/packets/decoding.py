"""The second stage: decodes the packets of one share, from all files, into rows of the tables."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kcli.capture.io.files import FOREVER
from kcli.capture.kafka.events import Event
from kcli.core.codec.values import uuid_bytes, uuid_text
from kcli.pipeline.packets.kept_state import last_times, untouched, write
from kcli.pipeline.packets.open_connections import Carried, dump, restore
from kcli.pipeline.rows.origins import Origins
from kcli.pipeline.rows.row_source import EVERY_TABLE, Opened, RowSource
from kcli.pipeline.rows.single_rows import Put, SingleRows
from kcli.pipeline.tables import TABLES
from kcli.pipeline.writing import TableWriter, WrittenFile

if TYPE_CHECKING:
    from kcli.payloads import PayloadDecoder

UNDECODABLE = "undecodable"
FILE = TABLES[UNDECODABLE].names.index("file")


class Portion(NamedTuple):
    """The packets of a share that one task decodes.

    until: read packets up to this time (ns). connection: (hash, True) to read only this connection, (hash, False) to
    leave it out. window: the number of the window, if the packets are one. carried: the connections that were open at
    the end of an earlier run.
    """

    share: int
    opened: Opened
    until: int = FOREVER
    connection: tuple[int, bool] | None = None
    window: int | None = None
    carried: Sequence[Carried] = ()


@dataclass(frozen=True, kw_only=True)
class DecodingOptions:
    """The options that all tasks of a run share.

    end_ns: the time of the last packet of all shares. clock: the time at the end of an earlier run. names: (id, name)
    of the topics known so far. secret_blocks: the texts of TLS key logs. origin: the number of the run, and the pattern
    of `Origins`; None: rows do not say where they come from. sample: the fraction of the connections to read; None:
    all. wanted, decoder: as for `RowSource`. reading: ports, dialect, secrets and memory, as for
    `kcli.capture.decoder.DecodeOptions`.
    """

    end_ns: int = 0
    clock: int = 0
    names: tuple[tuple[str, str], ...] = ()
    secret_blocks: tuple[bytes, ...] = ()
    origin: tuple[int, str | None] | None = None
    sample: float | None = None
    wanted: frozenset[str] = EVERY_TABLE
    decoder: PayloadDecoder | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Decoded:
    """The result of decoding a share.

    passing: files with rows about connections still open, which the next run replaces. unnamed: ids of topics whose
    name is unknown. state: files with the connections still open, for the next run. under_way: the same connections as
    values, if the share is a window. untouched: connections of an earlier run that had no packet. carried: bytes kept
    for the next run, less the bytes that an earlier run had kept. open_rows: exchanges and events in `passing`.
    open_bytes: the bytes of these exchanges and events, and those of TLS itself. window: the number of the window, if
    the share is one.
    """

    share: int
    files: list[WrittenFile]
    passing: list[WrittenFile]
    unnamed: set[str]
    state: list[WrittenFile] = field(default_factory=list)
    under_way: list[Carried] = field(default_factory=list)
    untouched: set[str] = field(default_factory=set)
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


def decode(portion: Portion, folder: str, options: DecodingOptions = DecodingOptions()) -> Decoded:
    """Decode packets into Parquet files below `folder`."""
    share, window, connection, carried = portion.share, portion.window, portion.connection, portion.carried
    name = f"{share:04d}-{os.urandom(4).hex()}" if window is None else f"{share:04d}-{window:03d}-{os.urandom(4).hex()}"
    writer, passing = TableWriter(folder, name), TableWriter(folder, f"{name}-open")
    origins = None if options.origin is None else Origins(*options.origin)
    source = RowSource(
        placed(writer.put, origins),
        options.wanted,
        writer.put_batch,
        origins=origins,
        decoder=options.decoder,
        **options.reading,
    )
    for block in options.secret_blocks:
        source.capture.handover.add_secrets(block)
    if connection is not None:
        source.engine.choose(*connection)
    if options.sample is not None:
        source.engine.choose_sample(options.sample)
    made = Decoded(share, [], [], set(), window=window)
    begin(source, options, carried)
    if origins is not None:
        origins.kept = last_times(carried)
    source.run(portion.opened, portion.until, partial(conclude, made, source, passing))
    sum_up_open(made, source)
    made.files, made.passing = writer.close(), passing.close()
    if window is None:
        made.untouched = untouched(carried, made.under_way)
        made.state, made.under_way = write(folder, name, made.under_way), []
    made.problems = source.problems
    freeze()
    return made


def placed(put: Put, origins: Origins | None) -> Put:
    """Return a `put` function that adds to each undecodable row where it comes from."""
    if origins is None:
        return put

    def put_event(table: str, row: tuple[Any, ...]) -> None:
        if table == UNDECODABLE:
            cluster, host, file, run = origins.event(row[0])
            row = (*row[:FILE], row[FILE] or file, *row[FILE + 1 :], cluster, host, run)
        put(table, row)

    return put_event


@cache
def freeze() -> None:
    """Freeze the loaded modules (see `gc.freeze`), so that the garbage collector does not search them again and
    again.
    """
    gc.freeze()


def begin(source: RowSource, options: DecodingOptions, carried: Sequence[Carried]) -> None:
    source.end_ns = options.end_ns
    for topic_id, topic in options.names:
        source.bodies.names.learn(uuid_bytes(topic_id), topic)
    source.rows.known = len(source.bodies.names)
    restore(source, carried, options.clock)


def conclude(made: Decoded, source: RowSource, passing: TableWriter) -> None:
    """Finish a share after its last packet: count the complete exchanges, and write the rows of open connections to
    files that the next run replaces.
    """
    source.end_ns = max(source.end_ns, source.engine.last_ns, source.engine.latest)
    made.under_way = dump(source)
    source.flush(last=True)  # what is known of them from TCP so far
    sum_up(made, source)
    source.rows.put_to(placed(passing.put, source.origins))
    source.put_batch = passing.put_batch


def sum_up(made: Decoded, source: RowSource) -> None:
    """Set the counts, before the open connections are ended."""
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
    """Set the counts of connections that were ended with the captures, but can continue in a later run."""
    made.unnamed = set(map(uuid_text, source.bodies.names.missing()))
    made.open_rows = source.rows.exchanges - made.exchanges, source.rows.events - made.events
    tally = source.tally
    before = made.exchange_bytes, made.event_bytes, made.tls_bytes
    now = tally.exchange_bytes, tally.captured, tally.protection_bytes
    made.open_bytes = now[0] - before[0], now[1] - before[1], now[2] - before[2]


def events_only(events: Sequence[Event], put: Any) -> None:
    """Write damage that the first stage found as rows."""
    rows = SingleRows(put, EVERY_TABLE)
    for event in events:
        rows.event(event)
