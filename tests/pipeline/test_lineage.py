"""Rows of the table `lineage`."""

from pathlib import Path

from kcli.pipeline.lineage import lineage_rows
from kcli.pipeline.packets.decoding import Decoded
from kcli.pipeline.packets.ranges import Range
from kcli.pipeline.packets.shuffle import ShuffledRange
from tests.pipeline.outputs import named, rows_of, run_here, unaccounted


def test_the_ranges_of_a_file_are_one_row() -> None:
    ranges = [
        ShuffledRange(Range("a", 90, at, at + 45), at, at + 45, [], [], None, packets=5, tcp=4, others=1, first_ns=ns)
        for at, ns in ((0, 7000), (45, 9000))
    ]
    (row,) = named("lineage", lineage_rows(3, ranges, []))
    assert (row["run"], row["scope"], row["name"], row["bytes"]) == (3, "file", "a", 90)
    assert (row["packets"], row["tcp_packets"], row["other_packets"], row["first"]) == (10, 8, 2, 7)


def test_a_window_is_named_as_such() -> None:
    made = [Decoded(2, [], [], set(), packets=4), Decoded(2, [], [], set(), packets=5, window=1)]
    rows = named("lineage", lineage_rows(1, [], made))
    assert [(row["scope"], row["name"], row["packets"]) for row in rows] == [
        ("share", "2", 4),
        ("share", "2, window 1", 5),
    ]


def test_every_byte_is_accounted_for(samples: Path, output: Path) -> None:
    run_here([samples / "java44-txn.pcap"], output, shares=2)
    assert unaccounted(output) == 0
    assert {row["scope"] for row in rows_of(output, "lineage")} >= {"file", "share"}
