"""Texts by number: rows hold numbers in place of repeated texts, which takes less memory and lets DuckDB join
faster.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy
import pyarrow

from kcli.core.columns.numbers import TextNumbers, put_numbers
from kcli.rules.rule_tables import LARGEST
from kcli.tables.arrays import batch_of_columns, integers, nulls_at, numbered, rows_at, strings, texts
from kcli.tables.definition import Column, schema_of
from kcli.tables.parquet import is_text

MOST_WORDS = 4096  # most texts of an ENUM type, as DuckDB compares such types text by text, again and again
MOST_BYTES = 1 << 30  # of the texts in a record batch
KINDS = {"topic_id": "topic"}  # the kinds of columns that share those of another column
KEYS = ("connection",)  # columns whose texts no rule reads, so that each table keeps only their numbers
# The texts in place of null, as rules read these columns, so that no expression in their SQL changes an ENUM type.
CLIENTLESS, API = "", "API {}"
WORD = [Column("number", "int64", ""), Column("word", "string", "")]


class Numbers:
    """Numbers texts from 1 in order of arrival; 0 is null."""

    def __init__(self, *, is_key: bool = False) -> None:
        self.is_key = is_key
        self.known = TextNumbers()
        self.last: Any = None  # the Arrow dictionary for which `places` has the numbers
        self.places = numpy.zeros(0, numpy.uint16)

    @property
    def size(self) -> int:
        """The number of texts."""
        return self.known.count

    @property
    def kind(self) -> Any:
        """The numpy type of the numbers."""
        return numpy.dtype(numpy.uint16 if self.size < 1 << 16 else numpy.uint32)

    def number(self, word: str) -> int:
        """Return the number of a text."""
        [found] = self.of_texts(texts([word])).tolist()
        return int(found)

    def table(self) -> Any:
        """Return all numbers, including 0, with their texts, as a table of WORD."""
        batches, first = [batch_of_columns(([0], [""]), schema_of(WORD))], 1
        while first <= self.size:
            last = self.known.last_within(first, MOST_BYTES)
            words = strings(self.known.texts(first, last))
            numbers = integers(numpy.arange(first, last + 1), "int64")
            batches.append(pyarrow.record_batch([numbers, words], schema_of(WORD)))
            first = last + 1
        return pyarrow.Table.from_batches(batches)

    def of(self, column: Any) -> Any:
        """Return an array with the number of each row's text."""
        if not pyarrow.types.is_dictionary(column.type):
            return self.of_texts(column)
        if not is_same(column.dictionary, self.last):
            self.last = column.dictionary
            found = self.of_texts(self.last)
            self.places = found.astype(self.kind)
        indices = column.indices
        validity, codes = indices.buffers()
        codes = numpy.frombuffer(codes, numpy.int32)[indices.offset : indices.offset + len(indices)]
        made = numpy.empty(len(indices), self.places.dtype)
        bits = None if validity is None else numpy.frombuffer(validity, numpy.uint8)
        put_numbers(self.places, codes, bits, indices.offset, made)
        return made

    def of_texts(self, column: Any) -> Any:
        """Return the numbers of a column of plain texts."""
        found = numpy.zeros(len(column), numpy.uint32)
        missing = nulls_at(column, slice(None))
        if missing is not None:
            found[~missing] = self.of_texts(rows_at(column, numpy.flatnonzero(~missing)))
        elif len(column):
            _, ends, data = column.buffers()
            ends = numpy.frombuffer(ends, numpy.int32)[column.offset :][: len(column) + 1]
            self.known.put(ends, numpy.frombuffer(data or b"", numpy.uint8), found)
        return found

    def texts(self, column: Any, kind: Any) -> Any:
        """Return an Arrow column of numbers as one of an Arrow type of text."""
        numbers = numpy.frombuffer(column.buffers()[1], str(column.type))[column.offset :][: len(column)]
        missing = nulls_at(column, slice(None))
        used, places = numpy.unique(
            numbers if missing is None else numpy.where(missing, 0, numbers), return_inverse=True
        )
        words = rows_at(self.table().column("word").combine_chunks(), used).to_pylist()
        return numbered([word if number else None for number, word in zip(used, words, strict=True)], places).array(
            kind
        )

    def column(self, numbers: Any) -> Any:
        """Return numbers as an Arrow column. In a key, 0 becomes null."""
        return integers(numbers, self.kind.name, numbers == 0 if self.is_key else None)


def kind_of_texts(column: str) -> str:
    """Return the kind of the texts in a column."""
    return KINDS.get(column, column)


def is_same(dictionary: Any, other: Any) -> bool:
    """Return whether two dictionaries use the same buffers. The caller holds both, so their memory cannot be reused."""
    return other is not None and all(
        (one is None and another is None)
        or (one is not None and another is not None and (one.address, one.size) == (another.address, another.size))
        for one, another in zip(dictionary.buffers(), other.buffers(), strict=True)
    )


class Words:
    """The numbers of texts in the largest tables, by kind of text."""

    def __init__(self) -> None:
        self.kinds: dict[str, Numbers] = {}
        self.columns: dict[str, dict[str, str]] = {}  # by table in LARGEST: the kind of each text column
        self.texts: dict[str, dict[str, Any]] = {}  # by table: the Arrow type of each column with numbers

    def numbered(self, table: str, batch: Any) -> Any:
        """Return a record batch with numbers in place of texts: of all in the largest tables, of keys in others."""
        kinds = self.columns.setdefault(table, {}) if table in LARGEST else {}
        types = self.texts.setdefault(table, {})
        made = []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if not is_text(column.type) or not (table in LARGEST or name in KEYS):
                made.append(column)
                continue
            types.setdefault(name, column.type)
            numbers = self.numbers(kinds.setdefault(name, kind_of_texts(name)))
            of_rows = self.named(numbers, name, column, batch) if table in LARGEST else numbers.of(column)
            made.append(numbers.column(of_rows))
        return pyarrow.record_batch(made, names=batch.schema.names)

    def worded(self, table: str, batch: Any) -> Any:
        """Return a record batch of `numbered` with its texts; those that stood in for null remain."""
        types = self.texts.get(table, {})
        columns = (
            self.numbers(kind_of_texts(name)).texts(column, types[name]) if name in types else column
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        )
        return pyarrow.record_batch([*columns], names=batch.schema.names)

    def numbers(self, kind: str) -> Numbers:
        """Return the numbers for a kind of text."""
        return self.kinds.setdefault(kind, Numbers(is_key=kind in KEYS))

    @staticmethod
    def named(numbers: Numbers, name: str, column: Any, batch: Any) -> Any:
        """Return the numbers of a column. Nulls of `client_id` and `api` get the number of their stand-in text."""
        of_rows = numbers.of(column)
        if name == "client_id":
            of_rows[of_rows == 0] = numbers.number(CLIENTLESS)
        elif name == "api" and "api_key" in batch.schema.names and column.null_count:
            for row in numpy.flatnonzero(of_rows == 0).tolist():
                of_rows[row] = numbers.number(API.format(batch.column("api_key")[row].as_py()))
        return of_rows

    def with_same_types(self, table: str, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield record batches whose numbers have the latest type, as earlier ones may be narrower."""
        kinds = {name: self.kinds[kind_of_texts(name)] for name in self.texts.get(table, ())}
        for batch in batches:
            for at, name in enumerate(batch.schema.names):
                if name in kinds and str(batch.column(at).type) != kinds[name].kind.name:
                    old = numpy.frombuffer(batch.column(at).buffers()[1], str(batch.column(at).type))
                    batch = batch.set_column(at, name, kinds[name].column(old[batch.column(at).offset :]))
            yield batch
