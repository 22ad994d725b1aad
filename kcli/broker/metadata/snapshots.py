"""Snapshots of the metadata log (KIP-630): when one is taken, and which records of the log it replaces.

A snapshot has the state after all records before its end offset, so that the log can begin there. The response to a
fetch below the log's start has the id of the snapshot to fetch instead.

Configs: metadata.log.max.record.bytes.between.snapshots and metadata.log.max.snapshot.interval.ms (Apache's),
controller.snapshot.minimum.records (0: ignored) and max.replication.lag.ms (the KIP's).
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from kcli.broker.configs import Configs
from kcli.broker.storage.file_pool import LogFile, files_in
from kcli.broker.storage.log import Log
from kcli.broker.storage.segment import Slice
from kcli.errors import KcliError
from kcli.records.batches import scan
from kcli.snapshots.reading.names import SnapshotId, parse_snapshot_name
from kcli.snapshots.rules.policy import Policy, advance, deletable, due

if TYPE_CHECKING:
    from kcli.records.damage import Damage

LAST_OFFSET, LAST_EPOCH = (1 << 63) - 1, (1 << 31) - 1


class MetadataSnapshots:
    """The `.checkpoint` files in the metadata log's folder.

    now: returns the time in ms since 1970; note: called with a line about each file that is left out.
    """

    def __init__(
        self, folder: Path, log: Log, configs: Configs, *, now: Callable[[], int], note: Callable[[str], None]
    ) -> None:
        self.folder, self.log, self.configs, self.now, self.note = folder, log, configs, now, note
        for part in files_in(folder, ".checkpoint.part"):
            part.unlink()
        self.records = self.size = 0
        self.taken_at = time.monotonic()
        self._unsound: set[SnapshotId] = set()
        while (latest := self.latest) is not None and not is_whole(self.path(latest).read_bytes()):
            note(f"{self.path(latest)}: left out: no whole snapshot")
            self._unsound.add(latest)

    @property
    def ids(self) -> list[SnapshotId]:
        """Return the ids of the snapshots that can be read, the oldest first."""
        names = (parse_snapshot_name(path.name) for path in files_in(self.folder, ".checkpoint"))
        ids = (name.id for name in names if name is not None and name.exact and name.state == "ready")
        lawful = (each for each in ids if each.end_offset < LAST_OFFSET and each.epoch < LAST_EPOCH)
        return sorted(each for each in lawful if each not in self._unsound)

    @property
    def latest(self) -> SnapshotId | None:
        """The newest snapshot, None if there is none."""
        return self.ids[-1] if self.ids else None

    @property
    def earliest(self) -> SnapshotId | None:
        """The oldest snapshot, None if there is none."""
        return self.ids[0] if self.ids else None

    def path(self, wanted: SnapshotId) -> Path:
        """Return the path of a snapshot's file."""
        return self.folder / wanted.file_name

    def slice(self, wanted: SnapshotId, position: int, most: int) -> tuple[Slice, int] | None:
        """Return at most `most` bytes of a snapshot's file from `position` on, and the file's size; None for no
        file.
        """
        path = self.path(wanted)
        if not path.exists():
            return None
        size = path.stat().st_size
        return Slice(LogFile(path), position, max(0, min(most, size - position))), size

    def policy(self) -> Policy:
        """Return the policy of taking snapshots by the configs."""
        return Policy.of(self.configs.int)

    def written(self, records: int, size: int) -> None:
        """Count records and bytes that were written to the log, and take a snapshot if it is due."""
        self.records += records
        self.size += size
        age = int((time.monotonic() - self.taken_at) * 1000)
        if due(self.policy(), records=self.records, size=self.size, age_ms=age).yes:
            try:
                self.take()
            except KcliError as error:
                # The log has records that can't be loaded. The broker continues without a snapshot.
                self.note(f"{self.folder}: no snapshot: {error}")
                self.records = self.size = 0
                self.taken_at = time.monotonic()

    def take(self) -> SnapshotId | None:
        """Take a snapshot up to the log's end and return its id; then drop the records that it has. None if the latest
        snapshot ends there already. Raises KcliError if the log can't be loaded.
        """
        # Imported here, as a broker needs neither to start.
        from kcli.snapshots.reading.load import Loader
        from kcli.snapshots.writing.write import write_snapshot

        log = self.log
        latest = self.latest
        if log.end_offset <= (latest.end_offset if latest else 0):
            return None
        loader = Loader()
        if latest is not None:
            data = memoryview(self.path(latest).read_bytes())
            loader.snapshot(data, end_offset=latest.end_offset, epoch=latest.epoch)
        for segment in log.segments:
            loader.segment(memoryview(segment.slice(0, segment.size).read()))
        made = SnapshotId(loader.image.provenance.end_offset, loader.image.provenance.epoch)
        part = self.path(made).with_suffix(".checkpoint.part")
        with part.open("wb") as file:
            write_snapshot(loader.image, file.write, now_ms=self.now())
        part.replace(self.path(made))
        self.records = self.size = 0
        self.taken_at = time.monotonic()
        self.forget()
        return made

    def may_begin_at(self) -> int:
        """Return the last offset at which the log may begin, as all records before it are in a snapshot."""
        return advance(self.policy(), log_begin=self.log.start_offset, snapshots=self.ids, replicas={})

    def forget(self) -> None:
        """Delete the log's records before `may_begin_at`, and the snapshots that are no longer needed then."""
        log, ids = self.log, self.ids
        begin = self.may_begin_at()
        log.delete_before(begin)
        for each in deletable(ids, begin):
            self.path(each).unlink()


def is_whole(data: bytes) -> bool:
    """Return whether the data is a complete snapshot: with header, footer and valid checksums."""
    damages: list[Damage] = []
    batches = list(scan(data, damages=damages))
    ends = batches and batches[0].is_control and batches[-1].is_control
    return bool(ends) and not damages and all(each.crc_valid for each in batches)
