from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcli.records.builder import build_control_batch
from kcli.snapshots.quorum.node import Identity
from kcli.snapshots.reading.directory import EpochEntry, QuorumState, list_directory
from kcli.snapshots.rules.directory_rules import DIRECTORY_RULES, DirectoryEvidence, judge_directory
from kcli.snapshots.rules.evidence import Control
from kcli.snapshots.rules.examination import Lookups, examine
from tests.snapshots.files import NODES, partition_folder
from tests.snapshots.made import image, snapshot

RECORD = (b"\0\0\0\4", b"\0\0\0")


def segment(base: int, *epochs: int) -> bytes:
    """A record in each of these epochs."""
    return b"".join(
        build_control_batch([RECORD], 1, base + index, partition_leader_epoch=epoch)
        for index, epoch in enumerate(epochs)
    )


def directory(
    segments: Mapping[int, tuple[int, ...]], snapshots: tuple[str, ...] = (), **values: object
) -> DirectoryEvidence:
    """segments: {base offset: the epoch of each of its records}; snapshots: "100-2", whose content does not matter."""
    logs = {f"{base:020d}.log": segment(base, *epochs) for base, epochs in segments.items()}
    names = [f"{int(each.split('-')[0]):020d}-{int(each.split('-')[1]):010d}.checkpoint" for each in snapshots]
    found = DirectoryEvidence(list_directory([*logs, *names]))
    found.segments = [examine(memoryview(data), name) for name, data in sorted(logs.items())]
    for name, value in values.items():
        setattr(found, name, value)
    return found


def with_snapshot(
    end: int, logged_at: int, *counts: int, written_at: int = 1, each: int = 0, epochs: int = 2
) -> DirectoryEvidence:
    """A snapshot that ends at `end`, by its header of `logged_at`, and a log from 98 in batches of so many records.
    each: how much later a batch is written than the one before it; epochs: that of the last batch; of the others 2."""
    out, offset = b"", 98
    for index, count in enumerate(counts):
        time = written_at + index * each
        epoch = epochs if index == len(counts) - 1 else 2
        out += build_control_batch([RECORD] * count, time, offset, partition_leader_epoch=epoch)
        offset += count
    made = image(end_offset=end)
    made.provenance.timestamp = logged_at
    name, log = f"{end:020d}-{2:010d}.checkpoint", f"{98:020d}.log"
    found = DirectoryEvidence(list_directory([name, log]))
    found.snapshots = [examine(memoryview(snapshot(made)), name)]
    found.segments = [examine(memoryview(out), log, lookups=Lookups({end}, {logged_at}))]
    return found


def test_a_snapshot_that_its_log_contradicts() -> None:
    assert reported(with_snapshot(100, 1, 1, 1, 1)) == set()
    (finding,) = judge_directory(with_snapshot(100, 0, 1, 1))
    assert "by its header, and in the log the record 99 at" in finding.message
    (finding,) = judge_directory(with_snapshot(100, 1, 1, 3))
    assert finding.message == "ends at 100, inside the log's batch of 99 to 101"
    assert reported(with_snapshot(100, -(1 << 62), 2, written_at=1 << 62)) == {("error", "contradiction")}
    assert reported(with_snapshot(99, 1, 1)) == set()


def test_a_leader_may_note_the_time_of_a_later_batch() -> None:
    """Of its own epoch, in the log or lost; batches are at 1, 10,001, 20,001 and 30,001, the snapshot behind two."""

    def sound(times: tuple[int, ...], epochs: int = 2) -> list[bool]:
        return [reported(with_snapshot(100, time, 1, 1, 1, 1, each=10_000, epochs=epochs)) == set() for time in times]

    assert sound((1, 10_000, 10_001, 11_001, 11_002, 20_001, 30_000, 30_001, 90_000_000)) == [
        *(False, False, True, True, False, True, False, True, True)
    ]
    assert sound((10_001, 15_000, 20_001, 25_000, 30_001, 90_001, 90_002), epochs=3) == [
        *(True, False, True, True, True, True, False)
    ]


def test_a_leader_may_note_when_it_wrote_another_snapshot() -> None:
    found = with_snapshot(100, 15_000, 1, 1, 1, 1, each=10_000)
    assert reported(found) == {("error", "contradiction")}
    earlier = examine(memoryview(snapshot(image(end_offset=99))), f"{99:020d}-{2:010d}.checkpoint")
    assert earlier.first is not None and earlier.last is not None
    earlier.first = earlier.first._replace(max_timestamp=14_999)
    earlier.last = earlier.last._replace(max_timestamp=15_000)
    found.snapshots.append(earlier)
    assert reported(found) == set()
    its_own = found.snapshots[0]
    found.snapshots = [its_own]
    its_own.first, its_own.last = earlier.first, earlier.last  # its header was written with it, not before
    assert reported(found) == {("error", "contradiction")}


def test_more_epochs_than_are_kept() -> None:
    found = with_snapshot(100, 10_000, 1, 1)
    (log,) = found.segments
    assert log.last is not None
    log.last = log.last._replace(leader_epoch=3)  # and none of epoch 2 is known
    assert reported(found) <= {("error", "contradiction")}


def reported(found: DirectoryEvidence) -> set[tuple[str, str]]:
    return {(finding.severity, finding.rule) for finding in judge_directory(found)}


def test_real_directories_are_sound() -> None:
    for node in NODES:
        folder = partition_folder(node)
        found = DirectoryEvidence(list_directory(each.name for each in folder.iterdir()))
        found.segments = [examine(memoryview((folder / name).read_bytes()), name) for name, _ in found.listing.segments]
        assert reported(found) == set()


def voter_controls(number: int) -> list[Control]:
    """The control records that make a node the voter of a dynamic quorum."""
    voter = {"voterId": number, "voterDirectoryId": "own", "endpoints": []}
    values: dict[int, dict[str, Any]] = {5: {"kRaftVersion": 1}, 6: {"voters": [voter]}}
    return [Control(0, 0, 0, kind, 0, value) for kind, value in values.items()]


def test_the_last_record_about_voters_counts() -> None:
    """It may be in the first of the segments after the snapshot."""
    found = directory({98: (2,), 99: (2,)})
    found.snapshots = [examine(memoryview(snapshot(image(end_offset=98))), f"{98:020d}-{2:010d}.checkpoint")]
    found.snapshots[0].controls, found.segments[0].controls = voter_controls(1), voter_controls(2)
    assert [each.id for each in found.voters] == [2]


def test_every_rule_can_speak() -> None:
    spoken = {rule for _, rule in reported(directory({10: (1,), 12: (0,)}, ("11-3",)))}
    spoken |= {rule for _, rule in reported(directory({0: (1, 2)}, epochs=(EpochEntry(1, 0),)))}
    spoken |= {rule for _, rule in reported(directory({0: (2,)}, quorum=QuorumState(1, 1, -1, 1)))}
    spoken |= {rule for _, rule in reported(with_snapshot(100, 0, 1, 1))}
    stranger = directory({0: (1,)})
    stranger.identity = Identity(1, "other")
    stranger.segments[0].controls = voter_controls(1)
    spoken |= {rule for _, rule in reported(stranger)}
    spoken |= {rule for found in (directory({}), directory({9: (1,)})) for _, rule in reported(found)}
    assert spoken >= DIRECTORY_RULES.keys()


def test_properties_without_which_no_node_starts_are_said() -> None:
    nameless = directory({0: (1,)})
    nameless.identity = Identity(refusal="no broker.id, which version 0 needs")
    assert ("error", "identity") in reported(nameless)


def test_a_log_that_begins_late_needs_a_snapshot_from_there() -> None:
    """KIP-630: `snapshot verify` tells of a log that begins where no snapshot leads."""
    assert ("error", "invariant") in reported(directory({100: (1,)}))
    assert ("error", "invariant") in reported(directory({100: (1,)}, ("99-1",)))
    assert reported(directory({100: (1,)}, ("100-1",))) == set()
    assert reported(directory({0: (1,)})) == set()


def test_segments_go_on_from_each_other() -> None:
    assert reported(directory({0: (1, 1), 2: (1,)})) == set()
    assert ("error", "log-order") in reported(directory({0: (1, 1), 3: (1,)}))
    assert ("error", "log-order") in reported(directory({0: (2, 2), 2: (1,)}))


def test_the_log_goes_on_from_a_snapshot() -> None:
    log = {0: (1, 1, 2, 2)}
    assert reported(directory(log, ("2-1",))) == set()
    assert reported(directory(log, ("4-2",))) == set()
    assert reported(directory(log, ("9-2",))) == {("note", "continuation")}
    assert ("error", "continuation") in reported(directory(log, ("2-2",)))
    assert ("error", "continuation") in reported(directory({2: (1,)}, ("2-3",)))
    assert ("note", "continuation") in reported(directory({5: (1,)}, ("2-1", "5-1")))


def test_leader_epochs() -> None:
    log = {0: (1, 1, 3)}
    assert reported(directory(log, epochs=(EpochEntry(1, 0), EpochEntry(3, 2)))) == set()
    assert reported(directory(log, epochs=(EpochEntry(1, 0), EpochEntry(3, 2), EpochEntry(4, 3)))) == set()
    for wrong in (
        (EpochEntry(1, 0),),
        (EpochEntry(1, 0), EpochEntry(3, 1)),
        (EpochEntry(3, 2), EpochEntry(1, 0)),
        (EpochEntry(1, 0), EpochEntry(3, 2), EpochEntry(4, 2)),
    ):
        assert ("error", "leader-epochs") in reported(directory(log, epochs=wrong))


def test_leader_epochs_where_the_log_s_start_has_moved() -> None:
    """To the end of a snapshot: the file forgets what is before it, while segments still have that."""
    log, wrong = {0: (1, 1), 2: (2, 3), 4: (3, 3)}, ("error", "leader-epochs")
    for epochs in ((EpochEntry(3, 4),), (EpochEntry(3, 3),), (EpochEntry(2, 2), EpochEntry(3, 3))):
        assert wrong not in reported(directory(log, ("4-3",), epochs=epochs))
        assert wrong not in reported(directory(log, ("1-1", "4-3"), epochs=epochs))  # the newest counts
    assert wrong in reported(directory(log, ("4-3",), epochs=(EpochEntry(3, 5),)))
    assert wrong in reported(directory(log, epochs=(EpochEntry(3, 4),)))


def test_quorum_state() -> None:
    assert reported(directory({0: (2,)}, quorum=QuorumState(1, 2, -1, 1))) == set()
    assert ("error", "quorum-state") in reported(directory({0: (2,)}, quorum=QuorumState(1, 1, -1, 1)))
    assert ("error", "quorum-state") in reported(directory({0: (0,)}, quorum=QuorumState(-2, 0, -1, 1)))
    assert ("error", "quorum-state") in reported(directory({0: (1,)}, ("0-5",), quorum=QuorumState(1, 4, -1, 1)))


def test_files() -> None:
    found = directory({0: (1,)}, unread=[("quorum-state", "not JSON")], topic_id="x")
    found.listing = list_directory(["1-1.checkpoint", f"{0:020d}.log", f"{0:020d}-{0:010d}.checkpoint.part"])
    assert reported(found) == {("error", "name"), ("error", "files"), ("note", "files")}
