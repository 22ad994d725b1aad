from pathlib import Path
from typing import Any

import pytest

from kcli.snapshots.rules.preflight import Preflight
from tests.snapshots.made import TOPIC_ID, broker, partition
from tests.snapshots.quorums import metadata_batch

Record = tuple[str, dict[str, Any]]


def level(name: str, value: int) -> Record:
    return "FeatureLevelRecord", {"name": name, "featureLevel": value}


def segment(folder: Path, *records: Record) -> str:
    path = folder / f"{0:020d}.log"
    path.write_bytes(b"".join(metadata_batch(place, each, newest=True) for place, each in enumerate(records)))
    return str(path)


@pytest.mark.parametrize(
    ("release", "record", "says"),
    [
        ("3.7", level("metadata.version", 21), "metadata.version 21 (3.9-IV0); 3.7 has levels 1 to 19"),
        ("3.9", level("metadata.version", 21), None),
        ("4.0", level("metadata.version", 5), "4.0 has levels 7 to 25"),
        ("3.9", level("metadata.version", 5), None),
        ("4.0", level("share.version", 1), "share.version 1; 4.0 does not have it"),
        ("4.2", level("share.version", 1), None),
        ("4.2", level("share.version", 2), "4.2 has levels 0 to 1"),
        ("4.0", level("share.version", 0), None),
        ("3.9", ("ClearElrRecord", {"topicName": ""}), "3.9 has no ClearElrRecord"),
        ("4.2", ("RegisterBrokerRecord", broker(1)), "RegisterBrokerRecord v4; 4.2 reads up to v3"),
        ("4.3", ("RegisterBrokerRecord", broker(1)), None),
        ("3.9", ("PartitionRecord", partition(0)), None),
        ("3.6", ("PartitionRecord", partition(0)), "PartitionRecord v2; 3.6 reads up to v0"),
        ("4.2", ("BrokerRegistrationChangeRecord", {"brokerId": 1, "brokerEpoch": 1, "fenced": 1}), None),
        (
            "4.2",
            (
                "BrokerRegistrationChangeRecord",
                {"brokerId": 1, "brokerEpoch": 1, "cordonedLogDirs": ["YWJjZGVmZ2hpamtsbW5vcA"]},
            ),
            None,  # it is tagged, and passes unseen
        ),
    ],
)
def test_what_a_node_of_another_release_makes_of_a_record(
    release: str, record: Record, says: str | None, tmp_path: Path
) -> None:
    path = segment(tmp_path, ("NoOpRecord", {}), record)
    found = list(Preflight(release).obstacles([path]))
    assert [(each.file, each.offset) for each in found] == ([(path, 1)] if says else [])
    assert says is None or says in found[0].what
    assert not list(Preflight(release).obstacles([path], since=2))


def test_a_bootstrap_checkpoint_stops_nodes_before_4_0(tmp_path: Path) -> None:
    (tmp_path / "bootstrap.checkpoint").write_bytes(metadata_batch(0, level("metadata.version", 21)))
    (found,) = Preflight("3.7").bootstrap(tmp_path)
    assert found.is_bootstrap
    assert not list(Preflight("3.9").bootstrap(tmp_path))
    assert not list(Preflight("4.0").bootstrap(tmp_path))


def test_tags_pass_and_bytes_that_are_left_do_not(tmp_path: Path) -> None:
    """As `MetadataRecordSerde` of 3.5 to 4.1 has it: directories of a PartitionRecord are no tags to 3.6."""
    tags = {"_unknownTaggedFields": [{"tag": 1000, "data": b"new"}]}
    change: Record = ("PartitionChangeRecord", {"topicId": TOPIC_ID, "partitionId": 0, "isr": [1], **tags})
    short: Record = ("PartitionRecord", partition(0, replicas=(), isr=[], leader=-1, directories=[]))
    one: Record = ("PartitionRecord", partition(0, directories=["AAECAwQFBgcICQoLDA0ODw"]))
    found = list(Preflight("3.6").obstacles([segment(tmp_path, change, short, one)]))
    assert [each.offset for each in found] == [1, 2]
