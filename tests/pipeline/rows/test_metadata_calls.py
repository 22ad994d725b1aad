"""Partitions as Metadata tells of them: the same rows however the connections are shared among tasks."""

import json
import random
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("duckdb")

from kcli.pipeline.context import Options
from kcli.pipeline.local_engine import LocalEngine
from kcli.pipeline.run import run_pipeline
from kcli.pipeline.spark_engine import SparkEngine
from kcli.sql.given_tables import open_engine
from kcli.sql.inputs import sort_inputs
from tests.capture.messages import request, response
from tests.capture.wires import START, Packet, Wire, pcap
from tests.pipeline.outputs import rows_of
from tools.compare_tables import sql_rows

SECOND = 10**9
SHARES = (1, 2, 4, 8)
STATES = ((1, 5, [1, 2, 3]), (2, 6, [2, 3]), (1, 5, [1, 2]))  # leader, its epoch, who is in sync
Row = tuple[Any, ...]


def told(number: int, topics: dict[str, list[int]]) -> tuple[bytes, bytes]:
    """A Metadata request and an answer. topics: for each partition the place of its state."""
    made = [
        {"name": name, "partitions": [partition(index, *STATES[state]) for index, state in enumerate(states)]}
        for name, states in topics.items()
    ]
    brokers = [{"nodeId": node, "host": "10.0.0.2", "port": 9090 + node} for node in (1, 2, 3)]
    return request(3, 9, number, {"topics": None}), response(3, 9, number, {"brokers": brokers, "topics": made})


def partition(index: int, leader: int, epoch: int, isr: list[int]) -> dict[str, Any]:
    return {
        "partitionIndex": index, "leaderId": leader, "leaderEpoch": epoch, "replicaNodes": [1, 2, 3], "isrNodes": isr,
    }  # fmt: skip


def connection(draw: random.Random, number: int, states: dict[str, list[int]]) -> list[Packet]:
    """Return a connection on which states come, go and come back, with bytes that were there before; its clock is set
    back now and then, and ties with others'."""
    wire = Wire(
        ("10.0.0.1", 40000 + number), ("10.0.0.2", 9091 + number % 2), START + draw.randrange(9) * SECOND
    ).open()
    for correlation in range(12):
        wire.now += draw.choice((-3, 0, 1, 2)) * SECOND
        states["moves"][draw.randrange(3)] = draw.randrange(3)
        shown = states if draw.random() < 0.7 else {"moves": states["moves"]}
        asked, answered = told(correlation, {name: list(each) for name, each in shown.items()})
        wire.client(asked).server(answered)
    return wire.close().packets


def captured(path: Path, seed: int) -> Path:
    """Write a capture, one connection behind the other, so that time goes back."""
    draw = random.Random(seed)
    states = {"moves": [0, 0, 0], "stays": [0, 1]}
    path.write_bytes(pcap([each for number in range(10) for each in connection(draw, number, states)]))
    return path


def expected(exchanges: list[dict[str, Any]]) -> list[Row]:
    """Return the rows by the table's rule: a server's answers in the order of time, each state that is not the last."""
    last: dict[tuple[str, str, int], Row] = {}
    rows: list[Row] = []
    for each in sorted(exchanges, key=lambda row: (answered(row), row["connection"], row["correlation_id"])):
        for topic in json.loads(each["response"])["topics"]:
            for one in topic["partitions"]:
                place = (each["server"], topic["name"], one["partitionIndex"])
                state = one["leaderId"], one["leaderEpoch"], ",".join(map(str, one["isrNodes"]))
                if last.get(place) != state:
                    last[place] = state
                    rows.append((*answered(each), *place, *state))
    return sorted(rows)


def answered(row: dict[str, Any]) -> tuple[int, datetime]:
    asked: datetime = row["timestamp"]
    return round(asked.timestamp() * 1e6) * 1000 + round(row["latency_ms"] * 1e6), asked


def found(rows: list[dict[str, Any]]) -> list[Row]:
    names = ("completed_ns", "timestamp", "server", "topic", "partition", "leader", "leader_epoch", "isr")
    return sorted(tuple(row[name] for name in names) for row in rows)


@pytest.mark.parametrize("seed", range(2))
def test_rows_depend_on_time_alone(seed: int, tmp_path: Path) -> None:
    capture = str(captured(tmp_path / "made.pcap", seed))
    for shares in SHARES:
        output = tmp_path / f"local-{shares}"
        run_pipeline(LocalEngine(), [capture], Options(str(output), shares=shares))
        right = expected(rows_of(output, "exchanges"))
        assert found(rows_of(output, "metadata_partitions")) == right, shares
        back = [row for row in right if row[3] == "moves"]
        assert len({row[2:] for row in back}) < len(back) < len(right)  # states that come back, and some that stay
    with open_engine(sort_inputs([capture]), {}) as engine:
        assert found(list(sql_rows(engine, "metadata_partitions"))) == right


def test_rows_are_the_same_on_spark(spark: Any, tmp_path: Path) -> None:
    capture = str(captured(tmp_path / "made.pcap", 7))
    for shares in SHARES:
        output = tmp_path / f"spark-{shares}"
        run_pipeline(SparkEngine(spark), [capture], Options(str(output), shares=shares))
        assert found(rows_of(output, "metadata_partitions")) == expected(rows_of(output, "exchanges")), shares
