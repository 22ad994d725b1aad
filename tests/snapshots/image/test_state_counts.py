import random

from kcli.core.snapshots import snapshot as core
from tests.oracle.snapshots import StateCounts


def test_the_most_at_one_time() -> None:
    counts = StateCounts([1, 0, 0])
    for before, after in ((0, 3), (1, 0), (3, 2)):
        counts.shift(before, after)
    assert (counts.counts, counts.most) == ([0, 1, 0], [2, 1, 0])
    counts.begin()
    assert counts.most == [0, 1, 0]


def test_the_core_counts_the_same() -> None:
    chance, each = random.Random(2), (StateCounts([9, 9, 9]), core.StateCounts([9, 9, 9]))
    for step in range(300):
        before, after, partition = chance.randrange(8), chance.randrange(8), chance.randrange(3)
        for counts in each:
            counts.time = step
            counts.shift(before, after)
            counts.move(b"t" * 16, partition)
            if step % 50 == 49:
                counts.begin()
        one, two = ((counts.counts, counts.most, counts.moves, counts.records, counts.size) for counts in each)
        assert one == two
