"""Computes percentiles of latencies in one way everywhere: by counts in buckets, or by SQL.

The width of buckets grows with their values, as in HdrHistogram. A percentile is the middle of the bucket with the
exchange of that rank, and off by at most 1/128.
"""

SHARES = (0.5, 0.95, 0.99)  # the percentiles in tables
STEPS = 64  # buckets in an octave


def bucket_of(microseconds: int) -> int:
    """Return the bucket of a latency (µs)."""
    if microseconds < STEPS:
        return microseconds
    exponent = microseconds.bit_length() - 1
    return (exponent - 5) * STEPS + ((microseconds >> (exponent - 6)) & (STEPS - 1))


def middle_of(bucket: int) -> int:
    """Return the latency (µs) for which a bucket stands."""
    if bucket < STEPS:
        return bucket
    octave, step = divmod(bucket, STEPS)
    width = 1 << (octave - 1)
    return (STEPS + step) * width + (width - 1) // 2


def percentile_sql(milliseconds: str, share: float) -> str:
    """Return SQL, for DuckDB and Spark, of the percentile that buckets give for a column. milliseconds: the column.

    The rank alone determines the bucket, so the query needs only the exact latency of that rank.
    """

    def in_microseconds(aggregate: str) -> str:
        return f"floor({aggregate} * 1000 + 0.001)"  # a double may be slightly below

    exact = in_microseconds(f"percentile_approx({milliseconds}, {share})")
    width = f"greatest(1, pow(2, floor(log2({exact} + 0.5)) - 6))"
    middle = f"{exact} - {exact} % {width} + floor(({width} - 1) / 2)"
    least, most = (in_microseconds(f"{name}({milliseconds})") for name in ("min", "max"))
    return f"least(greatest({middle}, {least}), {most}) / 1000"
