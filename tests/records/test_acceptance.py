"""What a broker takes: the answers of a real one of 4.4.0 to 1,796 fields of records, sound and damaged."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kcli.records import build_batch
from kcli.records.acceptance import RefusedError, TimeLimits, accepted, is_transactional
from kcli.schemas.errors import error_name
from tests.oracle.records import record_values

ANSWERS = Path(__file__).parent / "data" / "accepted.jsonl.gz"
ASKED_MS = 1_795_415_800_000
TRANSACTIONS = "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"


def answers() -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(ANSWERS.read_bytes()).splitlines()]


def verdict(row: dict[str, Any]) -> str:
    records = base64.b64decode(row["records"])
    try:
        accepted(records, row["version"], times=TimeLimits(ASKED_MS))
    except RefusedError as error:
        return TRANSACTIONS if is_transactional(records) else error.error
    return TRANSACTIONS if is_transactional(records) else "NONE"


def test_kafka_and_kcli_agree() -> None:
    rows = answers()
    assert len(rows) == 1796
    wrong = [(row["name"], error_name(row["errorCode"]), verdict(row)) for row in rows]
    assert [each for each in wrong if each[1] != each[2]] == []


def test_the_interpreted_kernel_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = answers()[::3]
    compiled = [verdict(row) for row in rows]
    monkeypatch.setattr("kcli.records.acceptance.record_values", record_values)
    assert [verdict(row) for row in rows] == compiled


def test_a_large_batch_is_refused() -> None:
    data = build_batch([(5, None, b"x" * 1000, ())])
    assert accepted(data, 9, most=len(data)).count == 1
    with pytest.raises(RefusedError, match="a batch of 1070 bytes") as error:
        accepted(data, 9, most=len(data) - 1)
    assert error.value.error == "MESSAGE_TOO_LARGE"


def test_a_batch_from_the_future_is_refused_where_there_is_a_clock() -> None:
    data = build_batch([(10_000_000, None, b"", ())])
    assert accepted(data, 9).count == 1 and accepted(data, 9, times=TimeLimits(10_000_000 - 3_600_000)).count == 1
    with pytest.raises(RefusedError, match="3600000 ms ahead") as error:
        accepted(data, 9, times=TimeLimits(10_000_000 - 3_600_001))
    assert error.value.error == "INVALID_TIMESTAMP"


def test_gzip_that_unfolds_to_much_is_refused_in_bounded_memory() -> None:
    bomb = bytearray(build_batch([(5, None, bytes(50_000_000), ())], codec="gzip"))
    bomb[-1] ^= 1
    with pytest.raises(RefusedError):
        accepted(bytes(bomb), 9)
