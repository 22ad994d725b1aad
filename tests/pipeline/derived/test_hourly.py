"""The table `hourly` over runs: hours that a run has nothing of are copied, and both engines make the same."""

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet

from kcli.pipeline.context import Options
from kcli.pipeline.derived.incremental_tables import RunFiles
from kcli.pipeline.derived.view_tables import make_hourly
from kcli.pipeline.local_engine import LocalEngine
from kcli.pipeline.run import run_pipeline
from kcli.tables.exchange_views import MACROS
from kcli.tables.hourly import hourly_query, hourly_update
from tests.capture.wires import Packet, packets_of, pcap
from tests.pipeline.outputs import rows_of

HOUR = 3_600_000_000_000  # ns


def run(output: Path, path: Path) -> None:
    made = run_pipeline(LocalEngine(), [str(path)], Options(str(output), table_format="parquet"))
    assert not made.redone and not made.problems


def test_only_hours_that_a_run_touches_are_made_anew(samples: Path, tmp_path: Path, output: Path) -> None:
    """The rows of all others are those of the run before, whatever they say."""
    run(output, samples / "java44-txn.pcap")
    [file] = (output / "hourly").glob("*.parquet")
    first = pyarrow.parquet.read_table(file)
    assert sum(first["exchanges"].to_pylist()) == 78
    place = first.schema.get_field_index("max_ms")
    marked = first.set_column(place, first.schema.field(place), [[-1.0] * len(first)])
    pyarrow.parquet.write_table(marked, file)
    later = tmp_path / "later.pcap"
    moved = [Packet(p.ns + 30 * HOUR, p.data, p.length) for p in packets_of(samples / "ipv6.pcapng")]
    later.write_bytes(pcap(moved, nano=True))
    run(output, later)
    rows = rows_of(output, "hourly")
    kept = [row for row in rows if row["max_ms"] == -1]
    assert Counter(map(str, kept)) == Counter(map(str, marked.to_pylist()))
    assert sum(row["exchanges"] for row in rows) == len(rows_of(output, "exchanges")) > 78
    assert not {row["hour"] for row in kept} & {row["hour"] for row in rows if row["max_ms"] != -1}


# Many latencies, some of them equal, over four hours, from three clients; one exchange in seven has no response.
EXCHANGES = """
SELECT make_timestamptz(1795000000000000 + number * 5000000) AS timestamp, 's:1' AS server,
       CASE number % 3 WHEN 0 THEN NULL ELSE 'c' || number % 3 END AS client_id, 'FETCH' AS api,
       10::BIGINT AS request_bytes,
       CASE WHEN number % 7 > 0 THEN number END AS response_bytes,
       CASE WHEN number % 7 > 0 THEN (hash(number) % 977) / 16.0::DOUBLE END AS latency_ms,
       CASE WHEN number % 11 = 0 THEN ['X'] ELSE []::VARCHAR[] END AS errors, number AS completed_ns
FROM range(3000) AS numbers(number) WHERE {where}
"""
PARTS = {"early": "number < 1500", "fresh": "number >= 1500 AND number % 2 = 0"}


def test_spark_makes_the_same(spark: Any, tmp_path: Path) -> None:
    """All anew, and out of the hours before."""
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for macro in MACROS:
            connection.execute(f"CREATE MACRO {macro}")
        for name, where in PARTS.items():
            connection.execute(f"CREATE TABLE {name} AS {EXCHANGES.format(where=where)}")
        connection.execute("CREATE TABLE facts AS FROM early UNION ALL FROM fresh")
        connection.execute(f"CREATE TABLE before AS {hourly_query('early', file=False)}")
        for name in (*PARTS, "before"):
            connection.execute(f"COPY {name} TO '{tmp_path / name}.parquet'")
        whole = connection.sql(hourly_query("facts", file=False)).to_arrow_table().to_pylist()
        update = connection.sql(hourly_update("facts", "fresh", "before")).to_arrow_table().to_pylist()
    early, fresh, before = (str(tmp_path / f"{name}.parquet") for name in (*PARTS, "before"))
    assert counted(whole) == counted(update) and len(whole) > 12
    gathered = RunFiles(spark, lambda _: [early, fresh], str(tmp_path / "whole"), {})
    assert written(gathered) == counted(whole)
    gathered = RunFiles(spark, gathered.files, str(tmp_path / "more"), {}, lambda _: [fresh], lambda _: [before])
    assert written(gathered) == counted(whole)


def written(gathered: RunFiles) -> Counter[str]:
    files = [Path(gathered.folder) / each.path for each in make_hourly(gathered, "hourly")]
    return counted([row for file in files for row in pyarrow.parquet.read_table(file).to_pylist()])


def counted(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(str({**row, "hour": row["hour"].timestamp()}) for row in rows)
