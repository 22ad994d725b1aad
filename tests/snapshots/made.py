"""Images and snapshots made for a test."""

from typing import Any

from kcli.core.records.batches import HEADER_SIZE
from kcli.snapshots.image.image import Image, Provenance
from kcli.snapshots.image.replay import replay
from kcli.snapshots.reading.decoding import Decoder
from kcli.snapshots.reading.framing import Batch, batches
from kcli.snapshots.writing.write import write_snapshot

TOPIC_ID = "YWJjZGVmZ2hpamtsbW5vcA"  # abcdefghijklmnop
OTHER_ID = "QUJDREVGR0hJSktMTU5PUA"
DIRECTORIES = {1: "ZGlyZWN0b3J5LTEtb2YtMQ", 2: "ZGlyZWN0b3J5LTEtb2YtMg", 3: "ZGlyZWN0b3J5LTEtb2YtMw"}


def broker(number: int, **values: Any) -> dict[str, Any]:
    record = {
        "brokerId": number,
        "isMigratingZkBroker": False,
        "incarnationId": TOPIC_ID,
        "brokerEpoch": 10 + number,
        "endPoints": [{"name": "PLAINTEXT", "host": f"b{number}", "port": 9092, "securityProtocol": 0}],
        "features": [{"name": "metadata.version", "minSupportedVersion": 7, "maxSupportedVersion": 30}],
        "rack": None,
        "fenced": False,
        "inControlledShutdown": False,
        "logDirs": [DIRECTORIES[number]] if number in DIRECTORIES else [],
    }
    return record | values


def partition(number: int, replicas: tuple[int, ...] = (1, 2, 3), **values: Any) -> dict[str, Any]:
    record = {
        "partitionId": number,
        "topicId": TOPIC_ID,
        "replicas": list(replicas),
        "isr": list(replicas),
        "removingReplicas": [],
        "addingReplicas": [],
        "leader": replicas[0] if replicas else -1,
        "leaderEpoch": 0,
        "partitionEpoch": 0,
        "directories": [DIRECTORIES.get(each, TOPIC_ID) for each in replicas],
    }
    return record | values


def image(*records: tuple[str, dict[str, Any]], level: int = 30, end_offset: int = 100, epoch: int = 2) -> Image:
    """Three brokers, a topic of two partitions, and these records."""
    found = Image(decode=Decoder().read_framed, provenance=Provenance(end_offset, epoch, 1_700_000_000_000))
    replay(found, "FeatureLevelRecord", {"name": "metadata.version", "featureLevel": level})
    for number in (1, 2, 3):
        replay(found, "RegisterBrokerRecord", broker(number))
    replay(found, "TopicRecord", {"name": "orders", "topicId": TOPIC_ID})
    for number in (0, 1):
        replay(found, "PartitionRecord", partition(number))
    for name, value in records:
        replay(found, name, value)
    return found


def snapshot(found: Image | None = None, **options: Any) -> bytes:
    """The bytes of a snapshot of an image."""
    out = bytearray()
    write_snapshot(found or image(), out.extend, now_ms=1_700_000_001_000, **options)
    return bytes(out)


def headers(data: bytes) -> list[Batch]:
    return [each for each in batches(memoryview(data)) if isinstance(each, Batch)]


def with_crc(data: bytes, batch: Batch) -> bytes:
    """The file with that batch's checksum set right."""
    from kcli.core.records.crc import crc32c

    value = crc32c(data[batch.position + 21 : batch.end])
    return data[: batch.position + 17] + value.to_bytes(4, "big") + data[batch.position + 21 :]


def raw_records(data: bytes, index: int = 1) -> bytes:
    """The body of one batch."""
    batch = headers(data)[index]
    return data[batch.position + HEADER_SIZE : batch.end]


NAME = "00000000000000000100-0000000002.checkpoint"
