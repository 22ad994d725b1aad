"""The metadata image: a controller's state after a snapshot and the log records after it.

Values are Kafka's records, decoded, with Kafka's field names. Partitions are kept as bytes and decoded when they are
read, because a million of them take a few hundred MB even so, and most questions need only a few.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kcli.core.snapshots.snapshot import count_facts, partition_facts
from kcli.counting import counted
from kcli.schemas.definition import ZERO_UUID
from kcli.snapshots.image.partitions import FACTS, facts_of, id_text
from kcli.snapshots.rules.levels import FEATURE, level_name

Value = dict[str, Any]
Partition = Value

MIGRATING = ZERO_UUID  # Kafka's DirectoryId: not yet known, as before JBOD support (KIP-858)

Summary = tuple[int, int, tuple[int, ...], tuple[int, ...]]  # facts as bits of partitions.FACTS, leader, replicas, isr
QuotaEntity = tuple[tuple[str, str | None], ...]


@dataclass(slots=True)
class Provenance:
    """The last record that an image includes.

    end_offset   the first log offset that is not in it
    epoch        the epoch of the last record that is
    timestamp    ms; of that record's batch, or the header's lastContainedLogTimestamp
    """

    end_offset: int = 0
    epoch: int = 0
    timestamp: int = -1


def quota_entity(parts: Iterable[Mapping[str, Any]]) -> QuotaEntity:
    """Return the entity of a quota from its record's parts. If a type is named twice, the last name counts."""
    return tuple(sorted({each["entityType"]: each["entityName"] for each in parts}.items()))


@dataclass(slots=True, repr=False)
class Topic:
    """A topic of an image.

    partitions: {partition id: PartitionRecord}, decoded, or still framed as bytes (`Image.partitions` decodes them)
    """

    id: bytes
    name: str
    partitions: dict[int, bytes | Partition] = field(default_factory=dict)

    def __repr__(self) -> str:
        from kcli.notebook import quoted

        return f"<Topic {quoted(self.name)}: {counted(len(self.partitions), 'partition')}>"

    @property
    def id_text(self) -> str:
        """The id as Kafka's base64 text."""
        return id_text(self.id)


@dataclass(slots=True, repr=False)
class Image:
    """features      {name: level}, metadata.version among them
    brokers       {id: RegisterBrokerRecord}; controllers: {id: RegisterControllerRecord}
    topics        {topic id as bytes: Topic}
    configs       {(resource type, resource name): {name: value}}
    quotas        {((entity type, name or None), ...) sorted by type: {key: value}}
    scram         {mechanism: {user: UserScramCredentialRecord}}
    acls          {id: AccessControlEntryRecord}; tokens: {token id: DelegationTokenRecord}
    next_producer_id   -1: none was ever assigned
    kraft_version, voters   from the control records (KIP-853); None where there are none
    zk_migration_state      None, or the number in ZkMigrationStateRecord
    file_provenance   the snapshot's last metadata record by its place in the file, as kafka-metadata-shell shows it
    former_names  {name: topic id} of ids that have another name now; Kafka still finds them by the former name
    unread        {(apiKey, version): count} of records that could not be applied
    """

    features: dict[str, int] = field(default_factory=dict)
    brokers: dict[int, Value] = field(default_factory=dict)
    controllers: dict[int, Value] = field(default_factory=dict)
    topics: dict[bytes, Topic] = field(default_factory=dict)
    configs: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)
    quotas: dict[QuotaEntity, dict[str, float]] = field(default_factory=dict)
    scram: dict[int, dict[str, Value]] = field(default_factory=dict)
    acls: dict[str, Value] = field(default_factory=dict)
    tokens: dict[str, Value] = field(default_factory=dict)
    next_producer_id: int = -1
    producer_ids: Value | None = None
    kraft_version: int | None = None
    voters: list[Value] | None = None
    zk_migration_state: int | None = None
    provenance: Provenance = field(default_factory=Provenance)
    file_provenance: Provenance | None = None
    unread: dict[tuple[int, int], int] = field(default_factory=dict)
    former_names: dict[str, bytes] = field(default_factory=dict, compare=False)
    decode: Callable[[bytes], Partition] | None = None

    def __repr__(self) -> str:
        from kcli.notebook import shortened

        counts = (f"{name} {value}" for name, value in self.counts().items() if value)
        return f"<Image up to offset {self.provenance.end_offset}: {shortened(', '.join(counts))}>"

    def _repr_html_(self) -> str:
        """Show in notebooks each kind of object with its count."""
        from kcli.notebook import card

        return card(f"Metadata up to offset {self.provenance.end_offset}", self.counts())

    def counts(self) -> dict[str, str | None]:
        """Return {kind of objects: count as text}, for display; kinds without objects are left out."""
        sizes = {
            "brokers": len(self.brokers),
            "controllers": len(self.controllers),
            "topics": len(self.topics),
            "partitions": self.partition_count(),
            "configs": len(self.configs),
            "quotas": len(self.quotas),
            "ACLs": len(self.acls),
            "delegation tokens": len(self.tokens),
        }
        counted: dict[str, str | None] = {"metadata.version": self.metadata_version}
        return counted | {name: f"{size:,}" for name, size in sizes.items() if size}

    @property
    def level(self) -> int | None:
        """The feature level of metadata.version; None if the log sets none, as before 3.3."""
        return self.features.get(FEATURE)

    @property
    def metadata_version(self) -> str | None:
        """The release of `level`, "4.0-IV3"; None without a level."""
        return level_name(self.level) if self.level is not None else None

    @property
    def shell_provenance(self) -> Provenance:
        """The provenance that kafka-metadata-shell shows: for a snapshot alone its last offset is the place in the
        file, after log records the log's offset.
        """
        return self.file_provenance or self.provenance

    def topic_named(self, name: str) -> Topic | None:
        """Return the topic of that name, or None; the last one if a damaged snapshot has two."""
        found = None
        for topic in self.topics.values():
            if topic.name == name:
                found = topic
        return found

    def cleared(self, name: str) -> list[Topic]:
        """Return the topics that a ClearElrRecord refers to: the one with this name now or formerly, or all for ""."""
        former = self.former_names.get(name)
        return [topic for topic in self.topics.values() if not name or topic.name == name or topic.id == former]

    def sorted_topics(self) -> list[Topic]:
        """Return all topics by name."""
        return sorted(self.topics.values(), key=lambda topic: topic.name)

    def partition(self, topic: Topic, number: int) -> Partition:
        """Return one partition's PartitionRecord with every field of the newest version. Raises KeyError if there is
        none.
        """
        return self.decoded(topic.partitions[number])

    def partitions(self, topic: Topic) -> Iterator[tuple[int, Partition]]:
        """Yield (number, PartitionRecord) of every partition of a topic, by number."""
        for number in sorted(topic.partitions):
            yield number, self.decoded(topic.partitions[number])

    def every_partition(self) -> Iterator[tuple[Topic, int, Partition]]:
        """Yield (topic, partition number, PartitionRecord) of every partition, by topic name and number."""
        for topic in self.sorted_topics():
            for number, partition in self.partitions(topic):
                yield topic, number, partition

    def decoded(self, partition: bytes | Partition) -> Partition:
        """Return the PartitionRecord with every field of the newest version."""
        if isinstance(partition, dict):
            return partition
        assert self.decode is not None, "an image with undecoded partitions has its decoder"
        return normal_partition(self.decode(partition))

    def summary(self, partition: bytes | Partition) -> Summary:
        """Return a partition's facts (bits of FACTS), leader, replicas and ISR, without decoding the whole record if
        possible.
        """
        if isinstance(partition, bytes) and (fast := partition_facts(partition)) is not None:
            return fast
        value = self.decoded(partition)
        return facts_of(value), value["leader"], tuple(value["replicas"]), tuple(value["isr"])

    def summaries(self) -> Iterator[tuple[Topic, int, Summary]]:
        """Yield every partition's summary, by topic name and number."""
        for topic in self.sorted_topics():
            for number in sorted(topic.partitions):
                yield topic, number, self.summary(topic.partitions[number])

    def count_facts(self) -> dict[str, int]:
        """Return {key of partitions.FACTS: number of partitions}."""
        totals = [0] * len(FACTS)
        for topic in self.topics.values():
            for partition in count_facts(topic.partitions, totals):
                bits = facts_of(self.decoded(partition))
                for index, bit in enumerate(FACTS.values()):
                    totals[index] += bool(bits & bit)
        return dict(zip(FACTS, totals, strict=True))

    def partition_count(self) -> int:
        """Return the number of partitions of all topics."""
        return sum(len(topic.partitions) for topic in self.topics.values())


def normal_partition(record: Value) -> Partition:
    """Return a PartitionRecord of any version with the fields of the newest, as in Kafka's PartitionRegistration."""
    directories = record.get("directories") or [MIGRATING] * len(record["replicas"])
    return {
        "replicas": list(record["replicas"]),
        "directories": list(directories),
        "isr": list(record["isr"]),
        "removingReplicas": list(record["removingReplicas"] or ()),
        "addingReplicas": list(record["addingReplicas"] or ()),
        "eligibleLeaderReplicas": list(record.get("eligibleLeaderReplicas") or ()),
        "lastKnownElr": list(record.get("lastKnownElr") or ()),
        "leader": record["leader"],
        "leaderRecoveryState": record.get("leaderRecoveryState", 0),
        "leaderEpoch": record["leaderEpoch"],
        "partitionEpoch": record["partitionEpoch"],
    }
