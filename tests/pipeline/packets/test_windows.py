"""Connections cut into windows of time: the rows are those without windows, wherever the edges are."""

import contextlib
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kcli.capture.io.files import FOREVER
from kcli.core.capture.packets import PacketReader
from kcli.pipeline import run
from kcli.pipeline.context import Options
from kcli.pipeline.packets.ranges import Range
from kcli.pipeline.packets.reading import START, Reading
from kcli.pipeline.packets.shuffle_files import Part, ShuffleFile
from kcli.pipeline.packets.windows import Heavy, moments
from kcli.pipeline.spark_engine import SparkEngine
from tests.capture.wires import Packet, packets_of, pcap
from tests.pipeline.outputs import assert_decoded, cut_at, rows_of, run_here, unaccounted, window_count
from tests.pipeline.packets.shuffling import shuffle_range

ROOT = Path(__file__).parents[3]
CAPTURES = [
    "samples/java44-consume-classic.pcap", "samples/sasl-plain-scram.pcap", "tests/capture/data/kraft-boot.pcap.zst",
    "tests/capture/data/mid-stream.pcap.zst", "tests/capture/data/java44-admin.pcap.gz",
]  # fmt: skip


def staged(parts: list[tuple[int, int, int]]) -> ShuffleFile:
    """(first_ns, last_ns, bytes) of each part."""
    made = ShuffleFile(0, 1, "x")
    for number, (first, last, size) in enumerate(parts):
        made.add(Part(24 + number, first, last, size), 1, 7, size)
    return made


def test_moments_divide_the_bytes_evenly() -> None:
    assert moments([staged([(0, 100, 1000)])], 4) == [25, 50, 75]
    assert moments([staged([(0, 100, 1000), (100, 1000, 1000)])], 4) == [50, 100, 550]
    assert moments([staged([(0, 10, 300)]), staged([(20, 40, 600)])], 3) == [20, 30]
    assert moments([staged([(5, 5, 300)])], 3) == [5]
    assert moments([staged([(0, 100, 1000)])], 1) == []


class Order:
    """Stands in for an engine: notes the packets that come by, in order."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, bytes]] = []
        self.next_ns = 0

    def run(self, reader: Any, data: memoryview, limit: int) -> tuple[int, str]:
        used, rows = reader.rows(data)
        for at, ns, _, _, _, packet in rows:
            if ns > limit:
                self.next_ns = ns
                return at, "limit"
            self.seen.append((ns, packet))
        return used, "end"


def read(heavy: Heavy, edges: list[int]) -> list[tuple[int, bytes]]:
    order = Order()
    for window in heavy.windows(edges):
        with contextlib.closing(Reading(order, PacketReader, window.slices, window.after)) as reading:
            reading.run(window.until)
    return order.seen


@pytest.mark.parametrize("seed", range(12))
def test_every_packet_is_in_one_window_in_the_same_order(seed: int, samples: Path, tmp_path: Path) -> None:
    """Files that overlap in time, with times that go back."""
    chance = random.Random(seed)
    files: list[list[Packet]] = [[], [], []]
    for packet in packets_of(samples / "java44-txn.pcap"):
        files[chance.randrange(3)].append(packet._replace(ns=packet.ns + chance.choice([0, 0, 0, -3_000_000, 5_000])))
    made = []
    for number, packets in enumerate(files):
        path = tmp_path / f"{number}.pcap"
        path.write_bytes(pcap(packets, nano=True))
        made += shuffle_range(Range(str(path), 0), number, 1, str(tmp_path / "staged")).staged
    heavy = Heavy(0, 0, tuple(made))
    whole = read(heavy, [])
    assert len(whole) == sum(map(len, files))
    stamps = sorted({ns for ns, _ in whole})
    edges = sorted({chance.choice(stamps) + chance.choice([-1, 0, 1]) for _ in range(9)})
    assert read(heavy, edges) == whole
    assert [window.after for window in heavy.windows(edges)] == [START, *edges]
    assert all(before.until == after.after for before, after in pairwise(heavy.windows(edges)))


def times(path: Path) -> list[int]:
    """Of all packets."""
    from kcli.capture.io.ranges import rows

    return [row.ns for row in rows(str(path))]


@pytest.mark.parametrize("name", CAPTURES)
@pytest.mark.parametrize("seed", range(2))
def test_windows_anywhere_give_the_rows_of_no_windows(
    seed: int, name: str, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(f"{seed} {name}")
    stamps = times(ROOT / name)
    edges = {chance.choice(stamps) + chance.choice([-1, 0]) for _ in range(chance.choice([1, 3, 8]))}
    cut_at(monkeypatch, edges)
    run_here([ROOT / name], output, shares=chance.choice([1, 4, 16]), window_bytes=1)
    assert_decoded(output, [ROOT / name])
    assert unaccounted(output) == 0


@pytest.mark.parametrize("name", [CAPTURES[2], CAPTURES[4]])
def test_a_connection_of_many_windows(name: str, output: Path) -> None:
    """As a run cuts it by itself; the tables hold what they hold without windows."""
    run_here([ROOT / name], output, shares=8, window_bytes=8_000)
    assert window_count(output) >= 5
    assert_decoded(output, [ROOT / name])
    assert unaccounted(output) == 0
    whole = output.parent / "whole"
    run_here([ROOT / name], whole, shares=8)
    assert window_count(whole) == 0
    for table in ("fetch_partitions", "record_batches", "topic_names"):
        assert told(output, table) >= told(whole, table)
    assert used(output) == used(whole)


def told(output: Path, table: str) -> Counter[str]:
    """The rows of a table."""
    return Counter(map(str, rows_of(output, table)))


def used(output: Path) -> Counter[str]:
    """`client_uses`, counts of equal rows added up."""
    made: Counter[str] = Counter()
    for row in rows_of(output, "client_uses"):
        count = row.pop("requests")
        made[str(row)] += count
    return made


def test_windows_of_what_an_earlier_run_had_begun(samples: Path, tmp_path: Path, output: Path) -> None:
    """What is under way at the end of the last window is carried to the next run, whose first window takes it up."""
    whole = ROOT / "tests" / "capture" / "data" / "java44-admin.pcap.gz"
    packets = packets_of(whole)
    step = -(-len(packets) // 3)
    for number in range(3):
        path = tmp_path / f"{number}.pcap"
        path.write_bytes(pcap(packets[number * step : (number + 1) * step], nano=True))
        run_here([path], output, shares=8, window_bytes=8_000)
        assert unaccounted(output) == 0
    assert window_count(output) >= 5
    assert_decoded(output, [whole])


def test_no_window_is_last_but_one() -> None:
    heavy = Heavy(3, 7, (staged([(0, 100, 1000)]),))
    windows = heavy.windows([10, 20])
    assert [window.until == FOREVER for window in windows] == [False, False, True]
    assert Options("x").window_bytes == 0


def test_windows_are_tasks_of_spark(spark: Any, output: Path) -> None:
    name = ROOT / "tests" / "capture" / "data" / "java44-admin.pcap.gz"
    answer: list[tuple[str, int]] = []
    options = Options(str(output), shares=8, window_bytes=8_000)
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()
    before = scheduler.numTotalJobs()
    run.run_pipeline(SparkEngine(spark), [str(name)], options, lambda what, done, total: answer.append((what, total)))
    assert scheduler.numTotalJobs() - before <= 4  # sorting, decoding, naming, and the tables across connections
    assert rows_of(output, "connections")
    assert "decoding again" not in {what for what, _ in answer}
    assert max(total for what, total in answer if what == "decoding") > 8
    assert_decoded(output, [name])
    assert unaccounted(output) == 0
