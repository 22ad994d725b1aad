import random

import pytest

from kcli.client.producing.accumulator import BATCH_OVERHEAD, RECORD_OVERHEAD, Accumulator, Waiting
from kcli.records.batches import LAST_SEQUENCE

T0, T1 = ("t", 0), ("t", 1)
FEW = BATCH_OVERHEAD + 3 * (RECORD_OVERHEAD + 10)


def made(batch_size: int = FEW, linger: float = 0.01, in_flight: int = 5, *, idempotent: bool = True) -> Accumulator:
    return Accumulator(batch_size, linger, in_flight, idempotent=idempotent)


def add(accumulator: Accumulator, count: int, now: float = 0.0, partition: tuple[str, int] = T0) -> None:
    for _ in range(count):
        accumulator.append(partition, (0, None, bytes(10), ()), 0, now)


def begun(accumulator: Accumulator, partition: tuple[str, int] = T0) -> Accumulator:
    """The same, its first batch acknowledged; sequences go on from 3."""
    add(accumulator, 3, partition=partition)
    for batch in takeable(accumulator, 1000.0):
        accumulator.finish(batch, 0.0)
    return accumulator


def takeable(accumulator: Accumulator, now: float) -> list[Waiting]:
    """Everything that may go now."""
    out: list[Waiting] = []
    while queues := list(accumulator.sendable(now)):
        out += [accumulator.take(queue) for queue in queues]
    return out


def test_a_full_batch_goes_at_once_and_another_after_linger() -> None:
    accumulator = begun(made())
    assert accumulator.append(T0, (0, None, bytes(10), ()), 0, 0.0) == (True, False)
    assert accumulator.append(T0, (0, None, bytes(10), ()), 0, 0.0) == (False, False)
    assert not takeable(accumulator, 0.005)
    assert accumulator.next_wait(0.004) == pytest.approx(0.006)
    assert accumulator.append(T0, (0, None, bytes(10), ()), 0, 0.0) == (False, True)
    (first,) = takeable(accumulator, 0.005)
    assert (len(first.rows), first.sequence) == (3, 3)
    add(accumulator, 1, 0.005)
    assert not takeable(accumulator, 0.0149)
    (second,) = takeable(accumulator, 0.0151)
    assert (len(second.rows), second.sequence) == (1, 6)


def test_a_record_larger_than_a_batch_has_one_of_its_own() -> None:
    accumulator = made()
    assert accumulator.append(T0, (0, None, bytes(1000), ()), 0, 0.0) == (True, True)
    add(accumulator, 1)
    assert [len(batch.rows) for batch in takeable(accumulator, 0.0)] == [1]


def test_flushing_waits_for_nothing() -> None:
    accumulator = made(linger=100)
    add(accumulator, 1)
    add(accumulator, 1, partition=T1)
    assert not takeable(accumulator, 0.0)
    accumulator.flushing = True
    assert len(takeable(accumulator, 0.0)) == 2


def test_no_more_than_so_many_are_under_way() -> None:
    accumulator = begun(made(in_flight=2))
    add(accumulator, 12)
    first, second = takeable(accumulator, 0.0)
    accumulator.finish(first, 0.0)
    (third,) = takeable(accumulator, 0.0)
    assert [second.sequence, third.sequence] == [6, 9]
    assert accumulator.next_wait(0.0) is None


@pytest.mark.parametrize("idempotent", [True, False])
def test_the_first_batch_of_a_partition_goes_alone(idempotent: bool) -> None:
    accumulator = made(idempotent=idempotent)
    add(accumulator, 9)
    batches = takeable(accumulator, 0.0)
    assert len(batches) == (1 if idempotent else 3)
    accumulator.finish(batches[0], 0.0)
    assert len(takeable(accumulator, 0.0)) == (2 if idempotent else 0)


def test_after_a_failure_order_is_kept() -> None:
    accumulator = begun(made())
    add(accumulator, 12)
    first, second, third, fourth = takeable(accumulator, 0.0)
    accumulator.retry(first, 1.0, 0.1)
    accumulator.retry(third, 1.0, 0.0)
    add(accumulator, 3, 1.0)
    # Nothing goes while others are under way, nor before the backoff is over.
    assert not takeable(accumulator, 2.0)
    accumulator.finish(second, 0.0)
    accumulator.retry(fourth, 1.0, 0.1)
    assert not takeable(accumulator, 1.05)
    assert accumulator.next_wait(1.05) == pytest.approx(0.05)
    again = takeable(accumulator, 1.2)
    # One, and what follows once that is taken: it may fail again.
    assert again == [first]
    assert not accumulator.is_first(fourth)
    accumulator.finish(first, 0.0)
    rest = takeable(accumulator, 1.2)
    assert rest[:2] == [third, fourth]
    assert [batch.sequence for batch in rest] == [9, 12, 15]
    assert [batch.attempts for batch in (first, second, third, fourth)] == [2, 1, 2, 2]


def test_a_hint_does_away_with_the_backoff() -> None:
    accumulator = made()
    add(accumulator, 3)
    (batch,) = takeable(accumulator, 0.0)
    accumulator.retry(batch, 1.0, 5.0)
    (queue,) = accumulator.queues.values()
    assert accumulator.wait_of(queue, 1.0) == 5.0
    assert not takeable(accumulator, 1.0)
    assert takeable(accumulator, 6.0) == [batch]
    accumulator.retry(batch, 7.0, 0.0)
    assert takeable(accumulator, 7.0) == [batch]


def test_sequences_begin_again_after_the_largest() -> None:
    accumulator = begun(made())
    add(accumulator, 6)
    accumulator.queues[T0].next_sequence = LAST_SEQUENCE - 1
    first, second = takeable(accumulator, 0.0)
    assert (first.sequence, second.sequence) == (LAST_SEQUENCE - 1, 1)


def test_without_idempotence_there_are_no_sequences() -> None:
    accumulator = made(idempotent=False)
    add(accumulator, 3)
    assert [batch.sequence for batch in takeable(accumulator, 0.0)] == [-1]


@pytest.mark.parametrize("seed", range(20))
def test_whatever_fails_the_broker_sees_every_record_once_and_in_order(seed: int) -> None:
    chance = random.Random(seed)
    accumulator = made(in_flight=chance.choice([1, 2, 5]))
    now, given, seen, expected = 0.0, 0, [], 0
    under_way: list[Waiting] = []
    while given < 300 or not accumulator.is_empty:
        now += 0.01
        if given < 300:
            add(accumulator, 1, now)
            given += 1
        under_way += takeable(accumulator, now)
        while under_way and chance.random() < 0.5:
            batch = under_way.pop(0)
            if batch.sequence == expected and chance.random() < 0.7:
                expected += len(batch.rows)
                seen.append(len(batch.rows))
                accumulator.finish(batch, 0.0)
            else:
                # Refused, or out of order behind one that was.
                accumulator.retry(batch, now, chance.choice([0.0, 0.05]))
    assert sum(seen) == expected == 300
    assert accumulator.bytes == 0


def test_a_new_leader_is_waited_for_from_when_the_last_batch_came_back() -> None:
    """`refused_at`, from which the wait is counted, stands only where a leader refused."""
    accumulator = begun(made())
    add(accumulator, 6)
    first, second = takeable(accumulator, 0.0)
    (queue,) = accumulator.queues.values()
    accumulator.retry(first, 1.0, 0.0)
    queue.refused_epoch = 7
    times = [queue.refused_at]
    accumulator.retry(second, 2.0, 0.0)
    times.append(queue.refused_at)
    [again] = takeable(accumulator, 3.0)
    accumulator.retry(again, 4.0, 0.0)
    times.append(queue.refused_at)
    queue.refused_epoch = queue.refused_at = None
    [again] = takeable(accumulator, 5.0)
    accumulator.retry(again, 6.0, 0.0)
    assert [*times, queue.refused_at] == [None, 2.0, 2.0, None]
