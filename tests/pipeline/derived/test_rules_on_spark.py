"""Rules' queries on Spark, beside what DuckDB answers over the same tables."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from kcli.diagnose.diagnosis import read_facts
from kcli.diagnose.store import FactStore
from kcli.rules import RULES
from kcli.rules.heads import parts_of
from kcli.tables.duckdb_engine import SOURCES
from tests.capture.wires import pcap
from tests.diagnose.captured import DATA
from tests.rules.test_transaction_timeout import writer


def in_order(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, with the lists in them sorted and 12 digits of a float: an engine collects and adds values in any
    order.
    """
    return sorted(({name: settled(value) for name, value in row.items()} for row in rows), key=repr)


def settled(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.12g}")
    return sorted(value) if isinstance(value, list) else value


def asked(spark: Any, sql: str) -> list[dict[str, Any]]:
    """The rows of a query on Spark. Parts of its WITH that are read more than once are stored first: Spark puts a part
    in wherever it is read, parts of parts, too, and plans all of these.
    """
    parts, last = parts_of(sql)
    read = [name for each in (*parts.values(), last) for name in SOURCES.findall(each)]
    for name, part in parts.items():
        rows = spark.sql(part)
        stored = rows if read.count(name) < 2 else spark.createDataFrame(rows.toArrow(), rows.schema)
        stored.createOrReplaceTempView(name)
    found = [row.asDict() for row in spark.sql(last).collect()]
    for name in parts:
        spark.catalog.dropTempView(name)
    return found


@pytest.mark.parametrize(
    ("finding", "capture"),
    [
        ("topic-recreated", "topic-recreated-quotes"),
        ("slow-broker", "slow-broker-payments"),
        ("consumer-stuck", "consumer-stuck-invoices"),
        ("rebalance-storm", "rebalance-storm-shipments"),
        ("slow-rebalance", "slow-rebalance-killed"),
        ("long-transaction", "long-transaction-pay"),
        ("busy-fetch", "busy-fetch-pricing"),
        ("slow-network", "slow-network-reports"),
        ("invalid-record", "invalid-record-profiles"),
        ("commit-per-record", "commit-per-record-letters"),
        ("connection-churn", "connection-churn-cron"),
        ("hot-partition", "hot-partition-events"),
        ("clock-skew", "clock-skew-basement"),
    ],
)
def test_spark_answers_as_duckdb_does(finding: str, capture: str, spark: Any, tmp_path: Path) -> None:
    assert_alike(finding, DATA / f"{capture}.pcap.zst", spark, tmp_path)


def test_a_cause_of_which_there_is_no_sample(spark: Any, tmp_path: Path) -> None:
    """transaction-timeout: Spark takes no correlated subquery beside aggregates."""
    path = tmp_path / "late.pcap"
    path.write_bytes(pcap(writer([0.2, 6, 0.2, 7, 8], 47, adds=True).wire.packets))
    assert_alike("transaction-timeout", path, spark, tmp_path)


def assert_alike(finding: str, path: Path, spark: Any, tmp_path: Path) -> None:
    """Assert that Spark answers a rule's query over a capture as DuckDB does."""
    [rule] = [each for each in RULES if each.finding == finding]
    with FactStore() as store:
        read_facts([str(path)], store, lambda _count: None, {})
        expected = in_order(store.ask(rule.sql))
        for table in store.made & {*SOURCES.findall(rule.sql)}:
            store.execute(f"COPY (SELECT * FROM {table}) TO '{tmp_path / table}.parquet'")
            spark.read.parquet(f"{tmp_path / table}.parquet").createOrReplaceTempView(table)
    assert expected
    assert in_order(asked(spark, rule.sql)) == expected
