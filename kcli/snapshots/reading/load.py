"""A metadata image from the bytes of a snapshot and of the log segments after it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

from kcli.core.snapshots.snapshot import PartitionChanges
from kcli.counting import counted
from kcli.errors import DecodeError, InputError
from kcli.records.control import CONTROL_TYPES, MESSAGES
from kcli.schemas.field_codes import ControlType, RecordType
from kcli.snapshots.image.image import Image, Provenance
from kcli.snapshots.image.partitions import PartitionTable, id_bytes, id_text
from kcli.snapshots.image.replay import CONTROL_HANDLERS, HANDLERS, ReplayError
from kcli.snapshots.reading.decoding import Decoder
from kcli.snapshots.reading.framing import Batch, Fault, batches, checksum, release
from kcli.snapshots.reading.walk import PROBLEMS, Row, opened, walk

if TYPE_CHECKING:
    from kcli.snapshots.image.controller import Controller

TOPICS = ("TopicRecord", "RemoveTopicRecord")
PARTITIONS = ("PartitionRecord", "PartitionChangeRecord")
TRANSACTIONS = (RecordType.BEGIN_TRANSACTION, RecordType.END_TRANSACTION, RecordType.ABORT_TRANSACTION)

Held = tuple[int, str, dict[str, Any]]


def load_snapshot(data: memoryview, *, end_offset: int = 0, epoch: int = 0, dialect: str | None = None) -> Image:
    """Return the image of one snapshot. Raises InputError at the first record that can't be read or applied."""
    loader = Loader(dialect)
    loader.snapshot(data, end_offset=end_offset, epoch=epoch)
    return loader.image


class Loader:
    """Builds an image from one snapshot and any number of segments, in order.

    strict: raise InputError for a record that can't be read or applied; else add it to `problems` as (offset, text).
    """

    def __init__(self, dialect: str | None = None, *, strict: bool = True) -> None:
        self.decoder = Decoder(dialect)
        self.image = Image(decode=self.decoder.read_framed)
        self.strict = strict
        self.problems: list[tuple[int, str]] = []
        self.held: list[Held] | None = None  # the records of an open transaction
        self.controller: Controller | None = None  # the controller's checks of the records, see `judged`
        self.refusals: list[tuple[int, str]] = []  # (offset, text) of records that the controller refuses
        self.records = 0
        self.split: tuple[int, int] | None = None  # (first offset, the one after) of the batch `until` lies in
        self.reached = 0  # the log offset after the last batch, also if it was bad
        self.table: PartitionTable | None = None  # of the snapshot that is being read; None at other times
        # The state of partitions in the kernel; None: every record is applied in Python.
        self.changes: PartitionChanges | None = PartitionChanges(self.image.topics)

    def judged(self) -> Self:
        """Judge each record by a controller's rules, too, and add those refused to `refusals`. Returns the loader."""
        from kcli.snapshots.image.controller import Controller

        def leave(topic: bytes) -> None:
            if self.changes is not None:
                self.records += self.changes.leave(topic)

        self.controller = Controller(self.image, leave)
        return self

    def refuse(self, found: Iterable[tuple[int, str]]) -> None:
        """Add records, as (offset, text), to `refusals`."""
        self.refusals += [(offset, f"record {offset}: {text}") for offset, text in found]

    def judge_open(self) -> None:
        """Judge the records of a transaction that is aborted or never ends."""
        if self.controller is not None and self.held:
            self.settle()
            self.refuse(self.controller.refusals(self.held))

    def snapshot(self, data: memoryview, *, end_offset: int = 0, epoch: int = 0, mapped: object = None) -> None:
        """Load a snapshot. mapped: see `framing.release`."""
        self.table = table = PartitionTable(store={})
        place = Provenance(0, -1)
        for batch in self.sound_batches(data, mapped):
            if (records := self.records_of(data, batch)) is not None:
                for row in walk(records, batch, table, mapped is not None):
                    self.take(row, records, batch)
            if not batch.is_control:
                place = Provenance(batch.last_offset + 1, batch.leader_epoch, batch.append_timestamp)
            release(mapped, batch.position, batch.end)
        table.close()
        self.image.file_provenance = place
        self.finish_snapshot(table, end_offset, epoch)

    def finish_snapshot(self, table: PartitionTable, end_offset: int, epoch: int) -> None:
        """Give each topic the partitions that the kernel kept for it. It is called after the last batch of a
        snapshot.
        """
        self.table = None
        self.records += table.count
        provenance = self.image.provenance
        provenance.end_offset, provenance.epoch = end_offset, epoch
        store, table.store = table.store or {}, None
        for identity, partitions in store.items():
            topic = self.image.topics.get(identity)
            if topic is None:
                self.complain(
                    0, f"{counted(len(partitions), 'partition')} of topic {id_text(identity)}, which does not exist"
                )
                continue
            topic.partitions = {**partitions, **topic.partitions} if topic.partitions else partitions

    def segment(self, data: memoryview, *, until: int | None = None, mapped: object = None, more: bool = False) -> None:
        """Replay a log segment's batches from the image's end offset up to `until` (not included).

        A batch is applied as a whole, as nodes do. If `until` lies inside one, the image ends before it, and `split`
        names the batch. Offsets without a batch are a problem, because their records are missing from the image.

        more: another segment follows, so that the image's partitions need not be brought up to date yet
        """
        self.replay_batches(data, until, mapped)
        if not more:
            self.settle()

    def replay_batches(self, data: memoryview, until: int | None, mapped: object) -> None:
        """Replay each batch of a segment."""
        image = self.image
        for batch in self.sound_batches(data, mapped):
            start = image.provenance.end_offset
            if batch.last_offset < start:
                continue
            if until is not None and batch.base_offset >= until:
                return
            if until is not None and batch.last_offset >= until:
                self.split = batch.base_offset, batch.last_offset + 1
                return
            self.note_gap(batch)
            if (records := self.records_of(data, batch)) is not None:
                self.replay_batch(records, batch, start)
            release(mapped, batch.position, batch.end)
            image.file_provenance = None
            image.provenance.end_offset = self.reached = batch.last_offset + 1
            image.provenance.epoch = batch.leader_epoch
            image.provenance.timestamp = batch.append_timestamp
            if until is not None and self.reached >= until:
                return  # the bytes after it can be a write in progress

    def replay_batch(self, records: memoryview, batch: Batch, start: int) -> None:
        """Replay the records of one batch, from the offset `start` on."""
        fast = self.changes if batch.base_offset >= start else None
        for row in walk(records, batch, changes=fast):
            if row[0] >= start:
                self.take(row, records, batch)

    def settle(self) -> None:
        """Bring the image's partitions up to date with the kernel's state."""
        if self.changes is not None:
            self.records += self.changes.settle()

    def records_of(self, data: memoryview, batch: Batch) -> memoryview | None:
        """Return a batch's records; None if they can't be decompressed, which is reported as a problem."""
        try:
            return opened(data, batch)
        except InputError as error:
            self.complain(batch.position, f"at byte {batch.position}: {error}")
            return None

    def note_gap(self, batch: Batch) -> None:
        """Report offsets that are missing before a batch or inside it."""
        expected = max(self.reached, self.image.provenance.end_offset)
        if batch.base_offset > expected:
            missing = f"offsets {expected} to {batch.base_offset - 1}"
            self.complain(expected, f"the log has no {missing}: the next batch begins at {batch.base_offset}")
        if batch.record_count != batch.last_offset_delta + 1:
            spanned = f"offsets {batch.base_offset} to {batch.last_offset}"
            self.complain(batch.base_offset, f"the batch of {spanned} has {counted(batch.record_count, 'record')}")

    def sound_batches(self, data: memoryview, mapped: object) -> Iterable[Batch]:
        """Yield the batches of magic 2 with a correct checksum. The others are reported and skipped."""
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
                continue
            self.reached = max(self.reached, batch.last_offset + 1)

    def complain(self, offset: int, text: str) -> None:
        """Raise InputError if `strict`, else add the text to `problems`."""
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
        if kind == ControlType.SNAPSHOT_HEADER:
            self.image.provenance.timestamp = value["lastContainedLogTimestamp"]
            return
        if (handler := CONTROL_HANDLERS.get(MESSAGES.get(kind, ""))) is not None:
            handler(self.image, value)
        elif kind not in CONTROL_TYPES:
            self.complain(offset, f"record {offset}: unknown control record type {kind}")

    def metadata(self, offset: int, key: int, value: dict[str, Any]) -> None:
        """Apply a metadata record, or hold it until its transaction ends (KIP-866)."""
        name = self.decoder.names[key]
        if key in TRANSACTIONS:
            self.check_transaction(key == RecordType.BEGIN_TRANSACTION)
        if key == RecordType.BEGIN_TRANSACTION:
            self.held = []
        elif key == RecordType.ABORT_TRANSACTION:
            self.judge_open()
            self.held = None
        elif key == RecordType.END_TRANSACTION:
            held, self.held = self.held or [], None
            for place, held_name, held_value in held:
                try:
                    self.apply(place, held_name, held_value)
                except ReplayError as error:
                    self.complain(place, f"record {place}: {error}")
        elif self.held is not None:
            self.held.append((offset, name, value))
        else:
            self.apply(offset, name, value)

    def check_transaction(self, begins: bool) -> None:
        """Check the begin or the end of a transaction. Raises ReplayError if one begins inside another one, or one ends
        that has not begun.
        """
        if self.changes is not None:
            self.changes.paused = begins
        if begins and self.held is not None:
            raise ReplayError("a metadata transaction begins before the last one has ended")
        if not begins and self.held is None:
            raise ReplayError("the end of a metadata transaction that has not begun")

    def apply(self, offset: int, name: str, value: dict[str, Any]) -> None:
        """Apply a metadata record to the image."""
        handler = HANDLERS.get(name)
        if handler is None:
            self.complain(offset, f"record {offset}: {name} has no place in an image")
            return
        if name == "TopicRecord" and self.table is not None:
            self.table.forget(id_bytes(value["topicId"]))
        if self.changes is not None:
            self.prepare(self.changes, name, value)
        if self.controller is not None and (why := self.controller.refusal(name, value)):
            self.refuse([(offset, why)])
        handler(self.image, value)

    def prepare(self, changes: PartitionChanges, name: str, value: dict[str, Any]) -> None:
        """Bring the partitions that a record touches up to date in the image, and drop the kernel's state of them."""
        if name in TOPICS:
            changes.forget(id_bytes(value["topicId"]))
        elif name in PARTITIONS:
            self.records += changes.settle(id_bytes(value["topicId"]))
        elif name == "ClearElrRecord":
            self.settle()
