"""The facts `fetch_frames`: the messages needed to follow fetch sessions, as they were on the wire, without the
records.

Records are most of a Fetch's bytes, and tell nothing about sessions. They are cut out of the response; the column
`cuts` has their positions, where zeros are inserted when the response is read (`filled`). `ExchangeRows` in the core
cuts them out if it has found the partitions itself; the few other responses stay whole.
"""

from typing import Any

import numpy

from kcli.pipeline.rows.exchange_columns import ExchangeColumns
from kcli.pipeline.writing import stored_schema
from kcli.schemas.apikeys import FETCH, LIST_OFFSETS, OFFSET_FETCH
from kcli.tables.arrays import integers, rows_at, strings

FRAMED = (FETCH, LIST_OFFSETS, OFFSET_FETCH)  # API keys: fetches, and requests after which a client may fetch elsewhere


def frame_batch(columns: ExchangeColumns) -> Any:
    """Return the rows for these exchanges as a record batch; None if there are none."""
    import pyarrow

    rows, requests, responses, cuts = columns.taken["frames"]
    numbers = numpy.frombuffer(rows, numpy.int64).reshape(-1, 2)
    if not len(numbers):
        return None
    index, response_ns = numbers[:, 0], numbers[:, 1]
    binary = pyarrow.binary()
    missing = response_ns < 0
    arrays = [
        rows_at(columns.leading_columns[2], index), rows_at(columns.leading_columns[1], index),
        integers(columns.rows.completed[index], "int64"),
        integers(columns.rows.ts[index], "int64"), integers(response_ns, "int64", missing),
        strings(requests).view(binary), strings(responses, missing).view(binary), strings(cuts).view(binary),
    ]  # fmt: skip
    return pyarrow.record_batch(arrays, schema=stored_schema("fetch_frames"))
