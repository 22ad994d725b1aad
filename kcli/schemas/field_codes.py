"""Numbers in fields of Kafka's messages, with the names of Kafka's enums. They are plain ints, as every start of kcli
loads this module.
"""

API_KEYS = 128  # all of Kafka's API keys are lower
FRAME_VERSION = 1  # of metadata records (MetadataRecordSerde)
NO_LEADER = NO_PRODUCER = -1  # of a partition, of a batch
# Codec names by number, the lowest three bits of a batch's attributes (CompressionType).
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TIMESTAMP_TYPES = ("NoTimestampType", "CreateTime", "LogAppendTime")  # from -1 on (TimestampType)


class ConfigResource:
    """The types of a resource with configs (ConfigResource.Type)."""

    UNKNOWN, TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 0, 2, 4, 8, 16, 32


class CoordinatorType:
    """The types of coordinators, keyType in FindCoordinator (FindCoordinatorRequest.CoordinatorType)."""

    GROUP, TRANSACTION, SHARE = range(3)


class OffsetTime:
    """The special timestamps of ListOffsets (ListOffsetsRequest)."""

    LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = -1, -2, -3, -4, -5, -6


class Isolation:
    """The isolation levels of Fetch and ListOffsets (IsolationLevel)."""

    READ_UNCOMMITTED, READ_COMMITTED = 0, 1


class RecordType:
    """The types of metadata records that kcli's code refers to."""

    REGISTER_BROKER, TOPIC, PARTITION, CONFIG, PARTITION_CHANGE = 0, 2, 3, 4, 5
    UNFENCE_BROKER, REMOVE_TOPIC, FEATURE_LEVEL, ACL, REMOVE_ACL = 8, 9, 12, 18, 19
    BEGIN_TRANSACTION, END_TRANSACTION, ABORT_TRANSACTION, REGISTER_CONTROLLER = 23, 24, 25, 27


class ControlType:
    """The types of control records (ControlRecordType)."""

    ABORT, COMMIT, LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION, KRAFT_VOTERS = range(7)


def names_of(codes: type) -> dict[int, str]:
    """Return {number: name} of one of these classes."""
    return {number: name for name, number in vars(codes).items() if name.isupper()}
