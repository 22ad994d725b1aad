from kcli.snapshots.image.diff import Change, diff_images
from kcli.snapshots.image.image import Image
from kcli.snapshots.reading.load import load_snapshot
from tests.snapshots.files import partition_folder
from tests.snapshots.made import OTHER_ID, TOPIC_ID, image, partition, snapshot


def changes(before: Image, after: Image, secrets: bool = False) -> dict[tuple[str, str], Change]:
    return {(change.kind, change.table): change for change in diff_images(before, after, secrets=secrets)}


def test_the_same_image_from_bytes_and_from_values_is_the_same() -> None:
    assert changes(image(), load_snapshot(memoryview(snapshot()), end_offset=100, epoch=2)) == {}


def test_what_was_created_deleted_and_changed() -> None:
    after = image(
        ("TopicRecord", {"name": "audit", "topicId": OTHER_ID}),
        ("PartitionRecord", partition(0) | {"topicId": OTHER_ID}),
        ("PartitionChangeRecord", {"partitionId": 1, "topicId": TOPIC_ID, "isr": [1], "leader": 1}),
        ("UnregisterBrokerRecord", {"brokerId": 3, "brokerEpoch": 13}),
        ("FeatureLevelRecord", {"name": "group.version", "featureLevel": 1}),
    )
    found = changes(image(), after)
    assert found.keys() == {
        ("created", "features"),
        ("created", "topics"),
        ("created", "partitions"),
        ("changed", "partitions"),
        ("deleted", "brokers"),
    }
    change = found["changed", "partitions"]
    assert change.key == ("orders", 1)
    assert change.fields == {"isr": ([1, 2, 3], [1]), "leaderEpoch": (0, 1), "partitionEpoch": (0, 1)}
    assert found["deleted", "brokers"].after is None
    assert found["created", "partitions"].fields == {}
    assert {kind for kind, _ in changes(after, image())} == {"created", "changed", "deleted"}


def test_secrets_are_compared_and_hidden() -> None:
    credential = {"name": "u", "mechanism": 1, "salt": b"s", "storedKey": b"k", "serverKey": b"v", "iterations": 4096}
    config = {"resourceType": 4, "resourceName": "1", "name": "ssl.key.password", "value": "one"}
    before = image(("UserScramCredentialRecord", credential), ("ConfigRecord", config))
    after = image(
        ("UserScramCredentialRecord", credential | {"salt": b"t"}), ("ConfigRecord", config | {"value": "two"})
    )
    hidden = changes(before, after)
    assert hidden["changed", "scramCredentials"].fields == {"salt": ({"redacted": 1}, {"redacted": 1})}
    assert hidden["changed", "configs"].fields == {"value": ({"redacted": 3}, {"redacted": 3})}
    assert changes(before, after, True)["changed", "configs"].fields == {"value": ("one", "two")}


def test_two_nodes_snapshots_of_one_id_differ_in_order_only() -> None:
    folder = partition_folder("440-three/n1")
    first, second = sorted(folder.glob("*.checkpoint"))[-2:]
    one, two = (load_snapshot(memoryview(file.read_bytes())) for file in (first, second))
    assert changes(one, one) == {}
    assert changes(one, two)
