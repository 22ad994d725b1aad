"""Applies the records of the metadata log to topics, partitions, leaders, configs, features and producer ids."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcli.broker.configs import TOPIC as TOPIC_CONFIGS
from kcli.broker.configs import Configs, parse
from kcli.broker.metadata.kraft_records import decode
from kcli.broker.metadata.topics import Topics
from kcli.broker.partition import Partition
from kcli.broker.resource_configs import TABLES
from kcli.broker.security.security_state import SecurityState
from kcli.errors import InputError, KcliError
from kcli.records.batches import Record, scan
from kcli.schemas.field_codes import ConfigResource
from kcli.topic_names import CLUSTER_METADATA, METADATA_ID

if TYPE_CHECKING:
    from kcli.records.damage import Damage

NAME, TOPIC_ID = CLUSTER_METADATA, METADATA_ID
LAST_PRODUCER_ID = 1 << 62


class MetadataReplay:
    """Applies records. next_producer_id: the first id of the next block. note: called with a line about each file with
    records that were left out.

    Records that can't be read or applied are left out.
    """

    def __init__(self, topics: Topics, configs: Configs, security: SecurityState, note: Callable[[str], None]) -> None:
        self.topics, self.configs, self.security, self.note = topics, configs, security, note
        self.next_producer_id = 0
        self.topic_configs: dict[str, dict[str, str]] = {}
        self.features: dict[str, int] = {}
        self.resource_configs: dict[tuple[int, str], dict[str, str]] = {}

    def replay_file(self, path: Path, data: bytes, start: int) -> None:
        """Apply the records of a segment or snapshot from the offset `start` on."""
        damages: list[Damage] = []
        left_out: list[str] = []
        for batch in scan(data, damages=damages):
            if batch.is_control or batch.last_offset < start:
                continue
            try:
                for record in batch.records():
                    if record.offset >= start:
                        self.replay_record(record, left_out)
            except InputError as error:
                left_out.append(f"batch at {batch.base_offset}: {error}")
        left_out += [f"bytes {each.start} to {each.end}: {each.reason}" for each in damages if not each.lawful]
        if left_out:
            count = f"{len(left_out)} records" if len(left_out) > 1 else "a record"
            self.note(f"{path}: left out: {count}, the first: {left_out[0]}")

    def replay_record(self, record: Record, left_out: list[str]) -> None:
        """Apply one record. If it can't be decoded or applied, append a line to `left_out`."""
        try:
            name, value = decode(record.value or b"")
            self.apply(name, value)
        except KcliError as error:
            left_out.append(f"record {record.offset}: {error}")

    def apply(self, name: str, value: Mapping[str, Any]) -> None:
        """Apply a record. Raises KcliError if it is invalid."""
        if name in APPLY:
            APPLY[name](self, value)
        elif name == "RemoveTopicRecord":
            self.topic_configs.pop(self.remove_topic(value), None)
        elif name == "ConfigRecord" and value["resourceType"] == ConfigResource.TOPIC:
            if value["value"] is not None and value["name"] in TOPIC_CONFIGS:
                parse(TOPIC_CONFIGS, value["name"], value["value"])
            configure(self.topic_configs.setdefault(value["resourceName"], {}), value)
        elif name == "ConfigRecord" and value["resourceType"] == ConfigResource.BROKER:
            self.configs.set(value["name"], value["value"], value["resourceName"])
        elif name == "ConfigRecord" and value["resourceType"] in TABLES:
            configure(self.resource_configs.setdefault((value["resourceType"], value["resourceName"]), {}), value)
        else:
            self.security.apply(name, value)

    def set_feature(self, value: Mapping[str, Any]) -> None:
        """Apply a FeatureLevelRecord."""
        self.features[value["name"]] = value["featureLevel"]

    def add_topic(self, value: Mapping[str, Any]) -> None:
        """Apply a TopicRecord. Raises InputError if its name is invalid or the topic exists."""
        topics = self.topics
        if not topics.by_name.keys().isdisjoint([value["name"]]) or topics.get(value["topicId"]) is not None:
            raise InputError(f"topic {value['name']!r} ({value['topicId']}) exists already")
        if value["name"] == NAME or value["topicId"] == TOPIC_ID:
            raise InputError("the metadata log is not a topic")
        topics.add(value["name"], value["topicId"], {}, ())

    def remove_topic(self, value: Mapping[str, Any]) -> str:
        """Apply a RemoveTopicRecord; return the topic's name, "" for an unknown topic. Its files were deleted with it,
        or are when its name is used again.
        """
        topics = self.topics
        topic = topics.by_id.pop(value["topicId"], None)
        if topic is None:
            return ""
        del topics.by_name[topic.name]
        return topic.name

    def add_partition(self, value: Mapping[str, Any]) -> None:
        """Apply a PartitionRecord. Raises InputError if its index leaves a gap, or it has no replica."""
        topic = self.topics.by_id.get(value["topicId"])
        if topic is not None and value["partitionId"] > len(topic.partitions):
            raise InputError(f"partition {value['partitionId']} of {topic.name}: {len(topic.partitions)} expected")
        if topic is not None and value["partitionId"] == len(topic.partitions):
            if not value["replicas"]:
                raise InputError(f"{topic.name}-{value['partitionId']} has no replica")
            self.topics.add_partitions(topic, [tuple(value["replicas"])])
            made = topic.partitions[-1]
            made.leader, made.epoch = value["leader"], value["leaderEpoch"]
            in_sync(made, value)

    def move(self, value: Mapping[str, Any]) -> None:
        """Apply a PartitionChangeRecord: changed replicas, in-sync replicas, leader."""
        topic = self.topics.by_id.get(value["topicId"])
        partition = topic.partition(value["partitionId"]) if topic is not None else None
        if partition is None:
            return
        if value.get("replicas"):
            partition.replicas = tuple(value["replicas"])
        in_sync(partition, value)
        if value.get("leader", -2) != -2:
            partition.leader = value["leader"]
            partition.epoch += 1

    def set_producer_id(self, value: Mapping[str, Any]) -> None:
        """Apply a ProducerIdsRecord. Raises InputError for an invalid id."""
        if not 0 <= value["nextProducerId"] < LAST_PRODUCER_ID:
            raise InputError(f"next producer id {value['nextProducerId']}: 0 or more expected")
        self.next_producer_id = value["nextProducerId"]

    def configure_topics(self) -> None:
        """Set the topics' configs, after all records were applied."""
        topics = self.topics
        for name, configs in self.topic_configs.items():
            if name in topics.by_name and configs:
                topics.reconfigure(topics.by_name[name], configs)


APPLY: Mapping[str, Callable[[MetadataReplay, Mapping[str, Any]], None]] = {
    "TopicRecord": MetadataReplay.add_topic,
    "PartitionRecord": MetadataReplay.add_partition,
    "PartitionChangeRecord": MetadataReplay.move,
    "ProducerIdsRecord": MetadataReplay.set_producer_id,
    "FeatureLevelRecord": MetadataReplay.set_feature,
}


def in_sync(partition: Partition, value: Mapping[str, Any]) -> None:
    """Set a partition's in-sync and eligible replicas, if the record has them."""
    if value.get("isr") is not None:
        partition.lagging = frozenset(partition.replicas) - frozenset(value["isr"])
    if value.get("eligibleLeaderReplicas") is not None:
        partition.elr = tuple(value["eligibleLeaderReplicas"])


def configure(own: dict[str, str], value: Mapping[str, Any]) -> None:
    """Set a config by a ConfigRecord, or remove it."""
    if value["value"] is None:
        own.pop(value["name"], None)
    else:
        own[value["name"]] = value["value"]
