"""The facts of exchanges: `exchange_facts`, with columns of each exchange for rules and the report, and a few numbers
from its messages; and `noted_exchanges` for the tables `throttling` and `groups`, with the fields of messages that
these need.

`ExchangeRows` in the core selects the numbers, and finds the throttle times.
"""

from collections.abc import Container
from functools import partial
from typing import Any

import numpy

from kcli.core.codec.values import MISSING
from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.rows.exchange_columns import ExchangeColumns
from kcli.pipeline.writing import stored_schema
from kcli.schemas.apikeys import CONSUMER_GROUP_HEARTBEAT, FETCH, JOIN_GROUP, SHARE_GROUP_HEARTBEAT
from kcli.tables.arrays import integers, rows_at, texts

FIELDS = (
    "replica_id", "session_id", "session_epoch", "granted_id", "max_wait_ms", "min_bytes", "isolation_level", "acks",
    "throttle_ms",
)  # fmt: skip
KINDS = {"isolation_level": "int8", "acks": "int16"}  # the numbers that are not int32 in messages
IS_CUT = "is_cut"
NAMES = {"client_address": "address"}
OF_EXCHANGES = (
    "timestamp", "connection", "server", "client_address", "client_id", "correlation_id", "api_version", "api_key",
    "api", "request_bytes", "response_bytes", "latency_ms", "errors", "completed_ns",
)  # fmt: skip
NOTED = FACTS["noted_exchanges"].names
TEXT_COLUMNS = ("request", "response")
TEXTS = (JOIN_GROUP, CONSUMER_GROUP_HEARTBEAT, SHARE_GROUP_HEARTBEAT)  # API keys with bodies kept as text


def fact_batch(columns: ExchangeColumns, names: Container[str] | None = None) -> Any:
    """Return the rows of these exchanges as a record batch. names: the columns wanted, each with the type it has in
    messages to save memory; None: all columns, with the types in which they are stored.
    """
    import pyarrow

    named = [each for each in OF_EXCHANGES if names is None or NAMES.get(each, each) in names]
    fields = [each for each in FIELDS if names is None or each in names]
    kinds = [KINDS.get(each, "int32") if names is not None else "int64" for each in fields]
    made = [*columns.arrays(*named), *map(partial(number, columns), fields, kinds)]
    if names is None or IS_CUT in names:
        made.append(integers(columns.rows.cut > 0, "bool"))
        fields.append(IS_CUT)
    if names is None:
        return pyarrow.record_batch(made, schema=stored_schema("exchange_facts"))
    return pyarrow.record_batch(made, names=[NAMES.get(each, each) for each in named] + fields)


def number(columns: ExchangeColumns, name: str, kind: str) -> Any:
    """Return a field of messages as an array of the type `kind`."""
    if name == "replica_id":
        values = columns.made.replicas
        return integers(values, kind, (columns.rows.key != FETCH) | (values == MISSING))
    return columns.made.number(name, kind)


def noted_batch(columns: ExchangeColumns) -> Any:
    """Return the rows for these exchanges as a record batch; None if there are none."""
    import pyarrow

    waits, keys = columns.made.field("throttle_ms"), columns.rows.key
    grouped = numpy.isin(keys, TEXTS)
    index = numpy.flatnonzero(grouped | (waits > 0))
    if not len(index):
        return None
    others = ~grouped[index]
    made = {
        name: rows_at(column, index, others if name in TEXT_COLUMNS else None)
        for name, column in zip(NOTED, columns.arrays(*NOTED), strict=True)
    }
    if others.any():
        answers = made["response"].to_pylist()
        for row in numpy.flatnonzero(others).tolist():
            answers[row] = wait_text(waits[index[row]])
        made["response"] = texts(answers)
    return pyarrow.record_batch([*made.values()], schema=stored_schema("noted_exchanges"))


def wait_text(wait: int) -> bytes:
    """Return the text of a response that contains only the throttle time (ms)."""
    return b'{"throttleTimeMs":%d}' % wait
