"""The tables of what was given: which there are, and an engine over them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kcli.filelike import STDIN
from kcli.sql.captures import event_source, exchange_source
from kcli.sql.engine import Engine
from kcli.sql.inputs import Inputs
from kcli.sql.scans import Scan, Source
from kcli.sql.views import VIEWS
from kcli.tables.captured import CAPTURED
from kcli.tables.definition import schema_of

__all__ = ["open_engine"]


def open_engine(inputs: Inputs, options: dict[str, Any]) -> Engine:
    """An engine over the tables of all inputs. options: of captures, as for `CaptureDecoder`. UsageError: DuckDB is
    missing. InputError: a written table can't be read."""
    sources: dict[str, list[Source]] = {name: [] for name in CAPTURED if name not in VIEWS}
    schemas = {name: schema_of(CAPTURED[name].columns) for name in sources}
    for name, source in sources_of(inputs, options):
        sources[name].append(source)
    if inputs.written:
        from kcli.sql.written import written_sources

        for name, schema, source in written_sources(inputs.written):
            schemas.setdefault(name, schema)
            sources.setdefault(name, []).append(source)
    once = STDIN in inputs.captures
    return Engine([Scan(name, schemas[name], each, once=once) for name, each in sources.items()], VIEWS)


def sources_of(inputs: Inputs, options: dict[str, Any]) -> Iterator[tuple[str, Source]]:
    """(table, source) of captures, segments and snapshots. What few tables need is imported when these are read."""

    def captured_records(wanted: frozenset[str]) -> Iterator[Any]:
        from kcli.sql import records

        return records.captured_records(inputs.captures, options)(wanted)

    def segment_records(wanted: frozenset[str]) -> Iterator[Any]:
        from kcli.sql import records

        return records.segment_records(inputs.segments, bool(options.get("secrets")))(wanted)

    def metadata(wanted: frozenset[str]) -> Iterator[Any]:
        from kcli.sql.metadata import metadata_source

        return metadata_source(inputs.metadata, options.get("dialect"), bool(options.get("secrets")))(wanted)

    if inputs.captures:
        yield "exchanges", exchange_source(inputs.captures, options)
        yield "events", event_source(inputs.captures, options)
        yield "records", captured_records
    if inputs.segments:
        yield "records", segment_records
    if inputs.metadata:
        yield "metadata", metadata
