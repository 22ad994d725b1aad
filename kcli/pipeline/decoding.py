"""The second stage: one share's packets, from all files, into rows of the tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kcli.capture.events import Event, Exchange
from kcli.capture.exchanges import Item, Source
from kcli.capture.files import drive
from kcli.pipeline.rows import Rows
from kcli.pipeline.storage import Place
from kcli.pipeline.tables import FACTS, TABLES
from kcli.pipeline.writing import TableWriter, Written

__all__ = ["Decoded", "RowSource", "decode"]

AT_END = ": the capture ends"
WANTED = frozenset(TABLES) | frozenset(FACTS)


@dataclass(slots=True)
class Decoded:
    """What became of a share. unnamed: topic ids that no message of these connections named."""

    share: int
    files: list[Written]
    unnamed: set[str]
    packets: int = 0
    payload: int = 0
    exchange_bytes: int = 0
    event_bytes: int = 0
    duplicates: int = 0
    strays: int = 0
    carried: int = 0
    exchanges: int = 0
    events: int = 0
    first_ns: int = 0
    last_ns: int = 0
    problems: list[str] = field(default_factory=list)


class RowSource(Source):
    """A capture whose exchanges and events become rows as they come out."""

    def __init__(self, paths: Sequence[str], put: Any, wanted: frozenset[str] = WANTED, **options: Any) -> None:
        super().__init__(paths, **options)
        self.rows = Rows(put, wanted)
        self.end_ns = 0  # when the whole capture ends, which the packets of some connections don't tell

    def emit(self, item: Item) -> None:
        self.tally.add(item)
        if isinstance(item, Exchange):
            self.rows.exchange(item, self.engine.last_ns)
        else:
            if item.kind == "unanswered-at-end" and item.reason.endswith(AT_END):
                item.ns = max(item.ns, self.end_ns)
            self.rows.event(item)

    def run(self) -> None:
        for _ in drive(self.paths, self.engine, self.new_reader, self.emit):
            pass
        self.rows.finish()


def decode(
    share: int,
    staged: Sequence[str],
    folder: str,
    *,
    end_ns: int = 0,
    names: Sequence[tuple[str, str]] = (),
    **options: Any,
) -> Decoded:
    """Decode the packets of a share, staged in files, into Parquet files below `folder`.

    end_ns: of the last packet of all shares. names: (id, name) of topics known before. options: ports and dialect, as
    `kcli.capture.exchanges.read` takes them.
    """
    writer = TableWriter(folder, f"{share:04d}-{os.urandom(4).hex()}")
    source = RowSource(local(staged), writer.put, **options)
    source.end_ns = end_ns
    for topic_id, name in names:
        source.bodies.names.learn(uuid_of(topic_id), name)
    source.rows.known = len(source.bodies.names)
    source.run()
    return summed(share, source, writer.close())


def uuid_of(text: str) -> bytes:
    from kcli.core.values import uuid_bytes

    return uuid_bytes(text)


def local(staged: Sequence[str]) -> list[str]:
    return [Place(uri).path if not Place(uri).remote else uri for uri in staged]


def summed(share: int, source: RowSource, files: list[Written]) -> Decoded:
    engine, tally = source.engine, source.tally
    return Decoded(
        share,
        files,
        source.rows.unnamed,
        engine.packets,
        engine.payload,
        tally.exchange_bytes,
        tally.captured,
        engine.duplicate,
        engine.stray + engine.ignored,
        0,
        source.rows.exchanges,
        source.rows.events,
        engine.first_ns or 0,
        engine.last_ns,
    )


def events_only(events: Sequence[Event], put: Any) -> None:
    """Damage that the first stage found, as rows."""
    rows = Rows(put, WANTED)
    for event in events:
        rows.event(event)
