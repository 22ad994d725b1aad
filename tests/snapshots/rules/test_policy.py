import pytest

from kcli.snapshots.reading.names import SnapshotId
from kcli.snapshots.rules.policy import Policy, advance, deletable, due, estimate, followed, violations, vote

ONE, TWO, THREE = SnapshotId(100, 1), SnapshotId(200, 1), SnapshotId(300, 2)


@pytest.mark.parametrize(
    ("policy", "records", "size", "age", "expected"),
    [
        (Policy(minimum_records=10), 10, 0, 0, False),
        (Policy(minimum_records=10), 11, 0, 0, True),
        (Policy(max_bytes=1000), 5, 999, 0, False),
        (Policy(max_bytes=1000), 5, 1000, 0, True),
        (Policy(max_interval_ms=1000), 1, 0, 999, False),
        (Policy(max_interval_ms=1000), 1, 0, 1000, True),
        (Policy(max_interval_ms=1000), 0, 0, 5000, False),
        (Policy(max_interval_ms=None, max_bytes=None), 10**9, 10**9, 10**9, False),
    ],
)
def test_when_a_snapshot_is_due(policy: Policy, records: int, size: int, age: int, expected: bool) -> None:
    """KIP-630: controller.snapshot.minimum.records, and Apache's limits of bytes and time."""
    decision = due(policy, records=records, size=size, age_ms=age)
    assert decision.yes is expected
    assert decision.reasons


@pytest.mark.parametrize(
    ("replicas", "age", "expected"),
    [
        ({}, None, 300),
        ({2: 250, 3: 400}, None, 250),
        ({2: 20}, None, 100),
        ({2: 20}, 999, 100),
        ({2: 20}, 1000, 300),
    ],
)
def test_how_far_the_log_may_begin(replicas: dict[int, int], age: int | None, expected: int) -> None:
    """KIP-630: the LBO advances with a snapshot and all live replicas, or after max.replication.lag.ms."""
    policy = Policy(max_replication_lag_ms=1000)
    snapshots = [ONE, TWO, THREE]
    reached = advance(policy, log_begin=100, snapshots=snapshots, replicas=replicas, log_begin_age_ms=age)
    assert reached == expected


def test_without_a_snapshot_the_log_begins_where_it_does() -> None:
    assert advance(Policy(), log_begin=50, snapshots=[], replicas={}) == 50


def test_which_snapshots_may_go() -> None:
    """KIP-630: snapshots below LBO - 1 are deleted."""
    assert deletable([THREE, ONE, TWO], 200) == [ONE]
    assert deletable([ONE], 100) == []


def test_the_invariant() -> None:
    """KIP-630: a log has a snapshot between LBO - 1 and the high watermark."""
    assert violations([], 0, 50) == []
    assert violations([TWO], 200, 250) == []
    assert violations([ONE], 200, 250)
    assert violations([THREE], 200, 250)
    assert "there are: none" in violations([], 1, 5)[0]


def test_a_follower_keeps_its_log_until_a_snapshot_of_its_own_covers_what_goes() -> None:
    """KIP-630: followers follow the leader's LBO once they have a snapshot up to LBO - 1 themselves."""
    assert followed(50, 200, [ONE]) == 50
    assert followed(50, 200, [ONE, TWO]) == 200
    assert followed(250, 200, [THREE]) == 250


def test_without_the_snapshot_it_needs_a_replica_votes_as_if_its_log_were_empty() -> None:
    """KIP-630: offset -1, epoch -1 where the snapshot is missing or unfinished."""
    assert vote([TWO], 200, 250, 250, 2) == (249, 2)
    assert vote([], 0, 7, 7, 1) == (6, 1)
    assert vote([], 0, 0, 0, 5) == (-1, -1)
    assert vote([], 200, 250, 250, 2) == (-1, -1)
    assert vote([ONE], 200, 250, 250, 2) == (-1, -1)


def test_the_kip_s_own_figures() -> None:
    """KIP-630: 1.14 MB in each log and 113.29 MB sent for ISR changes, 0.77 kB for a fence."""
    cost = estimate(30_000, 99)
    assert round(cost.changed / 2**20, 2) == 1.14
    assert int(cost.changed_sent / 2**20 * 100) / 100 == 113.29
    assert round(cost.fenced_sent / 2**10, 2) == 0.77
    assert cost.fenced == 8
