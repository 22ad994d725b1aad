"""Tables as Parquet: files, and what each column is stored as."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, BinaryIO

# Columns of long texts, which lie in the memory that they were written to until a file has them.
LONG = frozenset({"request", "response", "request_header", "data", "key", "value", "key_data", "value_data"})
TIMES = frozenset({"timestamp", "completed_ns"})


def stored(schema: Any) -> Any:
    """Return the schema that record batches have before a file: texts that repeat as dictionaries."""
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
    """Yield a function that makes the ParquetWriter of `out` when it is first called: an earlier error leaves nothing
    written. columns: the Arrow schema. make: makes it, of out and columns; None: as pyarrow does.
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
    """A form of files: those of one schema, whose texts are plain or dictionaries in record batches.

    All texts have dictionaries in the file, until one is too large. Numbers and short texts have their least and
    greatest beside them, so that a reader passes over groups of rows without a client or a topic; long texts and bytes
    need none. Times follow each other closely. Pages of version 2 are compressed where they are made, without a copy.
    """

    def __init__(self, schema: Any, *, bounded: bool = True) -> None:
        """Take the schema. bounded: whether readers may look for some of the rows; else nothing says the least and
        greatest, which is a fifth of the work.
        """
        import pyarrow

        self.schema = schema
        texts = [field.name for field in schema if is_text(field.type)]
        times = [field.name for field in schema if field.name in TIMES]
        short = [field.name for field in schema if field.name not in LONG and field.type != pyarrow.binary()]
        self.options = {
            "store_schema": False,
            "compression": "zstd", "compression_level": 1, "data_page_version": "2.0",
            "write_statistics": short if bounded else False, "use_dictionary": texts,
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
    """Return a ParquetWriter that is not closed when it is collected: after an error, that fails again, on stderr."""
    from pyarrow.parquet import ParquetWriter

    class SilentWriter(ParquetWriter):  # type: ignore[misc]
        __del__ = bool  # does nothing, and in C: Ctrl-C within a function that the collector calls would be lost

    return SilentWriter


def comments_of(schema: Any) -> bytes:
    """Return the schema for readers with Arrow, which has each column's comment: as `store_schema` would keep it, but
    without dictionaries, which are of no concern to readers.
    """
    import pyarrow

    texts = (field.with_type(pyarrow.string()) if is_text(field.type) else field for field in schema)
    return b64encode(pyarrow.schema(texts).serialize())


def is_text(kind: Any) -> bool:
    import pyarrow

    return bool(pyarrow.types.is_dictionary(kind) or pyarrow.types.is_string(kind))
