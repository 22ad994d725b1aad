"""The cluster's metadata as a log of records, in `__cluster_metadata-0` and in KRaft's own form (KIP-500).

Topics, partitions, configs, leaders and producer ids are what the records say; a restart replays them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from kcli.broker.configs import TOPIC as TOPIC_CONFIGS
from kcli.broker.configs import Configs, parse
from kcli.broker.datadir import DataDir
from kcli.broker.metadata_snapshots import MetadataSnapshots
from kcli.broker.partition import Partition, Topic
from kcli.broker.replicas import Replicas
from kcli.broker.storage.incoming import read_incoming
from kcli.broker.storage.log import LogSettings
from kcli.broker.storage.recovery import open_log
from kcli.broker.topics import new_topic_id
from kcli.core.codec.varints import write_unsigned
from kcli.errors import InputError, KcliError
from kcli.grammar import messages
from kcli.records.batches import Record, scan
from kcli.records.builder import build_batch
from kcli.records.damage import Damage
from kcli.schemas.catalog import catalog

__all__ = ["BROKER", "FOLDER", "TOPIC", "MetadataLog"]

NAME, TOPIC_ID = "__cluster_metadata", "AAAAAAAAAAAAAAAAAAAAAQ"
FOLDER = f"{NAME}-0"
FRAME_VERSION = 1
# metadata.version 4.0-IV3: every record type used here is in it.
METADATA_VERSION = 25
RECORDS_IN_BATCH = 5_000
LONGEST = 64 << 20
TOPIC, BROKER = 2, 4
PRODUCER_ID_BLOCK = 1000
LAST_EPOCH, LAST_PRODUCER_ID = (1 << 31) - 1, 1 << 62

# Name, version, value.
Row = tuple[str, int, dict[str, Any]]


class Registered(Protocol):
    """A node, and where it listens."""

    @property
    def id(self) -> int: ...
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...


class MetadataLog:
    """next_producer_id: the first id of the next block; brokers take a block at a time (KIP-730)."""

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
            # The log was lost behind its snapshot: it goes on where that one ends (as KafkaRaftLog truncates to it).
            self.log.begin_at(latest.end_offset)
        topic = Topic(topics, NAME, TOPIC_ID, configs.of_topic({"cleanup.policy": "snapshot"}))
        self.partition = topics.hide(topic, self.log, controller_id, self.epoch)
        self.next_producer_id = 0
        self._ids: Iterator[int] = iter(())
        self._keys = {name: key for key, name in catalog(None).records("metadata").items()}
        self._names = {key: name for name, key in self._keys.items()}

    # --- writing

    def write(self, records: Iterable[Row]) -> None:
        """Append (name, version, value) records."""
        rows = list(records)
        now = self.replicas.now()
        for start in range(0, len(rows), RECORDS_IN_BATCH):
            part = [(now, None, self.encode(*each), ()) for each in rows[start : start + RECORDS_IN_BATCH]]
            batch = build_batch(part)
            self.log.append(read_incoming(batch, LONGEST), self.epoch)
            self.snapshots.written(len(part), len(batch))
            self.replicas.changed(self.partition)

    def encode(self, name: str, version: int, value: dict[str, Any]) -> bytes:
        """A record's value: the frame's version, the record's type and version, the record."""
        head = bytes([FRAME_VERSION]) + write_unsigned(self._keys[name]) + write_unsigned(version)
        return head + messages.data(name, version).write(value)

    def register(self, nodes: Iterable[Registered]) -> None:
        """Every node, with where it listens; the first time also the feature level."""
        records: list[Row] = []
        if self.log.end_offset == 0:
            records.append(("FeatureLevelRecord", 0, {"name": "metadata.version", "featureLevel": METADATA_VERSION}))
        for node in nodes:
            endpoint = {"name": "PLAINTEXT", "host": node.host, "port": node.port, "securityProtocol": 0}
            value = {"brokerId": node.id, "incarnationId": new_topic_id(), "brokerEpoch": self.log.end_offset}
            records.append(
                ("RegisterBrokerRecord", 1, value | {"endPoints": [endpoint], "rack": None, "fenced": False})
            )
        self.write(records)
        self.log.epochs.save()

    def topic_created(self, topic: Topic) -> None:
        """Write a new topic: TopicRecord, its PartitionRecords and ConfigRecords."""
        records: list[Row] = [("TopicRecord", 0, {"name": topic.name, "topicId": topic.id})]
        records += self.partition_records(topic.partitions)
        records += self.config_records(TOPIC, topic.name, topic.configs.own)
        self.write(records)

    def partitions_added(self, partitions: Iterable[Partition]) -> None:
        """Write the PartitionRecords of new partitions."""
        self.write(self.partition_records(partitions))

    @staticmethod
    def partition_records(partitions: Iterable[Partition]) -> list[Row]:
        """PartitionRecords of partitions as they are."""
        return [
            (
                "PartitionRecord",
                0,
                {
                    "partitionId": each.index,
                    "topicId": each.topic.id,
                    "replicas": list(each.replicas),
                    "isr": list(each.replicas),
                    "leader": each.leader,
                    "leaderEpoch": each.epoch,
                    "partitionEpoch": each.epoch,
                },
            )
            for each in partitions
        ]

    @staticmethod
    def config_records(kind: int, name: str, configs: Mapping[str, str | None]) -> list[Row]:
        """ConfigRecords of a resource. kind: TOPIC or BROKER."""
        row = {"resourceType": kind, "resourceName": name}
        return [("ConfigRecord", 0, row | {"name": key, "value": value}) for key, value in configs.items()]

    def configured(self, kind: int, name: str, configs: Mapping[str, str | None]) -> None:
        """Configs set, or with None taken back."""
        self.write(self.config_records(kind, name, configs))

    def topic_removed(self, topic: Topic) -> None:
        """Write a RemoveTopicRecord."""
        self.write([("RemoveTopicRecord", 0, {"topicId": topic.id})])

    def leaders_moved(self, partitions: Iterable[Partition]) -> None:
        """Write PartitionChangeRecords with the leaders of partitions."""
        self.write(("PartitionChangeRecord", 0, place_of(each) | {"leader": each.leader}) for each in partitions)

    def reassigned(self, partitions: Iterable[Partition]) -> None:
        """Write PartitionChangeRecords with the replicas of partitions."""
        now = ((each, list(each.replicas)) for each in partitions)
        self.write(("PartitionChangeRecord", 0, place_of(each) | {"isr": to, "replicas": to}) for each, to in now)

    def new_producer_id(self) -> int:
        """A producer id that was never given out."""
        taken = next(self._ids, None)
        if taken is None:
            first = self.next_producer_id
            self.next_producer_id = first + PRODUCER_ID_BLOCK
            self._ids = iter(range(first, self.next_producer_id))
            value = {"brokerId": self.controller_id, "brokerEpoch": 0, "nextProducerId": self.next_producer_id}
            self.write([("ProducerIdsRecord", 0, value)])
            taken = next(self._ids)
        return taken

    # --- reading

    def replay(self) -> None:
        """Apply all records again. Those that can't be read or applied are left out, with a line for each file."""
        own: dict[str, dict[str, str]] = {}
        latest = self.snapshots.latest
        if latest is not None:
            path = self.snapshots.path(latest)
            self.replay_file(path, path.read_bytes(), 0, own)
        for segment in self.log.segments:
            data = segment.slice(0, segment.size).read()
            self.replay_file(segment.path, data, latest.end_offset if latest is not None else 0, own)
        topics = self.topics
        for name, configs in own.items():
            if name in topics.by_name and configs:
                topics.reconfigure(topics.by_name[name], configs)

    def replay_file(self, path: Path, data: bytes, start: int, own: dict[str, dict[str, str]]) -> None:
        """The records of a segment or snapshot, from an offset on; own: the configs of topics."""
        damages: list[Damage] = []
        left_out: list[str] = []
        for batch in scan(data, damages=damages):
            if batch.is_control or batch.last_offset < start:
                continue
            try:
                for record in batch.records():
                    if record.offset >= start:
                        self.replay_record(record, own, left_out)
            except InputError as error:
                left_out.append(f"batch at {batch.base_offset}: {error}")
        left_out += [f"bytes {each.start} to {each.end}: {each.reason}" for each in damages if not each.lawful]
        if left_out:
            count = f"{len(left_out)} records" if len(left_out) > 1 else "a record"
            self.note(f"{path}: left out: {count}, the first: {left_out[0]}")

    def replay_record(self, record: Record, own: dict[str, dict[str, str]], left_out: list[str]) -> None:
        """Apply one record; left_out gets a line when it can't be read or applied."""
        try:
            name, value = self.decode(record.value or b"")
            self.apply(name, value, own)
        except KcliError as error:
            left_out.append(f"record {record.offset}: {error}")

    def apply(self, name: str, value: Mapping[str, Any], own: dict[str, dict[str, str]]) -> None:
        """Apply a record. KcliError: it makes no sense."""
        if name in APPLY:
            APPLY[name](self, value)
        elif name == "RemoveTopicRecord":
            own.pop(self.remove_topic(value), None)
        elif name == "ConfigRecord" and value["resourceType"] == TOPIC:
            if value["value"] is not None and value["name"] in TOPIC_CONFIGS:
                parse(TOPIC_CONFIGS, value["name"], value["value"])
            configure(own.setdefault(value["resourceName"], {}), value)
        elif name == "ConfigRecord" and value["resourceType"] == BROKER:
            self.configs.set(value["name"], value["value"])

    def decode(self, data: bytes) -> tuple[str, dict[str, Any]]:
        """A record's name and value. InputError: it is none of a metadata log."""
        if len(data) < 3 or data[0] != FRAME_VERSION or data[1] not in self._names or data[1] > 0x7F:
            raise InputError("no metadata record")
        name = self._names[data[1]]
        return name, messages.data(name, data[2]).read(data, 3)[0]

    def add_topic(self, value: Mapping[str, Any]) -> None:
        """A topic. InputError: its name is unlawful, or it is there already."""
        topics = self.topics
        if not topics.by_name.keys().isdisjoint([value["name"]]) or topics.get(value["topicId"]) is not None:
            raise InputError(f"topic {value['name']!r} ({value['topicId']}) is there already")
        if value["name"] == NAME or value["topicId"] == TOPIC_ID:
            raise InputError("the metadata log is not a topic")
        topics.add(value["name"], value["topicId"], {}, ())

    def remove_topic(self, value: Mapping[str, Any]) -> str:
        """Forget a topic; its name. Its files went when it was deleted, or go when its name is used again."""
        topics = self.topics
        topic = topics.by_id.pop(value["topicId"], None)
        if topic is None:
            return ""
        del topics.by_name[topic.name]
        return topic.name

    def add_partition(self, value: Mapping[str, Any]) -> None:
        """A PartitionRecord. InputError: it leaves a gap, or has no replica."""
        topic = self.topics.by_id.get(value["topicId"])
        if topic is not None and value["partitionId"] > len(topic.partitions):
            raise InputError(f"partition {value['partitionId']} of {topic.name}: {len(topic.partitions)} expected")
        if topic is not None and value["partitionId"] == len(topic.partitions):
            if not value["replicas"]:
                raise InputError(f"{topic.name}-{value['partitionId']} has no replica")
            self.topics.add_partitions(topic, [tuple(value["replicas"])])
            made = topic.partitions[-1]
            made.leader, made.epoch = value["leader"], value["leaderEpoch"]

    def move(self, value: Mapping[str, Any]) -> None:
        """A PartitionChangeRecord: other replicas, another leader."""
        topic = self.topics.by_id.get(value["topicId"])
        partition = topic.partition(value["partitionId"]) if topic is not None else None
        if partition is None:
            return
        if value.get("replicas"):
            partition.replicas = tuple(value["replicas"])
        if value.get("leader", -2) != -2:
            partition.leader = value["leader"]
            partition.epoch += 1

    def set_producer_id(self, value: Mapping[str, Any]) -> None:
        """A ProducerIdsRecord. InputError: no such id."""
        if not 0 <= value["nextProducerId"] < LAST_PRODUCER_ID:
            raise InputError(f"next producer id {value['nextProducerId']}: 0 or more expected")
        self.next_producer_id = value["nextProducerId"]


def place_of(partition: Partition) -> dict[str, Any]:
    return {"partitionId": partition.index, "topicId": partition.topic.id}


APPLY: Mapping[str, Callable[[MetadataLog, Mapping[str, Any]], None]] = {
    "TopicRecord": MetadataLog.add_topic,
    "PartitionRecord": MetadataLog.add_partition,
    "PartitionChangeRecord": MetadataLog.move,
    "ProducerIdsRecord": MetadataLog.set_producer_id,
}


def configure(own: dict[str, str], value: Mapping[str, Any]) -> None:
    if value["value"] is None:
        own.pop(value["name"], None)
    else:
        own[value["name"]] = value["value"]
