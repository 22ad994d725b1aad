from kcli.snapshots.image.change_text import change_json, change_text, contrast, object_name, row_text, value_text
from kcli.snapshots.image.diff import diff_images
from kcli.snapshots.image.image import Image
from tests.snapshots.made import OTHER_ID, TOPIC_ID, image, partition


def changes(after: Image, before: Image | None = None) -> list[str]:
    return [change_text(each) for each in diff_images(before or image(), after)]


def test_lines() -> None:
    config = ("ConfigRecord", {"resourceType": 2, "resourceName": "orders", "name": "retention.ms", "value": "1"})
    after = image(config, ("PartitionRecord", partition(1, isr=[1], leader=2)))
    assert changes(after) == [
        "~ partition orders-1: isr [1,2,3] -> [1], leader 1 -> 2",
        "+ config TOPIC orders retention.ms: value 1",
    ]
    assert changes(image(), after)[1] == "- config TOPIC orders retention.ms: value 1"
    topic = ("TopicRecord", {"name": "audit", "topicId": OTHER_ID})
    assert changes(image(topic)) == ["+ topic audit: partitions 0"]


def test_json_and_contrast() -> None:
    config = ("ConfigRecord", {"resourceType": 2, "resourceName": "orders", "name": "retention.ms", "value": "1"})
    (made,) = diff_images(image(), image(config))
    (gone,) = diff_images(image(config), image())
    (changed,) = diff_images(image(config), image((config[0], {**config[1], "value": "2"})))
    assert [contrast(each, "there", "here") for each in (made, gone, changed)] == [
        "config TOPIC orders retention.ms: value 1 here, none there",
        "config TOPIC orders retention.ms: none here, value 1 there",
        "config TOPIC orders retention.ms: value 2 here, 1 there",
    ]
    assert change_json(changed)["fields"] == {"value": {"from": "1", "to": "2"}}
    assert change_json(made)["row"] == change_json(gone)["row"]
    assert object_name(made) == "config TOPIC orders retention.ms"
    assert row_text(made.table, None) == "none"


def test_values() -> None:
    assert [value_text(each) for each in (None, [1, 2], {"redacted": 3}, False)] == [
        "none",
        "[1,2]",
        "[hidden]",
        "False",
    ]
    made = list(diff_images(image(), image(("PartitionRecord", partition(2, leader=2)))))[-1]
    assert ", leader 2, " in change_text(made)  # the partition's number, too
    assert change_text(made, brief=True).startswith("+ partition orders-2: replicas [1,2,3], ")
    assert TOPIC_ID not in "".join(changes(image(("PartitionRecord", partition(7)))))
