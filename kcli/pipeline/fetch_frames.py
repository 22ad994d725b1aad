"""The facts of `fetch_frames`: what fetch sessions are followed by, as it was on the wire, without the records.

Records are most of a Fetch's bytes, and say nothing about sessions. They are cut out of the response; the column `cuts`
has their places, so that zeroes can take them when the response is read (`filled`). `ExchangeRows` in the
core makes the same rows as columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy

from kcli.capture.kafka.exchange import Exchange
from kcli.capture.tables.arrays import integers, strings
from kcli.pipeline.exchange_columns import ExchangeColumns
from kcli.pipeline.writing import stored_schema
from kcli.schemas.apikeys import FETCH, LIST_OFFSETS, OFFSET_FETCH

FRAMED = (FETCH, LIST_OFFSETS, OFFSET_FETCH)  # API keys: fetches, and what lets a client fetch from elsewhere
CUT_LEAST = 61  # bytes of records that are worth a cut: the header of a batch


def frame_row(item: Exchange, completed: int) -> tuple[Any, ...]:
    """The row of one exchange, whose bodies can be decoded. completed: ns since 1970, as in `exchanges`."""
    response, cuts = item.response_frame, b""
    if response is not None and item.api_key == FETCH:
        response, cuts = without_records(response, records_of(item.response))
    return (
        item.link.server, item.connection, completed, item.request_ns, item.response_ns, item.request_frame,
        response, cuts,
    )  # fmt: skip


def records_of(response: Any) -> Iterator[Any]:
    """The records of a Fetch response, in order."""
    for topic in response.get("responses", ()):
        for partition in topic["partitions"]:
            yield partition.get("records")


def without_records(response: bytes, records: Iterable[Any]) -> tuple[bytes, bytes]:
    """(the response without these, where each was). Short ones stay.

    The places are int64 pairs in the machine's order: the place in what is left, and the bytes that were there.
    """
    kept: list[bytes] = []
    cuts: list[int] = []
    at = size = 0
    for each in records:
        if each is None or len(each) < CUT_LEAST:
            continue
        place = response.find(each, at)
        if place < 0:
            continue
        kept.append(response[at:place])
        size += place - at
        cuts += [size, len(each)]
        at = place + len(each)
    return b"".join([*kept, response[at:]]), numpy.array(cuts, numpy.int64).tobytes()


def filled(response: bytes, cuts: bytes) -> bytes:
    """The response at its full size, with zeroes for records."""
    if not cuts:
        return response
    parts: list[bytes] = []
    at = 0
    for place, size in numpy.frombuffer(cuts, numpy.int64).reshape(-1, 2).tolist():
        parts += [response[at:place], bytes(size)]
        at = place
    return b"".join([*parts, response[at:]])


def frame_batch(columns: ExchangeColumns) -> Any:
    """The rows among these exchanges, as a record batch; None where there are none."""
    import pyarrow

    rows, requests, responses, cuts = columns.taken["frames"]
    numbers = numpy.frombuffer(rows, numpy.int64).reshape(-1, 2)
    if not len(numbers):
        return None
    index, answered = numbers[:, 0], numbers[:, 1]
    chosen = integers(index, "int64")
    binary = pyarrow.binary()
    missing = answered < 0
    arrays = [
        columns.who[2].take(chosen), columns.who[1].take(chosen), integers(columns.numbers[index, 1], "int64"),
        integers(columns.numbers[index, 0], "int64"), integers(answered, "int64", missing),
        strings(requests).view(binary), strings(responses, missing).view(binary), strings(cuts).view(binary),
    ]  # fmt: skip
    return pyarrow.record_batch(arrays, schema=stored_schema("fetch_frames"))
