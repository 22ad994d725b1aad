import random

import pytest

from kcli.sessions.latency_histogram import LatencyHistogram


def test_percentiles_within_a_few_percent() -> None:
    rng = random.Random(2)
    values = sorted(int(rng.lognormvariate(16, 1.5)) for _ in range(5000))
    latencies = LatencyHistogram()
    for value in values:
        latencies.add(value)
    for share in (0.1, 0.5, 0.9, 0.99):
        found = latencies.percentile(share)
        assert found == pytest.approx(values[int(share * len(values)) - 1] / 1e6, rel=0.07)
    assert latencies.summary()["max"] == round(values[-1] / 1e6, 3)


def test_small_values_and_none() -> None:
    latencies = LatencyHistogram()
    assert latencies.percentile(0.5) is None and latencies.summary()["p50"] is None
    for value in (-3, 0, 1, 31, 32):
        latencies.add(value)
    assert latencies.count == 5 and latencies.most == 32
    assert latencies.percentile(1.0) == pytest.approx(32e-6)


def test_merging_is_as_if_all_had_been_added() -> None:
    one, other, both = LatencyHistogram(), LatencyHistogram(), LatencyHistogram()
    for value in range(0, 10_000_000, 99_999):
        (one if value % 2 else other).add(value)
        both.add(value)
    one.merge(other)
    assert (one.steps, one.count, one.most) == (both.steps, both.count, both.most)
