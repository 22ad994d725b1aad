"""The positions of a connection's fetches in partitions, across the edges of runs and windows.

The core follows the positions of each connection, and returns them as bytes: rows of (key of the partition, effective
offset, high watermark and log start offset as last seen). A run continues from the positions of the run before. A
window begins without any: its rows are completed once the positions of the windows before are known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from kcli.capture.tables.partition_tables import lag_of
from kcli.core.codec.values import MISSING, uuid_bytes
from kcli.core.columns.exchange_columns import position_key
from kcli.pipeline.packets.decoding import Decoded
from kcli.pipeline.writing import rewrite, with_column
from kcli.tables.arrays import column_of

TABLE = "fetch_partitions"
SEEN = ("effective_offset", "high_watermark_seen", "log_start_seen")
PARTITION = ("topic_id", "topic", "partition")
KEPT = 9  # the index of positions in a connection's carried state


@dataclass(frozen=True, slots=True)
class Completion:
    """A file of `fetch_partitions` of one connection, and the positions before the first row of the file."""

    uri: str
    positions: bytes

    def write(self) -> None:
        """Write the file again, with the positions that its rows lack."""
        known = {key: seen for key, *seen in rows_of(self.positions).tolist()}
        rewrite(self.uri, lambda rows: completed(rows, known))


def rows_of(positions: bytes) -> Any:
    """Return positions from the core as an array, with one row each."""
    return numpy.frombuffer(positions, numpy.int64).reshape(-1, 1 + len(SEEN))


def merged(before: bytes, after: bytes) -> bytes:
    """Return the positions after a stretch. before: the positions at its start; after: those that were found without
    knowing `before`.
    """
    known = {row[0]: row for row in rows_of(before).tolist()}
    for key, *seen in rows_of(after).tolist():
        old = known.get(key, [key, *[MISSING] * len(SEEN)])
        known[key] = [key, *(new if new != MISSING else was for was, new in zip(old[1:], seen, strict=True))]
    return numpy.array([*known.values()], numpy.int64).tobytes()


def go_on(windows: Sequence[Decoded], uri_of: Any) -> list[Completion]:
    """Return the files to complete of a connection's windows, in order. The last window then has the positions of all.

    uri_of: returns the URI of a file from its path in the run's folder.
    """
    positions = b""
    made = []
    for window in windows:
        files = [each for each in (*window.files, *window.passing) if each.table == TABLE]
        if positions:
            made += [Completion(uri_of(each.path), positions) for each in files]
        own = b"".join(flow[KEPT] for flow in window.under_way)
        positions = merged(positions, own)
    window.under_way = [(*flow[:KEPT], positions) for flow in window.under_way]
    return made


def completed(rows: Any, known: dict[int, list[int]]) -> Any:
    """Add the positions that rows of `fetch_partitions` lack. known: positions by the partition's key."""
    import pyarrow.compute

    columns = [rows.column(name).combine_chunks() for name in SEEN]
    incomplete = pyarrow.compute.or_kleene(columns[0].is_null(), columns[1].is_null())
    incomplete = pyarrow.compute.or_kleene(incomplete, columns[2].is_null())
    keys = [key_of(*each.values()) for each in rows.select(PARTITION).filter(incomplete).to_pylist()]
    for number, (name, column) in enumerate(zip(SEEN, columns, strict=True)):
        seen = (known[key][number] if key in known else MISSING for key in keys)
        found = column_of([None if each == MISSING else each for each in seen], pyarrow.int64())
        whole = pyarrow.compute.coalesce(column, pyarrow.compute.replace_with_mask(column, incomplete, found))
        rows = with_column(rows, name, whole)
    reads, ends = (rows.column(name) for name in SEEN[:2])
    unknown = pyarrow.compute.or_(reads.is_null(), ends.is_null()).to_numpy()
    lag = lag_of(ends.fill_null(0).to_numpy(), reads.fill_null(0).to_numpy(), unknown)
    return with_column(rows, "lag", lag)


def key_of(topic_id: str | None, topic: str | None, partition: int) -> int:
    """Return the key of a partition in the positions."""
    name = uuid_bytes(topic_id) if topic_id is not None else (topic or "").encode()
    return position_key(name, topic_id is not None, partition)
