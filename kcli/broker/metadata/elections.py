"""Leaders and in-sync replicas while nodes stop and start (KIP-966; Kafka's ReplicationControlManager).

* A node that stops leaves the in-sync replicas. If fewer than min.insync.replicas are left, it becomes an eligible
  leader replica (ELR), as it has all committed records.
* A new leader is the first running in-sync replica, else the first running eligible one, else (with
  unclean.leader.election.enable) the first running replica. If there is none, the partition has no leader until one of
  them starts.
* All nodes share a partition's log, so that a replica is in sync as soon as it runs, if there is a leader.
"""

from __future__ import annotations

from collections.abc import Iterable

from kcli.broker.partition import Partition
from kcli.schemas.field_codes import NO_LEADER


class Elections:
    """Chooses leaders and in-sync replicas. running: the ids of the nodes that run."""

    def __init__(self, node_ids: Iterable[int]) -> None:
        self.running = set(node_ids)

    def settle(self, partition: Partition) -> bool:
        """Update a partition's in-sync replicas and its leader. Returns whether anything changed."""
        before = partition.isr, partition.elr, partition.leader
        for node in before[0]:
            if node not in self.running:
                self.leave(partition, node)
        if partition.leader not in partition.isr:
            self.elect(partition)
        if partition.leader != NO_LEADER:
            self.rejoin(partition)
        return before != (partition.isr, partition.elr, partition.leader)

    def leave(self, partition: Partition, node: int) -> None:
        """Remove a node from the in-sync replicas."""
        partition.lagging |= {node}
        wanted = min(partition.topic.configs.min_in_sync, len(partition.replicas))
        if len(partition.isr) < wanted:
            partition.elr = (*partition.elr, node)

    def elect(self, partition: Partition) -> None:
        """Elect a partition's leader, or none. A change begins a new leader epoch."""
        leader = next((each for each in partition.isr if each in self.running), NO_LEADER)
        if leader == NO_LEADER:
            able = partition.replicas if partition.topic.configs.unclean else partition.elr
            leader = next((each for each in (*partition.elr, *able) if each in self.running), NO_LEADER)
            if leader != NO_LEADER:
                partition.lagging -= {leader}
                partition.elr = tuple(each for each in partition.elr if each != leader)
        if leader != partition.leader:
            partition.leader = leader
            partition.epoch += 1
            partition.unsettled = True

    def rejoin(self, partition: Partition) -> None:
        """Add the running replicas to the in-sync ones again."""
        partition.lagging -= self.running
        wanted = min(partition.topic.configs.min_in_sync, len(partition.replicas))
        if len(partition.isr) >= wanted:
            partition.elr = ()
        else:
            partition.elr = tuple(each for each in partition.elr if each in partition.lagging)
