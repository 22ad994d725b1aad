"""The facts of `exchange_facts`: columns of each exchange for rules and the report, with a few numbers of its messages.

`ExchangeRows` in the core selects the numbers.
"""

from __future__ import annotations

from collections.abc import Container
from functools import partial
from typing import Any

from kcli.pipeline.rows.exchange_columns import ExchangeColumns
from kcli.pipeline.writing import stored_schema
from kcli.schemas.apikeys import FETCH
from kcli.tables.arrays import integers

FIELDS = (
    "replica_id", "session_id", "session_epoch", "granted_id", "max_wait_ms", "min_bytes", "isolation_level", "acks",
    "throttle_ms",
)  # fmt: skip
KINDS = {"isolation_level": "int8", "acks": "int16"}  # numbers other than int32 in messages
NAMES = {"client_address": "address"}
OF_EXCHANGES = (
    "timestamp", "connection", "server", "client_address", "client_id", "correlation_id", "api_version", "api_key",
    "api", "request_bytes", "response_bytes", "latency_ms", "errors", "completed_ns",
)  # fmt: skip


def fact_batch(columns: ExchangeColumns, names: Container[str] | None = None) -> Any:
    """Return the rows of these exchanges, as a record batch. names: of the columns that are wanted; they take no more
    memory than in messages. None: all, as they are stored."""
    import pyarrow

    named = [each for each in OF_EXCHANGES if names is None or NAMES.get(each, each) in names]
    fields = [each for each in FIELDS if names is None or each in names]
    kinds = [KINDS.get(each, "int32") if names is not None else "int64" for each in fields]
    made = [*columns.arrays(*named), *map(partial(number, columns), fields, kinds)]
    if names is None:
        return pyarrow.record_batch(made, schema=stored_schema("exchange_facts"))
    return pyarrow.record_batch(made, names=[NAMES.get(each, each) for each in named] + fields)


def number(columns: ExchangeColumns, name: str, kind: str) -> Any:
    """Return a field of messages as an array of that type."""
    if name == "replica_id":
        return integers(columns.made.replicas, kind, columns.rows.key != FETCH)
    return columns.made.number(name, kind)
