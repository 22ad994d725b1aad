"""Changes of topics, partitions, configs and leaders (Kafka's controller). Each is written to the metadata log."""

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from kcli.broker.configs import BROKER as BROKER_CONFIGS
from kcli.broker.configs import MIN_IN_SYNC, Config, Configs
from kcli.broker.configs import TOPIC as TOPIC_CONFIGS
from kcli.broker.metadata.features import ELR
from kcli.broker.metadata.log import MetadataLog
from kcli.broker.metadata.replicas import Replicas
from kcli.broker.metadata.topics import Topics, new_topic_id
from kcli.broker.partition import NOBODY, Partition, Topic
from kcli.schemas.field_codes import NO_LEADER, ConfigResource
from kcli.topic_names import CONSUMER_OFFSETS, SHARE_STATE, TRANSACTION_STATE

# Internal topics: the prefix of the broker configs for their partitions and replicas, and their topic configs.
INTERNAL_TOPICS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    CONSUMER_OFFSETS: ("offsets.topic", {"cleanup.policy": "compact"}),
    TRANSACTION_STATE: ("transaction.state.log", {"cleanup.policy": "compact"}),
    SHARE_STATE: ("share.coordinator.state.topic", {"retention.ms": "-1"}),
}


class Controller:
    """The controller. node_ids: of the cluster; the first that runs is the active controller. mention: writes a line to
    the broker's log, the first time only.
    """

    def __init__(
        self,
        node_ids: Sequence[int],
        configs: Configs,
        topics: Topics,
        metadata: MetadataLog,
        replicas: Replicas,
        mention: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.node_ids, self.mention = list(node_ids), mention
        self.elections = Elections(self.node_ids)
        self._unregistered: set[int] = set()
        self.making: set[str] = set()  # topics that are about to be created automatically
        self.configs, self.topics, self.metadata, self.replicas = configs, topics, metadata, replicas
        # Configs of groups and of subscriptions to client metrics, by resource type and name.
        self.resources = metadata.resource_configs

    @property
    def id(self) -> int:
        """Return the node id of the active controller: the first one that runs."""
        return next((each for each in self.node_ids if each in self.running), self.node_ids[0])

    @property
    def running(self) -> set[int]:
        """Return the ids of the nodes that run."""
        return self.elections.running

    # --- topics

    def create_topic(
        self,
        name: str,
        replicas: list[tuple[int, ...]],
        configs: Mapping[str, str] = MappingProxyType({}),
        topic_id: str | None = None,
    ) -> Topic:
        """Create a topic. Raises InputError if Kafka does not allow the name.

        replicas: the node ids of each partition's replicas, the leader first.
        """
        made = self.topics.add(name, topic_id or new_topic_id(), configs, replicas)
        self.mention_unread(TOPIC_CONFIGS, configs)
        for each in made.partitions:
            self.elections.settle(each)
        self.metadata.topic_created(made)
        return made

    def auto_create_topic(self, name: str) -> Topic:
        """Create a topic on first use (Kafka's AutoTopicCreationManager).

        Internal topics get the configs that their coordinators need, others the broker's defaults.
        """
        if name not in INTERNAL_TOPICS:
            return self.create_topic(name, self.assign(self.configs.int("num.partitions")))
        prefix, configs = INTERNAL_TOPICS[name]
        copies = min(max(1, self.configs.int(f"{prefix}.replication.factor")), len(self.node_ids))
        count = self.configs.int(f"{prefix}.num.partitions")
        return self.create_topic(name, self.assign(count, copies), configs)

    def assign(self, partitions: int, replication: int | None = None) -> list[tuple[int, ...]]:
        """Return the replicas of so many new partitions. The running nodes lead in turn."""
        copies = min(replication or self.configs.int("default.replication.factor"), len(self.node_ids))
        ids = [each for each in self.node_ids if each in self.running] or self.node_ids
        rest = [each for each in self.node_ids if each not in ids]
        start = secrets.randbelow(len(ids))
        rows = []
        for index in range(partitions):
            turned = [ids[(start + index + copy) % len(ids)] for copy in range(min(copies, len(ids)))]
            rows.append(tuple(turned + rest[: copies - len(turned)]))
        return rows

    def add_partitions(self, topic: Topic, replicas: Iterable[tuple[int, ...]]) -> None:
        """Add a partition to a topic for each tuple of replicas."""
        have = len(topic.partitions)
        self.topics.add_partitions(topic, replicas)
        for each in topic.partitions[have:]:
            self.elections.settle(each)
        self.metadata.partitions_added(topic.partitions[have:])

    def delete_topic(self, topic: Topic) -> None:
        """Delete a topic and its files."""
        self.metadata.topic_removed(topic)
        self.topics.remove(topic)
        for partition in topic.partitions:
            self.replicas.changed(partition)

    # --- configs

    def configure_topic(self, topic: Topic, changes: Mapping[str, str | None]) -> None:
        """Set configs of a topic; None removes one, so that the broker's default applies again."""
        kept = {name: text for name, text in topic.configs.own.items() if name not in changes}
        values = {name: text for name, text in changes.items() if text is not None}
        self.topics.reconfigure(topic, kept | values)
        self.mention_unread(TOPIC_CONFIGS, values)
        self.metadata.configured(ConfigResource.TOPIC, topic.name, changes)

    def configure_broker(self, name: str, changes: Mapping[str, str | None]) -> None:
        """Set configs of a broker ("" for all); None removes one. They apply to topics without a value of their own."""
        for key, text in changes.items():
            self.configs.set(key, text, name)
        self.mention_unread(BROKER_CONFIGS, changes)
        for topic in self.topics:
            self.topics.reconfigure(topic, topic.configs.own)
        self.metadata.configured(ConfigResource.BROKER, name, changes)

    def keep_min_in_sync(self) -> None:
        """Set min.insync.replicas for all brokers and remove it from single ones, if eligible leader replicas are
        on.
        """
        if not self.metadata.features.get(ELR):
            return
        dynamic = self.configs.dynamic
        if MIN_IN_SYNC not in dynamic.get("", {}):
            self.configure_broker("", {MIN_IN_SYNC: self.configs.text(MIN_IN_SYNC)})
        for name in [each for each, own in dynamic.items() if each and MIN_IN_SYNC in own]:
            self.configure_broker(name, {MIN_IN_SYNC: None})

    def mention_unread(self, known: Mapping[str, Config], names: Iterable[str]) -> None:
        """Log a line for each config without an effect here, the first time only."""
        for name in names:
            if name in known and not known[name].read:
                self.mention(f"config {name} has no effect here")

    def configure_resource(self, kind: int, name: str, changes: Mapping[str, str | None]) -> None:
        """Set configs of a group or a subscription to client metrics; None removes one."""
        kept = {key: text for key, text in self.resources.get((kind, name), {}).items() if key not in changes}
        kept |= {key: text for key, text in changes.items() if text is not None}
        if kept:
            self.resources[kind, name] = kept
        else:
            self.resources.pop((kind, name), None)
        self.metadata.configured(kind, name, changes)

    def group_config(self, group_id: str, name: str) -> str | None:
        """Return a group's own value of a config, None if it has none."""
        return self.resources.get((ConfigResource.GROUP, group_id), {}).get(name)

    def group_number(self, group_id: str, name: str) -> int:
        """Return a numeric config of a group: its own value, else that of the broker config `group.NAME`."""
        own = self.group_config(group_id, name)
        return int(own) if own is not None else self.configs.int(f"group.{name}")

    # --- leaders

    def move_leaders(self, moves: Mapping[Partition, int]) -> None:
        """Move the leadership of these partitions to other nodes, each with a new leader epoch."""
        for partition, node_id in moves.items():
            partition.leader = node_id
            partition.lagging -= {node_id}
            partition.epoch += 1
            partition.unsettled = True
        self.metadata.leaders_moved(moves)
        for partition in moves:
            self.replicas.changed(partition)

    def reassign(self, wanted: Mapping[Partition, tuple[int, ...]]) -> None:
        """Replace the replicas of partitions. If a leader is not among the new ones, the first of them becomes
        leader.
        """
        for partition, replicas in wanted.items():
            partition.replicas, partition.lagging, partition.elr = replicas, NOBODY, ()
        self.metadata.reassigned(wanted)
        self.move_leaders({each: to[0] for each, to in wanted.items() if each.leader not in to})
        self.settle(wanted)

    # --- nodes

    def node_stopped(self, node_id: int) -> None:
        """Fence a stopped node: other nodes lead its partitions."""
        self.running.discard(node_id)
        self.metadata.fenced(node_id, fenced=True)
        self.settle_all()

    def node_started(self, node_id: int) -> None:
        """Register a started node as unfenced: it joins the in-sync replicas of its partitions again."""
        self.running.add(node_id)
        self._unregistered.discard(node_id)
        self.metadata.fenced(node_id, fenced=False)
        self.settle_all()

    @property
    def registered(self) -> set[int]:
        """Return the ids of the registered nodes."""
        return set(self.node_ids) - self._unregistered

    def unregister(self, node_id: int) -> None:
        """Remove a node's registration until it starts again; a running node registers again at once."""
        self.metadata.unregistered(node_id)
        if node_id not in self.running:
            self._unregistered.add(node_id)

    def settle_all(self) -> None:
        """Update the in-sync replicas and leaders of all partitions."""
        self.settle(each for topic in self.topics for each in topic.partitions)

    def settle(self, partitions: Iterable[Partition]) -> None:
        """Update the in-sync replicas and leaders of partitions by the nodes that run."""
        leaders = {each: each.leader for each in partitions}
        changed = {each: leader for each, leader in leaders.items() if self.elections.settle(each)}
        if changed:
            self.metadata.settled(changed)
        for each in changed:
            self.replicas.changed(each)


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
