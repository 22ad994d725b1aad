"""A metadata image from the bytes of a snapshot and of the log segments behind it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kcli.counting import counted
from kcli.errors import DecodeError, InputError
from kcli.snapshots.decoding import CONTROL_TYPES, Decoder
from kcli.snapshots.framing import Batch, Fault, batches, checksum, release
from kcli.snapshots.image import Image, Provenance
from kcli.snapshots.partitions import PartitionTable, id_bytes, id_text
from kcli.snapshots.replay import CONTROL_HANDLERS, HANDLERS, ReplayError
from kcli.snapshots.walk import PROBLEMS, Row, opened, walk

__all__ = ["Loader", "load_snapshot"]

BEGIN, END, ABORT = 23, 24, 25
TOPIC_RECORD, PARTITION_RECORD = 2, 3
HEADER_CONTROL = 3

Held = tuple[int, str, dict[str, Any]]


def load_snapshot(data: memoryview, *, end_offset: int = 0, epoch: int = 0, dialect: str | None = None) -> Image:
    """The image of one snapshot. Raises InputError at the first record that can't be read or applied."""
    loader = Loader(dialect)
    loader.snapshot(data, end_offset=end_offset, epoch=epoch)
    return loader.image


class Loader:
    """Builds an image from one snapshot and any number of segments, in order.

    strict: raise InputError for what can't be read or applied; else add it to `problems` as (offset, text).
    """

    def __init__(self, dialect: str | None = None, *, strict: bool = True) -> None:
        self.decoder = Decoder(dialect)
        self.image = Image(decode=self.decoder.read_framed)
        self.strict = strict
        self.problems: list[tuple[int, str]] = []
        self.held: list[Held] | None = None  # the records of an open transaction
        self.records = 0
        self.split: tuple[int, int] | None = None  # the batch that `until` cut: its first offset, and the one after it
        self.table: PartitionTable | None = None  # of the snapshot being read

    def snapshot(self, data: memoryview, *, end_offset: int = 0, epoch: int = 0, mapped: object = None) -> None:
        """Load a snapshot. mapped: see `framing.release`."""
        store: dict[bytes, Any] = {}
        self.table = table = PartitionTable(store=store)
        place = Provenance(0, -1)
        for batch in self.sound_batches(data, mapped):
            records = opened(data, batch)
            for row in walk(records, batch, table, mapped is not None):
                self.take(row, records, batch)
            if not batch.is_control:
                place = Provenance(batch.last_offset + 1, batch.leader_epoch, batch.append_timestamp)
            release(mapped, batch.position, batch.end)
        table.close()
        self.image.file_provenance = place
        self.table = None
        self.records += table.count
        self.adopt(store)
        provenance = self.image.provenance
        provenance.end_offset, provenance.epoch = end_offset, epoch

    def adopt(self, store: dict[bytes, Any]) -> None:
        """Give each topic the partitions that the kernel kept for it."""
        for identity, partitions in store.items():
            topic = self.image.topics.get(identity)
            if topic is None:
                self.complain(
                    0, f"{counted(len(partitions), 'partition')} of topic {id_text(identity)}, which does not exist"
                )
                continue
            topic.partitions = {**partitions, **topic.partitions} if topic.partitions else partitions

    def segment(self, data: memoryview, *, until: int | None = None, mapped: object = None) -> None:
        """Replay a log segment's records from the image's end offset up to `until` (not included)."""
        image = self.image
        for batch in self.sound_batches(data, mapped):
            if batch.last_offset < image.provenance.end_offset:
                continue
            if until is not None and batch.base_offset >= until:
                return
            records = opened(data, batch)
            for row in walk(records, batch):
                if row[0] >= image.provenance.end_offset and (until is None or row[0] < until):
                    self.take(row, records, batch)
            if until is not None and until <= batch.last_offset:
                self.split = batch.base_offset, batch.last_offset + 1
            image.file_provenance = None
            image.provenance.end_offset = batch.last_offset + 1 if until is None else min(batch.last_offset + 1, until)
            image.provenance.epoch = batch.leader_epoch
            image.provenance.timestamp = batch.append_timestamp

    def sound_batches(self, data: memoryview, mapped: object) -> Iterable[Batch]:
        """The batches of magic 2 with a correct checksum; the others are reported."""
        for batch in batches(data):
            if isinstance(batch, Fault):
                self.complain(batch.position, f"at byte {batch.position}: {batch.reason}")
                return
            if batch.magic != 2:
                self.complain(batch.position, f"at byte {batch.position}: a batch of magic {batch.magic} (2 expected)")
            elif checksum(data, batch, mapped) != batch.crc:
                self.complain(batch.position, f"at byte {batch.position}: the batch's checksum is wrong")
            else:
                yield batch

    def complain(self, offset: int, text: str) -> None:
        """Raise InputError where `strict`, else note the problem."""
        if self.strict:
            raise InputError(text)
        self.problems.append((offset, text))

    def take(self, row: Row, records: memoryview, batch: Batch) -> None:
        """Decode one record, and apply it or hold it until its transaction ends."""
        offset, key, version, start, end, problem = row
        self.records += 1
        if problem:
            self.complain(offset, f"record {offset}: {PROBLEMS[problem]}")
            return
        assert key is not None
        assert version is not None
        try:
            if batch.is_control:
                self.control(offset, key, self.decoder.read_control(key, records[start:end]))
            else:
                self.metadata(offset, key, self.decoder.read(key, version, records[start:end]))
        except (DecodeError, ReplayError) as error:
            self.image.unread[key, version] = self.image.unread.get((key, version), 0) + 1
            self.complain(offset, f"record {offset}: {error}")

    def control(self, offset: int, kind: int, value: dict[str, Any]) -> None:
        """Apply a control record."""
        if kind == HEADER_CONTROL:
            self.image.provenance.timestamp = value["lastContainedLogTimestamp"]
            return
        names = {5: "KRaftVersionRecord", 6: "VotersRecord"}
        if kind in names:
            CONTROL_HANDLERS[names[kind]](self.image, value)
        elif kind not in CONTROL_TYPES:
            self.complain(offset, f"record {offset}: unknown control record type {kind}")

    def metadata(self, offset: int, key: int, value: dict[str, Any]) -> None:
        """Apply a metadata record, or hold it until its transaction ends (KIP-866)."""
        name = self.decoder.names[key]
        if key == BEGIN:
            self.held = []
        elif key == ABORT:
            self.held = None
        elif key == END:
            held, self.held = self.held or [], None
            for place, held_name, held_value in held:
                self.apply(place, held_name, held_value)
        elif self.held is not None:
            self.held.append((offset, name, value))
        else:
            self.apply(offset, name, value)

    def apply(self, offset: int, name: str, value: dict[str, Any]) -> None:
        """Apply a metadata record to the image."""
        handler = HANDLERS.get(name)
        if handler is None:
            self.complain(offset, f"record {offset}: {name} has no place in an image")
            return
        if name == "TopicRecord" and self.table is not None:
            self.table.forget(id_bytes(value["topicId"]))
        handler(self.image, value)
