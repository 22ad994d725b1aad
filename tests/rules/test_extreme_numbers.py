"""Rules over facts with any numbers that a message can hold: none overflows what DuckDB calculates with."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from kcli.capture.kafka.clock import LAST_NS
from kcli.diagnose.store import FactStore
from kcli.rules import RULES
from kcli.rules.rule_tables import LARGEST
from kcli.rules.signs import SIGNS
from kcli.tables.arrays import batch_of_rows
from kcli.tables.definition import Column, schema_of

pytest.importorskip("duckdb")

ROWS = 9  # of each table
NOW = LAST_NS - 60 * 10**9
BITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
TEXTS = {
    "api": ("PRODUCE", "FETCH", "SASL_AUTHENTICATE", "JOIN_GROUP", "OFFSET_COMMIT", "END_TXN", "INIT_PRODUCER_ID"),
    "error": (None, None, None, "OFFSET_OUT_OF_RANGE", "OUT_OF_ORDER_SEQUENCE_NUMBER", "NOT_LEADER_OR_FOLLOWER"),
    "connection": ("10.0.0.1:9092-10.0.0.2:4000", "10.0.0.3:9092-10.0.0.2:4001"),
    "server": ("10.0.0.1:9092", "10.0.0.3:9092"),
    "client": ("10.0.0.2:4000", "10.0.0.2:4001"),
    "topic_id": (None,),
}
# What kcli counts itself.
COUNTED = ("tcp", "unread_payloads")
COUNTS = {
    "acquired", "again", "accepted", "released", "rejected", "acknowledged", "records_bytes", "batches",
    "request_bytes", "response_bytes", "size_in_bytes",
}  # fmt: skip
# Queries that calculate with numbers of messages.
OF_NUMBERS = re.compile(r"lifetime|(offset|watermark|sequence|max_timestamp|acquired)\w*\)? [-+*<]")
KEYS = ("saying", "link", "correlation_id", "partition", "told", "producer_id", "place")  # so that rows meet


def value_of(table: str, column: Column, rng: random.Random) -> Any:
    if column.name in TEXTS:
        return rng.choice(TEXTS[column.name])
    if column.name in KEYS:
        return rng.choice((1, 1, 2))
    if column.kind == "instant" or column.name.endswith("_ns"):
        return (NOW + rng.randrange(60) * 10**9) // (1000 if column.kind == "instant" else 1)
    if column.kind in BITS:
        if table in COUNTED or column.name in COUNTS:
            return rng.randrange(1000)
        most = (1 << (31 if table == "exchange_facts" else BITS[column.kind])) - 1
        return rng.choice((most, most, -most - 1, -1, 0, 1, 1000))
    if column.kind == "float64":
        return rng.choice((0.0, 1.0, 1e5))
    if column.kind == "bool":
        return rng.random() < 0.6
    if column.kind == "integers":
        return [rng.choice(((1 << 63) - 1, -(1 << 63), -1, 7)) for _ in range(2)]
    return [rng.choice("ab")] if column.kind == "strings" else rng.choice("aab")


def test_any_number_of_a_message_can_be_judged() -> None:
    rng = random.Random(4)
    with FactStore() as store:
        for name, columns in sorted(store.columns.items()):
            rows = [tuple(value_of(name, each, rng) for each in columns) for _ in range(ROWS)]
            if name in LARGEST:
                store.put_batch(name, batch_of_rows(rows, schema_of(columns)))
            else:
                for row in rows:
                    store.put(name, row)
        store.flush()
        for sql in (SIGNS, *(rule.sql for rule in RULES if OF_NUMBERS.search(rule.sql))):
            assert list(store.ask(sql)) is not None
