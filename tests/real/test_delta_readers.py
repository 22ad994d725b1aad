"""What the pipeline writes, read by everybody who reads Delta tables: Spark with Delta's own package, and libraries."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.inside import kcli
from tests.real.maven import JAVA_SOURCES, LIGHT, classpath

# Delta's package fits this Spark, not yet the newest PySpark.
SPARK = ("org.apache.spark:spark-sql_2.13:4.2.0", "io.delta:delta-spark_2.13:4.4.0")
PACKAGES = (
    "java.io java.lang java.lang.invoke java.lang.reflect java.net java.nio java.util java.util.concurrent "
    "java.util.concurrent.atomic sun.nio.ch sun.nio.cs sun.security.action sun.util.calendar"
)
OPEN = [f"--add-opens=java.base/{each}=ALL-UNNAMED" for each in PACKAGES.split()]
COLUMNS = "connection, correlation_id, api, request_bytes, completed_ns"


def test_all_read_the_same_rows(samples: Path, tmp_path: Path) -> None:
    """Of two runs, the second of which replaces files of the first."""
    import duckdb
    import polars
    from deltalake import DeltaTable

    output = tmp_path / "tables"
    for name in ("java44-txn", "kcat-codecs"):
        words = ("--engine", "local", "--input", str(samples / f"{name}.pcap"), "--output", str(output), "--quiet")
        assert kcli("pipeline", "run", *words).returncode == 0
    exchanges = DeltaTable(output / "exchanges")
    dataset = exchanges.to_pyarrow_dataset()
    rows = in_order(dataset.to_table(COLUMNS.split(", ")).to_pylist())
    assert len(rows) > 100
    assert in_order(polars.read_delta(str(output / "exchanges")).select(COLUMNS.split(", ")).to_dicts()) == rows
    assert in_order(exchanges.to_pandas()[COLUMNS.split(", ")].to_dict("records")) == rows
    asked = duckdb.from_arrow(dataset).project(COLUMNS)
    assert in_order(dict(zip(asked.columns, row, strict=True)) for row in asked.fetchall()) == rows
    clients = DeltaTable(output / "clients").to_pandas().shape[0]
    read, (counted,) = by_spark(
        tmp_path,
        f"SELECT {COLUMNS} FROM delta.`{output}/exchanges`",
        f"SELECT count(*) AS clients FROM delta.`{output}/clients`",
    )
    assert in_order(read) == rows
    assert counted == {"clients": clients}


def by_spark(folder: Path, *queries: str) -> list[list[dict[str, Any]]]:
    """The rows of each query, by Spark with Delta's package. folder: what it writes beside lies there."""
    path = os.pathsep.join(map(str, classpath(SPARK)))
    command = ["java", *LIGHT, *OPEN, "-cp", path, str(JAVA_SOURCES / "ReadDelta.java"), *queries]
    made = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=folder)
    assert made.returncode == 0, made.stderr[-2000:]
    return [[json.loads(line) for line in part.splitlines()] for part in made.stdout.split("\n\n")[:-1]]


def in_order(rows: Any) -> list[dict[str, Any]]:
    """Rows in an order of their own, as any reader may give them."""
    return sorted(({name: row[name] for name in COLUMNS.split(", ")} for row in rows), key=lambda row: str(row))
