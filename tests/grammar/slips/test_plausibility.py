"""Odd values beside likely ones, for each kind of field."""

from typing import Any

import pytest

from kcli.grammar.slips.plausibility import oddness
from kcli.grammar.words.trace import Span


def odd(path: str, type_: str, value: Any) -> float:
    return oddness([Span(path, 0, 1, type_, value)])


@pytest.mark.parametrize(
    ("path", "type_", "likely", "unlikely"),
    [
        ("errorCode", "int16", 3, 1000),
        ("topics[0].partitions[0].partitionIndex", "int32", 4, 1 << 24),
        ("brokers[0].nodeId", "int32", 1, -70000),
        ("leaderEpoch", "int32", 5, 1 << 20),
        ("apiKeys[3].maxVersion", "int16", 12, 256),
        ("isolationLevel", "int8", 1, 111),
        ("baseTimestamp", "int64", 1_700_000_000_000, 1_700_000_000_000 << 8),
        ("highWatermark", "int64", 1000, -1000),
        ("maxWaitMs", "int32", 500, 500 << 16),
        ("maxWaitMs", "int32", 500, -500),
        ("topics[0].name", "string", "orders", "\0\6orde"),
        ("topics[0].name", "string", "orders", ""),
        ("clientId", "string", "rdkafka", "caf\N{LATIN SMALL LETTER E WITH ACUTE}"),
        ("records", "records", bytes(8) + b"\0\0\0\5" + bytes(4) + b"\2", bytes(16) + b"\7"),
        ("records", "records", b"", bytes(8) + b"\0\0\0\x50" + bytes(4) + b"\2"),
        ("records", "records", bytes(8) + b"\0\0\0\5" + bytes(4) + b"\2", b""),
        ("topicId", "uuid", "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAABAAAAAQ"),
        ("topicId", "uuid", "ASNFZ4mrTe-BI0VniavN7w", "ASNFZ4mrDe-BI0VniavN7w"),
        ("tag 7", "unknown tagged field", None, b"x"),
        ("topics[0]._tags", "tag count", 0, 9),
        ("includeAll", "bool", True, 5),
    ],
)
def test_what_is_unlikely_costs_more(path: str, type_: str, likely: Any, unlikely: Any) -> None:
    assert odd(path, type_, likely) < odd(path, type_, unlikely)


def test_ids_that_stand_twice_are_odd() -> None:
    def entries(path: str, *values: int) -> float:
        return oddness([Span(path.format(i), 0, 4, "int32", value) for i, value in enumerate(values)])

    for path in ("topics[0].partitions[{}].partition", "topics[0].partitions[1].isrNodes[{}]", "apiKeys[{}].apiKey"):
        assert entries(path, 1, 1) > entries(path, 1, 2)
    assert entries("topics[0].partitions[{}]", 1, 1) > entries("topics[0].partitions[{}]", 1, 2)
    assert entries("topics[{}].partitions[0].partition", 2, 2) == entries("topics[{}].partitions[0].partition", 2, 3)
