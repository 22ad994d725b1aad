"""Rows of `exchanges` that the core made as columns, on their way to Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kcli.pipeline.tables import arrow_schema
from kcli.schemas.errors import error_name

__all__ = ["Taken", "batches", "uses"]

DAY_NS = 86_400_000_000_000
COLUMNS = 9  # of the core's numbers: ts, completed, key, version, correlation id, sizes, latency, link
KEYS, VERSIONS = 128, 32

# What `kcli.core.rows.ExchangeRows.take_columns` gives.
Taken = tuple[bytes, bytes, bytes, bytes, bytes, bytes, list[str], list[tuple[int, list[int]]]]


def batches(taken: Taken, name_of: Callable[[int], str | None]) -> Iterator[tuple[int, Any]]:
    """(day since 1970, record batch of `exchanges`), one for each day. name_of: an API's name by its number."""
    import numpy
    import pyarrow

    numbers = numpy.frombuffer(taken[0], numpy.int64).reshape(-1, COLUMNS)
    batch = pyarrow.record_batch(arrays(taken, numbers, name_of), schema=arrow_schema("exchanges"))
    days = numbers[:, 0] // DAY_NS
    for day in numpy.unique(days):
        part = batch if days[0] == days[-1] == day else batch.filter(pyarrow.array(days == day))
        yield int(day), part


def arrays(taken: Taken, numbers: Any, name_of: Callable[[int], str | None]) -> list[Any]:
    """In the order of the table's columns."""
    import numpy
    import pyarrow

    ends = numpy.frombuffer(taken[1], numpy.int32).reshape(-1, 5)
    ts, completed, keys, versions, ids, asked, told, latency, link = (numbers[:, at] for at in range(COLUMNS))
    answered = told >= 0
    servers, clients = zip(*(text.split("-", 1) for text in taken[6]), strict=True)
    links = pyarrow.array(link)
    keyed = [name_of(key) for key in range(KEYS)]
    return [
        pyarrow.array(ts // 1000).cast(pyarrow.timestamp("us", "UTC")),
        pyarrow.array(taken[6]).take(links),
        pyarrow.array(servers).take(links),
        pyarrow.array(clients).take(links),
        texts(taken[5], ends[:, 3], ends[:, 4] == 1),
        pyarrow.array(ids.astype(numpy.int32)),
        pyarrow.array(versions.astype(numpy.int16)),
        pyarrow.array(keys.astype(numpy.int16)),
        pyarrow.array(keyed, pyarrow.string()).take(pyarrow.array(keys)),
        texts(taken[2], ends[:, 0]),
        texts(taken[3], ends[:, 1]),
        texts(taken[4], ends[:, 2], answered),
        pyarrow.array(asked),
        pyarrow.array(told, mask=~answered),
        pyarrow.array(latency / 1000, mask=~answered),
        errors(len(numbers), taken[7]),
        pyarrow.array(completed),
    ]


def texts(data: bytes, ends: Any, valid: Any = None) -> Any:
    """A column of text, from all of it and where each row's ends."""
    import numpy
    import pyarrow

    offsets = numpy.concatenate((numpy.zeros(1, numpy.int32), ends))
    bits = None if valid is None else pyarrow.py_buffer(numpy.packbits(valid, bitorder="little").tobytes())
    buffers = [bits, pyarrow.py_buffer(offsets.tobytes()), pyarrow.py_buffer(data)]
    return pyarrow.Array.from_buffers(pyarrow.string(), len(ends), buffers)


def errors(count: int, found: list[tuple[int, list[int]]]) -> Any:
    import pyarrow

    rows: list[list[str]] = [[]] * count
    for row, codes in found:
        rows[row] = [error_name(code) for code in dict.fromkeys(codes)]
    return pyarrow.array(rows, pyarrow.list_(pyarrow.string()))


def uses(taken: Taken) -> Iterator[tuple[str, str | None, int, int, int]]:
    """(connection, client id, API key, version, how often)."""
    import numpy

    numbers = numpy.frombuffer(taken[0], numpy.int64).reshape(-1, COLUMNS)
    ends = numpy.frombuffer(taken[1], numpy.int32).reshape(-1, 5)
    ids = texts(taken[5], ends[:, 3], ends[:, 4] == 1).dictionary_encode("encode")
    clients = ids.indices.to_numpy().astype(numpy.int64)
    mixed = ((numbers[:, 8] << 24 | clients) << 7 | numbers[:, 2]) << 5 | numbers[:, 3]
    found, counts = numpy.unique(mixed, return_counts=True)
    for each, count in zip(found.tolist(), counts.tolist(), strict=True):
        client = ids.dictionary[each >> 12 & 0xFFFFFF].as_py()
        yield taken[6][each >> 36], client, each >> 5 & 127, each & 31, count
