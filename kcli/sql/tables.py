"""The tables of what was given: which there are, and an engine over them."""

from __future__ import annotations

from typing import Any

from kcli.filelike import STDIN
from kcli.sql.captures import event_source, exchange_source
from kcli.sql.engine import Engine
from kcli.sql.inputs import Inputs
from kcli.sql.metadata import metadata_source
from kcli.sql.records import captured_records, segment_records
from kcli.sql.scans import Scan, Source
from kcli.sql.views import VIEWS
from kcli.sql.written import written_sources
from kcli.tables.captured import CAPTURED
from kcli.tables.definition import schema_of

__all__ = ["open_engine"]


def open_engine(inputs: Inputs, options: dict[str, Any]) -> Engine:
    """An engine over the tables of all inputs. options: of captures, as for `CaptureDecoder`. UsageError: DuckDB is
    missing. InputError: a written table can't be read."""
    secrets = bool(options.get("secrets"))
    sources: dict[str, list[Source]] = {name: [] for name in CAPTURED if name not in VIEWS}
    if inputs.captures:
        sources["exchanges"].append(exchange_source(inputs.captures, options))
        sources["events"].append(event_source(inputs.captures, options))
        sources["records"].append(captured_records(inputs.captures, options))
    if inputs.segments:
        sources["records"].append(segment_records(inputs.segments, secrets))
    if inputs.metadata:
        sources["metadata"].append(metadata_source(inputs.metadata, options.get("dialect"), secrets))
    schemas = {name: schema_of(CAPTURED[name].columns) for name in sources}
    for name, schema, source in written_sources(inputs.written):
        schemas.setdefault(name, schema)
        sources.setdefault(name, []).append(source)
    once = STDIN in inputs.captures
    return Engine([Scan(name, schemas[name], each, once=once) for name, each in sources.items()], VIEWS)
