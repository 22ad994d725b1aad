import pytest

from kcli.snapshots.reading.names import SnapshotId, parse_snapshot_name, segment_offset


def test_a_snapshot_s_name_is_its_end_offset_and_epoch() -> None:
    """KIP-630: a snapshot's name is its end offset, 20 digits, and its epoch."""
    name = parse_snapshot_name("00000000000000001600-0000000001.checkpoint")
    assert name is not None
    assert (name.id, name.state, name.exact) == (SnapshotId(1600, 1), "ready", True)
    assert name.id.file_name == "00000000000000001600-0000000001.checkpoint"
    assert str(name.id) == "1600-1"


@pytest.mark.parametrize(
    ("text", "state", "exact"),
    [
        ("00000000000000001600-0000000001.checkpoint.part", "part", True),
        ("00000000000000001600-0000000001.checkpoint.deleted", "deleted", True),
        ("1600-1.checkpoint", "ready", False),
        ("00000000000000001600-0000000001.checkpoint.bak", "other", False),
    ],
)
def test_unfinished_and_misspelt_names(text: str, state: str, exact: bool) -> None:
    name = parse_snapshot_name(text)
    assert name is not None
    assert (name.id, name.state, name.exact) == (SnapshotId(1600, 1), state, exact)


@pytest.mark.parametrize(
    "text", ["", "quorum-state", "00000000000000001600.log", "x-1.checkpoint", "1-2.checkpoint.a.b"]
)
def test_other_names(text: str) -> None:
    assert parse_snapshot_name(text) is None


def test_a_segment_s_base_offset() -> None:
    assert segment_offset("00000000000000001600.log") == 1600
    assert segment_offset("1600.log") is None
    assert segment_offset("00000000000000001600.index") is None
