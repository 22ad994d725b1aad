"""The start of a node with its files: recovery cuts a log at a bad batch, and Kafka refuses some files."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from kcli.errors import InputError
from kcli.small_files import read_small
from kcli.snapshots.reading.directory import Listing, parse_leader_epochs, parse_partition_metadata, parse_quorum_state
from kcli.snapshots.reading.files import open_file
from kcli.snapshots.reading.framing import Batch, Fault, batches, checksum

BOOTSTRAP = "bootstrap.checkpoint"
TO_MAGIC = 17  # bytes of a batch header up to magic; Kafka does not look at fewer

# The files beside a log that Kafka reads when it starts; an empty leader-epoch-checkpoint is one without epochs.
SMALL_FILES: dict[str, Callable[[str], object]] = {
    "quorum-state": parse_quorum_state,
    "partition.metadata": parse_partition_metadata,
    "leader-epoch-checkpoint": lambda text: text and parse_leader_epochs(text),
}


class EpochRun(NamedTuple):
    """The records of a leader epoch, from the offset `start` up to `end`, which is not included."""

    epoch: int
    start: int
    end: int


class Cut(NamedTuple):
    """A place where recovery cuts a log: before the byte `position` of a segment, and without the segments after it."""

    path: str
    position: int
    reason: str


class Gap(NamedTuple):
    """Offsets from `start` up to `end`, not included, that a log lacks before the segment of this name; Kafka does not
    look for them. is_empty: the segment, the last one, has no record.
    """

    file: str
    start: int
    end: int
    is_empty: bool


class Refusal(NamedTuple):
    """A file that Kafka does not start with. by_name: by its name or kind, whatever is in it."""

    file: str
    reason: str
    by_name: bool = False


class Recovery(NamedTuple):
    """The runs of leader epochs that recovery keeps of a log; where it cuts the log; the segment that it refuses; the
    gaps between segments.
    """

    runs: list[EpochRun]
    cut: Cut | None = None
    refusal: Refusal | None = None
    gaps: tuple[Gap, ...] = ()


def recovered(segments: Sequence[str]) -> Recovery:
    """Recover the log of these segments.

    A node recovers its whole metadata log at each start. The end of the last segment may be torn, as after a crash. If
    it is empty, the log ends at the offset in its name (LogSegment.readNextOffset).
    """
    runs: list[EpochRun] = []
    gaps: tuple[Gap, ...] = ()
    for path in segments:
        first = int(Path(path).stem)
        with open_file(path) as file:
            if runs and runs[-1].end < first:
                is_empty = not file.data and path == segments[-1]
                gaps += (Gap(Path(path).name, runs[-1].end, first, is_empty),)
                if is_empty:
                    runs[-1] = runs[-1]._replace(end=first)
            for batch in batches(file.data):
                if isinstance(batch, Fault):
                    torn = batch.code in ("cut", "zeros") and path == segments[-1]
                    return Recovery(runs, None if torn else Cut(path, batch.position, batch.reason), gaps=gaps)
                if reason := bad_checksum(file.data, batch, file.mapped):
                    return Recovery(runs, Cut(path, batch.position, reason), gaps=gaps)
                if batch.last_offset < first:
                    reason = f"the batch of offset {batch.base_offset} is before the offset in its name"
                    return Recovery(runs, None, Refusal(Path(path).name, reason))
                extend(runs, batch)
    return Recovery(runs, gaps=gaps)


def extend(runs: list[EpochRun], batch: Batch) -> None:
    """Add a batch to the last run, or begin one. Kafka's LeaderEpochFileCache ignores an epoch below its newest; no
    checksum covers this field.
    """
    if runs and batch.leader_epoch <= runs[-1].epoch:
        runs[-1] = runs[-1]._replace(end=batch.last_offset + 1)
    else:
        runs.append(EpochRun(batch.leader_epoch, batch.base_offset, batch.last_offset + 1))


def bad_checksum(data: memoryview, batch: Batch, mapped: object) -> str | None:
    """Return why a batch's checksum is wrong; None for a right one."""
    return None if checksum(data, batch, mapped) == batch.crc else f"the batch of offset {batch.base_offset} is corrupt"


def refusal(folder: Path, listing: Listing) -> Refusal | None:
    """Return the file that keeps a node from starting; None without one."""
    if listing.refused:
        return Refusal(*listing.refused[0], by_name=True)
    newest = listing.newest[1] if listing.newest else None
    for name, parse in SMALL_FILES.items():
        path = folder / name
        try:
            if path.is_file():
                parse(read_small(path))
        except InputError as error:
            return Refusal(name, str(error))
    if (reason := bootstrap_refusal(folder.parent / BOOTSTRAP)) is not None:
        return Refusal(BOOTSTRAP, reason)
    reason = snapshot_refusal(folder / newest) if newest is not None else None
    return Refusal(newest, reason) if newest is not None and reason is not None else None


def bootstrap_refusal(path: Path) -> str | None:
    """Return why a node does not start with its bootstrap.checkpoint, which it reads even if its log has records."""
    if not path.is_file():
        return None
    try:
        with open_file(str(path)) as file:
            if any(isinstance(each, Batch) for each in batches(file.data)):
                return snapshot_refusal(path)
    except InputError:  # an empty file
        pass
    return "it holds no metadata.version"


def snapshot_refusal(path: Path) -> str | None:
    """Return why a node does not start with its newest snapshot.

    It reads all batches for the voters. A file that is empty or cut passes there, and only stops the node later.
    """
    try:
        with open_file(str(path)) as file:
            for batch in batches(file.data):
                if isinstance(batch, Fault):
                    return None if batch.code == "cut" or batch.left < TO_MAGIC else batch.reason
                if reason := bad_checksum(file.data, batch, file.mapped):
                    return reason
    except (FileNotFoundError, InputError):  # a running node deletes the old one; an empty file
        pass
    return None
