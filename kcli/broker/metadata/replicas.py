"""What happens to partitions after a write (Kafka's ReplicaManager): waiting fetches are notified, old segments go."""

from __future__ import annotations

from collections.abc import Callable

from kcli.broker.clock import Clock
from kcli.broker.fetch.tiering import tier
from kcli.broker.metadata.topics import Topics
from kcli.broker.partition import Partition
from kcli.broker.retention import retain

# Gets a partition, and how many bytes were appended; 0: something else about it changed.
Listener = Callable[[Partition, int], None]


class Replicas:
    """The replicas of all nodes: one log a partition, which its leader serves. now: the time, in ms since 1970."""

    def __init__(self, topics: Topics, clock: Clock, now: Callable[[], int]) -> None:
        self.topics, self.clock, self.now = topics, clock, now
        self.listeners: list[Listener] = []

    def appended(self, partition: Partition, size: int) -> None:
        """`size` bytes of records were appended: fetches that wait for them go on."""
        if size and partition.topic.configs.tiered and partition.opened is not None:
            tier(partition.opened, partition.topic.configs, self.now())
        for notify in self.listeners:
            notify(partition, size)

    def changed(self, partition: Partition) -> None:
        """The leader, the first offset or something else of a partition changed: fetches look at it again."""
        self.appended(partition, 0)

    def retain(self) -> None:
        """Delete the segments that the retention configs let go."""
        for partition, log in list(self.topics.opened_logs()):
            if partition.topic.configs.tiered:
                tier(log, partition.topic.configs, self.now())
            log.epochs.save()
            if retain(log, partition.topic.configs, self.now()):
                self.changed(partition)
