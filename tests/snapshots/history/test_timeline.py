from pathlib import Path

import pytest

from kcli.snapshots.history.timeline import MOST, STATES, BrokerEvent, Timeline, broker_state
from kcli.snapshots.reading.api import Wanted, load_image, take_log, take_snapshot
from kcli.snapshots.reading.files import open_file
from tests.oracle.snapshots import StateCounts
from tests.snapshots.files import NODES, partition_folder
from tests.snapshots.made import NAME, TOPIC_ID, broker, snapshot
from tests.snapshots.quorums import FIRST, eventful, metadata_batch
from tests.snapshots.test_load_changes import History

SECOND = 1_000_000_000  # ns


def timeline(folder: Path, step: int = 10 * SECOND) -> Timeline:
    found = Timeline(step)
    snapshots = sorted(folder.glob("*.checkpoint"))
    if snapshots:
        take_snapshot(found, str(snapshots[0]))
    take_log(found, folder, None)
    return found


def counts(found: Timeline) -> list[int]:
    assert found.states is not None
    return found.states.counts


def test_a_minute(tmp_path: Path) -> None:
    found = timeline(eventful(tmp_path))
    assert found.problems == []
    first = FIRST * 1_000_000 // (10 * SECOND)
    assert {at - first: dict(zip(STATES, each.states, strict=True)) for at, each in found.buckets.items()} == {
        0: {"under-replicated": 0, "without leader": 0, "reassigning": 0},
        1: {"under-replicated": 1, "without leader": 0, "reassigning": 0},
        2: {"under-replicated": 1, "without leader": 0, "reassigning": 0},
        3: {"under-replicated": 1, "without leader": 0, "reassigning": 0},
        4: {"under-replicated": 1, "without leader": 0, "reassigning": 0},
        6: {"under-replicated": 1, "without leader": 1, "reassigning": 0},
    }
    assert found.buckets[first + 4].left == [0, 0, 0]
    assert list(found.events) == [
        BrokerEvent(FIRST + 10_000, 101, 1, "alive", "fenced"),
        BrokerEvent(FIRST + 20_000, 103, 1, "fenced", "alive"),
    ]
    epochs = [(each.epoch, each.leader, each.offset, each.records) for each in found.epochs]
    assert epochs == [(3, None, 100, 4), (4, 7, 104, 3)]
    ((place, moves),) = found.moves.items()
    assert (place[1], moves.count, moves.last_ms) == (0, 2, FIRST + 60_000)
    assert {name: row[0] for name, row in found.buckets[first + 1].types.items()} == {
        "FENCE_BROKER_RECORD": 1,
        "PARTITION_CHANGE_RECORD": 1,
    }


@pytest.mark.parametrize("node", NODES)
def test_the_last_state_is_that_of_the_image(node: str) -> None:
    """Counted change by change, and at the end at once."""
    found = timeline(partition_folder(node))
    known = load_image(Wanted(str(partition_folder(node)))).loader.image
    facts = known.count_facts()
    assert counts(found) == [facts[name] for name in STATES.values()]
    assert found.image.count_facts() == facts
    last = found.buckets[max(found.buckets)]
    assert last.left == counts(found)


@pytest.mark.parametrize("seed", range(20))
def test_the_kernel_and_the_reference_note_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random records, of which many do not apply: counted by the core where it applies them, and in Python alone."""
    batches = list(History(seed).batches())
    noted = []
    for kernel in (True, False):
        found = Timeline(SECOND)
        if not kernel:
            found.changes = None
            monkeypatch.setattr("kcli.snapshots.history.timeline.StateCounts", StateCounts)
        found.snapshot(memoryview(snapshot()), end_offset=100)
        for data in batches:
            found.segment(memoryview(data))
        buckets = {at: (sorted(each.types.items()), each.states, each.left) for at, each in found.buckets.items()}
        noted.append((buckets, counts(found), found.moves, found.problems))
    assert noted[0] == noted[1]
    assert noted[0][0]


def test_a_topic_that_goes_takes_its_partitions_along(tmp_path: Path) -> None:
    place = eventful(tmp_path)
    with (place / f"{100:020d}.log").open("ab") as log:
        log.write(metadata_batch(107, ("RemoveTopicRecord", {"topicId": TOPIC_ID}), time=FIRST + 61_000, epoch=4))
    found = timeline(place)
    assert counts(found) == [0, 0, 0]
    assert found.buckets[max(found.buckets)].states == [1, 1, 0]


def test_damage_is_reported_and_times_are_bounded(tmp_path: Path) -> None:
    place = eventful(tmp_path)
    with (place / f"{100:020d}.log").open("ab") as log:
        log.write(metadata_batch(107, ("NoOpRecord", {}), time=1 << 62, epoch=4) + b"\xff" * 70)
    found = timeline(place)
    assert len(found.problems) == 1
    assert max(found.buckets) == (FIRST + 60_000) * 1_000_000 // (10 * SECOND)


def test_many_events_are_counted_and_the_newest_kept(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(snapshot())
    turns = ("FenceBrokerRecord", "UnfenceBrokerRecord")
    records = [(turns[at % 2], {"id": 1, "epoch": 11}) for at in range(MOST + 50)]
    (tmp_path / f"{100:020d}.log").write_bytes(metadata_batch(100, *records))
    found = timeline(tmp_path)
    assert (len(found.events), found.events[-1].offset) == (MOST, 100 + MOST + 49)


def test_a_snapshot_alone_has_no_past(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(snapshot())
    found = Timeline(SECOND)
    with open_file(str(tmp_path / NAME)) as file:
        found.snapshot(file.data, end_offset=100)
    assert (found.buckets, found.states, list(found.events), len(found.image.topics)) == ({}, None, [], 1)


def test_states_of_a_broker() -> None:
    assert broker_state(None) == "not registered"
    assert [broker_state(broker(1, fenced=f, inControlledShutdown=c)) for f, c in ((0, 0), (0, 1), (1, 1))] == [
        "alive",
        "controlled shutdown",
        "fenced",
    ]
