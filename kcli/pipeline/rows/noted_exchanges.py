"""The facts of `noted_exchanges`, for the tables `throttling` and `groups`, with the fields of messages that they
need.

`ExchangeRows` in the core finds the throttle times.
"""

from __future__ import annotations

from typing import Any

import numpy

from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.rows.exchange_columns import ExchangeColumns
from kcli.pipeline.writing import stored_schema
from kcli.schemas.apikeys import CONSUMER_GROUP_HEARTBEAT, JOIN_GROUP, SHARE_GROUP_HEARTBEAT
from kcli.tables.arrays import rows_at, texts

NAMES = FACTS["noted_exchanges"].names
BODIES = ("request", "response")
TEXTS = (JOIN_GROUP, CONSUMER_GROUP_HEARTBEAT, SHARE_GROUP_HEARTBEAT)  # API keys with bodies kept as text


def noted_batch(columns: ExchangeColumns) -> Any:
    """Return the rows among these exchanges, as a record batch; None where there are none."""
    import pyarrow

    waits, keys = columns.made.field("throttle_ms"), columns.rows.key
    grouped = numpy.isin(keys, TEXTS)
    index = numpy.flatnonzero(grouped | (waits > 0))
    if not len(index):
        return None
    others = ~grouped[index]
    made = {
        name: rows_at(column, index, others if name in BODIES else None)
        for name, column in zip(NAMES, columns.arrays(*NAMES), strict=True)
    }
    if others.any():
        answers = made["response"].to_pylist()
        for row in numpy.flatnonzero(others).tolist():
            answers[row] = wait_text(waits[index[row]])
        made["response"] = texts(answers)
    return pyarrow.record_batch([*made.values()], schema=stored_schema("noted_exchanges"))


def wait_text(wait: int) -> bytes:
    """Return a response that has nothing but how long to wait (ms)."""
    return b'{"throttleTimeMs":%d}' % wait
