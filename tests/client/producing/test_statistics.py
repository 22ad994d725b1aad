from kcli.client.producing.statistics import Statistics


def test_the_closing_line_is_that_of_kafkas_own_tool() -> None:
    statistics = Statistics()
    statistics.add([0] * 99, 2_000_000, 99 * 100)
    statistics.add([0], 500_000_000, 1048_576 - 9900)
    assert statistics.line(2.0) == (
        "100 records sent, 50.000000 records/sec (0.50 MB/sec), 6.98 ms avg latency, 500.00 ms max latency, "
        "2 ms 50th, 2 ms 95th, 2 ms 99th, 495 ms 99.9th."
    )


def test_for_scripts() -> None:
    statistics = Statistics()
    statistics.add([1_000_000, 2_000_000], 3_000_000, 20)
    statistics.client_waits.add(100_000_000)
    row = statistics.as_dict(0.5)
    assert (row["records"], row["bytes"], row["recordsPerSecond"], row["bytesPerSecond"]) == (2, 20, 4.0, 40.0)
    assert (row["latencyMs"]["avg"], row["latencyMs"]["max"]) == (1.5, 2.0)
    assert set(row["latencyMs"]) == {"avg", "max", "p50", "p95", "p99", "p99.9"}
    assert 95 <= row["errorToRetryMs"]["p50"] <= 105


def test_nothing_sent() -> None:
    statistics = Statistics()
    assert statistics.line(1.0).startswith("0 records sent, 0.000000 records/sec")
    assert statistics.as_dict(1.0)["latencyMs"]["p99"] is None
