"""The rules for new topics (Kafka's ReplicationControlManager)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kcli.broker.configs import FORMER, TOPIC, Configs, parse
from kcli.broker.metadata.controller import Controller
from kcli.errors import UsageError
from kcli.records.acceptance import RefusedError
from kcli.topic_names import CLUSTER_METADATA, name_fault

MOST_PARTITIONS = 1_000_000
MOST_AT_ONCE = 10_000  # partitions that one request may make (Kafka's MAX_PARTITIONS_PER_BATCH)
BY_DEFAULT = -1


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create. partitions, replication: -1 for the broker's default.

    assignment: by partition, the node ids of its replicas, the leader first; empty if the controller chooses.
    """

    name: str
    partitions: int = BY_DEFAULT
    replication: int = BY_DEFAULT
    configs: Mapping[str, str] = field(default_factory=dict)
    assignment: Mapping[int, Sequence[int]] = field(default_factory=dict)


class NewTopics:
    """Checks new topics against the existing ones. Raises RefusedError if a rule is broken."""

    def __init__(self, controller: Controller) -> None:
        self.controller, self.configs = controller, controller.configs
        self.accepted: set[frozenset[tuple[str, str]]] = set()
        names = (each.name for each in controller.topics)
        self.alike = {name.replace(".", "_"): name for name in names if "." in name or "_" in name}

    def check(self, new: NewTopic) -> list[tuple[int, ...]]:
        """Check a new topic; return the replicas of its partitions. Raises RefusedError."""
        self.check_name(new.name)
        assignment = self.assign(new)
        own = frozenset(new.configs.items())
        if own not in self.accepted:
            check_topic_configs(self.configs, new.configs)
            self.accepted.add(own)
        return assignment

    def check_name(self, name: str) -> None:
        """Refuse a name that is invalid, taken, or differs from a taken one only in '.' and '_'. Raises
        RefusedError.
        """
        if fault := name_fault(name):
            raise RefusedError("INVALID_TOPIC_EXCEPTION", fault)
        if name == CLUSTER_METADATA:
            raise RefusedError("TOPIC_AUTHORIZATION_FAILED", f"no client may create the internal topic {name}")
        if name in self.controller.topics.by_name:
            raise RefusedError("TOPIC_ALREADY_EXISTS", f"Topic '{name}' already exists.")
        other = self.alike.get(name.replace(".", "_"))
        if other is not None:
            raise RefusedError("INVALID_TOPIC_EXCEPTION", f"{name} differs from {other} only in '.' and '_'")

    def assign(self, new: NewTopic) -> list[tuple[int, ...]]:
        """Return the replicas by the assignment, or by partition count and replication factor. Raises RefusedError."""
        if new.assignment:
            return self.checked_assignment(new)
        nodes, configs = self.controller.node_ids, self.configs
        count = new.partitions if new.partitions != BY_DEFAULT else configs.int("num.partitions")
        copies = new.replication
        copies = copies if copies != BY_DEFAULT else min(configs.int("default.replication.factor"), len(nodes))
        if not 1 <= count <= MOST_PARTITIONS:
            raise RefusedError("INVALID_PARTITIONS", f"{count} partitions: 1 to {MOST_PARTITIONS} expected")
        if not 1 <= copies <= len(nodes):
            raise RefusedError("INVALID_REPLICATION_FACTOR", f"{copies} copies: there are {len(nodes)} nodes")
        return self.controller.assign(count, copies)

    def checked_assignment(self, new: NewTopic) -> list[tuple[int, ...]]:
        """Return the replicas by the assignment. Raises RefusedError."""
        nodes = set(self.controller.node_ids)
        if new.partitions != BY_DEFAULT or new.replication != BY_DEFAULT:
            raise RefusedError("INVALID_REQUEST", "an assignment comes without numbers of partitions and copies")
        rows = [tuple(new.assignment.get(index, ())) for index in range(len(new.assignment))]
        known = all(each and not set(each) - nodes and len(set(each)) == len(each) for each in rows)
        if not known or len({len(each) for each in rows}) > 1:
            reason = f"partitions from 0 on, each with as many of the nodes {sorted(nodes)} as the others"
            raise RefusedError("INVALID_REPLICA_ASSIGNMENT", reason)
        return rows


def refuse_excess(partitions: int) -> None:
    """Refuse a request for more than MOST_AT_ONCE new partitions. Raises RefusedError."""
    if partitions > MOST_AT_ONCE:
        raise RefusedError("POLICY_VIOLATION", "Excessively large number of partitions per request.")


def check_topic_configs(configs: Configs, own: Mapping[str, str]) -> None:
    """Refuse a topic's own configs if one is unknown or invalid, or if they contradict each other.

    Raises RefusedError.
    """
    for name, text in own.items():
        try:
            if name not in FORMER:
                parse(TOPIC, name, text)
        except UsageError as error:
            raise RefusedError("INVALID_CONFIG", str(error)) from None
    least, most = configs.of_topic(own).compaction_lags
    if least > most:
        reason = f"min.compaction.lag.ms ({least}) > max.compaction.lag.ms ({most})"
        raise RefusedError("INVALID_CONFIG", f"conflict topic config setting {reason}")
