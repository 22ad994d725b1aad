"""Writes tables as Parquet files, and chooses how each column is stored."""

from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, BinaryIO

# Columns of long texts. They stay in the memory that they were written to until they are in a file.
LONG = frozenset({"request", "response", "request_header", "data", "key", "value", "key_data", "value_data"})


def stored(schema: Any) -> Any:
    """Return the schema of record batches to write: texts that repeat are dictionaries."""
    import pyarrow

    few = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    repeats = [field.type == pyarrow.string() and field.name not in LONG for field in schema]
    return pyarrow.schema([
        field.with_type(few) if repeated else field for field, repeated in zip(schema, repeats, strict=True)
    ])  # fmt: skip


@contextmanager
def parquet_file(
    out: BinaryIO, columns: Any, make: Callable[[BinaryIO, Any], Any] | None = None
) -> Iterator[Callable[[], Any]]:
    """Yield a function that makes the ParquetWriter of `out` on its first call, so that an earlier error leaves `out`
    empty. columns: the Arrow schema. make: makes the writer from out and columns; None: pyarrow's.
    """
    made: list[Any] = []

    def writer() -> Any:
        if not made:
            made.append(make(out, columns) if make else silent_writer()(out, columns, compression="zstd"))
        return made[0]

    try:
        yield writer
        writer()
    finally:
        for each in made:
            each.close()


class FileForm:
    """The settings of files with one schema, whose texts are plain or dictionaries in record batches.

    All texts have dictionaries in the file, until one gets too large. Numbers and short texts have statistics (minimum
    and maximum), so that a reader can skip row groups without a client or a topic; long texts and bytes need none.
    Times are encoded as deltas. Data pages of version 2 are compressed where they are made, without a copy. Rows are
    written 4096 at a time: with 1024, the default, the statistics of dictionaries take three times as long.
    """

    def __init__(self, schema: Any, *, bounded: bool = True) -> None:
        """Hold the schema. bounded: write statistics, for readers that select rows; they take a fifth of the time."""
        import pyarrow

        self.schema = schema
        texts = [field.name for field in schema if is_text(field.type)]
        times = [field.name for field in schema if is_time(field)]
        short = [field.name for field in schema if field.name not in LONG and field.type != pyarrow.binary()]
        self.options = {
            "store_schema": False,
            "compression": "zstd", "compression_level": 1, "data_page_version": "2.0",
            "write_statistics": short if bounded else False, "use_dictionary": texts, "write_batch_size": 4096,
            "column_encoding": dict.fromkeys(times, "DELTA_BINARY_PACKED"),
        }  # fmt: skip
        self.metadata = {"ARROW:schema": comments_of(schema)}

    def writer(self, file: Any) -> Any:
        """Return a pyarrow.parquet.ParquetWriter of record batches."""
        made = silent_writer()(file, self.schema, **self.options)
        made.add_key_value_metadata(self.metadata)
        return made


def parquet_writer(file: Any, schema: Any) -> Any:
    """Return a pyarrow.parquet.ParquetWriter of record batches of that schema."""
    return FileForm(schema).writer(file)


@cache
def silent_writer() -> Any:
    """Return a ParquetWriter class that does not close when it is collected; after an error, closing would fail again
    and print to stderr.
    """
    from pyarrow.parquet import ParquetWriter

    class SilentWriter(ParquetWriter):  # type: ignore[misc]
        __del__ = bool  # does nothing, and in C: Ctrl-C within a function that the collector calls would be lost

    return SilentWriter


def comments_of(schema: Any) -> bytes:
    """Return the metadata from which readers with Arrow restore the schema with its comments. It is as `store_schema`
    would write it, but without dictionaries, which readers need not know.
    """
    import pyarrow

    texts = (field.with_type(pyarrow.string()) if is_text(field.type) else field for field in schema)
    return b64encode(pyarrow.schema(texts).serialize())


def is_time(field: Any) -> bool:
    """Return whether a column has points in time. Those in ns are integers."""
    import pyarrow

    counted = pyarrow.types.is_int64(field.type) and field.name.endswith("_ns")
    return bool(counted or pyarrow.types.is_timestamp(field.type))


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type is of text, also of numbered text."""
    import pyarrow

    return bool(pyarrow.types.is_dictionary(kind) or pyarrow.types.is_string(kind))
