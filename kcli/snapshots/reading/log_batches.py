"""The headers of a metadata log's batches, and times derived from them."""

from collections import deque
from collections.abc import Iterator, Sequence

from kcli.errors import InputError
from kcli.snapshots.reading.files import open_file
from kcli.snapshots.reading.framing import Batch, batches
from kcli.snapshots.survey_json import instant


def log_batches(segments: Sequence[str]) -> Iterator[Batch]:
    """Yield the headers of a log's whole batches. segments: paths, in the order of the log."""
    for path in segments:
        with open_file(path) as file:
            yield from (each for each in batches(file.data) if isinstance(each, Batch))


def last_batch(segments: Sequence[str]) -> Batch | None:
    """Return the last whole batch of a log; None without any."""
    for path in reversed(segments):
        if last := deque(log_batches([path]), maxlen=1):
            return last[0]
    return None


def offset_at(segments: Sequence[str], timestamp: int, name: str) -> int:
    """Return the offset after the last batch that was written at or before a time (ms).

    Raises InputError, with `name` as the file, if the log begins after the time, or there is no log.
    """
    end = None
    for batch in log_batches(segments):
        if batch.append_timestamp <= timestamp:
            end = batch.last_offset + 1
        elif end is None and batch.base_offset > 0:
            when = instant(batch.append_timestamp) or batch.append_timestamp
            raise InputError(f"the log begins at offset {batch.base_offset}, {when}", file=name)
        else:
            return batch.base_offset
    if end is None:
        raise InputError("no log here, which would tell times (`<offset>.log`)", file=name)
    return end
