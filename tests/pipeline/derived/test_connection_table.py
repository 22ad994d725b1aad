"""The table `connections` over all runs, out of what each has counted."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("duckdb")

import duckdb
import pyarrow.parquet

from kcli.pipeline.context import Options
from kcli.pipeline.derived.connection_table import PARTS, make_connections
from kcli.pipeline.derived.file_views import view_of
from kcli.pipeline.derived.incremental_tables import RunFiles
from kcli.pipeline.local_engine import LocalEngine
from kcli.pipeline.run import run_pipeline
from kcli.pipeline.tables import TABLES
from kcli.sql.given_tables import open_engine
from kcli.sql.inputs import sort_inputs
from kcli.tables.connections import TCP, connections_query
from kcli.tables.exchange_views import MOMENT_MACRO, PAIR_MACRO
from tests.capture.messages import metadata, request, response
from tests.capture.wires import Packet, Wire, pcap
from tests.pipeline.derived.test_incremental_tables import plain
from tests.pipeline.outputs import rows_of, run_here, settled, window_count
from tests.pipeline.test_figures import LOGGED
from tests.pipeline.test_run import rotated
from tools.compare_tables import sql_rows

HELLO = bytes.fromhex("160301002f0100002b0303") + bytes(40)


def login(number: int, token: bytes, error: int) -> tuple[bytes, bytes]:
    asked = request(36, 2, number, {"authBytes": token})
    return asked, response(36, 2, number, {"errorCode": error, "errorMessage": None, "authBytes": b""})


def talks() -> list[Packet]:
    """A connection that logs in three times, sends a packet twice, and waits for an answer; one of TLS; one that
    begins when the other is over, between the same ends."""
    wire = Wire().open()
    for number, (token, error) in enumerate([(b"n,,n=alice,r=1", 0), (b"n,,n=bob,r=1", 0), (b"\0eve\0x", 58)]):
        asked, answer = login(number, token, error)
        wire.client(asked).server(answer)
        if number == 1:
            wire.packets.append(wire.packets[-1]._replace(ns=wire.now))
    asked, answer = metadata(5)
    wire.client(asked).server(answer).client(metadata(6)[0]).close()
    sealed = Wire(client=("10.0.0.9", 1234)).open().client(HELLO).server(HELLO)
    later = Wire(start=wire.now + 10**10, seq=(90_000, 70_000)).open().client(asked).server(answer)
    return sorted(wire.packets + sealed.packets + later.packets)


def sums(output: Path) -> Counter[str]:
    """The rows that a run's SQL makes of the facts, here run by DuckDB."""
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for macro in (MOMENT_MACRO, PAIR_MACRO):
            connection.execute(f"CREATE MACRO {macro}")
        parts = []
        for name, part in PARTS.items():
            folder = output if name in TABLES else output / "_kcli" / "facts"
            if name != "exchanges":  # of runs by an older kcli
                connection.execute(f"CREATE VIEW {name} AS {view_of(name, folder)}")
                parts.append(part.format(**{name: name}))
        columns = ", ".join(TABLES["connections"].names)
        made = connection.sql(f"SELECT {columns} FROM ({connections_query(*parts)})").to_arrow_table()
    return counted(made.to_pylist())


def asked(*paths: Path) -> Counter[str]:
    """What `kcli sql` answers for these captures, or folders of the pipeline."""
    return counted(asked_rows(*paths))


def asked_rows(*paths: Path) -> list[dict[str, Any]]:
    with open_engine(sort_inputs([str(path) for path in paths]), {}) as engine:
        return list(sql_rows(engine, "connections"))


def counted(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(str(sorted(settled(row).items())) for row in rows)


@pytest.fixture(scope="module")
def uncut(tmp_path_factory: pytest.TempPathFactory) -> Counter[str]:
    """What `kcli sql` answers for all packets in one file."""
    whole = tmp_path_factory.mktemp("uncut") / "whole.pcap"
    whole.write_bytes(pcap(talks(), nano=True))
    return asked(whole)


@pytest.mark.parametrize("at", range(1, 26, 2))
def test_a_cut_at_any_packet_changes_nothing(at: int, uncut: Counter[str], tmp_path: Path, output: Path) -> None:
    packets = talks()
    paths = [tmp_path / "a.pcap", tmp_path / "b.pcap"]
    for path, part in zip(paths, (packets[:at], packets[at:]), strict=True):
        path.write_bytes(pcap(part, nano=True))
        run_here([path], output)
    assert at < len(packets) and uncut.total() == 2
    assert sums(output) == uncut


def test_windows_of_a_connection_add_up(output: Path) -> None:
    """A connection in pieces, each in a task of its own."""
    run_here([LOGGED["kraft-boot"]], output, shares=8, window_bytes=8_000)
    assert window_count(output) >= 5
    assert sums(output) == asked(LOGGED["kraft-boot"])


def test_a_run_makes_the_table_and_sql_reads_it(tmp_path: Path, output: Path) -> None:
    """Two runs, with packets of the same connections in both."""
    halves = rotated(tmp_path, tmp_path, 2, plain(tmp_path, "leader-change"))
    runs = [[halves[0], LOGGED["kraft-boot"]], [halves[1]]]
    for paths in runs:
        run_pipeline(LocalEngine(), [str(path) for path in paths], Options(str(output), shares=2))
    made = rows_of(output, "connections")
    assert counted(made) == asked(*runs[0], *runs[1])
    assert asked(output) == counted(made)


def test_of_an_older_runs_connections_exchanges_say_what_they_can(
    spark: Any, samples: Path, tmp_path: Path, output: Path
) -> None:
    """What its TCP and its logins said is lost."""
    path = samples / "java44-txn.pcap"
    run_here([path], output)
    files = [str(each) for each in (output / "exchanges").rglob("*.parquet")]
    gathered = RunFiles(spark, lambda table: files if table == "exchanges" else [], str(tmp_path / "new"), {})
    made = make_connections(gathered, "connections")
    rows = [row for each in made for row in pyarrow.parquet.read_table(tmp_path / "new" / each.path).to_pylist()]
    lost = dict.fromkeys(("round_trip_ms", "retransmissions", *TCP), None)
    assert all(row | lost == row for row in rows)
    assert counted(rows) == counted([row | lost for row in asked_rows(path)])
