"""Percentiles of latencies, the same wherever they are shown: counted in buckets, or asked for in SQL.

The width of buckets grows with their values, as in HdrHistogram: a percentile is the middle of the bucket that holds
the exchange of that rank, and at most 1/128 off.
"""

from __future__ import annotations

SHARES = (0.5, 0.95, 0.99)  # of the percentiles that tables show
STEPS = 64  # buckets of an octave


def bucket_of(microseconds: int) -> int:
    """Return the bucket of a latency."""
    if microseconds < STEPS:
        return microseconds
    exponent = microseconds.bit_length() - 1
    return (exponent - 5) * STEPS + ((microseconds >> (exponent - 6)) & (STEPS - 1))


def middle_of(bucket: int) -> int:
    """Return the latency (µs) that a bucket counts as."""
    if bucket < STEPS:
        return bucket
    octave, step = divmod(bucket, STEPS)
    width = 1 << (octave - 1)
    return (STEPS + step) * width + (width - 1) // 2


def percentile_sql(milliseconds: str, share: float) -> str:
    """Return the SQL (DuckDB's and Spark's) of the percentile that buckets give for an aggregated column.

    The rank decides which bucket it is, so that the exact latency of that rank is all that has to be asked for.
    """

    def in_microseconds(aggregate: str) -> str:
        return f"floor({aggregate} * 1000 + 0.001)"  # a double may lie just below

    exact = in_microseconds(f"percentile_approx({milliseconds}, {share})")
    width = f"greatest(1, pow(2, floor(log2({exact} + 0.5)) - 6))"
    middle = f"{exact} - {exact} % {width} + floor(({width} - 1) / 2)"
    least, most = (in_microseconds(f"{name}({milliseconds})") for name in ("min", "max"))
    return f"least(greatest({middle}, {least}), {most}) / 1000"
