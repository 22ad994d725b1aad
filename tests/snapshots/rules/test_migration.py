"""A migration from ZooKeeper that is not finished is not fit for 4.0."""

import pytest

from kcli.snapshots.image.diff import diff_images
from kcli.snapshots.image.summary import image_summary
from kcli.snapshots.rules.compatibility import misfits
from kcli.snapshots.writing.restoration import fitness
from tests.snapshots.made import image


@pytest.mark.parametrize(
    ("state", "name", "is_open"),
    [(0, None, False), (1, "MIGRATION", True), (2, "PRE_MIGRATION", True), (3, "POST_MIGRATION", False)],
)
def test_the_state_is_said_and_judged(state: int, name: str | None, is_open: bool) -> None:
    found = image(("ZkMigrationStateRecord", {"zkMigrationState": state}), level=21)
    assert image_summary(found).get("zkMigration") == name
    assert [each.table for each in diff_images(image(level=21), found)] == (["migration"] if name else [])
    restored = [each.severity for each in fitness(found, [], 25) if "ZooKeeper" in each.what]
    checked = [each.severity for each in misfits(found, 25) if "ZooKeeper" in each.what]
    assert restored == checked == (["error"] if is_open else [])
    assert not any("ZooKeeper" in each.what for each in misfits(found, 20))


def test_a_feature_record_of_kraft_version_alone_is_a_note_from_3_9_on() -> None:
    """3.9.1 wrote one in a static quorum, whose voters stay where they are; 3.7.2 and 3.8.1 stopped at it."""
    found = image(("FeatureLevelRecord", {"name": "kraft.version", "featureLevel": 1}), level=21)
    for level, severity in ((21, "note"), (20, "error")):
        assert [each.severity for each in misfits(found, level) if "kraft.version" in each.what] == [severity]
