"""The coordinator of a group or a transactional id: the leader of the partition that stores its state."""

from kcli.broker.metadata.controller import Controller
from kcli.broker.metadata.state_topic import partition_for
from kcli.schemas.errors import error_code
from kcli.schemas.field_codes import NO_LEADER
from kcli.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE

NOT_COORDINATOR, NOT_AVAILABLE = error_code("NOT_COORDINATOR"), error_code("COORDINATOR_NOT_AVAILABLE")


class Coordinators:
    """Finds coordinators. shared: every node coordinates everything, as in a broker that is rebuilt from a capture."""

    def __init__(self, controller: Controller, *, shared: bool = False) -> None:
        self.controller, self.shared = controller, shared

    def node(self, topic: str, key: str) -> int:
        """Return the leader of a key's partition in a state topic, -1 if there is none now. The topic is created if
        needed.
        """
        if self.shared:
            return self.controller.id
        found = self.controller.topics.by_name.get(topic) or self.controller.auto_create_topic(topic)
        return found.partitions[partition_for(key, len(found.partitions))].leader

    def group_refusal(self, node_id: int, group_id: str) -> int:
        """Return the error code if a node is not a group's coordinator, else 0."""
        return self.refusal(node_id, CONSUMER_OFFSETS, group_id)

    def transaction_refusal(self, node_id: int, name: str) -> int:
        """Return the error code if a node is not a transactional id's coordinator, else 0."""
        return self.refusal(node_id, TRANSACTION_STATE, name)

    def refusal(self, node_id: int, topic: str, key: str) -> int:
        """Return the error code if a node is not the coordinator of a key in a state topic, else 0."""
        if self.shared or self.controller.node_ids == [node_id]:
            return 0
        leader = self.node(topic, key)
        return 0 if leader == node_id else NOT_AVAILABLE if leader == NO_LEADER else NOT_COORDINATOR
