"""Texts by number: many rows hold the numbers of texts that repeat, which take less room, and DuckDB joins them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

import numpy
import pyarrow

from kcli.core.columns.numbers import put_numbers
from kcli.tables.arrays import batch_of_columns, integers
from kcli.tables.definition import Column, schema_of

MOST_WORDS = 4096  # of a type: DuckDB compares types word by word, again and again
MOST_FRESH = 1 << 16  # texts of a kind that are not packed
KINDS = {"topic_id": "topic"}  # of columns, where they are not of a kind of their own
KEYS = ("connection",)  # columns whose texts no rule looks at: their numbers stand for them, in each table
# In place of null: as rules read these columns, and nothing else makes a type of a column's texts another one.
CLIENTLESS, API = "", "API {}"
WORD = [Column("number", "int64", ""), Column("word", "string", "")]


class Numbers:
    """The numbers of texts, from 1 on as they come; 0 is null.

    Of many texts the older ones are packed, and one of these that comes again has another number, but for keys.
    """

    def __init__(self, *, is_key: bool = False) -> None:
        self.is_key = is_key
        self.numbers: dict[str, int] = defaultdict(count(1).__next__)
        self.packed: list[Any] = []  # record batches of WORD
        self.size = 0
        self.last: Any = None  # the dictionary whose texts stand at `places`
        self.places = numpy.zeros(0, numpy.uint16)

    @property
    def kind(self) -> Any:
        """The type of numbers."""
        return numpy.dtype(numpy.uint16 if self.size < 1 << 16 else numpy.uint32)

    def number(self, word: str) -> int:
        """Return the number of a text."""
        [found] = self.numbers_of([word])
        return found

    def numbers_of(self, words: list[str]) -> list[int]:
        """Return the numbers of texts."""
        before = len(self.numbers)
        found = [*map(self.numbers.__getitem__, words)]
        self.size += len(self.numbers) - before
        return found

    def pack(self) -> None:
        """Pack the texts."""
        self.packed.append(batch_of_columns(self.columns(), schema_of(WORD)))
        self.numbers.clear()

    def columns(self) -> tuple[list[int], list[str]]:
        """Return the texts that are not packed, behind their numbers."""
        return [*self.numbers.values()], [*self.numbers]

    def table(self) -> Any:
        """Return the numbers and texts, 0 too, as a table of WORD."""
        first, last = (batch_of_columns(each, schema_of(WORD)) for each in (([0], [""]), self.columns()))
        return pyarrow.Table.from_batches([first, *self.packed, last])

    def of(self, column: Any) -> Any:
        """Return the numbers of a column of texts, by row."""
        if not pyarrow.types.is_dictionary(column.type):
            return numpy.array([0 if each is None else self.number(each) for each in column.to_pylist()], numpy.int64)
        if not is_same(column.dictionary, self.last):
            self.last = column.dictionary
            if len(self.numbers) > MOST_FRESH and not self.is_key:
                self.pack()
            found = self.numbers_of(self.last.to_pylist())
            self.places = numpy.array(found, self.kind)
        indices = column.indices
        there, given = indices.buffers()
        given = numpy.frombuffer(given, numpy.int32)[indices.offset : indices.offset + len(indices)]
        made = numpy.empty(len(indices), self.places.dtype)
        bits = None if there is None else numpy.frombuffer(there, numpy.uint8)
        put_numbers(self.places, given, bits, indices.offset, made)
        return made

    def column(self, numbers: Any) -> Any:
        """Return numbers as a column. Those of keys are null where there is no text."""
        return integers(numbers, self.kind.name, numbers == 0 if self.is_key else None)


def kind_of_texts(column: str) -> str:
    """Return the kind of a column's texts."""
    return KINDS.get(column, column)


def is_same(dictionary: Any, other: Any) -> bool:
    """Return whether two dictionaries lie in the same memory. Neither goes while somebody has it."""
    return other is not None and all(
        (one is None and another is None)
        or (one is not None and another is not None and (one.address, one.size) == (another.address, another.size))
        for one, another in zip(dictionary.buffers(), other.buffers(), strict=True)
    )


class Words:
    """The texts of the largest tables, by kind."""

    def __init__(self) -> None:
        self.kinds: dict[str, Numbers] = {}
        self.columns: dict[str, dict[str, str]] = {}  # by table: its columns of texts, with their kinds

    def numbered(self, table: str, batch: Any) -> Any:
        """Return rows with numbers for texts that repeat."""
        found = self.columns.setdefault(table, {})
        made = []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if not (pyarrow.types.is_dictionary(column.type) or pyarrow.types.is_string(column.type)):
                made.append(column)
                continue
            numbers = self.numbers(found.setdefault(name, kind_of_texts(name)))
            made.append(numbers.column(self.named(numbers, name, column, batch)))
        return pyarrow.record_batch(made, names=batch.schema.names)

    def numbers(self, kind: str) -> Numbers:
        """Return the numbers of a kind of texts."""
        return self.kinds.setdefault(kind, Numbers(is_key=kind in KEYS))

    def keyed(self, batch: Any) -> Any:
        """Return rows of another table with numbers for the texts of keys alone."""
        for name in KEYS:
            if name in batch.schema.names:
                at, numbers = batch.schema.get_field_index(name), self.numbers(name)
                batch = batch.set_column(at, name, numbers.column(numbers.of(batch.column(name))))
        return batch

    @staticmethod
    def named(numbers: Numbers, name: str, column: Any, batch: Any) -> Any:
        """Return the numbers of a column, of which some that are null have texts all the same."""
        of_rows = numbers.of(column)
        if name == "client_id":
            of_rows[of_rows == 0] = numbers.number(CLIENTLESS)
        elif name == "api" and "api_key" in batch.schema.names and column.null_count:
            for row in numpy.flatnonzero(of_rows == 0).tolist():
                of_rows[row] = numbers.number(API.format(batch.column("api_key")[row].as_py()))
        return of_rows

    def alike(self, table: str, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield rows whose numbers have the type of the latest: there were fewer texts before."""
        kinds = {name: self.kinds[kind] for name, kind in self.columns[table].items()}
        for batch in batches:
            for at, name in enumerate(batch.schema.names):
                if name in kinds and str(batch.column(at).type) != kinds[name].kind.name:
                    old = numpy.frombuffer(batch.column(at).buffers()[1], str(batch.column(at).type))
                    batch = batch.set_column(at, name, kinds[name].column(old[batch.column(at).offset :]))
            yield batch
