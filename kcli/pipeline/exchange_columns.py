"""What the core made as columns, on its way to Parquet: the rows of `exchanges`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy

from kcli.capture.tables.arrays import error_names, integers, strings, texts
from kcli.pipeline.writing import stored_schema

DAY_NS = 86_400_000_000_000
NUMBERS = 10  # of the core: ts, completed, key, version, correlation id, sizes, latency, link, client
KEYS = 128

Dated = tuple[str, int, Any, bool]  # table, day since 1970, record batch, whether its topics lack names


class ExchangeColumns:
    """What `ExchangeRows.take_columns` gives, as Arrow arrays. name_of: an API's name by its number. fields: how many
    columns of numbers `ExchangeRows` was asked for."""

    def __init__(self, taken: dict[str, Any], name_of: Callable[[int], str | None], fields: int = 0) -> None:
        self.taken, self.name_of = taken, name_of
        self.width = fields
        self.numbers = numpy.frombuffer(taken["numbers"], numpy.int64).reshape(-1, NUMBERS)
        self.days = self.numbers[:, 0] // DAY_NS
        self.nameless = numpy.zeros(len(self.numbers), bool)  # rows with a topic id without a name
        self.nameless[numpy.frombuffer(taken["nameless"], numpy.int32)] = True

    @cached_property
    def fields(self) -> Any:
        """The numbers out of messages, by row and column."""
        return numpy.frombuffer(self.taken["fields"], numpy.int64).reshape(-1, self.width)

    def batches(self) -> Iterator[Dated]:
        """Of `exchanges`."""
        yield from by_day("exchanges", self.batch, self.days, self.nameless)

    @cached_property
    def batch(self) -> Any:
        """The same rows of all days."""
        import pyarrow

        return pyarrow.record_batch(self.arrays(), schema=stored_schema("exchanges"))

    @cached_property
    def who(self) -> list[Any]:
        """The columns that all tables of exchanges begin with."""
        taken, links, clients = self.taken, self.numbers[:, 8], self.numbers[:, 9]
        server_of = numpy.frombuffer(taken["server_of"], numpy.int32)
        return [
            instants(self.numbers[:, 0]),
            places(links, strings(taken["links"])),
            places(server_of[links], strings(taken["servers"])),
            places(links, strings(taken["ends"])),
            places(clients, strings(taken["clients"]), clients < 0),
            integers(self.numbers[:, 4], "int32"),
            integers(self.numbers[:, 3], "int16"),
        ]

    @property
    def apis(self) -> list[Any]:
        """API keys and names."""
        keys = self.numbers[:, 2]
        return [integers(keys, "int16"), texts_by_number([self.name_of(key) for key in range(KEYS)], keys)]

    @property
    def unanswered(self) -> Any:
        """Mask of the rows without a response; None where there are none."""
        missing = self.numbers[:, 6] < 0
        return missing if missing.any() else None

    @property
    def measures(self) -> list[Any]:
        """Sizes, latency, errors, and when an exchange was complete."""
        _, completed, _, _, _, asked, sizes, latency, *_ = (self.numbers[:, at] for at in range(NUMBERS))
        return [
            integers(asked, "int64"),
            integers(sizes, "int64", self.unanswered),
            integers(latency / 1000, "double", self.unanswered),
            error_names(*self.taken["errors"]),
            integers(completed, "int64"),
        ]

    def arrays(self) -> list[Any]:
        """In the order of the table's columns."""
        return [
            *self.who,
            *self.apis,
            strings(self.taken["header"]),
            strings(self.taken["request"]),
            strings(self.taken["response"], self.unanswered),
            *self.measures,
        ]


def instants(ns: Any, missing: Any = None) -> Any:
    """Nanoseconds since 1970 as timestamps. missing: mask of the nulls."""
    import pyarrow

    return integers(ns // 1000, "int64", missing).cast(pyarrow.timestamp("us", "UTC"))


def by_day(table: str, batch: Any, days: Any, nameless: Any) -> Iterator[Dated]:
    """The rows of a batch, a batch for each day; those that lack topic names apart."""

    kinds = days * 2 + nameless
    if kinds.min() == kinds.max():
        yield table, int(days[0]), batch, bool(nameless[0])
        return
    for kind in numpy.unique(kinds).tolist():
        yield table, kind >> 1, batch.filter(integers(kinds == kind, "bool")), bool(kind & 1)


def places(numbers: Any, dictionary: Any, missing: Any = None) -> Any:
    """An Arrow dictionary column. numbers: each row's place in the dictionary. missing: mask of the nulls."""
    import pyarrow

    return pyarrow.DictionaryArray.from_arrays(integers(numbers, "int32", missing), dictionary, safe=False)


def texts_by_number(values: Sequence[str | None], numbers: Any) -> Any:
    """An Arrow dictionary column of the texts in use. values: by number, None for null. numbers: of each row, small."""
    there = numpy.bincount(numbers, minlength=len(values)) > 0
    known = numpy.array([text is not None for text in values], bool)
    place = (numpy.cumsum(there & known) - 1).astype(numpy.int32)
    used = [values[number] for number in numpy.flatnonzero(there & known).tolist()]
    missing = None if known[there].all() else ~known[numbers]
    return places(place[numbers], texts(used), missing)
