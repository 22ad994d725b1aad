"""Who can win, by logs and identities; what Kafka's nodes did with such folders is in `tests/cli/snapshot`."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from kcli.jsontext import dumps
from kcli.snapshots.quorum import node
from kcli.snapshots.quorum.election import quorum_of
from kcli.snapshots.quorum.node import common_end, identity_of, read_node
from kcli.snapshots.quorum.quorum_findings import findings, survivor
from kcli.snapshots.reading.directory import Listing
from kcli.snapshots.reading.files import cluster_of, listing_of
from tests.snapshots.quorum.folders import DIRECTORIES, make_node, voters_batch
from tests.snapshots.quorums import metadata_batch

STATIC = (
    '{"clusterId":"","leaderId":1,"leaderEpoch":1,"votedId":-1,"appliedOffset":0,"currentVoters":[%s],"data_version":0}'
)
OTHER = "b3RoZXJkaXJlY3RvcnkxMQ"
ELECTION = [("election", None, "info")]


def judged(*paths: str) -> tuple[list[tuple[str, int | None, str]], list[int]]:
    """Findings as (id, node, severity), and who can win."""
    quorum = quorum_of([read_node(path) for path in paths])
    found = [(each.finding, each.subject.get("node"), each.severity) for each in findings(quorum)]
    return found, list(quorum.electable)


def test_three_of_one_log(tmp_path: Path) -> None:
    nodes = [make_node(tmp_path, number, (1, 50)) for number in (1, 2, 3)]
    assert judged(*nodes) == ([("healthy", None, "info")], [1, 2, 3])


def test_two_lost_of_three_and_of_five(tmp_path: Path) -> None:
    lone = make_node(tmp_path / "three", 2, (1, 50))
    found, electable = judged(lone)
    critical = [("voter-missing", 1, "critical"), ("voter-missing", 3, "critical"), ("election", None, "critical")]
    assert (found, electable) == (critical, [])
    five = [make_node(tmp_path / "five", number, (1, 50), voters=[1, 2, 3, 4, 5]) for number in (1, 3, 5)]
    found, electable = judged(*five)
    assert electable == [1, 3, 5]
    assert found == [("voter-missing", 2, "warning"), ("voter-missing", 4, "warning"), ("election", None, "info")]


@pytest.mark.parametrize(
    ("one", "two", "three", "finding", "electable"),
    [
        ([(1, 50)], [(1, 50)], [(1, 40)], ("log-behind", 3, "warning"), [1, 2]),
        ([(1, 90)], [(1, 40), (2, 50)], [(1, 40), (2, 50)], ("log-diverged", 1, "warning"), [2, 3]),
    ],
)
def test_logs(one: Any, two: Any, three: Any, finding: tuple[Any, ...], electable: list[int], tmp_path: Path) -> None:
    nodes = [make_node(tmp_path, number, *runs) for number, runs in enumerate((one, two, three), 1)]
    found, winners = judged(*nodes)
    assert found[0] == finding
    assert winners == electable


def test_where_logs_part(tmp_path: Path) -> None:
    ends = [
        ([(1, 40), (2, 60)], [(1, 90)], 40),
        ([(1, 40), (2, 60), (3, 70)], [(1, 40), (2, 55), (4, 80)], 55),
        ([(1, 40)], [(1, 50), (2, 60)], 40),
    ]
    for number, (one, two, expected) in enumerate(ends):
        nodes = [read_node(make_node(tmp_path / f"{number}", which, *runs)) for which, runs in ((1, one), (2, two))]
        assert common_end(*nodes) == common_end(*reversed(nodes)) == expected


def test_only_a_snapshot_beyond_the_log_replaces_it(tmp_path: Path) -> None:
    """One at the log's end leaves the epochs before it, which another log may end in."""
    path = make_node(tmp_path, 1, (1, 40), (2, 60))
    other = read_node(make_node(tmp_path, 2, (1, 40)))
    for end, runs in ((60, [(1, 0, 40), (2, 40, 60)]), (70, [(2, 70, 70)])):
        (Path(path) / "__cluster_metadata-0" / f"{end:020d}-{2:010d}.checkpoint").write_bytes(b"")
        node = read_node(path)
        assert [(run.epoch, run.start, run.end) for run in node.runs] == runs
        assert common_end(node, other) == (40 if end == 60 else 0)


def test_another_directory_has_no_vote(tmp_path: Path) -> None:
    good = [make_node(tmp_path, number, (1, 50)) for number in (1, 2)]
    bad = make_node(tmp_path, 3, (1, 50), directory=OTHER)
    found, electable = judged(*good, bad)
    assert (found[0], electable) == (("directory-id-mismatch", 3, "warning"), [1, 2])
    found, electable = judged(good[0], bad)
    assert ("directory-id-mismatch", 3, "critical") in found
    assert electable == []


def test_another_cluster_s_node_has_no_vote(tmp_path: Path) -> None:
    nodes = [make_node(tmp_path, number, (1, 50)) for number in (1, 3)]
    stranger = make_node(tmp_path, 2, (2, 90), cluster="b3RoZXJjbHVzdGVyMTExMQ")
    found, electable = judged(nodes[0], stranger, nodes[1])
    assert (found[0], electable) == (("cluster-id-mismatch", 2, "warning"), [1, 3])


def test_a_node_that_is_no_voter(tmp_path: Path) -> None:
    nodes = [make_node(tmp_path, number, (1, 50)) for number in (1, 2, 3, 4)]
    found, electable = judged(*nodes)
    assert (found[0], electable) == (("not-a-voter", 4, "warning"), [1, 2, 3])


def test_a_newest_snapshot_that_cannot_be_loaded(tmp_path: Path, samples: Path) -> None:
    nodes = [make_node(tmp_path, number, (1, 50)) for number in (1, 2, 3)]
    whole = (samples / "__cluster_metadata-0" / f"{796:020d}-{1:010d}.checkpoint").read_bytes()
    # 4.4.0 votes with an empty or a cut one, and dies later; it does not start with zero bytes or a bad checksum.
    zeros, changed = bytes(90) + whole[90:], whole[:-1] + bytes([whole[-1] ^ 1])
    wanted = ((whole, "sound"), (b"", "votes"), (whole[:-70], "votes"), (zeros, "dies"), (changed, "dies"))
    for content, outcome in wanted:
        (Path(nodes[2]) / "__cluster_metadata-0" / f"{40:020d}-{1:010d}.checkpoint").write_bytes(content)
        found, electable = judged(*nodes)
        assert (("snapshot-damaged", 3, "warning") in found) is (outcome != "sound")
        assert electable == ([1, 2] if outcome == "dies" else [1, 2, 3])


def test_a_snapshot_that_is_deleted_meanwhile_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a running node does once it has another."""
    path = make_node(tmp_path, 1, (1, 50), voters=[1])
    snapshot = Path(path) / "__cluster_metadata-0" / f"{40:020d}-{1:010d}.checkpoint"
    snapshot.write_bytes(b"")
    quorum = quorum_of([read_node(path)])

    def listing_before_it_is_deleted(folder: Path) -> Listing:
        listed = listing_of(folder)
        snapshot.unlink()
        return listed

    monkeypatch.setattr(node, "listing_of", listing_before_it_is_deleted)
    assert [each.finding for each in findings(quorum)] == ["healthy"]


def test_a_static_quorum_votes_by_ids_alone(tmp_path: Path) -> None:
    state = STATIC % ",".join(f'{{"voterId":{each}}}' for each in (1, 2, 3))
    nodes = [make_node(tmp_path, each, (1, 50), static=state, directory=DIRECTORIES[5]) for each in (1, 3)]
    found, electable = judged(*nodes)
    assert (found[0], electable) == (("voter-missing", 2, "warning"), [1, 3])


def test_the_survivor_is_the_longest_log_by_epoch(tmp_path: Path) -> None:
    runs = {1: [(1, 90)], 2: [(1, 40), (2, 60)], 3: [(1, 40), (2, 50)]}
    nodes = [read_node(make_node(tmp_path, number, *each)) for number, each in runs.items()]
    for order in (nodes, nodes[::-1]):
        found = survivor(quorum_of(order))
        assert found.subject["node"] == 2
        assert found.evidence["onMajorityUpTo"] == 50
        assert found.evidence["loses"] == {"1": 20, "3": 10}


def test_a_log_that_does_not_vote_may_be_the_longest(tmp_path: Path) -> None:
    """It does not win, but is the one to begin a new quorum with."""
    nodes = [read_node(make_node(tmp_path, number, (1, end))) for number, end in ((2, 50), (4, 60))]
    quorum = quorum_of(nodes)
    assert quorum.best.id == 2
    assert quorum.longest.id == 4
    equal = quorum_of([read_node(make_node(tmp_path / "equal", number, (1, 50))) for number in (4, 2)])
    assert equal.longest.id == 2


def test_the_same_identity_twice(tmp_path: Path) -> None:
    one, two, three = (make_node(tmp_path, number, (1, 50)) for number in (1, 2, 3))
    (Path(three) / "meta.properties").write_bytes((Path(two) / "meta.properties").read_bytes())
    found, electable = judged(one, two, three)
    assert found[:2] == [("voter-missing", 3, "warning"), ("same-identity", 2, "warning")]
    assert electable == [1, 2]
    found, electable = judged(two, three)
    assert ("same-identity", 2, "critical") in found
    assert electable == []


def test_directory_ids_mixed_up(tmp_path: Path) -> None:
    """In a quorum of five two nodes have each other's."""
    five = [1, 2, 3, 4, 5]
    swapped = {2: DIRECTORIES[5], 5: DIRECTORIES[2]}
    paths = [make_node(tmp_path, each, (1, 50), voters=five, directory=swapped.get(each)) for each in five]
    quorum = quorum_of([read_node(path) for path in paths])
    mixed = {each.subject["node"]: each for each in findings(quorum) if each.finding == "directory-id-mismatch"}
    assert {node: each.evidence["directoryIdOf"] for node, each in mixed.items()} == {2: 5, 5: 2}
    assert quorum.electable == (1, 3, 4)


def test_the_lag_of_a_node_that_does_not_vote_is_no_fault(tmp_path: Path) -> None:
    nodes = [make_node(tmp_path, number, (1, 50)) for number in (1, 2, 3)]
    found, _ = judged(*nodes, make_node(tmp_path, 4, (1, 40)))
    assert ("log-behind", 4, "info") in found


def wiped(node: str) -> str:
    """Remove a node's metadata log; its meta.properties stays."""
    shutil.rmtree(Path(node) / "__cluster_metadata-0")
    return node


def test_a_node_whose_metadata_log_was_removed_votes_and_does_not_win(tmp_path: Path) -> None:
    one, two, three = (make_node(tmp_path, number, (1, 50)) for number in (1, 2, 3))
    found, electable = judged(wiped(one), wiped(two), three)  # as 3.9.1 does: node 3 leads
    assert electable == [3]
    assert found == [("log-behind", 1, "warning"), ("log-behind", 2, "warning"), ("election", None, "info")]
    assert judged(two, three)[1] == [3]
    assert judged(one, two) == ([("election", None, "warning")], [])


def test_a_static_quorum_elects_a_node_whose_log_was_removed(tmp_path: Path) -> None:
    voters = STATIC % '{"voterId":1},{"voterId":2},{"voterId":3}'
    one, two, three = (make_node(tmp_path, number, (1, 50), static=voters) for number in (1, 2, 3))
    found, electable = judged(one, wiped(two), wiped(three))  # as 3.9.1 does: node 2 led, with nothing in its log
    assert electable == [1, 2, 3]
    assert found[:2] == [("log-behind", 2, "critical"), ("log-behind", 3, "critical")]


def test_a_removed_log_of_a_broker(tmp_path: Path) -> None:
    nodes = [make_node(tmp_path, number, (1, 50)) for number in (1, 2, 3)]
    found, _ = judged(*nodes, wiped(make_node(tmp_path, 4, (1, 50))))
    assert found[0] == ("not-a-voter", 4, "warning")


def test_a_folder_without_a_name(tmp_path: Path) -> None:
    nodes = [make_node(tmp_path, number, (1, 50)) for number in (1, 2, 3)]
    (Path(nodes[0]) / "meta.properties").unlink()
    found = findings(quorum_of([read_node(path) for path in nodes]))
    (nameless,) = (each for each in found if each.finding == "not-a-voter")
    assert "Kafka does not start" in nameless.text
    assert f"1 has directory.id={DIRECTORIES[1]}" in nameless.advice


# By starts of 3.6.2, 3.9.1 and 4.4.0 on copies.
@pytest.mark.parametrize(
    ("properties", "refusal"),
    [
        ("version=1\nnode.id=1", None),
        ("version : +01\nnode.id=+1\nbroker.id=9", None),
        ("version=0\nbroker.id=1\nnode.id=9", None),
        ("broker.id=1", None),
        ("version=0\nnode.id=1", "no broker.id, which version 0 needs"),
        ("node.id=1", "no broker.id, which version 0 needs"),
        ("version=1\nbroker.id=1", "no node.id, which version 1 needs"),
        ("version=1\nnode.id=x", "node.id 'x' (a number without white space expected)"),
        ("version=1\nnode.id=1 ", "node.id '1 ' (a number without white space expected)"),
        ("version=0\nbroker.id=1\t", "broker.id '1\\t' (a number without white space expected)"),
        ("version=1 \nnode.id=1", None),
        (f"version=1\nnode.id=1\ndirectory.id=  {DIRECTORIES[1]}", None),
        (
            f"version=1\nnode.id=1\ndirectory.id={DIRECTORIES[1]} ",
            f"directory.id '{DIRECTORIES[1]} ' (a uuid that is not reserved expected, by Kafka 3.7 and later)",
        ),
        ("version=2\nnode.id=1", "version '2' (0 or 1 expected)"),
        ("version=\nnode.id=1", "version '' (0 or 1 expected)"),
        ("", "no broker.id, which version 0 needs"),
    ],
)
def test_properties_that_kafka_starts_with(properties: str, refusal: str | None, tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text(f"{properties}\ncluster.id=c\n")
    identity = identity_of(tmp_path)
    assert (identity.node_id, identity.refusal) == (1 if refusal is None else None, refusal)
    (tmp_path / "meta.properties").write_text(f"{properties}\n")
    assert identity_of(tmp_path).refusal is not None
    assert identity_of(tmp_path).node_id is None


def test_white_space_behind_a_cluster_id_is_part_of_it(tmp_path: Path) -> None:
    """By Kafka 4.4.0's own MetaProperties."""
    (tmp_path / "meta.properties").write_bytes("version=1\nnode.id=1\ncluster.id = c\u00e9 \n".encode())
    assert identity_of(tmp_path).cluster_id == cluster_of(tmp_path / "__cluster_metadata-0") == "c\u00c3\u00a9 "


# By MetaProperties and MetaPropertiesEnsemble.verify of 3.7.2, 3.8.1, 3.9.1 and 4.4.0; 3.6 does not know the property.
@pytest.mark.parametrize(
    ("text", "directory"),
    [
        ("ffZvKiaNReeZKpFYS5w3iQ", "ffZvKiaNReeZKpFYS5w3iQ"),
        ("ffZvKiaNReeZKpFYS5w3iQ==", "ffZvKiaNReeZKpFYS5w3iQ"),
        ("ffZvKiaNReeZKpFYS5w3iR", "ffZvKiaNReeZKpFYS5w3iQ"),
        ("_____________________w", "_____________________w"),
        ("AAAAAAAAAAAAAAAAAAAAZA", "AAAAAAAAAAAAAAAAAAAAZA"),
        ("AAAAAAAAAAAAAAAAAAAAYw", None),
        ("AAAAAAAAAAD__________w", None),
        ("AAAAAAAAAAAAAAAAAAAAAA", None),
        ("", None),
        ("hello", None),
        ("ffZvKiaNReeZKpFYS5w3i", None),
        ("ffZvKiaNReeZKpFYS5w3iQA", None),
        ("ffZvKiaNReeZKpFYS5w3iQ=", None),
        ("ffZv+iaNReeZKpFYS5w3iQ", None),
        ("7df66f2a-268d-45e7-992a-91584b9c3789", None),
    ],
)
def test_a_directory_id_that_kafka_starts_with(text: str, directory: str | None, tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text(f"version=1\nnode.id=1\ncluster.id=c\ndirectory.id={text}\n")
    identity = identity_of(tmp_path)
    assert (identity.node_id, identity.directory_id) == (1 if directory else None, directory)
    assert (identity.refusal or "").startswith(
        "" if directory else f"directory.id {text!r} (a uuid that is not reserved"
    )


def test_a_node_that_does_not_start_is_not_elected(tmp_path: Path) -> None:
    nodes = [make_node(tmp_path, number, (1, 50)) for number in (1, 2, 3)]
    properties = Path(nodes[0]) / "meta.properties"
    properties.write_text(properties.read_text().replace("version=1", "version=0"))
    found, electable = judged(*nodes)
    assert electable == [2, 3] and found[0] == ("voter-missing", 1, "warning")


def test_nobody_knows_who_votes(tmp_path: Path) -> None:
    state = '{"leaderId":-1,"leaderEpoch":1,"votedId":-1,"data_version":1}'
    nodes = [make_node(tmp_path, number, (1, 50), static=state) for number in (1, 2)]
    (unknown,) = findings(quorum_of([read_node(path) for path in nodes]))
    assert (unknown.finding, unknown.severity, unknown.evidence["electable"]) == ("election", "warning", None)


# By starts of 4.4.0 on such copies: who of two voters of three was elected.
@pytest.mark.parametrize(
    ("file", "content", "starts"),
    [
        ("quorum-state", "", False),
        ("quorum-state", '{"leaderId":', False),
        ("quorum-state", '{"leaderId":-1,"leaderEpoch":7,"votedId":-1,"data_version":5}', False),
        ("quorum-state", '{"leaderId":-1,"leaderEpoch":77,"votedId":-1,"data_version":1}', True),
        ("leader-epoch-checkpoint", "garbage", False),
        ("leader-epoch-checkpoint", "", True),
        ("../bootstrap.checkpoint", "garbage", False),
        ("../bootstrap.checkpoint", "", False),
        ("partition.metadata", "", False),
    ],
)
def test_a_file_that_kafka_does_not_start_with(file: str, content: str, starts: bool, tmp_path: Path) -> None:
    nodes = [make_node(tmp_path, number, (1, 50)) for number in (1, 2)]
    (Path(nodes[0]) / "__cluster_metadata-0" / file).write_text(content)
    found, electable = judged(*nodes)
    assert electable == ([1, 2] if starts else [])
    assert (("file-damaged", 1, "critical") in found) is not starts


def test_a_name_that_kafka_does_not_start_with(tmp_path: Path) -> None:
    """It takes each snapshot's name for that of a file, and each number for one of 64 bits."""
    for number, (name, make) in enumerate(
        [
            ("quorum-state", Path.mkdir),
            (f"{60:020d}-{1:010d}.checkpoint", Path.mkdir),
            ("partition.metadata", os.mkfifo),
            ("9" * 20 + ".log", Path.touch),
            ("9" * 20 + f"-{1:010d}.checkpoint", Path.touch),
            (f"{60:020d}-9999999999.checkpoint", Path.touch),
        ]
    ):
        nodes = [make_node(tmp_path / str(number), each, (1, 50)) for each in (1, 2)]
        make(Path(nodes[0]) / "__cluster_metadata-0" / name)  # type: ignore[operator]
        found, electable = judged(*nodes)
        assert electable == [] and ("file-damaged", 1, "critical") in found, name
        assert read_node(nodes[0]).end == 50, name


def test_offsets_that_a_log_lacks(tmp_path: Path) -> None:
    """Kafka does not look whether a segment begins where the one before it ends; an empty last one moves the end."""
    nodes = [make_node(tmp_path, 1, (1, 50)), make_node(tmp_path, 2, (1, 55))]
    place = Path(nodes[0]) / "__cluster_metadata-0"
    beyond = place / f"{90:020d}.log"
    beyond.touch()
    assert read_node(nodes[0]).end == 90
    found, electable = judged(*nodes)
    assert ("log-damaged", 1, "warning") in found and electable == [1]
    behind = next(each for each in findings(quorum_of([*map(read_node, nodes)])) if each.finding == "log-behind")
    assert behind.subject["node"] == 2 and "it lacks 0 records" in behind.text
    beyond.write_bytes(metadata_batch(90, ("NoOpRecord", {}), epoch=1))
    assert ("log-damaged", 1, "critical") in judged(*nodes)[0] and read_node(nodes[0]).end == 91
    beyond.rename(place / f"{50:020d}.log").write_bytes(b"")  # as after a roll
    assert read_node(nodes[0]).gaps == () and read_node(nodes[0]).end == 50


def test_small_files_that_are_large(tmp_path: Path) -> None:
    """A quorum-state of a terabyte filled the memory; of properties no more is read either."""
    nodes = [make_node(tmp_path, number, (1, 50)) for number in (1, 2)]
    os.truncate(Path(nodes[0]) / "meta.properties", 1 << 40)
    state = Path(nodes[1]) / "__cluster_metadata-0" / "quorum-state"
    state.touch()
    os.truncate(state, 1 << 40)
    assert identity_of(Path(nodes[0])).refusal == "more than 16 MiB (a small text file expected)"
    assert read_node(nodes[1]).refusal == ("quorum-state", "more than 16 MiB (a small text file expected)", False)


def test_a_log_that_recovery_cuts_at_a_bad_batch(tmp_path: Path) -> None:
    """A 4.4.0 node with the longer log lost the election after a bit of its log had changed."""
    nodes = [make_node(tmp_path, 1, (1, 50)), make_node(tmp_path, 2, (1, 50), (1, 90))]
    log = Path(nodes[1]) / "__cluster_metadata-0" / f"{0:020d}.log"
    data = bytearray(log.read_bytes())
    for change, damaged in ((len(data) - 9, True), (None, False)):  # a changed bit; a torn end, as after a crash
        if change is None:
            log.write_bytes(data[:-9])
        else:
            log.write_bytes(data[:change] + bytes([data[change] ^ 1]) + data[change + 1 :])
        found, electable = judged(*nodes)
        assert electable == [1, 2] and read_node(nodes[1]).end == 50
        assert (("log-damaged", 2, "warning") in found) is damaged
    # The voters of records that are cut away do not count.
    log.write_bytes(voters_batch(0, [1, 2, 3]) + voters_batch(2, [2])[:-1] + b"\xff")
    assert [each.id for each in read_node(nodes[1]).voters] == [1, 2, 3]


def test_an_epoch_below_the_one_before_it_is_ignored(tmp_path: Path) -> None:
    """No checksum covers a batch's leader epoch: 4.4.0 elected a node whose last one was changed to 0, and to -1."""
    nodes = [make_node(tmp_path, 1, (3, 50)), make_node(tmp_path, 2, (3, 50), (0, 90))]
    assert judged(*nodes) == ([("voter-missing", 3, "warning"), ("log-behind", 1, "warning"), *ELECTION], [2])


def test_a_segment_under_a_name_after_its_offsets(tmp_path: Path) -> None:
    """4.4.0 wants to split it as one with an overflow, and does not start; it does if the batch ends at the name."""
    nodes = [make_node(tmp_path, number, (1, 50)) for number in (1, 2)]
    place = Path(nodes[0]) / "__cluster_metadata-0"
    log = place / f"{0:020d}.log"
    for name, starts in ((1, True), (2, False)):  # its first batch has the offsets 0 and 1
        log = log.rename(place / f"{name:020d}.log")
        found, electable = judged(*nodes)
        assert electable == ([1, 2] if starts else [])
        assert (("file-damaged", 1, "critical") in found) is not starts


def state_of(leader: int, epoch: int) -> str:
    """A quorum-state of a dynamic quorum."""
    return dumps({"leaderId": leader, "leaderEpoch": epoch, "votedId": -1, "data_version": 1})


@pytest.mark.parametrize(
    ("own", "witness", "starts"),
    [
        (None, state_of(1, 1), False),
        (state_of(-1, 1), state_of(1, 1), False),
        (state_of(2, 0), state_of(1, 1), False),
        (state_of(1, 1), state_of(1, 1), True),
        (state_of(-1, 2), state_of(1, 1), True),
        (None, state_of(3, 1), True),
        (None, state_of(1, 0), True),  # older than the witness's own log: it knows no leader
    ],
)
def test_a_leader_that_lost_its_quorum_state(own: str | None, witness: str, starts: bool, tmp_path: Path) -> None:
    """It stops once the other node answers that it leads: six starts of 4.4.0, of dynamic and static quorums."""
    nodes = [make_node(tmp_path, 1, (1, 60)), make_node(tmp_path, 2, (1, 50))]
    for log_dir, text in zip(nodes, (own, witness), strict=True):
        if text is not None:
            (Path(log_dir) / "__cluster_metadata-0" / "quorum-state").write_text(text)
    quorum = quorum_of([read_node(each) for each in nodes])
    assert quorum.electable == ((1,) if starts else ())
    advice = [each.advice for each in findings(quorum) if each.finding == "file-damaged"]
    text = '{"leaderId":-1,"leaderEpoch":2,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
    assert advice == ([] if starts else [f"while the node is stopped, write its quorum-state: {text}"])
