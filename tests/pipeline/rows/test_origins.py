"""The columns that say where rows come from."""

from __future__ import annotations

import json
from collections import Counter
from operator import itemgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy
import pyarrow.dataset
import pyarrow.parquet
import pytest
from deltalake import DeltaTable

from kcli.capture.io.files import FOREVER
from kcli.cli.main import main
from kcli.errors import UsageError
from kcli.pipeline.rows.origins import Origins, named_in, origin_pattern
from kcli.pipeline.tables import FILED, ORIGIN
from tests.capture.messages import request, response
from tests.capture.wires import START, pcap
from tests.pipeline.outputs import run_here
from tests.pipeline.test_run import rotated
from tests.rules.test_by_hand import SECOND, Talk

PATTERN = r"(?P<cluster>[^/]+)/(?P<host>[^/]+)/[^/]+$"


NO_LINKS = bytes(4), b""


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
    answered = cast(Any, SimpleNamespace(count=4, ts=numpy.arange(4), response_bytes=numpy.ones(4)))
    cluster, host, file, run = (each.to_pylist() for each in origins.arrays(answered, NO_LINKS))
    assert (cluster, host) == (["blue", "blue", "blue", None], ["b1", "b1", "b2", None])
    assert (file, run) == (["/blue/b1/x", "/blue/b1/x", "/blue/b2/y", "z"], [7] * 4)
    assert origins.row() == (None, None, "z", 7)


def test_requests_that_an_earlier_run_read_have_no_capture_of_this_one() -> None:
    """Their connections are those that it kept, up to their last packets in it; whatever the times of this run's."""
    origins = Origins(7)
    origins.begin(["x", "y"])
    origins.marks.enter(0, 0, 2)
    origins.marks.enter(1, 3, 30)
    origins.kept = {"b:9092-c:1": 25, "c:1-b:9092": 25}
    rows = SimpleNamespace(
        count=5, ts=numpy.array([20, 26, 20, 40, 20]), response_bytes=numpy.array([-1, -1, -1, -1, 9]),
        link=numpy.array([0, 0, 1, 1, 0]),
    )  # fmt: skip
    links = numpy.array([0, 10, 20], numpy.int32).tobytes(), b"b:9092-c:1b:9092-c:2"
    *_, file, _ = (each.to_pylist() for each in origins.arrays(cast(Any, rows), links))
    assert file == [None, "x", "x", "y", "y"]


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


def waiting(folder: Path) -> list[Path]:
    """Write three captures, ten seconds each, of connections that ask in one of them and get no answer: their number
    by the file: 1, 2 and 3. Other requests are answered in the file after."""
    talks = [Talk(f"silent-{file}-{each}", 41000 + 10 * file + each) for file in range(3) for each in range(file + 1)]
    late = Talk("late", 42000)
    for talk in talks:
        talk.wire.now = START + (1 + 10 * int(talk.client.split("-")[1])) * SECOND
        talk.wire.client(request(3, 9, 1, {}, talk.client))
    late.wire.now = START + 5 * SECOND
    late.wire.client(request(12, 3, 1, {"groupId": "g", "memberId": "m"}, "late"))
    late.wire.now += 10 * SECOND
    late.wire.server(response(12, 3, 1, {}))
    late.wire.now += 10 * SECOND
    late.call(12, 3, {"groupId": "g", "memberId": "m"}, {})
    packets = sorted(packet for talk in (*talks, late) for packet in talk.wire.packets)
    paths = []
    for file in range(3):
        paths.append(folder / f"{file}.pcap")
        since, until = (START + 10 * SECOND * each for each in (file, file + 1))
        paths[-1].write_bytes(pcap([packet for packet in packets if since <= packet.ns < until]))
    return paths


UNANSWERED = {"0.pcap": 1, "1.pcap": 2, "2.pcap": 3}


def test_a_request_without_an_answer_is_of_the_capture_that_has_it(tmp_path: Path, capsys: Any) -> None:
    """Wherever several captures are read as one: also by a filter, and where topics are asked for."""
    paths = [*map(str, waiting(tmp_path))]
    for more in ([], ["--where", "api = 'Metadata' OR file LIKE '%x'"], ["--api", "Metadata"]):
        assert main(["decode", "pcap", *paths, "-q", *more, "--format", "parquet", "-o", f"{tmp_path}/x.parquet"]) == 0
        rows = pyarrow.parquet.read_table(f"{tmp_path}/x.parquet").to_pylist()
        found = Counter(Path(row["file"]).name for row in rows if row.get("api") == "METADATA")
        assert found == UNANSWERED, more
        if not more:
            assert {Path(row["file"]).name for row in rows if row["api"] == "HEARTBEAT"} == {"1.pcap", "2.pcap"}
    for more in ([], ["--where", "api = 'Metadata' AND latency_ms IS NULL"], ["--by", "file,topic"]):
        capsys.readouterr()
        assert main(["stats", *paths, "-q", "--by", "file", "--by", "api", "--format", "jsonl", *more]) == 0
        counted = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        found = Counter({Path(row["file"]).name: row["exchanges"] for row in counted if row["api"] == "METADATA"})
        assert found == UNANSWERED, more


@pytest.mark.parametrize("tasks", [{"shares": 3}, {}], ids=["many tasks", "one"])
def test_a_run_knows_the_capture_of_a_request_that_waits(tasks: dict[str, Any], tmp_path: Path, output: Path) -> None:
    """Those that an earlier run read are of none that the next one reads."""
    paths = waiting(tmp_path)
    run_here(paths[:2], output, **tasks)

    def found() -> Counter[str | None]:
        rows = [row for row in read(output, "exchanges") if row["api"] == "METADATA"]
        return Counter(row["file"] and Path(row["file"]).name for row in rows)

    assert found() == {"0.pcap": 1, "1.pcap": 2}
    run_here(paths[2:], output, **tasks)
    assert found() == {None: 3, "2.pcap": 3}


def test_exchanges_that_wait_are_counted_by_one_rule(tmp_path: Path, capsys: Any) -> None:
    """The run's line, its totals, `runs` and `history` say the same; a compacted run has each exchange once."""
    paths, output = waiting(tmp_path), tmp_path / "out"
    words = ["--output", str(output), "--engine", "local"]
    for given, line, failing in (
        (paths[:2], "4 exchanges (3 waiting for a response), ", "exchanges = 4 AND unanswered = 3"),
        (paths[2:], "7 exchanges (6 waiting for a response), ", ""),
    ):
        more = ["--fail-if", failing] if failing else []
        assert main(["pipeline", "run", *(f"--input={path}" for path in given), *words, *more]) == bool(failing)
        assert line in capsys.readouterr().err
    assert [row["exchanges"] for row in sorted(read(output, "runs"), key=itemgetter("run"))] == [4, 7]
    assert len(read(output, "exchanges")) == 8
    assert main(["pipeline", "history", str(output)]) == 0
    assert [line.split()[3:] for line in capsys.readouterr().out.splitlines()[1:]] == [["4", "3"], ["7", "6"]]
    assert main(["pipeline", "compact", str(output)]) == 0 and main(["pipeline", "history", str(output)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split()[3:5] == ["8", "6"]


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
