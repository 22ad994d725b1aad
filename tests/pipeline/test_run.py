"""Runs over real captures: the same exchanges and events as `kcli decode pcap`, however the files are cut and come."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pyarrow.parquet
import pytest

from kcli.errors import InputError
from kcli.pipeline.context import Options
from kcli.pipeline.journal import Journal
from kcli.pipeline.run import run_pipeline
from kcli.pipeline.tables import TABLES
from tests.capture.wires import DATA, Packet, packets_of, pcap
from tests.pipeline.outputs import Here, assert_decoded, rows_of, run_here, unaccounted

CAPTURES = [
    "samples/kcat-codecs.pcap", "samples/java44-consume-classic.pcap", "samples/java44-txn.pcap",
    "samples/sasl-plain-scram.pcap", "samples/ipv6.pcapng", "samples/old-librdkafka-on-3.9.pcap",
    "tests/capture/data/kraft-boot.pcap.zst", "tests/capture/data/mid-stream.pcap.zst",
    "tests/capture/data/retransmissions.pcap.zst", "tests/capture/data/java44-admin.pcap.gz",
]  # fmt: skip
ROOT = Path(__file__).parents[2]


TASKS: list[dict[str, Any]] = [{"shares": 5, "range_bytes": 20_000}, {}]


@pytest.mark.parametrize("tasks", TASKS, ids=["many tasks", "one task"])
@pytest.mark.parametrize("name", CAPTURES)
def test_rows_are_the_lines_of_decode_pcap(name: str, tasks: dict[str, Any], output: Path) -> None:
    summary = run_here([ROOT / name], output, **tasks)
    assert_decoded(output, [ROOT / name])
    assert unaccounted(output) == 0
    assert (summary.exchanges, summary.problems) == (len(rows_of(output, "exchanges")), [])


def rotated(samples: Path, tmp_path: Path, count: int = 7, name: str = "java44-txn.pcap") -> list[Path]:
    """A capture as tcpdump rotates it, packet borders and nothing else."""
    packets = packets_of(samples / name)
    step = -(-len(packets) // count)
    paths = []
    for number in range(count):
        paths.append(tmp_path / f"rotated.pcap{number}")
        paths[-1].write_bytes(pcap(packets[number * step : (number + 1) * step], nano=True))
    return paths


@pytest.mark.parametrize("tasks", TASKS)
def test_rotated_files_in_any_order_are_one_capture(
    tasks: dict[str, Any], samples: Path, tmp_path: Path, output: Path
) -> None:
    files = rotated(samples, tmp_path)
    random.Random(3).shuffle(files)
    run_here(files, output, **tasks)
    assert_decoded(output, [samples / "java44-txn.pcap"])
    assert unaccounted(output) == 0


@pytest.mark.parametrize("name", ["java44-txn.pcap", "sasl-plain-scram.pcap", "java44-consume-classic.pcap"])
def test_a_run_for_each_file_gives_what_one_run_gives(name: str, samples: Path, tmp_path: Path, output: Path) -> None:
    for number, path in enumerate(rotated(samples, tmp_path, name=name)):
        run_here([path], output, shares=number % 4)
        assert unaccounted(output) == 0
    assert_decoded(output, [samples / name])
    whole = tmp_path / "whole"
    run_here([samples / name], whole)
    assert told(output) == told(whole)


def told(output: Path) -> Counter[str]:
    """The rows of `fetch_partitions`: some columns are what fetches before them said."""
    return Counter(map(str, rows_of(output, "fetch_partitions")))


def test_a_run_again_reads_nothing_twice(samples: Path, tmp_path: Path, output: Path) -> None:
    name = samples / "java44-txn.pcap"
    run_here([name], output)
    before = sorted(path for path in output.rglob("*") if path.is_file())
    copy = tmp_path / "copy.pcap"
    copy.write_bytes(name.read_bytes())
    again = run_here([name, copy], output)
    assert (again.files, again.skipped) == (0, 2)
    assert sorted(path for path in output.rglob("*") if path.is_file()) == before


def test_a_capture_of_two_hosts_counts_once(samples: Path, tmp_path: Path, output: Path) -> None:
    """The other host saw the same packets 300 us later, and its file has other link-layer bytes."""
    name = samples / "java44-txn.pcap"
    other = tmp_path / "other.pcap"
    seen = [Packet(p.ns + 300_000, bytes(range(12)) + p.data[12:], p.length) for p in packets_of(name)]
    other.write_bytes(pcap(seen, nano=True))
    run_here([name, other], output, shares=2)
    alone = tmp_path / "alone"
    run_here([name], alone, shares=2)
    keys = ("connection", "correlation_id", "api_key", "request", "response", "request_bytes", "response_bytes")
    answer = [sorted(str([row[key] for key in keys]) for row in rows_of(each, "exchanges")) for each in (output, alone)]
    assert answer[0] == answer[1]
    shares = [row for row in rows_of(output, "lineage") if row["scope"] == "share"]
    assert sum(row["duplicate_bytes"] for row in shares) >= sum(row["exchange_bytes"] for row in shares)
    assert unaccounted(output) == 0


@pytest.mark.parametrize("moment", ["commit", "publish"])
def test_a_run_that_dies_is_done_again_or_finished(
    moment: str, samples: Path, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = samples / "java44-txn.pcap"
    with monkeypatch.context() as patched:
        patched.setattr(Journal, moment, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run_here([name], output)
    assert not rows_of(output, "exchanges")
    again = run_here([name], output)
    assert again.files == (1 if moment == "commit" else 0)
    assert_decoded(output, [name])
    assert not list((output / "_kcli" / "runs").glob("*"))


@pytest.mark.parametrize("tasks", [{"shares": 2}, {}])
def test_damage_is_told_at_the_end_and_the_rest_is_there(
    tasks: dict[str, Any], samples: Path, tmp_path: Path, output: Path
) -> None:
    cut, bad = tmp_path / "cut.pcap", tmp_path / "bad.pcap"
    cut.write_bytes((samples / "java44-txn.pcap").read_bytes()[:-7])
    bad.write_bytes(b"GIF89a" + bytes(50))
    summary = run_here([cut, bad], output, **tasks)
    assert [str(path) in problem for path, problem in zip((bad, cut), summary.problems, strict=True)] == [True, True]
    assert summary.exchanges > 50
    assert [row["event"] for row in rows_of(output, "undecodable") if row["file"] == str(cut)] == ["truncated"]


def test_a_missing_input_is_one_line(output: Path) -> None:
    with pytest.raises(InputError, match="no/where: No such file"):
        run_pipeline(Here(), ["no/where"], Options(str(output)))


def test_names_that_other_connections_heard(output: Path) -> None:
    """With one task each connection's names are known to all; with many they have to be put in afterwards."""
    names = ("java44-consume-classic.pcap", "java44-txn.pcap")
    run_here([ROOT / "samples" / name for name in names], output, shares=16)
    rows = rows_of(output, "fetch_partitions")
    assert rows
    assert all(row["topic"] for row in rows if row["answered"])
    apart = [path for path in output.glob("fetch_partitions/*/*") if "-nameless" in path.name]
    assert 0 < sum(pyarrow.parquet.read_metadata(path).num_rows for path in apart) < len(rows)


@pytest.mark.parametrize("mirrored", [DATA / "snaplen-96.pcap"])
def test_packets_that_were_cut_off_are_events(mirrored: Path, output: Path) -> None:
    run_here([mirrored], output, shares=3)
    found = rows_of(output, "exchanges")
    assert len(found) == 24 and sum(row["errors"] is None for row in found) == 20
    assert unaccounted(output) == 0


def test_every_table_is_there_with_its_columns(samples: Path, output: Path) -> None:
    """For whoever reads folders; an empty one is gone once there are rows, or does no harm."""
    run_here([samples / "java44-txn.pcap"], output)
    for name, table in TABLES.items():
        found = pyarrow.dataset.dataset(output / name, format="parquet", partitioning="hive")
        assert found.schema.names[: len(table.names)] == table.names
    assert not rows_of(output, "down_conversions")
    before = {path for path in output.rglob("*.parquet") if "empty" in path.name}
    run_here([samples / "old-librdkafka-on-3.9.pcap"], output)
    assert rows_of(output, "down_conversions")
    assert {path for path in output.rglob("*.parquet") if "empty" in path.name} == before
