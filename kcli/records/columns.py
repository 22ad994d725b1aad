"""Records as Arrow columns, made by the kernels, and as Parquet. pyarrow is needed (the "parquet" extra)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from kcli.calendar import FIRST_MS, LAST_MS, NO_TIME
from kcli.errors import DecodeError
from kcli.extras import require
from kcli.grammar.secrets import redacted
from kcli.input_names import unicode_name
from kcli.jsontext import dumps
from kcli.records.batches import Batch, is_covered, scan
from kcli.records.chunks import ReadInto
from kcli.records.damage import stretches
from kcli.records.secrets import is_secret_value, secret_types
from kcli.records.unfolding import Unfolding
from kcli.tables.arrays import Among, integers, nulls_at, texts
from kcli.tables.parquet import parquet_file

if TYPE_CHECKING:
    from typing_extensions import Buffer

# The most records of a row group, and the most bytes of log that they come from.
GROUP_ROWS = 1 << 17
GROUP_BYTES = 1 << 25
CHUNK_BYTES = 4 << 20

# A record batch ends when its batches decompress to this; a row group is written when it takes this memory. Bytes.
PART_BYTES = 1 << 25
GROUP_MEMORY = 1 << 26

SCHEMA_FIELDS = (
    ("offset", "int64"),
    ("timestamp", "timestamp"),
    ("timestampMs", "int64"),
    ("key", "binary"),
    ("value", "binary"),
    ("headers", "headers"),
    ("file", "dictionary"),
    ("baseOffset", "int64"),
    ("magic", "int8"),
    ("compression", "dictionary"),
    ("timestampType", "dictionary"),
    ("isTransactional", "bool"),
    ("partitionLeaderEpoch", "int32"),
    ("producerId", "int64"),
    ("producerEpoch", "int16"),
    ("baseSequence", "int32"),
)


class Append(Protocol):
    def __call__(self, read: ReadInto, file: str, progress: Callable[[int], None], /) -> None: ...


def pyarrow() -> Any:
    require("a table of records", "parquet")
    import pyarrow

    return pyarrow


def schema(pa: Any) -> Any:
    header = pa.struct([pa.field("key", pa.binary()), pa.field("value", pa.binary())])
    types = {
        "timestamp": pa.timestamp("ms", tz="UTC"),
        "headers": pa.list_(header),
        "dictionary": pa.dictionary(pa.int32(), pa.string()),
        "bool": pa.bool_(),
        "binary": pa.binary(),
    }
    return pa.schema([pa.field(name, types.get(kind) or getattr(pa, kind)()) for name, kind in SCHEMA_FIELDS])


def arrow_batches(
    data: memoryview, file: str = "", problems: list[tuple[int, int, str]] | None = None, secrets: bool = False
) -> Iterator[Any]:
    """Yield the records of the whole batches in `data` as Arrow record batches of the schema above, one row for each
    record.

    Control batches are left out. A timestamp of -1 (none) is null; one outside of the calendar is only a number
    (timestampMs). problems: gets (position, record, reason) for what can't be read; secrets: show them; else a value's
    JSON form `{"redacted": bytes}` stands for it.
    """
    pa = pyarrow()
    made = schema(pa)
    for arrays, _of_batch in record_arrays(data, file, problems, secrets):
        arrays["timestampMs"] = arrays["timestamp"].cast("int64")
        arrays["timestamp"] = within_calendar(arrays["timestamp"])
        yield pa.record_batch([arrays[name].cast(made.field(name).type) for name, _ in SCHEMA_FIELDS], schema=made)


def within_calendar(times: Any) -> Any:
    """Return times (ms) with null for those outside of the calendar."""
    import numpy as np

    bits, data = times.buffers()
    numbers = np.frombuffer(data, np.int64)[times.offset :][: len(times)]
    beyond = (numbers < FIRST_MS) | (numbers > LAST_MS)
    if not beyond.any():
        return times
    every = np.arange(len(times))
    missing = beyond if bits is None else beyond | nulls_at(times, every)
    return integers(numbers, "int64", missing).view(times.type)


def record_arrays(
    data: memoryview,
    file: str = "",
    problems: list[tuple[int, int, str]] | None = None,
    secrets: bool = False,
    messages: Any = None,
    *,
    whole: bool = True,
) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield ({column: Arrow array}, number of each record's batch in `data` as numpy int32), in parts.

    A part has whole batches that decompress to PART_BYTES together, or one batch. messages: an array with the number of
    each batch's message, whose batches share a budget of decompression; None: each batch has its own. whole: add the
    columns that describe a record's batch.
    """
    import numpy as np

    pa = pyarrow()
    from kcli.core.records.record_columns import Columns

    batches = list(scan(data, check=not secrets)) if whole else []
    covered = [] if secrets else [number for number, batch in enumerate(batches) if is_covered(batch)]
    at = done = 0
    unfold, message = Unfolding(shared=True), None

    def decompress(codec: int, payload: memoryview, magic: int, number: int) -> Buffer:
        nonlocal message
        now = done + number if messages is None else messages[done + number]
        if now != message:
            message = now
            unfold.begin()
        return unfold(codec, payload, magic)

    while not at or at < len(data):
        columns = Columns(data, at, len(data), decompress, PART_BYTES)
        if problems is not None:
            problems += columns.problems
        of_batch = np.frombuffer(columns.column("batch"), np.int32) + np.int32(done)
        arrays = part_arrays(pa, np, data, columns, secrets)
        if covered:
            hide_rows(pa, arrays, np.flatnonzero(np.isin(of_batch, covered)).tolist())
        if whole:
            arrays |= batch_arrays(np, batches, of_batch, file)
        count, at = columns.batches, columns.stopped
        done += count
        del columns  # also frees the decompressed bytes, which have been copied
        yield arrays, of_batch
        if not count:
            return


def part_arrays(pa: Any, np: Any, data: memoryview, columns: Any, secrets: bool) -> dict[str, Any]:
    """Return the columns with values of the records themselves, as {name: array}."""
    extra = columns.extra
    times = np.frombuffer(columns.column("timestamp"), np.int64)
    return {
        "offset": integers(np.frombuffer(columns.column("offset"), np.int64).copy(), "int64"),
        "timestamp": integers(times.copy(), "int64", times == NO_TIME).view(pa.timestamp("ms", tz="UTC")),
        "key": binary(pa, data, extra, columns.column("key_at"), columns.column("key_size")),
        "value": values(pa, data, extra, columns.column("value_at"), columns.column("value_size"), secrets),
        "headers": headers(pa, data, extra, columns),
    }


def values(pa: Any, data: Any, extra: bytes, places: Any, sizes: Any, secrets: bool) -> Any:
    """Return a binary column of values, with secrets hidden unless `secrets`."""
    import numpy as np

    made = binary(pa, data, extra, places, sizes)
    at, size = np.frombuffer(places, np.int64), np.frombuffer(sizes, np.int32)
    candidates = np.flatnonzero((at >= 0) & (size > 2))
    if secrets or not len(candidates):
        return made
    whole = np.concatenate([np.frombuffer(each, np.uint8) for each in (data, extra)]) if extra else None
    read = np.frombuffer(data, np.uint8) if whole is None else whole
    first = (read[at[candidates]] == 1) & np.isin(read[at[candidates] + 1], list(secret_types()))
    hidden = [row for row in candidates[first].tolist() if is_secret_value(made[row].as_py())]
    if not hidden:
        return made
    rows = made.to_pylist()
    for row in hidden:
        rows[row] = hidden_form(rows[row])
    return pa.array(rows, pa.binary())


def hide_rows(pa: Any, arrays: dict[str, Any], rows: list[int]) -> None:
    """Hide keys, values and headers of these rows, in place."""
    for name in ("key", "value", "headers") if rows else ():
        shown = arrays[name].to_pylist()
        for row in rows:
            shown[row] = hidden_form(shown[row])
        arrays[name] = pa.array(shown, arrays[name].type)


def hidden_form(value: Any) -> Any:
    """Return the redacted form of a key, a value, or headers."""
    if isinstance(value, list):
        return [{name: hidden_form(each) for name, each in pair.items()} for pair in value]
    return value if value is None else dumps(redacted(len(value))).encode()


def binary(pa: Any, data: Any, extra: bytes, places: Any, sizes: Any) -> Any:
    from kcli.core.records.record_columns import gather

    offsets, values, validity, nulls = gather(data, extra, places, sizes)
    buffers = [pa.py_buffer(validity) if nulls else None, pa.py_buffer(offsets), pa.py_buffer(values)]
    return pa.Array.from_buffers(pa.binary(), len(offsets) // 4 - 1, buffers, nulls)


def headers(pa: Any, data: Any, extra: bytes, columns: Any) -> Any:
    from kcli.core.records.record_columns import header_places

    lists, keys_at, key_sizes, values_at, value_sizes = header_places(
        data, extra, columns.column("headers_at"), columns.column("header_count")
    )
    keys = binary(pa, data, extra, keys_at, key_sizes)
    values = binary(pa, data, extra, values_at, value_sizes)
    pairs = pa.StructArray.from_arrays([keys, values], names=["key", "value"])
    return pa.ListArray.from_arrays(
        pa.Array.from_buffers(pa.int32(), columns.count + 1, [None, pa.py_buffer(lists)]), pairs
    )


def batch_arrays(np: Any, batches: list[Batch], of_batch: Any, file: str) -> dict[str, Any]:
    """Return the columns with values of each record's batch, as {name: array}."""

    def numbers(kind: str, value: Callable[[Batch], int | bool]) -> Any:
        values_of_batches = np.array([value(batch) for batch in batches], kind)
        return integers(
            values_of_batches[of_batch] if len(batches) else values_of_batches, {"?": "bool"}.get(kind, kind)
        )

    def names(value: Callable[[Batch], str]) -> Any:
        known = sorted({value(batch) for batch in batches})
        places = np.array([known.index(value(batch)) for batch in batches], np.int32)
        return Among(texts(known), places[of_batch] if len(batches) else places).dictionary()

    return {
        "file": Among(texts([unicode_name(file)]), np.zeros(len(of_batch), np.int32)).dictionary(),
        "baseOffset": numbers("i8", lambda batch: batch.base_offset),
        "magic": numbers("i1", lambda batch: batch.magic),
        "compression": names(lambda batch: batch.compression),
        "timestampType": names(lambda batch: batch.timestamp_type),
        "isTransactional": numbers("?", lambda batch: batch.is_transactional),
        "partitionLeaderEpoch": numbers("i4", lambda batch: batch.partition_leader_epoch),
        "producerId": numbers("i8", lambda batch: batch.producer_id),
        "producerEpoch": numbers("i2", lambda batch: batch.producer_epoch),
        "baseSequence": numbers("i4", lambda batch: batch.base_sequence),
    }


@contextmanager
def write_parquet(out: BinaryIO, secrets: bool = False) -> Iterator[Append]:
    """Open a Parquet file of records; yields append(read, file name, progress), which adds a log.

    out: a file, to which nothing is written if an error comes before the first record; secrets: show them. `append`
    raises DecodeError if a log breaks off or records can't be read, after it has added the rest of the log.
    """
    pa = pyarrow()
    held: list[Any] = []
    sizes = [0]
    with parquet_file(out, schema(pa)) as writer:

        def flush() -> None:
            if any(map(len, held)):
                writer().write_table(pa.Table.from_batches(held).unify_dictionaries())
            held.clear()
            sizes[0] = 0

        def append(read: ReadInto, file: str, progress: Callable[[int], None]) -> None:
            problems: list[tuple[int, int, str]] = []
            for chunk, start, stop, damage in stretches(read, CHUNK_BYTES):
                found: list[tuple[int, int, str]] = []
                for made in arrow_batches(memoryview(chunk.data)[start:stop], file, found, secrets):
                    held.append(made)
                    if sum(batch.nbytes for batch in held) >= GROUP_MEMORY:
                        flush()
                problems += [(chunk.base + start + position, record, reason) for position, record, reason in found]
                if damage is not None and not damage.lawful:
                    problems.append((chunk.base + damage.start, 0, damage.reason))
                sizes[0] += stop - start
                if sizes[0] >= GROUP_BYTES or sum(len(batch) for batch in held) >= GROUP_ROWS:
                    flush()
                progress(chunk.base + stop)
            flush()
            if problems:
                position, record, reason = problems[0]
                more = f"; {len(problems) - 1} more" if len(problems) > 1 else ""
                raise DecodeError(f"records[{record}]", position, f"{reason} (in the batch at 0x{position:x}{more})")

        yield append
