"""A rank test of two samples, and the range of each.

The test is Mann and Whitney's: it asks nothing of how values are spread, and single outliers do not move it. Blocks of
time that follow each other are alike, though: they say as much as fewer blocks would that are independent.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

EXACT = 20  # values in both samples up to which ways are counted; beyond, and with ties, they are normal enough
PARTS = 6  # of a capture, which are compared with each other
MOST_ALIKE = 0.9  # correlation of neighbours up to which a sample says anything


def rank_test(sample: Any, other_sample: Any, by_time: bool = False) -> float:
    """Return how probable it is that samples of one distribution differ at least as much. Both: numpy arrays. by_time:
    each is in order of time, and a value may be like the one before it."""
    import numpy

    values, first = numpy.concatenate([sample, other_sample]), len(sample)
    second = len(values) - first
    if not first or not second:
        return 1.0
    _, place, counts = numpy.unique(values, return_inverse=True, return_counts=True)
    ranks = (numpy.cumsum(counts) - (counts - 1) / 2)[place]  # ties share the mean of their ranks
    pairs = float(ranks[:first].sum()) - first * (first + 1) / 2
    spread = alike(ranks[:first], ranks[first:]) if by_time else 1.0
    if len(values) <= EXACT and len(counts) == len(values) and spread == 1.0:
        orders = orders_by_pairs(first, second)
        below = sum(orders[: int(min(pairs, first * second - pairs)) + 1])
        return min(1.0, 2 * below / sum(orders))
    ties = float((counts**3 - counts).sum()) / (len(values) * (len(values) - 1))
    variance = first * second / 12 * (len(values) + 1 - ties) * spread
    if variance <= 0:
        return 1.0
    distance = max(abs(pairs - first * second / 2) - 0.5, 0)
    return math.erfc(distance / math.sqrt(2 * variance))


@cache
def orders_by_pairs(first: int, second: int) -> list[int]:
    """Return in how many orders of two samples each number of pairs has the larger value in the first."""
    if not first or not second:
        return [1]
    # The largest of all values is in the first, above all of the second, or in the second.
    orders = [0] * (first * second + 1)
    for above, count in enumerate(orders_by_pairs(first - 1, second)):
        orders[above + second] += count
    for above, count in enumerate(orders_by_pairs(first, second - 1)):
        orders[above] += count
    return orders


def alike(*samples: Any) -> float:
    """Return how many values say as much as one that is independent of the value before it (of an AR(1) process: its
    mean varies as much as that of so many times fewer). samples: numpy arrays by time."""
    import numpy

    apart = [sample - sample.mean() for sample in samples]
    whole = sum(float(numpy.square(sample).sum()) for sample in apart)
    if not whole:
        return 1.0
    share = sum(float((sample[1:] * sample[:-1]).sum()) for sample in apart) / whole
    share = min(max(share, 0.0), MOST_ALIKE)
    return (1 + share) / (1 - share)


def inner_range(values: Any, centre: Any) -> tuple[float, float]:
    """Return the range of parts of a capture, but for the lowest and the highest: one of them may have met a pause of
    the whole machine. values: by time; centre: mean or median of some."""
    import numpy

    found = sorted(float(centre(part)) for part in numpy.array_split(values, PARTS) if len(part))
    return (found[1], found[-2]) if len(found) == PARTS else (found[0], found[-1])


def beyond_chance(probabilities: Sequence[float], share: float) -> list[bool]:
    """Return which of many tests hold together, so that in `share` of comparisons at most one is wrong (Holm)."""
    order = sorted(range(len(probabilities)), key=lambda at: probabilities[at])
    significant = [False] * len(order)
    for done, at in enumerate(order):
        if probabilities[at] > share / (len(order) - done):
            break
        significant[at] = True
    return significant
