"""The facts of `exchange_facts`: what the report asks of each exchange, with a few numbers out of its messages.

`ExchangeRows` in the core selects the numbers.
"""

from __future__ import annotations

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
TEXTS = (JOIN_GROUP, CONSUMER_GROUP_HEARTBEAT, SHARE_GROUP_HEARTBEAT)  # API keys whose bodies are kept as text
OF_EXCHANGES = (
    "timestamp", "connection", "server", "client_address", "client_id", "correlation_id", "api_version", "api_key",
    "api", "request_bytes", "response_bytes", "latency_ms", "errors", "completed_ns",
)  # fmt: skip


def fact_batch(columns: ExchangeColumns) -> Any:
    """Return the rows of these exchanges, as a record batch."""
    import pyarrow

    keys = columns.rows.key
    replicas = columns.made.replicas
    others = ~numpy.isin(keys, TEXTS)
    unread = others if columns.made.unanswered is None else others | columns.made.unanswered
    made = [
        *columns.arrays(*OF_EXCHANGES), integers(replicas, "int64", keys != FETCH), *(
            columns.made.number(name, "int64") for name in FIELDS if name != "replica_id"
        ),
        strings(columns.taken["request"], others), strings(columns.taken["response"], unread),
    ]  # fmt: skip
    return pyarrow.record_batch(made, schema=stored_schema("exchange_facts"))
