"""The rank test and the noise of a sample."""

import itertools
from statistics import NormalDist

import numpy
import pytest

from kcli.compare.ranks import beyond_chance, inner_range, orders_by_pairs, rank_test


def test_ways_are_those_of_every_order() -> None:
    counts = [0] * 13
    for first in itertools.combinations(range(7), 3):
        counts[sum(a > b for a in first for b in set(range(7)) - set(first))] += 1
    assert orders_by_pairs(3, 4) == counts


def test_samples_apart_are_as_probable_as_their_order() -> None:
    assert rank_test(numpy.arange(8.0), numpy.arange(8.0) + 100) == pytest.approx(2 / 12870)
    assert rank_test(numpy.arange(8.0) + 100, numpy.arange(8.0)) == pytest.approx(2 / 12870)


def test_large_samples_and_ties_follow_the_normal_distribution() -> None:
    def two_sided(pairs: float, expected: float, variance: float) -> float:
        return 2 * (1 - NormalDist().cdf((abs(pairs - expected) - 0.5) / variance**0.5))

    # 50 pairs are larger and 200 the same of 400; 15 zeros and 25 ones tie
    tied = 400 / 12 * (41 - (15**3 - 15 + 25**3 - 25) / (40 * 39))
    few, many = numpy.repeat([0.0, 1], [5, 15]), numpy.repeat([0.0, 1], [10, 10])
    assert rank_test(many, few) == pytest.approx(two_sided(150, 200, tied))
    assert rank_test(numpy.arange(16.0), numpy.arange(16.0) + 16) == pytest.approx(two_sided(0, 128, 256 * 33 / 12))


def test_samples_that_are_alike_do_not_differ() -> None:
    assert rank_test(numpy.ones(9), numpy.ones(9)) == 1.0
    assert rank_test(numpy.array([]), numpy.ones(9)) == 1.0
    assert rank_test(numpy.arange(0, 40, 2.0), numpy.arange(1, 41, 2.0)) > 0.5


def test_the_range_of_parts_is_without_the_extremes() -> None:
    assert inner_range(numpy.repeat([1.0, 900, 5, 2, 0, 3], 3), numpy.median) == (1, 5)
    assert inner_range(numpy.array([4.0, 1]), numpy.median) == (1, 4)


def test_values_that_are_like_those_before_them_say_less() -> None:
    """Of pairs of one slow process a rank test at 1 % calls more than a fifth different; corrected, few."""
    made = numpy.random.default_rng(7)
    wrong = {False: 0, True: 0}
    for _ in range(300):
        sides = []
        for _ in range(2):
            steps = made.standard_normal(150)
            for at in range(1, 150):
                steps[at] += 0.8 * steps[at - 1]
            sides.append(steps[50:])
        for by_time in wrong:
            wrong[by_time] += rank_test(sides[0], sides[1], by_time=by_time) < 0.01
    assert wrong[False] > 60 and wrong[True] < 15
    apart = made.standard_normal(40)
    assert rank_test(apart, apart + 9, by_time=True) < 1e-8
    assert rank_test(numpy.ones(9), numpy.zeros(9), by_time=True) == rank_test(numpy.ones(9), numpy.zeros(9)) < 1e-3


def test_of_many_tests_chance_alone_passes_none() -> None:
    assert beyond_chance([0.02, 0.001, 0.2], 0.01) == [False, True, False]
    assert beyond_chance([0.009] * 3, 0.01) == [False, False, False]
