"""The columns that say where rows come from."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pytest
from deltalake import DeltaTable

from kcli.capture.io.files import FOREVER
from kcli.errors import UsageError
from kcli.pipeline.rows.origins import Origins, named_in, origin_pattern
from kcli.pipeline.tables import FILED, ORIGIN
from tests.pipeline.outputs import run_here
from tests.pipeline.test_run import rotated

PATTERN = r"(?P<cluster>[^/]+)/(?P<host>[^/]+)/[^/]+$"


def test_a_path_says_its_host_and_cluster() -> None:
    pattern = origin_pattern(PATTERN)
    assert named_in("s3://bucket/blue/b1/x.pcap?endpoint_override=h:1", pattern) == ("blue", "b1")
    assert named_in("x.pcap", pattern) == named_in("/a/b/x.pcap", None) == (None, None)
    assert named_in("/b7/x.pcap", origin_pattern(r"/(?P<host>[^/]+)/")) == (None, "b7")


@pytest.mark.parametrize(("text", "said"), [("(", "missing )"), ("a(.*)", "no group named host or cluster")])
def test_a_pattern_that_says_neither(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said.replace(")", r"\)")):
        origin_pattern(text)


def test_rows_are_of_the_capture_that_was_entered_before_them() -> None:
    origins = Origins(7, PATTERN)
    origins.begin(["/blue/b1/x", "/blue/b2/y", "z"])
    origins.marks.enter(1, 2)
    origins.marks.enter(2, 3)
    cluster, host, file, run = (each.to_pylist() for each in origins.arrays(4))
    assert (cluster, host) == (["blue", "blue", "blue", None], ["b1", "b1", "b2", None])
    assert (file, run) == (["/blue/b1/x", "/blue/b1/x", "/blue/b2/y", "z"], [7] * 4)
    assert origins.row() == (None, None, "z", 7)


@pytest.mark.parametrize("tasks", [{"shares": 3}, {}], ids=["many tasks", "one"])
@pytest.mark.parametrize("kind", ["delta", "parquet"])
def test_each_row_has_the_capture_that_completed_it(
    tasks: dict[str, Any], kind: str, samples: Path, tmp_path: Path, output: Path
) -> None:
    """The files of a rotation do not overlap in time: each exchange is of the one that has its last packet."""
    folder = tmp_path / "blue" / "b1"
    folder.mkdir(parents=True)
    paths = rotated(samples, folder, 4)
    options = tasks | {"origin": PATTERN, "table_format": kind}
    run_here(paths[:2], output, **options)
    run_here(paths[2:], output, **options)
    rows = read(output, "exchanges")
    assert {(row["cluster"], row["host"]) for row in rows} == {("blue", "b1")}
    ends = {str(path): max(packet_times(path)) for path in paths}
    wanted = Counter(next(name for name in sorted(ends) if row["completed_ns"] <= ends[name]) for row in rows)
    assert Counter(row["file"] for row in rows) == wanted
    assert len(wanted) > 2
    whole = {row["file"]: row["run"] for row in rows if row["run"] is not None}
    assert {whole[str(path)] for path in paths[:2] if str(path) in whole} == {1}
    assert {row["run"] for row in read(output, "fetch_partitions")} <= {1, 2}
    assert all(row["file"] in ends for row in read(output, "fetch_partitions"))


def test_every_dated_table_has_them() -> None:
    names = {each.name for each in ORIGIN}
    for table in FILED.values():
        assert (names <= {*table.names}) == table.dated


def read(output: Path, table: str) -> list[dict[str, Any]]:
    folder = output / table
    if (folder / "_delta_log").is_dir():
        return list(DeltaTable(folder).to_pyarrow_table().to_pylist())
    return list(pyarrow.dataset.dataset(str(folder), format="parquet").to_table().to_pylist())


def packet_times(path: Path) -> list[int]:
    from tests.capture.wires import packets_of

    return [packet.ns for packet in packets_of(path) if packet.ns < FOREVER]
