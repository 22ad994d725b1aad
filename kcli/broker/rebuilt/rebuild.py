"""A broker rebuilt from a capture: with its topics, ids, leaders, and records at their offsets.

Offsets without captured records become empty batches, as after compaction. A topic with an invalid name gets a valid
one. A staged broker replays the capture's states for the clients that fetch from it (`capture_clock`); otherwise its
state is that at the end of the capture.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from kcli.broker.broker import Broker
from kcli.broker.fetch.purgatory import CapturedMoment
from kcli.broker.metadata.topics import new_topic_id
from kcli.broker.partition import Partition
from kcli.broker.rebuilt.capture_clock import CapturedState
from kcli.broker.rebuilt.capture_history import CaptureHistory
from kcli.broker.rebuilt.captured_topics import SeenPartition, SeenTopic
from kcli.broker.rebuilt.record_spans import CutBatch
from kcli.broker.storage.incoming import stored
from kcli.broker.storage.log import Log
from kcli.capture.api import read_capture
from kcli.capture.decoder import MEMORY
from kcli.core.records import record_values
from kcli.core.records.batches import HEADER_SIZE
from kcli.errors import InputError
from kcli.sessions.comparison import shown
from kcli.topic_names import lawful_name, name_fault, renaming

WIDEST = 1 << 30
# Offsets. A larger gap is left between two segments, except for its end.
HUGE = 4 * WIDEST
# The most partitions that are added below captured ones, in all topics together.
MOST_UNSEEN = 20_000
# The most bytes of batches of which only the beginning was captured.
MOST_MADE_UP = 64 << 20
SLOTS = "max.incremental.fetch.session.cache.slots"


def rebuild(
    paths: Sequence[str],
    *,
    ports: Sequence[int] = (),
    dialect: str | None = None,
    memory: int = MEMORY,
    key_logs: Sequence[str] = (),
    staged: bool = False,
    problem: Callable[[InputError], None] | None = None,
    **options: Any,
) -> RebuiltBroker:
    """Build a broker, not started yet, from the capture in these files. options: of `Broker`.

    memory: the most bytes to hold of captured connections. key_logs: files with secrets of TLS connections, as in
    `read_capture`. problem: called with the error of a damaged file. Raises InputError for a file that is no capture,
    and without `problem` for a damaged one.
    """
    capture = read_capture(paths, ports=ports, dialect=dialect, memory=memory, key_logs=key_logs)
    history = CaptureHistory.of(capture.items(), problem)
    try:
        return RebuiltBroker(history, staged=staged, dialect=dialect, **options)
    except BaseException:
        history.close()
        raise


class RebuiltBroker(Broker):
    """A broker that starts with a capture's topics. staged: fetches are answered by the states during the capture."""

    def __init__(self, history: CaptureHistory, *, staged: bool = False, **options: Any) -> None:
        config = dict(options.pop("config", None) or {})
        if history.sessions.slots is not None:
            config.setdefault(SLOTS, str(history.sessions.slots))
        super().__init__(config=config, node_ids=sorted(history.addresses.nodes) or None, **options)
        self.history = history
        self.session_shards = history.sessions.shards
        self.shares_coordinators = True
        self.captured = CapturedState(self, history)
        self.staged = staged
        self._unseen = MOST_UNSEEN
        self._made_up = MOST_MADE_UP

    async def start(self) -> None:
        try:
            await super().start()
            await self._fill_topics()
        finally:
            self.history.close()

    async def _fill_topics(self) -> None:
        renamed = [seen.name for seen in self.history.topics.values() if name_fault(seen.name)]
        if renamed:
            self.note(renaming(renamed))
        try:
            for seen in self.history.topics.values():
                self._fill_topic(seen)
        except BaseException:
            await self.stop()
            raise

    def now(self) -> int:
        return self.captured.ns // 1_000_000 if self.staged and self.captured.ns else super().now()

    def fetch_gate(self) -> Awaitable[CapturedMoment] | None:
        return self.captured.fetch_gate() if self.staged else None

    def _fill_topic(self, seen: SeenTopic) -> None:
        name = lawful_name(seen.name)
        count = self._count(seen)
        if not count or name in self.topics.by_name:
            return
        known = [seen.partitions.get(index, SeenPartition()) for index in range(count)]
        leaders = [each.leader if each.leader in self.node_ids else self.node_ids[0] for each in known]
        topic_id = seen.topic_id or new_topic_id()
        topic = self.controller.create_topic(name, [(each,) for each in leaders], topic_id=topic_id)
        for partition, each in zip(topic.partitions, known, strict=True):
            partition.epoch = max(each.epoch, 0)
            self._fill(partition, each)

    def _count(self, seen: SeenTopic) -> int:
        """Return a topic's partition count by the highest captured index, unless that leaves too many unseen ones."""
        likely = [index for index in seen.partitions if 0 <= index < len(seen.partitions) + self._unseen]
        count = max(likely, default=-1) + 1
        self._unseen -= count - len(likely)
        if len(likely) < len(seen.partitions):
            left_out = sorted(seen.partitions.keys() - likely)
            self.note(f"topic {lawful_name(seen.name)}: partitions {shown(list(map(str, left_out)))} are left out")
        return count

    def _fill(self, partition: Partition, seen: SeenPartition) -> None:
        """Append the batches in order. Missing offsets between and after them are filled by empty batches; in a staged
        broker they are marked as unseen.
        """
        if not seen.end:
            return
        log = partition.made_log()
        # Missing offsets get the epoch of the next batch, so that logs do not seem to diverge there.
        epoch = seen.first_epoch
        for each in seen.in_order():
            batches = stored(self.history.spool.read(each))
            epoch = max(epoch, *(one.head.partition_leader_epoch for one in batches if each.magic == 2), 0)
            self._pass(partition, seen, log, each.first if each.magic == 2 else min(each.first, log.end_offset), epoch)
            log.append_stored(batches)
        self._pass(partition, seen, log, seen.end, epoch)
        if self.staged:
            fill_gap(log, seen.end, epoch)
            for first, end in seen.holes:
                partition.unseen.remove(first, end)
        start = (seen.earliest or 0) if self.staged else seen.start
        if start > log.start_offset:
            log.start_offset = min(start, log.end_offset)

    def _pass(self, partition: Partition, seen: SeenPartition, log: Log, end: int, epoch: int) -> None:
        """Skip the offsets from the log's end up to `end`, of which the capture has no complete batches."""
        if not self.staged:
            fill_gap(log, end, epoch)
            return
        begin = log.end_offset
        cut = seen.cut.get(begin)
        if cut is not None and begin < end:
            self._fill_cut(log, cut, end, epoch)
        partition.unseen.append(log.end_offset if cut is not None else begin, end)

    def _fill_cut(self, log: Log, cut: CutBatch, end: int, epoch: int) -> None:
        """Append a batch with the size and the offsets of one of which only the beginning was captured."""
        size = max(cut.size, HEADER_SIZE)
        last = cut.last if cut.base <= cut.last < end else end - 1
        if size > self._made_up or last - cut.base > WIDEST:
            return
        self._made_up -= size
        made = record_values.write_header(
            cut.base, max(cut.epoch, epoch), 2, 0, last - cut.base, -1, -1, -1, -1, -1, 0, bytes(size - HEADER_SIZE)
        )
        log.append_stored(stored(made))


def fill_gap(log: Log, end: int, epoch: int) -> None:
    """Append empty batches from the log's end up to this offset."""
    if end - log.end_offset > HUGE:
        log.skip_to(end - WIDEST)
    while log.end_offset < end:
        last = min(end, log.end_offset + WIDEST) - 1
        base = log.end_offset
        empty = record_values.write_header(base, epoch, 2, 0, last - base, -1, -1, -1, -1, -1, 0, b"")
        log.append_stored(stored(empty))
