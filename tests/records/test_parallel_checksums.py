"""One stripe of a source, apart from the writer that hands them out."""

import threading

import pytest

from kcli.core.records import batches as core
from kcli.records import Slice, build_batch
from kcli.records.parallel_checksums import Stripe, new_buffer
from kcli.records.text import new_writer

BATCH = build_batch([(1, b"key", b"v" * 50, ())], 0)
SIZE = len(BATCH)


def stripe(data: bytes, base: int, span: int, before: Stripe | None = None, room: int | None = None) -> Stripe:
    read = Slice.of(data).read
    return Stripe(read, base, span, new_buffer(2 * span if room is None else room), new_writer(), before)


def rows(worked: Stripe) -> int:
    assert worked.error is None and not worked.unsound
    return worked.writer.text().tobytes().count(b"\n")


@pytest.mark.parametrize(("span", "first"), [(SIZE, 1), (SIZE + 1, 2), (2 * SIZE - 1, 2), (2 * SIZE, 2)])
def test_a_batch_is_in_the_stripe_it_begins_in(span: int, first: int) -> None:
    one = stripe(BATCH * 3, 0, span)
    one.work(False)
    assert (rows(one), one.end) == (first, first * SIZE)
    two = stripe(BATCH * 3, span, span, one)
    two.work(False)
    assert two.start == one.end
    assert (rows(two), two.end) == (1 if span == SIZE else 3 - first, SIZE * (2 if span == SIZE else 3))


def test_a_stripe_inside_a_long_batch_has_none() -> None:
    one = stripe(BATCH * 2, 0, 20, room=4 * SIZE)
    long: list[Stripe] = []
    one.work(False)
    for base in range(20, SIZE, 20):
        long.append(stripe(BATCH * 2, base, 20, (long or [one])[-1], room=4 * SIZE))
        long[-1].work(False)
    assert sum(map(rows, long)) == 1 and long[-1].end == 2 * SIZE
    assert all(rows(each) == 0 for each in long[:-1])


def test_it_waits_for_no_more_than_where_to_begin() -> None:
    """The one before has only to walk its sizes: it may be at its checksums for long."""
    one = stripe(BATCH * 4, 0, 2 * SIZE)
    two = stripe(BATCH * 4, 2 * SIZE, 2 * SIZE, one)
    worker = threading.Thread(target=two.work, args=(False,))
    worker.start()
    worker.join(0.05)
    assert worker.is_alive()
    one.end = 2 * SIZE
    one.walked.release()
    worker.join(60)
    assert not worker.is_alive() and rows(two) == 2 and two.before is None


@pytest.mark.parametrize("at", [8, 16, 17, SIZE - 1])
def test_damage_makes_it_unsound_and_the_next_one_with_it(at: int) -> None:
    data = bytearray(BATCH * 3)
    data[SIZE + at] ^= 0x81
    one = stripe(bytes(data), 0, SIZE + 1)
    one.work(False)
    assert one.unsound and one.error is None
    if one.end < 0:
        two = stripe(bytes(data), SIZE + 1, SIZE + 1, one)
        two.work(False)
        assert two.unsound


def test_a_cut_batch_and_one_without_room_are_unsound() -> None:
    cut, tight = stripe((BATCH * 2)[:-1], 0, 2 * SIZE), stripe(BATCH, 0, 40, room=SIZE - 1)
    for worked in (cut, tight):
        worked.work(False)
        assert worked.unsound and worked.error is None and worked.end == -1


def test_an_error_of_the_source_is_kept_and_the_next_one_let_go() -> None:
    def fails(_into: memoryview, _position: int) -> int:
        raise OSError(5, "broken disk")

    one = Stripe(fails, 0, 100, new_buffer(300), new_writer(), None)
    one.work(False)
    assert isinstance(one.error, OSError)
    two = stripe(BATCH * 2, 100, 100, one)
    two.work(False)
    assert two.unsound and two.error is None


def test_records_are_counted_as_elsewhere() -> None:
    one = stripe(BATCH * 2, 0, 2 * SIZE)
    one.work(True)
    assert one.writer.take_findings() == (2, 2, 0, [])
    assert core.whole(BATCH * 2, 0, 2 * SIZE)[1] == one.end
