"""Work after writes to partitions (Kafka's ReplicaManager): fetches are notified, logs are compacted and retained."""

from collections.abc import Callable, Iterator

from kcli.broker.clock import Clock
from kcli.broker.configs import TopicConfigs
from kcli.broker.fetch.tiering import tier
from kcli.broker.metadata.topics import Topics
from kcli.broker.partition import Partition, Topic
from kcli.broker.storage.log import Log
from kcli.errors import UsageError

# Called with a partition and the number of appended bytes, 0 for another change.
Listener = Callable[[Partition, int], None]


class Replicas:
    """The partitions' logs, which all nodes share. now: returns the time in ms since 1970."""

    def __init__(self, topics: Topics, clock: Clock, now: Callable[[], int]) -> None:
        self.topics, self.clock, self.now = topics, clock, now
        self.listeners: list[Listener] = []

    def appended(self, partition: Partition, size: int) -> None:
        """Notify waiting fetches that `size` bytes of records were appended; copy closed segments of tiered topics."""
        if size and partition.topic.configs.tiered and partition.opened is not None:
            tier(partition.opened, partition.topic.configs, self.now())
        for notify in self.listeners:
            notify(partition, size)

    def changed(self, partition: Partition) -> None:
        """Notify waiting fetches that a partition changed in another way: its leader, its first offset."""
        self.appended(partition, 0)

    def compact(self, topic: Topic | None = None) -> None:
        """Clean now the logs of one compacted topic or of all, with their active segments.

        Raises UsageError if the topic is not compacted.
        """
        if topic is not None and not topic.configs.compacted:
            raise UsageError(f"topic {topic.name}: cleanup.policy is {topic.configs.texts['cleanup.policy']}")
        for each in list(self.topics) if topic is None else [topic]:
            for partition in each.partitions if each.configs.compacted else ():
                log = None if partition.is_offline else partition.log
                if log is not None and log.end_offset:
                    if log.active.size:
                        log.roll()
                    for _ in self.cleaning(partition, log):
                        pass

    def clean(self) -> Iterator[None]:
        """Clean the logs that are dirty enough (min.cleanable.dirty.ratio, max.compaction.lag.ms); yield after each
        step.
        """
        for partition, log in list(self.topics.opened_logs()):
            if partition.topic.configs.compacted and self.needs_cleaning(partition, log):
                yield from self.cleaning(partition, log)

    def needs_cleaning(self, partition: Partition, log: Log) -> bool:
        """Return whether a compacted log is dirty enough."""
        from kcli.broker.storage.cleaner import is_dirty

        configs = partition.topic.configs
        dirty = self.topics.cleaner_offsets.get((partition.topic.name, partition.index), 0)
        return is_dirty(log, dirty, configs.dirty_ratio, self.now(), configs.compaction_lags[1])

    def cleaning(self, partition: Partition, log: Log) -> Iterator[None]:
        """Clean one log, and yield after each step."""
        configs = partition.topic.configs
        if configs.tiered:
            return
        from kcli.broker.storage.cleaner import Cleaning, CleaningRules

        rules = CleaningRules(self.now(), configs.delete_retention_ms, configs.compaction_lags[0])
        first = self.topics.cleaner_offsets.get((partition.topic.name, partition.index), 0)
        work = Cleaning(log, max(first, log.start_offset), rules)
        yield from work.steps()
        if self.topics.by_name.get(partition.topic.name) is partition.topic:
            self.topics.cleaned(partition, work.end)

    def retain(self) -> None:
        """Delete the segments beyond retention.ms and retention.bytes, in opened logs."""
        for partition, log in list(self.topics.opened_logs()):
            if partition.topic.configs.tiered:
                tier(log, partition.topic.configs, self.now())
            log.epochs.save()
            if retain(log, partition.topic.configs, self.now()):
                self.changed(partition)


def retain(log: Log, configs: TopicConfigs, now: int) -> bool:
    """Delete segments beyond the retention time or size, the oldest first (Kafka's UnifiedLog.deleteOldSegments).
    Returns whether any was deleted.

    The active segment is deleted, too, if all its records are beyond; then a new one begins at the log's end. now: ms.
    """
    if not configs.deletes:
        return False
    start = log.start_offset
    surplus = log.size - configs.retention_bytes if configs.retention_bytes >= 0 else 0
    for each in [one for one in log.segments if one.size]:
        old = configs.retention_ms >= 0 and 0 <= each.max_timestamp < now - configs.retention_ms
        if not old and surplus < each.size:
            break
        surplus -= each.size
        log.delete_before(each.next_offset)
    return log.start_offset != start
