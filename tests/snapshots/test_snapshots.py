import pytest

import kcli.snapshots
from kcli.snapshots import load_snapshot
from kcli.snapshots import survey as survey_of
from tests.snapshots.made import snapshot


def test_everything_offered_is_there() -> None:
    for name in kcli.snapshots.__all__:
        assert callable(getattr(kcli.snapshots, name)) or name == "TABLES"


def test_names_can_be_used_from_the_package() -> None:
    assert load_snapshot(memoryview(snapshot())).partition_count() == 2
    assert survey_of(memoryview(snapshot()), "x").partitions == 2


def test_other_names_are_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        kcli.snapshots.nothing  # noqa: B018
