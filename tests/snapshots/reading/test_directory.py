import pytest

from kcli.errors import InputError
from kcli.snapshots.reading.directory import (
    EpochEntry,
    list_directory,
    parse_leader_epochs,
    parse_partition_metadata,
    parse_quorum_state,
)
from tests.snapshots.files import NODES, partition_folder


@pytest.mark.parametrize("node", NODES)
def test_real_files(node: str) -> None:
    folder = partition_folder(node)
    state = parse_quorum_state((folder / "quorum-state").read_text())
    assert state.leader_id >= 1
    assert bool(state.voters) == (state.data_version == 0)
    assert parse_leader_epochs((folder / "leader-epoch-checkpoint").read_text())
    assert parse_partition_metadata((folder / "partition.metadata").read_text()) == "AAAAAAAAAAAAAAAAAAAAAQ"


def test_leader_epochs() -> None:
    assert parse_leader_epochs("0\n2\n3 983\n4 1179\n") == (EpochEntry(3, 983), EpochEntry(4, 1179))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "line 1"),
        ("1\n0\n", "line 1"),
        ("0\nx\n", "line 2"),
        ("0\n1\n", "line 2 says 1 entry, 0 here"),
        ("0\n1\n1 2 3\n", "line 3"),
    ],
)
def test_broken_leader_epochs(text: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        parse_leader_epochs(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not a quorum-state file"),
        ("[]", "a JSON object expected"),
        ('{"data_version":7}', "data_version 7"),
        ('{"data_version":1,"leaderId":"x"}', "leaderId is 'x'"),
        ('{"data_version":1,"leaderId":1}', "leaderEpoch is missing"),
        ('{"data_version":0,"leaderId":1,"leaderEpoch":1,"votedId":1,"currentVoters":[1]}', "not a list of voters"),
    ],
)
def test_broken_quorum_state(text: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        parse_quorum_state(text)


def test_broken_partition_metadata() -> None:
    with pytest.raises(InputError, match=r"line 2: `topic_id: \.\.\.` expected"):
        parse_partition_metadata("version: 0\n")


def test_a_directory_is_sorted_by_what_its_files_are() -> None:
    names = ["00000000000000000010-0000000001.checkpoint", "00000000000000000010-0000000001.checkpoint.part"]
    listing = list_directory([*names, "1-1.checkpoint", "00000000000000000000.log", "00000000000000000000.index"])
    assert [name for name, _ in listing.snapshots] == names[:1]
    assert [name for name, _ in listing.unfinished] == names[1:]
    assert [name for name, _ in listing.misnamed] == ["1-1.checkpoint"]
    assert listing.segments == [("00000000000000000000.log", 0)]
    assert listing.others == ["00000000000000000000.index"]
