"""The tables of captures: exchanges, events and records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kcli.capture.decoder import CaptureDecoder, DecodeOptions
from kcli.capture.nothing import require_exchanges
from kcli.capture.tables.arrow import ArrowSink
from kcli.capture.tables.columns import OF_EVENTS
from kcli.sql.scans import Source
from kcli.tables.captured import EVENT_COLUMNS
from kcli.tables.exchanges import EXCHANGE_COLUMNS

BOTH = tuple({each.name: each for each in (*EXCHANGE_COLUMNS, *EVENT_COLUMNS)}.values())
OF_BODIES = frozenset({"request", "response", "error", "errors"})
KIND = "event"  # the column that only events have


def exchange_source(paths: Sequence[str], options: dict[str, Any]) -> Source:
    """Return the exchanges of captures that are read as one. options: of DecodeOptions. Raises NothingReadError after
    the last row if there are none.
    """
    return rows_of(paths, options, events=False)


def event_source(paths: Sequence[str], options: dict[str, Any]) -> Source:
    """Return the events of captures that are read as one. options: of DecodeOptions."""
    return rows_of(paths, options, events=True)


def rows_of(paths: Sequence[str], options: dict[str, Any], *, events: bool) -> Source:
    def batches(wanted: frozenset[str]) -> Iterator[Any]:
        own = wanted - OF_EVENTS if not events else wanted & {"timestamp", "connection", "file"}
        bodies = events or not OF_BODIES.isdisjoint(own)
        source = CaptureDecoder(paths, ArrowSink(BOTH, own, bodies), DecodeOptions(**options))
        for batch in source.sink.batches():
            kinds = batch.column(KIND)
            if kinds.null_count == (0 if events else len(kinds)):
                yield batch
            else:
                picked = kinds.is_valid() if events else kinds.is_null()
                yield batch.filter(picked)
        if not events:
            require_exchanges(source)

    return batches
