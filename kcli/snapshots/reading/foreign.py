"""Recognizes logs that are no metadata logs: of KRaft's preview in 2.8, which no later release reads, or of a topic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from kcli.errors import InputError
from kcli.snapshots.reading.framing import Fault, batches, body
from kcli.snapshots.reading.walk import walk

if TYPE_CHECKING:
    from kcli.records.batches import Record

FOLDER = "@metadata-0"  # the metadata log's directory in 2.8
PREVIEW = "a metadata log of KRaft's preview in 2.8, which neither a later release of Kafka nor kcli reads"
OTHER_TOPIC = "no metadata log (its records are of another topic: kcli records reads them)"
LOOKED_AT = 1 << 20  # bytes at the start, with the first records
MOST = 8  # records
PREVIEW_FRAME, FRAME = 0, 1  # the first byte of a record's value


def foreign_log(data: memoryview) -> str | None:
    """Return why the batches of a file are no metadata; None if they may be, also if they are damaged."""
    if begins_with_metadata(data):  # saves the import
        return None
    found: list[Record] = []
    with suppress(InputError):  # at damage
        found.extend(islice(first_records(data), MOST))
    frames = {None if each.key is not None or not each.value else each.value[0] for each in found}
    if not found or FRAME in frames:
        return None
    if frames == {PREVIEW_FRAME}:
        return PREVIEW
    return OTHER_TOPIC if len(found) > 1 else None


def begins_with_metadata(data: memoryview) -> bool:
    """Return whether the first record of data is a metadata record, or no batch has one."""
    for batch in batches(data):
        if isinstance(batch, Fault) or batch.magic != 2:
            return True
        if not batch.is_control:
            rows = () if batch.compression != "none" else walk(body(data, batch), batch)
            return any(not row[5] for row in islice(rows, 1))
    return True


def first_records(data: memoryview) -> Iterator[Record]:
    """Yield the first records that are no control records, as long as their batches are sound. Raises InputError."""
    from kcli.records.batches import scan

    for batch in scan(data[:LOOKED_AT]):
        if batch.magic != 2 or not batch.crc_valid:
            return
        if not batch.is_control:
            yield from batch.records()
