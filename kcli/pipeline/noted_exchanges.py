"""The facts of `noted_exchanges`: what the tables `throttling` and `groups` are made of, with as little of each message
as they need.

`ExchangeRows` in the core finds the throttle times; `noted_row` takes them from values.
"""

from __future__ import annotations

from typing import Any

import numpy

from kcli.capture.kafka.exchange import Exchange
from kcli.capture.tables.arrays import integers, texts
from kcli.pipeline.exchange_columns import ExchangeColumns
from kcli.pipeline.exchange_facts import TEXTS, THROTTLE
from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.tables import TABLES
from kcli.pipeline.writing import stored_schema

NAMES = FACTS["noted_exchanges"].names
OF_EXCHANGE = [TABLES["exchanges"].names.index(name) for name in NAMES]
BODIES = ("request", "response")


def noted_batch(columns: ExchangeColumns) -> Any:
    """The rows among these exchanges, as a record batch; None where there are none."""
    import pyarrow

    waits, keys = columns.fields[:, THROTTLE], columns.numbers[:, 2]
    grouped = (keys == TEXTS[0]) | (keys == TEXTS[1])
    index = numpy.flatnonzero(grouped | (waits > 0))
    if not len(index):
        return None
    others = ~grouped[index]
    everywhere, of_groups = integers(index, "int64"), integers(index, "int64", others)
    made = {name: columns.batch.column(name).take(of_groups if name in BODIES else everywhere) for name in NAMES}
    if others.any():
        answers = made["response"].to_pylist()
        for row in numpy.flatnonzero(others).tolist():
            answers[row] = wait_text(waits[index[row]])
        made["response"] = texts(answers)
    return pyarrow.record_batch([*made.values()], schema=stored_schema("noted_exchanges"))


def noted_row(item: Exchange, exchange: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The row of one exchange; None: it is of no concern. exchange: its row of `exchanges`."""
    row = [exchange[at] for at in OF_EXCHANGE]
    if item.api_key not in TEXTS:
        wait = (item.response or {}).get("throttleTimeMs")
        if not isinstance(wait, int) or wait <= 0:
            return None
        row[NAMES.index("request")], row[NAMES.index("response")] = None, wait_text(wait)
    return tuple(row)


def wait_text(wait: int) -> bytes:
    """A response that says nothing but how long to wait (ms)."""
    return b'{"throttleTimeMs":%d}' % wait
