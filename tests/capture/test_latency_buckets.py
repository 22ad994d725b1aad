"""Percentiles by SQL are those of buckets."""

import random

import pytest

from kcli.capture.latency_buckets import bucket_of, percentile_sql
from kcli.capture.statistics import Figures
from kcli.tables.exchange_views import MACROS

duckdb = pytest.importorskip("duckdb")
SHARES = (0.5, 0.95, 0.99)


@pytest.mark.parametrize("most", [0, 1, 63, 64, 127, 128, 5_000, 1 << 40])
def test_sql_gives_what_buckets_give(most: int) -> None:
    """Also at the edges of a bucket, and for one latency alone, which is exact."""
    rng = random.Random(most)
    for count in (1, 2, 7, 100, 999):
        latencies = [rng.choice((most, rng.randint(0, most), 1 << rng.randrange(40))) for _ in range(count)]
        figures = Figures()
        for each in latencies:
            figures.merge(Figures(1, least=each, most=each))
            figures.buckets[bucket_of(each)] += 1
        figures.least, figures.most = min(latencies), max(latencies)
        connection = duckdb.connect()
        for macro in MACROS:
            connection.execute(f"CREATE MACRO {macro}")
        asked = ", ".join(percentile_sql("ms", share) for share in SHARES)
        values = ", ".join(f"({each * 1000 / 1e6!r}::DOUBLE)" for each in latencies)
        assert [*connection.execute(f"SELECT {asked} FROM (VALUES {values}) AS t(ms)").fetchone()] == (
            figures.percentiles(SHARES)
        )
    assert connection.execute(f"SELECT {percentile_sql('ms', 0.5)} FROM (SELECT NULL::DOUBLE AS ms)").fetchone() == (
        None,
    )
