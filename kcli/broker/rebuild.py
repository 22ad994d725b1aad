"""A broker rebuilt from a capture: the topics, ids, leaders and records that were seen in it, at their offsets.

Offsets that the capture tells of but whose records it does not show are there all the same, as batches without records
(compaction leaves such ones, too). What was produced in the course of the capture can be held back: `staged` shows each
partition as the first fetch saw it, and `reveal` goes on from there, as a replay does before each of its fetches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kcli.broker.broker import Broker
from kcli.broker.history import History, SeenPartition, SeenTopic
from kcli.broker.storage.incoming import stored
from kcli.broker.storage.log import Log
from kcli.broker.topics import Partition, new_topic_id
from kcli.capture import exchanges
from kcli.records import kernels
from kcli.sessions.trace import FetchExchange

__all__ = ["RebuiltBroker", "rebuild"]

WIDEST = 1 << 30
SLOTS = "max.incremental.fetch.session.cache.slots"


def rebuild(
    paths: Sequence[str],
    *,
    ports: Sequence[int] = (),
    dialect: str | None = None,
    staged: bool = False,
    **options: Any,
) -> RebuiltBroker:
    """The broker (not started yet) of the capture in these files; options: as Broker takes them.

    InputError: a file that is no capture, or holds nothing of a cluster.
    """
    history = History.of(exchanges.read(paths, ports=ports, dialect=dialect))
    return RebuiltBroker(history, staged=staged, dialect=dialect, **options)


class RebuiltBroker(Broker):
    """A broker that begins with what a history holds. staged: partitions show only what was told first (`reveal`)."""

    def __init__(self, history: History, *, staged: bool = False, **options: Any) -> None:
        config = dict(options.pop("config", None) or {})
        if history.granted is False:
            # Everybody who asked for a session went without: the captured broker had no slots.
            config.setdefault(SLOTS, "0")
        super().__init__(config=config, node_ids=sorted(history.nodes) or None, **options)
        self.history, self.staged = history, staged

    async def start(self) -> None:
        await super().start()
        for seen in self.history.topics.values():
            self._fill_topic(seen)
        self.history.close()

    def _fill_topic(self, seen: SeenTopic) -> None:
        if not seen.partitions or seen.name in self.topics.by_name:
            return
        count = max(seen.partitions) + 1
        known = [seen.partitions.get(index, SeenPartition()) for index in range(count)]
        leaders = [each.leader if each.leader in self.node_ids else self.node_ids[0] for each in known]
        topic_id = seen.topic_id or new_topic_id()
        topic = self.create_topic(seen.name, assignment=[(each,) for each in leaders], topic_id=topic_id)
        for partition, each in zip(topic.partitions, known, strict=True):
            partition.epoch = max(each.epoch, 0)
            self._fill(partition, each)

    def _fill(self, partition: Partition, seen: SeenPartition) -> None:
        """Write the batches in order, and what is missing between and behind them as gaps."""
        if not seen.end:
            return
        log = partition.made_log()
        for each in seen.in_order():
            fill_gap(log, each.first if each.magic == 2 else min(each.first, log.end_offset), partition.epoch)
            log.append_stored(stored(self.history.read(each)))
        fill_gap(log, seen.end, partition.epoch)
        if seen.start > log.start_offset:
            log.start_offset = min(seen.start, log.end_offset)
        if self.staged and seen.told is not None and seen.told[0] < log.end_offset:
            partition.visible = seen.told

    def reveal(self, fetch: FetchExchange) -> None:
        """Show what the broker knew when it answered this captured fetch (no less than before)."""
        for (topic, index), told in fetch.told:
            found = self.topics.get(topic)
            partition = found.partition(index) if found is not None else None
            if partition is not None and not told[0]:
                self._show(partition, told[1], told[2])

    def _show(self, partition: Partition, high: int, stable: int) -> None:
        if partition.visible is None or high <= partition.visible[0]:
            return
        log = partition.log
        shown = (high, stable if stable >= 0 else high)
        partition.visible = shown if log is not None and high < log.end_offset else None
        self.appended(partition, 1)


def fill_gap(log: Log, end: int, epoch: int) -> None:
    """Batches without records from the log's end up to this offset."""
    while log.end_offset < end:
        last = min(end, log.end_offset + WIDEST) - 1
        base = log.end_offset
        empty = kernels.recordvalues.write_header(base, epoch, 2, 0, last - base, -1, -1, -1, -1, -1, 0, b"")
        log.append_stored(stored(empty))
