"""What the core made as columns, on its way to Parquet: the rows of `exchanges`, and who was behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy

from kcli.pipeline.writing import stored_schema
from kcli.schemas.errors import error_name

__all__ = ["Columns", "Uses", "address_of", "by_day", "integers", "server_of", "texts_by_number"]

DAY_NS = 86_400_000_000_000
NUMBERS = 11  # of the core: ts, completed, key, version, correlation id, sizes, latency, link, client, voice
KEYS = 128


class Columns:
    """What `kcli.core.rows.ExchangeRows.take_columns` gives, as Arrow arrays. name_of: an API's name by its number."""

    def __init__(self, taken: dict[str, Any], name_of: Callable[[int], str | None]) -> None:
        self.taken, self.name_of = taken, name_of
        self.numbers = numpy.frombuffer(taken["numbers"], numpy.int64).reshape(-1, NUMBERS)
        self.days = self.numbers[:, 0] // DAY_NS

    def batches(self) -> Iterator[tuple[str, int, Any]]:
        """(table, day since 1970, record batch) of `exchanges`."""
        import pyarrow

        batch = pyarrow.record_batch(self.arrays(), schema=stored_schema("exchanges"))
        yield from by_day("exchanges", batch, self.days)

    @cached_property
    def who(self) -> list[Any]:
        """The columns that all tables of exchanges begin with."""
        import pyarrow

        ts, ids, versions = self.numbers[:, 0], self.numbers[:, 4], self.numbers[:, 3]
        links = self.taken["links"]
        return [
            pyarrow.array(ts // 1000).cast(pyarrow.timestamp("us", "UTC")),
            *(texts_by_number(links, self.numbers[:, 8], part) for part in (str, server_of, client_of)),
            texts_by_number(self.taken["clients"], self.numbers[:, 9]),
            integers(ids, "int32"),
            integers(versions, "int16"),
        ]

    def arrays(self) -> list[Any]:
        """In the order of the table's columns."""
        import pyarrow

        ends = numpy.frombuffer(self.taken["ends"], numpy.int32).reshape(-1, 3)
        _, completed, keys, _, _, asked, told, latency, *_ = (self.numbers[:, at] for at in range(NUMBERS))
        answered = told >= 0
        return [
            *self.who,
            integers(keys, "int16"),
            texts_by_number([self.name_of(key) for key in range(KEYS)], keys),
            texts(self.taken["header"], ends[:, 0]),
            texts(self.taken["request"], ends[:, 1]),
            texts(self.taken["response"], ends[:, 2], answered),
            pyarrow.array(asked),
            pyarrow.array(told, mask=~answered),
            pyarrow.array(latency / 1000, mask=~answered),
            errors(len(self.numbers), self.taken["errors"]),
            pyarrow.array(completed),
        ]


def by_day(table: str, batch: Any, days: Any) -> Iterator[tuple[str, int, Any]]:
    """(table, day, its rows) for each day there is."""
    import pyarrow

    for day in numpy.unique(days).tolist():
        same = days == day
        yield table, day, batch if same.all() else batch.filter(pyarrow.array(same))


def compact(numbers: Any) -> tuple[list[int], Any]:
    """(the numbers that are there, where in them each stands); they are from 0 on and small."""
    there = numpy.bincount(numbers) > 0
    return numpy.flatnonzero(there).tolist(), (numpy.cumsum(there) - 1)[numbers]


def texts_by_number(
    texts: Sequence[str | None], numbers: Any, part: Callable[[str], str] = str, missing: Any = None
) -> Any:
    """A column of texts, of which few differ: a dictionary, and where in it each row's is. part: of the text."""
    import pyarrow

    used, index = compact(numbers)
    values = [texts[number] for number in used]
    known = numpy.array([value is not None for value in values], bool)
    if not known.all():
        missing = ~known[index] if missing is None else missing | ~known[index]
        index = (numpy.cumsum(known) - 1)[index]
    dictionary = pyarrow.array([part(value) for value in values if value is not None], pyarrow.string())
    return pyarrow.DictionaryArray.from_arrays(pyarrow.array(index.astype(numpy.int32), mask=missing), dictionary)


def server_of(link: str) -> str:
    return link.partition("-")[0]


def client_of(link: str) -> str:
    return link.partition("-")[2]


def address_of(link: str) -> str:
    """The client's, without its port and an IPv6 address's brackets."""
    return client_of(link).rpartition(":")[0].strip("[]")


def integers(values: Any, kind: str, missing: Any = None) -> Any:
    """missing: where there is none."""
    import pyarrow

    return pyarrow.array(values.astype(kind), mask=missing)


def texts(data: Any, ends: Any, valid: Any = None) -> Any:
    """A column of text, from all of it and where each row's ends."""
    import pyarrow

    offsets = numpy.concatenate((numpy.zeros(1, numpy.int32), ends))
    bits = None if valid is None else pyarrow.py_buffer(numpy.packbits(valid, bitorder="little").tobytes())
    buffers = [bits, pyarrow.py_buffer(offsets.tobytes()), pyarrow.py_buffer(data)]
    return pyarrow.Array.from_buffers(pyarrow.string(), len(ends), buffers)


def errors(count: int, found: list[tuple[int, list[int]]]) -> Any:
    """The names of each row's codes, each once."""
    import pyarrow

    names = [names_of(tuple(codes)) for _, codes in found]
    sizes = numpy.zeros(count + 1, numpy.int32)
    sizes[[row + 1 for row, _ in found]] = [len(each) for each in names]
    values = pyarrow.array([name for each in names for name in each], pyarrow.string())
    return pyarrow.ListArray.from_arrays(pyarrow.array(numpy.cumsum(sizes, dtype=numpy.int32)), values)


@lru_cache(1 << 12)
def names_of(codes: tuple[int, ...]) -> list[str]:
    """Each once."""
    return [error_name(code) for code in dict.fromkeys(codes)]


class Uses:
    """Which versions were used by whom, counted over such rows.

    voices: by number, what client and broker of a connection said of themselves (kcli.capture.audit.Talk).
    """

    def __init__(self, columns: Columns, voices: Sequence[Any]) -> None:
        self.columns, self.voices = columns, voices
        self.parts = [compact(columns.numbers[:, at]) for at in (8, 9, 10)]
        mixed = columns.numbers[:, 2] << 5 | columns.numbers[:, 3]
        for used, index in self.parts:
            mixed = mixed * len(used) + index
        self.mixed, self.first, self.counts = numpy.unique(mixed, return_index=True, return_counts=True)

    def batch(self) -> Any:
        """Rows of `client_uses`."""
        import pyarrow

        numbers, links = self.columns.numbers[self.first], self.columns.taken["links"]
        arrays = [
            texts_by_number(links, numbers[:, 8]),
            texts_by_number(self.columns.taken["clients"], numbers[:, 9]),
            texts_by_number(links, numbers[:, 8], address_of),
            *self.said(numbers[:, 10]),
            integers(numbers[:, 2], "int16"),
            integers(numbers[:, 3], "int16"),
            pyarrow.array(self.counts),
            pyarrow.array(self.is_free(numbers)),
        ]
        return pyarrow.record_batch(arrays, schema=stored_schema("client_uses"))

    def said(self, numbers: Any) -> Iterable[Any]:
        """Software, its version, and whether it asks what the broker speaks."""
        import pyarrow

        yield texts_by_number([talk.software for talk in self.voices], numbers)
        yield texts_by_number([talk.version for talk in self.voices], numbers)
        yield pyarrow.array(numpy.array([talk.negotiates for talk in self.voices])[numbers])

    def is_free(self, numbers: Any) -> Any:
        """Whether another version than the newest one offered was used."""
        used, index = compact(numbers[:, 10])
        newest = numpy.full((len(used), KEYS), -1)
        for row, number in enumerate(used):
            for key, version in self.voices[number].offered.items():
                if 0 <= key < KEYS:
                    newest[row, key] = version
        return newest[index, numbers[:, 2]] != numbers[:, 3]
