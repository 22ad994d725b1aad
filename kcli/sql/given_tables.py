"""Opens an engine over the tables of the inputs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

from kcli.capture.decoder import CaptureDecoder, DecodeOptions
from kcli.capture.nothing import NothingReadError, require_exchanges
from kcli.capture.tables.arrow import ArrowSink
from kcli.capture.tables.columns import OF_EVENTS
from kcli.input_names import STDIN
from kcli.sql.definitions import PIPELINED, TABLES
from kcli.sql.engine import Engine
from kcli.sql.inputs import Inputs
from kcli.sql.scans import Scan, Source
from kcli.sql.traffic import TRAFFIC_COLUMNS, traffic_source
from kcli.sql.views import TRAFFIC, VIEWS, WRITTEN
from kcli.tables.captured import EVENT_COLUMNS
from kcli.tables.definition import schema_of
from kcli.tables.exchanges import EXCHANGE_COLUMNS

if TYPE_CHECKING:
    from kcli.payloads import PayloadDecoder
    from kcli.sql.derived import Facts
    from kcli.sql.row_tables import LearntNames


BOTH = tuple({each.name: each for each in (*EXCHANGE_COLUMNS, *EVENT_COLUMNS)}.values())
OF_BODIES = frozenset({"request", "response", "error", "errors"})
KIND = "event"  # the column that only events have


def open_engine(
    inputs: Inputs, options: dict[str, Any], seconds: float | None = None, decoder: PayloadDecoder | None = None
) -> Engine:
    """Open an engine over the tables of all inputs. options: for captures, of DecodeOptions. seconds: the most that a
    query may take. decoder: reads keys and values of records. Raises UsageError if DuckDB is missing, InputError if a
    written table cannot be read.
    """
    sources: dict[str, list[Source]] = {name: [] for name in TABLES if name not in VIEWS}
    schemas = {name: schema_of(TABLES[name].columns) for name in sources}
    sources[TRAFFIC], schemas[TRAFFIC] = [], schema_of(TRAFFIC_COLUMNS)
    for name, written in WRITTEN.items():
        sources[written], schemas[written] = [], schema_of(TABLES[name].columns)
    across = Across(inputs, options)
    of_captures = [(name, across.source(name)) for name in PIPELINED if inputs.captures]
    for name, source in (*sources_of(inputs, options, decoder), *of_captures):
        sources[name].append(lenient(source) if inputs.others else source)
    if inputs.written:
        from kcli.sql.written import written_sources

        for name, schema, source in written_sources(inputs.written):
            schemas.setdefault(name, schema)
            sources.setdefault(name, []).append(source)
    once = STDIN in inputs.captures
    scans = [Scan(name, schemas[name], each, once=once) for name, each in sources.items()]
    return Engine(scans, VIEWS, across.close, seconds, options.get("dialect"))


def lenient(source: Source) -> Source:
    """Return a source for use among others: captures without an exchange are no failure then."""

    def batches(wanted: frozenset[str]) -> Iterator[Any]:
        with contextlib.suppress(NothingReadError):
            yield from source(wanted)

    return batches


class Across:
    """The data that several of the pipeline's tables share. It is made, and its modules imported, on first use."""

    def __init__(self, inputs: Inputs, options: dict[str, Any]) -> None:
        self.paths, self.options = inputs.captures, options
        self.lock = Lock()  # DuckDB may read several tables at once

    def source(self, table: str) -> Source:
        """Return the rows of one of PIPELINED."""

        def batches(wanted: frozenset[str]) -> Iterator[Any]:
            from kcli.sql.derived import DERIVED, JUDGED, derived_source
            from kcli.sql.row_tables import row_source

            with self.lock:
                facts, judged, learnt = self.facts, self.judged_facts, self.learnt
            if table in DERIVED or table in JUDGED:
                return derived_source(table, facts if table in DERIVED else judged)(wanted)
            return row_source(table, learnt, self.options)(wanted)

        return batches

    @cached_property
    def facts(self) -> Facts:
        """The facts of all captures."""
        from kcli.sql.derived import Facts

        return Facts(self.paths, self.options)

    @cached_property
    def judged_facts(self) -> Facts:
        """The facts that rules read."""
        from kcli.rules.rule_tables import READ
        from kcli.sql.derived import Facts

        return Facts(self.paths, self.options, READ)

    @cached_property
    def learnt(self) -> LearntNames:
        """The topic names in all captures."""
        from kcli.sql.row_tables import LearntNames

        return LearntNames(self.paths, self.options)

    def close(self) -> None:
        """Remove the temporary folders."""
        for name in ("facts", "judged_facts"):
            if name in self.__dict__:
                getattr(self, name).close()


def sources_of(
    inputs: Inputs, options: dict[str, Any], decoder: PayloadDecoder | None = None
) -> Iterator[tuple[str, Source]]:
    """Yield (table, source) of captures, segments and snapshots. Modules that few tables need are imported when a query
    reads such a table.
    """

    def captured_records(wanted: frozenset[str]) -> Iterator[Any]:
        from kcli.sql import record_sources

        return record_sources.captured_records(inputs.captures, options, decoder)(wanted)

    def segment_records(wanted: frozenset[str]) -> Iterator[Any]:
        from kcli.sql import record_sources

        return record_sources.segment_records(inputs.segments, bool(options.get("secrets")), decoder)(wanted)

    def metadata(wanted: frozenset[str]) -> Iterator[Any]:
        from kcli.sql.metadata_rows import metadata_source

        return metadata_source(inputs.metadata, options.get("dialect"), bool(options.get("secrets")))(wanted)

    if inputs.captures:
        yield "exchanges", exchange_source(inputs.captures, options)
        yield "events", event_source(inputs.captures, options)
        yield TRAFFIC, traffic_source(inputs.captures, options)
        yield "records", captured_records
    if inputs.segments:
        yield "records", segment_records
    if inputs.metadata:
        yield "metadata", metadata


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
