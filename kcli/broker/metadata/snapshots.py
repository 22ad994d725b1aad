"""Snapshots of the metadata log (KIP-630): when one is made, and which records the log can drop then.

A snapshot holds the state after all records before its end offset. With a snapshot the log begins there: the response
to a fetch below it names the snapshot to fetch instead.

Configs: metadata.log.max.record.bytes.between.snapshots and metadata.log.max.snapshot.interval.ms (Apache's),
controller.snapshot.minimum.records (0: ignored) and max.replication.lag.ms (the KIP's).
"""

from __future__ import annotations

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

    now: the clock, in ms since 1970; note: gets a line for each file that is left out.
    """

    def __init__(
        self, folder: Path, log: Log, configs: Configs, *, now: Callable[[], int], note: Callable[[str], None]
    ) -> None:
        self.folder, self.log, self.configs, self.now, self.note = folder, log, configs, now, note
        for part in files_in(folder, ".checkpoint.part"):
            part.unlink()
        self.records = self.size = 0
        self.taken = time.monotonic()
        self._unsound: set[SnapshotId] = set()
        while (latest := self.latest) is not None and not is_whole(self.path(latest).read_bytes()):
            note(f"{self.path(latest)}: left out: no whole snapshot")
            self._unsound.add(latest)

    @property
    def ids(self) -> list[SnapshotId]:
        """Return the ids of snapshots that can be read, oldest first."""
        names = (parse_snapshot_name(path.name) for path in files_in(self.folder, ".checkpoint"))
        ids = (name.id for name in names if name is not None and name.exact and name.state == "ready")
        lawful = (each for each in ids if each.end_offset < LAST_OFFSET and each.epoch < LAST_EPOCH)
        return sorted(each for each in lawful if each not in self._unsound)

    @property
    def latest(self) -> SnapshotId | None:
        """The newest snapshot, None where there is none."""
        return self.ids[-1] if self.ids else None

    @property
    def earliest(self) -> SnapshotId | None:
        """The oldest snapshot, None where there is none."""
        return self.ids[0] if self.ids else None

    def path(self, wanted: SnapshotId) -> Path:
        """Return the path of a snapshot's file."""
        return self.folder / wanted.file_name

    def slice(self, wanted: SnapshotId, position: int, most: int) -> tuple[Slice, int] | None:
        """Return bytes of a snapshot's file and its whole size; None if there is no such file."""
        path = self.path(wanted)
        if not path.exists():
            return None
        size = path.stat().st_size
        return Slice(LogFile(path), position, max(0, min(most, size - position))), size

    def policy(self) -> Policy:
        """Return when to take a snapshot, by the configs."""
        return Policy(
            self.configs.int("controller.snapshot.minimum.records") or None,
            self.configs.int("metadata.log.max.record.bytes.between.snapshots"),
            self.configs.int("metadata.log.max.snapshot.interval.ms") or None,
            self.configs.int("max.replication.lag.ms"),
        )

    def written(self, records: int, size: int) -> None:
        """Count the bytes written to the log, and take a snapshot when it is due."""
        self.records += records
        self.size += size
        age = int((time.monotonic() - self.taken) * 1000)
        if due(self.policy(), records=self.records, size=self.size, age_ms=age).yes:
            try:
                self.take()
            except KcliError as error:
                # The log holds records other than metadata: it goes on without a snapshot.
                self.note(f"{self.folder}: no snapshot: {error}")
                self.records = self.size = 0
                self.taken = time.monotonic()

    def take(self) -> SnapshotId | None:
        """Take a snapshot of everything up to the log's end, where the log then begins; None if nothing is new."""
        # Here, as a broker that starts needs neither.
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
        self.taken = time.monotonic()
        self.forget()
        return made

    def may_begin_at(self) -> int:
        """Return the furthest offset at which the log may begin: all before it is in a snapshot."""
        return advance(self.policy(), log_begin=self.log.start_offset, snapshots=self.ids, replicas={})

    def forget(self) -> None:
        """Truncate the log up to the latest snapshot's end, and delete older snapshots. No node replicates it here."""
        log, ids = self.log, self.ids
        begin = self.may_begin_at()
        log.delete_before(begin)
        for each in deletable(ids, begin):
            self.path(each).unlink()


def is_whole(data: bytes) -> bool:
    """Return whether the data is a snapshot from its header to its footer, with right checksums."""
    damages: list[Damage] = []
    batches = list(scan(data, damages=damages))
    ends = batches and batches[0].is_control and batches[-1].is_control
    return bool(ends) and not damages and all(each.crc_valid for each in batches)
