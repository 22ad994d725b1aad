"""Recognizes metadata logs of KRaft's preview in 2.8, whose records have frames that no later release reads."""

from itertools import islice

from kcli.snapshots.reading.framing import Batch, Fault, batches, body, checksum
from kcli.snapshots.reading.walk import walk

FOLDER = "@metadata-0"  # the metadata log's directory in 2.8
REASON = "a metadata log of KRaft's preview in 2.8, which neither a later release of Kafka nor kcli reads"
LOOKED_AT = 4  # batches at the start, at least one of which has data records
FRAME_VERSION = 0


def is_preview(data: memoryview) -> bool:
    """Return whether the first records of a file have the frames of 2.8 and are sound otherwise."""
    for batch in islice(batches(data), LOOKED_AT):
        if isinstance(batch, Fault) or batch.magic != 2:
            return False
        if not batch.is_control:
            return has_old_frames(data, batch)
    return False


def has_old_frames(data: memoryview, batch: Batch) -> bool:
    """Return whether the first two records of an uncompressed batch have frames of 2.8, and its checksum is right."""
    if batch.compression != "none":
        return False
    records = body(data, batch)
    rows = list(islice(walk(records, batch), 2))
    is_old = (row[5] == "frame-version" and records[row[3] - 1] == FRAME_VERSION for row in rows)
    return bool(rows) and all(is_old) and checksum(data, batch) == batch.crc
