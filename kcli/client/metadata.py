"""A client's cache of metadata: brokers, topics, and each partition's leader and leader epoch.

It does no I/O. Its input is Metadata responses and the hints of KIP-951 (CurrentLeader, NodeEndpoints in Produce v10+
and Fetch v16+ responses). Rules:

- A leader with an older epoch than the known one is ignored (KIP-320), so that late metadata can't replace a newer
  leader.
- A hint is used only if its epoch is newer than the known one, and its node is known or comes with its endpoint.
- A topic with another id is another topic, so that its old epochs are dropped.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kcli.client.address import Address
from kcli.schemas.definition import ZERO_UUID
from kcli.schemas.errors import error_code

# The errors of a partition whose leader or leader epoch has changed.
MOVED = (error_code("NOT_LEADER_OR_FOLLOWER"), error_code("FENCED_LEADER_EPOCH"))


class Leader(NamedTuple):
    """The node that leads a partition, and the leader epoch, -1 if the broker sent none."""

    node: int
    epoch: int


@dataclass
class Topic:
    """A topic. error: its error code; leaders: by partition, without partitions that have none; partitions: their
    count.
    """

    name: str
    id: str | None = None
    error: int = 0
    leaders: dict[int, Leader] = field(default_factory=dict)
    partitions: int = 0


class MetadataCache:
    """The cached metadata: nodes by id, topics by name, names by topic id (base64 text)."""

    def __init__(self) -> None:
        self.nodes: dict[int, Address] = {}
        self.topics: dict[str, Topic] = {}
        self.names: dict[str, str] = {}
        self.controller = -1
        self.cluster_id: str | None = None

    def update(self, response: Mapping[str, Any]) -> None:
        """Update from a Metadata response of any version."""
        self.cluster_id = response.get("clusterId", self.cluster_id)
        self.controller = response.get("controllerId", self.controller)
        brokers = response["brokers"]
        if brokers:
            self.nodes = {each["nodeId"]: Address(each["host"], each["port"]) for each in brokers}
        for topic in response["topics"]:
            self._update_topic(topic)

    def _update_topic(self, row: Mapping[str, Any]) -> None:
        topic_id = row.get("topicId", ZERO_UUID)
        name = row.get("name") or self.names.get(topic_id)
        if name is None:
            return
        known = self.topics.get(name)
        if known is None or (topic_id != ZERO_UUID and known.id not in (None, topic_id)):
            known = self.topics[name] = Topic(name)
        known.error = row["errorCode"]
        if topic_id != ZERO_UUID:
            known.id = topic_id
            self.names[topic_id] = name
        partitions = row["partitions"]
        if not known.error:
            known.partitions = len(partitions)
        for each in partitions:
            self._update_leader(known, each)

    def _update_leader(self, topic: Topic, row: Mapping[str, Any]) -> None:
        index = row["partitionIndex"]
        leader = Leader(row["leaderId"], row.get("leaderEpoch", -1))
        known = topic.leaders.get(index)
        if known is not None and -1 < leader.epoch < known.epoch:
            return
        if leader.node < 0:
            topic.leaders.pop(index, None)
        else:
            topic.leaders[index] = leader

    def take_hint(
        self, topic: str, partition: int, current_leader: Mapping[str, Any], endpoints: Iterable[Mapping[str, Any]] = ()
    ) -> bool:
        """Apply a CurrentLeader, with the NodeEndpoints of its response. Returns whether it was newer and is used."""
        node, epoch = current_leader.get("leaderId", -1), current_leader.get("leaderEpoch", -1)
        known = self.topics.get(topic)
        if known is None or node < 0 or epoch < 0:
            return False
        before = known.leaders.get(partition)
        if before is not None and epoch <= before.epoch:
            return False
        for each in endpoints:
            if each["nodeId"] == node:
                self.nodes[node] = Address(each["host"], each["port"])
        if node not in self.nodes:
            return False
        known.leaders[partition] = Leader(node, epoch)
        return True

    def leader(self, topic: str, partition: int) -> Leader | None:
        """Return the leader of a partition; None if it is unknown or there is none."""
        known = self.topics.get(topic)
        return None if known is None else known.leaders.get(partition)

    def topic_id(self, name: str) -> str | None:
        """Return a topic's id as base64 text; None if it is unknown or the broker sends no ids."""
        known = self.topics.get(name)
        return None if known is None else known.id
