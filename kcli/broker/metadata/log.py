"""The cluster's metadata as a log of records in KRaft's format, `__cluster_metadata-0` (KIP-500).

A restart replays the records, which have topics, partitions, configs, leaders, producer ids and security settings.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from kcli.broker.configs import Configs
from kcli.broker.datadir import DataDir
from kcli.broker.metadata.features import INITIAL
from kcli.broker.metadata.kraft_records import (
    Row,
    config_records,
    encode,
    feature_records,
    partition_records,
    place_of,
    settled_record,
)
from kcli.broker.metadata.log_replay import NAME, TOPIC_ID, MetadataReplay
from kcli.broker.metadata.replicas import Replicas
from kcli.broker.metadata.snapshots import MetadataSnapshots
from kcli.broker.metadata.topics import new_topic_id
from kcli.broker.net.protocols import ListenerOptions
from kcli.broker.partition import Partition, Topic
from kcli.broker.security.security_state import SecurityState
from kcli.broker.storage.incoming import read_incoming
from kcli.broker.storage.log import LogSettings
from kcli.broker.storage.recovery import open_log
from kcli.records.builder import build_batch
from kcli.schemas.field_codes import ConfigResource

FOLDER = f"{NAME}-0"
RECORDS_IN_BATCH = 5_000
LONGEST = 64 << 20
PRODUCER_ID_BLOCK = 1000
LAST_EPOCH = (1 << 31) - 1


class Registered(Protocol):
    """A node with its host and listeners."""

    host: str
    rack: str | None
    listeners: dict[str, ListenerOptions]

    @property
    def id(self) -> int: ...


class MetadataLog:
    """The metadata log. next_producer_id: the first id of the next block of producer ids (KIP-730); features: the
    finalized levels.
    """

    def __init__(
        self, controller_id: int, directory: DataDir, configs: Configs, replicas: Replicas, note: Callable[[str], None]
    ) -> None:
        self.controller_id, self.configs, self.replicas, self.note = controller_id, configs, replicas, note
        self.topics = topics = replicas.topics
        self.folder = directory.path / FOLDER
        self.log = open_log(self.folder, topics.pool, LogSettings(), clean=directory.clean, note=note)
        topics.unopened.discard(FOLDER)
        self.snapshots = MetadataSnapshots(self.folder, self.log, configs, now=replicas.now, note=note)
        latest = self.snapshots.latest
        self.epoch = min(max(self.log.epochs.latest, latest.epoch if latest is not None else 0, 0) + 1, LAST_EPOCH)
        if latest is not None and self.log.end_offset < latest.end_offset:
            # The end of the log was lost. It continues at the end of its snapshot, as in KafkaRaftLog.
            self.log.begin_at(latest.end_offset)
        topic = Topic(topics, NAME, TOPIC_ID, configs.of_topic({"cleanup.policy": "snapshot"}))
        self.partition = topics.hide(topic, self.log, controller_id, self.epoch)
        self.next_producer_id = 0
        self.features: dict[str, int] = {}
        self.security = SecurityState()
        self.resource_configs: dict[tuple[int, str], dict[str, str]] = {}
        self._ids: Iterator[int] = iter(())

    def write(self, records: Iterable[Row]) -> None:
        """Append records, and take a snapshot if one is due."""
        rows = list(records)
        now = self.replicas.now()
        for start in range(0, len(rows), RECORDS_IN_BATCH):
            part = [(now, None, encode(*each), ()) for each in rows[start : start + RECORDS_IN_BATCH]]
            batch = build_batch(part)
            self.log.append(read_incoming(batch, LONGEST), self.epoch)
            self.snapshots.written(len(part), len(batch))
            self.replicas.changed(self.partition)

    def register(self, nodes: Iterable[Registered]) -> None:
        """Write the registration of every node with its listeners; in an empty log first the feature levels."""
        records: list[Row] = []
        if self.log.end_offset == 0:
            records += feature_records(INITIAL)
            self.features.update(INITIAL)
        for node in nodes:
            endpoints = [
                {"name": each.name, "host": node.host, "port": each.port, "securityProtocol": each.protocol}
                for each in node.listeners.values()
            ]
            value = {"brokerId": node.id, "incarnationId": new_topic_id(), "brokerEpoch": self.log.end_offset}
            records.append(
                ("RegisterBrokerRecord", 1, value | {"endPoints": endpoints, "rack": node.rack, "fenced": False})
            )
        self.write(records)
        self.log.epochs.save()

    def topic_created(self, topic: Topic) -> None:
        """Write a new topic: TopicRecord, its PartitionRecords and ConfigRecords."""
        records: list[Row] = [("TopicRecord", 0, {"name": topic.name, "topicId": topic.id})]
        records += partition_records(topic.partitions)
        records += config_records(ConfigResource.TOPIC, topic.name, topic.configs.own)
        self.write(records)

    def partitions_added(self, partitions: Iterable[Partition]) -> None:
        """Write the PartitionRecords of new partitions."""
        self.write(partition_records(partitions))

    def configured(self, kind: int, name: str, configs: Mapping[str, str | None]) -> None:
        """Write the changed configs of a resource; None for deleted ones."""
        self.write(config_records(kind, name, configs))

    def topic_removed(self, topic: Topic) -> None:
        """Write a RemoveTopicRecord."""
        self.write([("RemoveTopicRecord", 0, {"topicId": topic.id})])

    def leaders_moved(self, partitions: Iterable[Partition]) -> None:
        """Write PartitionChangeRecords with the leaders of partitions and their in-sync replicas."""
        self.write(
            ("PartitionChangeRecord", 0, place_of(each) | {"leader": each.leader, "isr": list(each.isr)})
            for each in partitions
        )

    def finalize(self, levels: Mapping[str, int]) -> None:
        """Write and apply new levels of features; 0 turns one off."""
        self.features.update(levels)
        self.write(feature_records(levels))

    def secure(self, records: Iterable[Row]) -> None:
        """Write changes of credentials, ACLs or quotas, and apply them."""
        rows = list(records)
        for name, _, value in rows:
            self.security.apply(name, value)
        if rows:
            self.write(rows)

    def unregistered(self, node_id: int) -> None:
        """Write an UnregisterBrokerRecord."""
        self.write([("UnregisterBrokerRecord", 0, {"brokerId": node_id, "brokerEpoch": 0})])

    def settled(self, partitions: Mapping[Partition, int]) -> None:
        """Write PartitionChangeRecords with the in-sync replicas of partitions, and the leaders that have changed.
        partitions: with their former leaders.
        """
        self.write(settled_record(each, moved=each.leader != before) for each, before in partitions.items())

    def fenced(self, node_id: int, *, fenced: bool) -> None:
        """Write a BrokerRegistrationChangeRecord that fences a stopped node, or unfences a started one."""
        value = {"brokerId": node_id, "brokerEpoch": 0, "fenced": 1 if fenced else -1}
        self.write([("BrokerRegistrationChangeRecord", 0, value)])

    def reassigned(self, partitions: Iterable[Partition]) -> None:
        """Write PartitionChangeRecords with the replicas of partitions."""
        now = ((each, list(each.replicas)) for each in partitions)
        self.write(("PartitionChangeRecord", 0, place_of(each) | {"isr": to, "replicas": to}) for each, to in now)

    def new_producer_id(self) -> int:
        """Return a new producer id; write a ProducerIdsRecord when a block is used up."""
        producer_id = next(self._ids, None)
        if producer_id is None:
            first = self.next_producer_id
            self.next_producer_id = first + PRODUCER_ID_BLOCK
            self._ids = iter(range(first, self.next_producer_id))
            value = {"brokerId": self.controller_id, "brokerEpoch": 0, "nextProducerId": self.next_producer_id}
            self.write([("ProducerIdsRecord", 0, value)])
            producer_id = next(self._ids)
        return producer_id

    def replay(self) -> None:
        """Apply the latest snapshot and the records after it."""
        replay = MetadataReplay(self.topics, self.configs, self.security, self.note)
        latest = self.snapshots.latest
        if latest is not None:
            path = self.snapshots.path(latest)
            replay.replay_file(path, path.read_bytes(), 0)
        for segment in self.log.segments:
            data = segment.slice(0, segment.size).read()
            replay.replay_file(segment.path, data, latest.end_offset if latest is not None else 0)
        replay.configure_topics()
        self.next_producer_id = replay.next_producer_id
        self.resource_configs.update(replay.resource_configs)
        self.features.update(replay.features)
