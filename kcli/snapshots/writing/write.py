"""Writes a metadata image as a snapshot, as Kafka's controller does.

The order is that of `MetadataImage.write`: features (metadata.version first), brokers, controllers, topics, configs,
quotas, producer ids, ACLs, SCRAM credentials, tokens. Record versions follow metadata.version (`MetadataVersion`).
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kcli.grammar import messages
from kcli.records.builder import build_batch, build_control_batch
from kcli.schemas.catalog import catalog
from kcli.schemas.field_codes import ControlType
from kcli.snapshots.image.image import MIGRATING, Image, Partition
from kcli.snapshots.reading.decoding import Decoder
from kcli.snapshots.reading.names import SnapshotId
from kcli.snapshots.rules.levels import FEATURE

MOST_BATCH = 8 << 20  # KafkaRaftClient.MAX_BATCH_SIZE_BYTES
RECORD_OVERHEAD = 30  # bytes; no record needs more around its value
MIGRATION_LEVELS = range(8, 22)  # 3.4 to 3.9 write a ZkMigrationStateRecord

OWNED_PRODUCER_IDS = 7  # up to 3.3 the record names the broker that the ids were assigned to

# (feature level, record version), highest first: the version is written from that level on.
BROKER_VERSIONS = ((30, 4), (17, 3), (8, 2), (7, 1))
PARTITION_VERSIONS = ((23, 2), (17, 1))

Value = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Written:
    """A written snapshot. size: bytes; records: number of metadata records; batches: number of all batches, also
    control batches.
    """

    id: SnapshotId
    size: int
    records: int
    batches: int


def version_at(level: int | None, versions: tuple[tuple[int, int], ...]) -> int:
    """Return the record version that Kafka writes at a level of metadata.version."""
    return next((version for least, version in versions if level is not None and level >= least), 0)


def image_records(image: Image, decoder: Decoder) -> Iterator[bytes]:
    """Yield the image's records, framed, in the order in which Kafka writes them."""
    level = image.level
    for name, feature in sorted(image.features.items(), key=lambda item: item[0] != FEATURE):
        yield decoder.write("FeatureLevelRecord", 0, {"name": name, "featureLevel": feature})
    if level in MIGRATION_LEVELS:
        yield decoder.write("ZkMigrationStateRecord", 0, {"zkMigrationState": image.zk_migration_state or 0})
    version = version_at(level, BROKER_VERSIONS)
    for _, broker in sorted(image.brokers.items()):
        yield decoder.write("RegisterBrokerRecord", version, fitting("RegisterBrokerRecord", version, broker))
    for _, controller in sorted(image.controllers.items()):
        yield decoder.write("RegisterControllerRecord", 0, controller)
    yield from topic_records(image, decoder, version_at(level, PARTITION_VERSIONS))
    yield from other_records(image, decoder)


def fitting(name: str, version: int, value: Value) -> Value:
    """Return the value without the fields that the version lacks."""
    fields = catalog().message(name).fields
    known = {field.name for field in fields if version in field.versions or version in field.tagged}
    return {key: each for key, each in value.items() if key in known or key.startswith("_unknown")}


def topic_records(image: Image, decoder: Decoder, version: int) -> Iterator[bytes]:
    """Yield each topic with its partitions. A partition that is still framed in this version keeps its bytes."""
    head = bytes((1, 3, version))
    for topic in image.topics.values():
        identity = topic.id_text
        yield decoder.write("TopicRecord", 0, {"name": topic.name, "topicId": identity})
        for number in sorted(topic.partitions):
            partition = topic.partitions[number]
            if isinstance(partition, bytes) and partition.startswith(head):
                yield partition
            else:
                value = partition_value(identity, number, image.decoded(partition), version)
                yield decoder.write("PartitionRecord", version, value)


def partition_value(topic: str, number: int, partition: Partition, version: int) -> Value:
    """Return the value of a PartitionRecord, with tagged fields only if they differ from their default."""
    value: Value = {"partitionId": number, "topicId": topic}
    for name in ("replicas", "isr", "removingReplicas", "addingReplicas", "leader", "leaderEpoch", "partitionEpoch"):
        value[name] = partition[name]
    if partition["leaderRecoveryState"]:
        value["leaderRecoveryState"] = partition["leaderRecoveryState"]
    if version >= 1:
        value["directories"] = partition["directories"] or [MIGRATING] * len(partition["replicas"])
    if version >= 2:
        value |= {name: partition[name] for name in ("eligibleLeaderReplicas", "lastKnownElr") if partition[name]}
    return value


def other_records(image: Image, decoder: Decoder) -> Iterator[bytes]:
    for (kind, resource), values in image.configs.items():
        for name, text in values.items():
            value = {"resourceType": kind, "resourceName": resource, "name": name, "value": text}
            yield decoder.write("ConfigRecord", 0, value)
    for entity, quotas in image.quotas.items():
        parts = [{"entityType": kind, "entityName": name} for kind, name in entity]
        for key, quota in quotas.items():
            value = {"entity": parts, "key": key, "value": quota, "remove": False}
            yield decoder.write("ClientQuotaRecord", 0, value)
    if image.next_producer_id >= 0:
        value = {"brokerId": -1, "brokerEpoch": -1, "nextProducerId": image.next_producer_id}
        if image.producer_ids and (image.level or 0) <= OWNED_PRODUCER_IDS:
            value |= {name: image.producer_ids[name] for name in ("brokerId", "brokerEpoch")}
        yield decoder.write("ProducerIdsRecord", 0, value)
    for acl in image.acls.values():
        yield decoder.write("AccessControlEntryRecord", 0, acl)
    for users in image.scram.values():
        for credential in users.values():
            yield decoder.write("UserScramCredentialRecord", 0, credential)
    for token in image.tokens.values():
        yield decoder.write("DelegationTokenRecord", 0, {"requester": token["owner"], **token})


def write_snapshot(
    image: Image, write: Callable[[bytes], object], *, now_ms: int, most_batch: int = MOST_BATCH
) -> Written:
    """Write the image; its snapshot's id is that of its provenance.

    now_ms: the timestamp of its batches; most_batch: the most bytes of one data batch (a larger record gets a batch of
    its own)
    """
    identity = SnapshotId(image.provenance.end_offset, image.provenance.epoch)
    writer = BatchWriter(write, identity.epoch, now_ms, most_batch)
    writer.control(header_records(image))
    for record in image_records(image, Decoder()):
        writer.add(record)
    records = writer.finish()
    writer.control([(ControlType.SNAPSHOT_FOOTER, messages.data("SnapshotFooterRecord", 0).write({"version": 0}))])
    return Written(identity, writer.size, records, writer.batches)


def header_records(image: Image) -> list[tuple[int, bytes]]:
    """Return the header and, if the quorum keeps its voters in the log (KIP-853), the records with these, as (type,
    value).
    """
    header = {"version": 0, "lastContainedLogTimestamp": image.provenance.timestamp}
    start = messages.data("SnapshotHeaderRecord", 0).write(header)
    records: list[tuple[int, bytes]] = [(ControlType.SNAPSHOT_HEADER, start)]
    if image.kraft_version:
        version = {"version": 0, "kRaftVersion": image.kraft_version}
        records.append((ControlType.KRAFT_VERSION, messages.data("KRaftVersionRecord", 0).write(version)))
    if image.kraft_version and image.voters is not None:
        voters = {"version": 0, "voters": image.voters}
        records.append((ControlType.KRAFT_VOTERS, messages.data("VotersRecord", 0).write(voters)))
    return records


class BatchWriter:
    """Gathers records into batches, with offsets from 0 on."""

    def __init__(self, write: Callable[[bytes], object], epoch: int, now_ms: int, most: int) -> None:
        self.write, self.epoch, self.now_ms, self.most = write, epoch, now_ms, most
        self.offset = self.size = self.batches = self.records = 0
        self.waiting: list[bytes] = []
        self.waiting_size = 0

    def add(self, record: bytes) -> None:
        needed = len(record) + RECORD_OVERHEAD
        if self.waiting and self.waiting_size + needed > self.most:
            self.finish()
        self.waiting.append(record)
        self.waiting_size += needed

    def finish(self) -> int:
        """Write the pending records. Returns the number of metadata records up to now."""
        if self.waiting:
            rows = [(self.now_ms, None, record, ()) for record in self.waiting]
            self.put(build_batch(rows, self.offset, partition_leader_epoch=self.epoch), len(rows))
            self.records += len(rows)
            self.waiting, self.waiting_size = [], 0
        return self.records

    def control(self, records: list[tuple[int, bytes]]) -> None:
        """Write a control batch of (type, value) records."""
        rows = [(struct.pack(">hh", 0, kind), value) for kind, value in records]
        batch = build_control_batch(rows, self.now_ms, self.offset, partition_leader_epoch=self.epoch)
        self.put(batch, len(rows))

    def put(self, batch: bytes, count: int) -> None:
        self.write(batch)
        self.size += len(batch)
        self.offset += count
        self.batches += 1
