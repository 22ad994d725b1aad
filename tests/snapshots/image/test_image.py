import pytest

from kcli.core.snapshots.snapshot import count_facts, partition_facts
from kcli.snapshots.image.image import MIGRATING, Image, normal_partition
from kcli.snapshots.image.partitions import FACTS, id_bytes
from kcli.snapshots.reading.load import load_snapshot
from tests.snapshots.made import TOPIC_ID, image, partition, snapshot


def loaded() -> Image:
    """An image whose partitions are bytes still."""
    made = image(("PartitionRecord", partition(2, isr=[1], eligibleLeaderReplicas=[2])))
    return load_snapshot(memoryview(snapshot(made)), end_offset=100, epoch=2)


def test_partitions_are_decoded_when_asked_for() -> None:
    found = loaded()
    topic = found.topic_named("orders")
    assert topic is not None
    assert isinstance(topic.partitions[2], bytes)
    assert found.partition(topic, 2)["eligibleLeaderReplicas"] == [2]
    assert topic.id_text == TOPIC_ID
    with pytest.raises(KeyError):
        found.partition(topic, 9)
    assert [(each.name, number) for each, number, _ in found.every_partition()] == [("orders", n) for n in range(3)]
    assert found.topic_named("none") is None


def test_summaries_the_fast_way_and_the_slow() -> None:
    found = loaded()
    topic = found.topics[id_bytes(TOPIC_ID)]
    fast = [found.summary(each) for each in topic.partitions.values()]
    slow = [found.summary(found.decoded(each)) for each in topic.partitions.values()]
    assert fast == slow
    assert fast[2] == (FACTS["under-replicated"] | FACTS["with-elr"], 1, (1, 2, 3), (1,))
    assert partition_facts(b"\1\2\0") is None


def test_counting_mixes_bytes_and_values() -> None:
    found = loaded()
    topic = found.topics[id_bytes(TOPIC_ID)]
    topic.partitions[3] = normal_partition(partition(3, leader=-1, isr=[]))
    counts = found.count_facts()
    assert (counts["under-replicated"], counts["offline"], found.partition_count()) == (2, 1, 4)
    assert list(count_facts(topic.partitions, [0] * 6)) == [topic.partitions[3]]


def test_a_partition_of_an_old_version_gets_every_field() -> None:
    old = {name: value for name, value in partition(0).items() if name != "directories"}
    assert normal_partition(old)["directories"] == [MIGRATING] * 3
    assert normal_partition(old | {"removingReplicas": None})["removingReplicas"] == []
    assert normal_partition(old)["lastKnownElr"] == []


def test_levels_and_provenance() -> None:
    assert (image().level, image().metadata_version) == (30, "4.3-IV0")
    assert (Image().level, Image().metadata_version) == (None, None)
    assert image().shell_provenance.end_offset == 100
