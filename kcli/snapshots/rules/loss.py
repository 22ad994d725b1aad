"""The part of the state that is lost if one file of a metadata log is lost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kcli.snapshots.reading.log_spans import LogSpan, total
from kcli.snapshots.reading.names import SnapshotId

MOST = 1000  # files


@dataclass(frozen=True, slots=True)
class LogFile:
    """A snapshot or a segment. start, end: offsets of its first record (0 for a snapshot) and after its last; size:
    bytes; snapshot: its id, None for a segment.
    """

    name: str
    size: int
    start: int
    end: int
    snapshot: SnapshotId | None = None


@dataclass(frozen=True, slots=True)
class Loss:
    """The consequence of losing a file.

    file: the lost one; covered: the newest other snapshot that includes all its records, None without one

    reach: the offset up to which the other files lead, None if they lead to no state; offsets: (from there, end of what
    all files lead to), None if nothing is lost; records: {type: count} of those offsets, as far as the log has them
    """

    file: LogFile
    covered: SnapshotId | None
    reach: int | None
    offsets: tuple[int, int] | None
    records: dict[str, int]


def reach(files: Sequence[LogFile]) -> int | None:
    """Return the end offset of the last state that the files lead to; None if there is none.

    It is a snapshot's end, or that of a log that continues a snapshot, or begins at offset 0, without a gap.
    """
    segments = sorted((each.start, each.end) for each in files if each.snapshot is None)
    starts = [each.end for each in files if each.snapshot is not None]
    starts += [0] if segments and segments[0][0] == 0 else []
    found, used = -1, 0
    for start in sorted(starts):
        found = max(found, start)
        while used < len(segments) and segments[used][0] <= found:
            found = max(found, segments[used][1])
            used += 1
    return found if starts else None


def losses(files: Sequence[LogFile], spans: Sequence[LogSpan]) -> Iterator[Loss]:
    """Yield the consequence of losing each of the newest MOST files. spans: of the log, with a boundary at each file's
    start and end.
    """
    whole = reach(files) or 0
    snapshots = [each.snapshot for each in files if each.snapshot is not None]
    for lost in sorted(files, key=lambda each: (each.end, each.start))[-MOST:]:
        left = reach([each for each in files if each is not lost])
        later = (each for each in snapshots if each.end_offset >= lost.end and each != lost.snapshot)
        offsets = (left or 0, whole) if left is None or left < whole else None
        lost_bytes = total(span for span in spans if offsets and offsets[0] <= span.start < whole)
        records = {name: count for name, (count, _) in sorted(lost_bytes.types.items(), key=lambda item: -item[1][0])}
        yield Loss(lost, max(later, default=None), left, offsets, records)
