from typing import Any

import pytest

from kcli.snapshots.history.history import Event, HistoryLoader
from kcli.snapshots.image.diff import diff_images, row_key
from kcli.snapshots.image.image import Image
from kcli.snapshots.image.image_tables import TABLES
from kcli.snapshots.image.objects import PARTS, TOUCHES, object_row, touched
from kcli.snapshots.image.partitions import id_bytes
from kcli.snapshots.image.replay import HANDLERS
from tests.snapshots.files import NODES, partition_folder
from tests.snapshots.made import TOPIC_ID, image

NOTHING = {"NoOpRecord", "BeginTransactionRecord", "EndTransactionRecord", "AbortTransactionRecord"}


def rows_of(found: Image) -> dict[tuple[str, Any], dict[str, Any]]:
    return {(name, row_key(name, row)): row for name, table in TABLES.items() for row in table.rows(found, True)}


@pytest.mark.parametrize("node", NODES)
def test_what_the_records_change_adds_up_to_the_image(node: str) -> None:
    """Every object of the tables: what the records of the log were said to change is what changed."""
    events: list[Event] = []
    loader = HistoryLoader(events.append, secrets=True)
    folder = partition_folder(node)
    first = sorted(folder.glob("*.checkpoint"))[0]
    loader.snapshot(memoryview(first.read_bytes()), end_offset=int(first.name[:20]), epoch=int(first.name[21:31]))
    rows = rows_of(loader.image)
    for segment in sorted(folder.glob("*.log")):
        loader.segment(memoryview(segment.read_bytes()))
    for event in events:
        key = event.change.table, event.change.key
        assert rows.get(key) == event.change.before or key[0] in ("topics", "leader")
        if event.change.after is None:
            del rows[key]
        elif key[0] != "leader" and key != ("features", ("kraft.version",)):
            rows[key] = event.change.after
    for made in (rows, expected := rows_of(loader.image)):
        for key, row in made.items():
            if key[0] == "topics":
                del row["partitions"]  # is told with each partition
    assert rows == expected
    assert len(events) > 5


def test_every_record_and_every_table_has_its_way() -> None:
    assert TOUCHES.keys() - {"VotersRecord"} == HANDLERS.keys() - NOTHING
    assert PARTS.keys() == TABLES.keys()
    found = image()
    for name in TABLES:
        for row in TABLES[name].rows(found, False):
            assert row["name" if name == "features" else TABLES[name].key[0]]


def test_a_topic_takes_its_partitions_and_configs_with_it() -> None:
    found = image(("ConfigRecord", {"resourceType": 2, "resourceName": "orders", "name": "a", "value": "1"}))
    gone = touched(found, "RemoveTopicRecord", {"topicId": TOPIC_ID})
    identity = id_bytes(TOPIC_ID)
    assert gone == [
        ("topics", identity),
        ("partitions", (identity, 0)),
        ("partitions", (identity, 1)),
        ("configs", ((2, "orders"), "a")),
    ]
    assert [object_row(found, each) is not None for each in gone] == [True] * 4
    HANDLERS["RemoveTopicRecord"](found, {"topicId": TOPIC_ID})
    assert [object_row(found, each) for each in gone] == [None] * 4
    assert touched(found, "RemoveTopicRecord", {"topicId": TOPIC_ID}) == touched(found, "NoOpRecord", {}) == []


def test_clearing_touches_one_topic_or_all() -> None:
    for name in ("", "orders"):
        assert len(touched(image(), "ClearElrRecord", {"topicName": name})) == 2
    assert touched(image(), "ClearElrRecord", {"topicName": "other"}) == []
    assert list(diff_images(image(), image())) == []
