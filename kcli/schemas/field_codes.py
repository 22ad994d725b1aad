"""Numbers in fields of Kafka's messages, named as in Kafka's enums; plain ints, as every start loads this."""

from __future__ import annotations

API_KEYS = 128  # API keys that Kafka has are below
FRAME_VERSION = 1  # of the values of metadata records (MetadataRecordSerde)
NO_LEADER = NO_PRODUCER = -1  # of a partition, of a batch
# Codecs by their numbers, as in the lowest three bits of a batch's attributes (CompressionType).
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TIMESTAMP_TYPES = ("NoTimestampType", "CreateTime", "LogAppendTime")  # from -1 on (TimestampType)


class ConfigResource:
    """The types of what has configs (ConfigResource.Type)."""

    UNKNOWN, TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 0, 2, 4, 8, 16, 32


class CoordinatorType:
    """The types of coordinators, as FindCoordinator's keyType (FindCoordinatorRequest.CoordinatorType)."""

    GROUP, TRANSACTION = range(2)


class RecordType:
    """The types of metadata records that code asks for by number."""

    REGISTER_BROKER, TOPIC, PARTITION, CONFIG, PARTITION_CHANGE = 0, 2, 3, 4, 5
    UNFENCE_BROKER, REMOVE_TOPIC, FEATURE_LEVEL, ACL, REMOVE_ACL = 8, 9, 12, 18, 19
    BEGIN_TRANSACTION, END_TRANSACTION, ABORT_TRANSACTION, REGISTER_CONTROLLER = 23, 24, 25, 27


class ControlType:
    """The types of control records (ControlRecordType)."""

    ABORT, COMMIT, LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION, KRAFT_VOTERS = range(7)


def names_of(codes: type) -> dict[int, str]:
    """Return the names of one of these classes by their numbers."""
    return {number: name for name, number in vars(codes).items() if name.isupper()}
