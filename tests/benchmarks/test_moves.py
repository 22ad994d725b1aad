"""What a capture tells of clients whose leaders moved."""

from benchmarks.moves import Step, milliseconds, replicas, waits_of


def test_a_wait_lasts_from_the_last_answer_of_the_old_leader_to_the_first_request_to_the_new() -> None:
    """Two requests of partition 0 were under way to `a`; a retry at `a` does not count, one at `b` does."""
    steps = [
        Step(0.0, "a", 0, None),
        Step(1.0, "a", 0, None),
        Step(2.0, "a", 0, 6),
        Step(3.0, "a", 0, 6),
        Step(5.0, "a", 0, None),
        Step(6.0, "a", 0, 6),
        Step(10.0, "b", 0, None),
        Step(11.0, "b", 0, 0),
        Step(12.0, "b", 0, None),
    ]
    assert waits_of(steps) == [7.0]


def test_partitions_wait_for_themselves() -> None:
    steps = [
        *(Step(0.0, "a", index, None) for index in range(3)),
        *(Step(1.0, "a", index, code) for index, code in ((0, 74), (1, 0), (2, 6))),
        Step(1.5, "c", 2, None),
        Step(4.0, "c", 0, None),
        Step(5.0, "b", 1, None),
    ]
    assert waits_of(steps) == [0.5, 3.0]


def test_times_of_a_day() -> None:
    assert milliseconds("2026-11-21T01:02:03.004500Z") == ((60 + 2) * 60 + 3) * 1000 + 4.5


def test_every_turn_gives_each_partition_another_leader() -> None:
    for partition in range(4):
        assert sorted(replicas(partition, turn)[0] for turn in range(3)) == [1, 2, 3]
