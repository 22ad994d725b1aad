"""The facts of `exchange_facts`: what the report asks of each exchange, with a few numbers out of its messages.

`ExchangeRows` in the core selects the numbers.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy

from kcli.pipeline.rows.exchange_columns import ExchangeColumns
from kcli.pipeline.writing import stored_schema
from kcli.schemas.apikeys import CONSUMER_GROUP_HEARTBEAT, FETCH, JOIN_GROUP, SHARE_GROUP_HEARTBEAT
from kcli.tables.arrays import integers, strings

FIELDS = (
    "replica_id", "session_id", "session_epoch", "granted_id", "max_wait_ms", "min_bytes", "isolation_level", "acks",
    "throttle_ms",
)  # fmt: skip
KINDS = {"isolation_level": "int8", "acks": "int16"}  # those that are no int32 in messages
NAMES = {"client_address": "address"}
TEXTS = (JOIN_GROUP, CONSUMER_GROUP_HEARTBEAT, SHARE_GROUP_HEARTBEAT)  # API keys whose bodies are kept as text
OF_EXCHANGES = (
    "timestamp", "connection", "server", "client_address", "client_id", "correlation_id", "api_version", "api_key",
    "api", "request_bytes", "response_bytes", "latency_ms", "errors", "completed_ns",
)  # fmt: skip


def fact_batch(columns: ExchangeColumns) -> Any:
    """Return the rows of these exchanges, as a record batch."""
    import pyarrow

    others = ~numpy.isin(columns.rows.key, TEXTS)
    unread = others if columns.made.unanswered is None else others | columns.made.unanswered
    made = [
        *columns.arrays(*OF_EXCHANGES), *(number(columns, name, "int64") for name in FIELDS),
        strings(columns.taken["request"], others), strings(columns.taken["response"], unread),
    ]  # fmt: skip
    return pyarrow.record_batch(made, schema=stored_schema("exchange_facts"))


def narrow_batch(columns: ExchangeColumns, names: Container[str]) -> Any:
    """Return the same in the memory that they need: without texts, of the rest what is named, fields as messages have
    them."""
    import pyarrow

    named = [each for each in OF_EXCHANGES if NAMES.get(each, each) in names]
    fields = [each for each in FIELDS if each in names]
    made = [*columns.arrays(*named), *(number(columns, each, KINDS.get(each, "int32")) for each in fields)]
    return pyarrow.record_batch(made, names=[NAMES.get(each, each) for each in named] + fields)


def number(columns: ExchangeColumns, name: str, kind: str) -> Any:
    """Return a field of messages as an array of that type."""
    if name == "replica_id":
        return integers(columns.made.replicas, kind, columns.rows.key != FETCH)
    return columns.made.number(name, kind)
