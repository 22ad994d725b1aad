"""Records of the metadata log in KRaft's format (KIP-631), and those that the broker writes for its changes."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from kcli.broker.partition import Partition
from kcli.core.codec.varints import write_unsigned
from kcli.errors import InputError
from kcli.grammar import messages
from kcli.schemas.catalog import catalog
from kcli.schemas.field_codes import FRAME_VERSION

# Name, version, value.
Row = tuple[str, int, dict[str, Any]]


@cache
def keys() -> dict[str, int]:
    """Return the API keys of metadata records by name."""
    return {name: key for key, name in catalog(None).records("metadata").items()}


def encode(name: str, version: int, value: dict[str, Any]) -> bytes:
    """Encode a record's value: the frame version, the record's API key and version, and its fields."""
    head = bytes([FRAME_VERSION]) + write_unsigned(keys()[name]) + write_unsigned(version)
    return head + messages.data(name, version).write(value)


def decode(data: bytes) -> tuple[str, dict[str, Any]]:
    """Decode a record's value into its name and fields. Raises InputError if it is no metadata record."""
    names = catalog(None).records("metadata")
    if len(data) < 3 or data[0] != FRAME_VERSION or data[1] not in names or data[1] > 0x7F:
        raise InputError("no metadata record")
    name = names[data[1]]
    return name, messages.data(name, data[2]).read(data, 3)[0]


def partition_records(partitions: Iterable[Partition]) -> list[Row]:
    """Make PartitionRecords of the partitions' current state."""
    return [
        (
            "PartitionRecord",
            2 if each.elr else 0,
            {
                "partitionId": each.index,
                "topicId": each.topic.id,
                "replicas": list(each.replicas),
                "isr": list(each.isr),
                "leader": each.leader,
                "leaderEpoch": each.epoch,
                "partitionEpoch": each.epoch,
                **({"eligibleLeaderReplicas": list(each.elr), "directories": []} if each.elr else {}),
            },
        )
        for each in partitions
    ]


def settled_record(partition: Partition, *, moved: bool) -> Row:
    """Make a PartitionChangeRecord of a partition's in-sync and eligible replicas. moved: its leader has changed."""
    value = place_of(partition) | {"isr": list(partition.isr), "eligibleLeaderReplicas": list(partition.elr)}
    return ("PartitionChangeRecord", 2, value | ({"leader": partition.leader} if moved else {}))


def config_records(kind: int, name: str, configs: Mapping[str, str | None]) -> list[Row]:
    """Make ConfigRecords of a resource. kind: its type, as in ConfigResource."""
    row = {"resourceType": kind, "resourceName": name}
    return [("ConfigRecord", 0, row | {"name": key, "value": value}) for key, value in configs.items()]


def feature_records(levels: Mapping[str, int]) -> list[Row]:
    """Make FeatureLevelRecords of features, by name."""
    return [("FeatureLevelRecord", 0, {"name": name, "featureLevel": level}) for name, level in levels.items()]


def place_of(partition: Partition) -> dict[str, Any]:
    """Return the fields that name a partition in a record."""
    return {"partitionId": partition.index, "topicId": partition.topic.id}
