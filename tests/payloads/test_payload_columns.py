"""Decoded keys and values as columns, in SQL and Parquet."""

import json
from pathlib import Path
from typing import Any

from kcli.payloads import PayloadDecoder, PayloadOptions
from kcli.sql.given_tables import open_engine
from kcli.sql.inputs import sort_inputs
from tests.inside import kcli
from tests.payloads.values import ORDER, VALUE, avro, framed, log


def rows_of(path: Path, question: str, decoder: PayloadDecoder | None) -> list[dict[str, Any]]:
    with open_engine(sort_inputs([str(path)]), {}, None, decoder) as engine, engine.answer(question) as answer:
        return list(answer.read_all().to_pylist())


def test_columns_of_a_segment(tmp_path: Path) -> None:
    (tmp_path / "7.avsc").write_text(json.dumps(ORDER))
    good, bad = framed(7, avro(ORDER, VALUE)), framed(7, b"")
    headers = [("apicurio.key.globalId", (7).to_bytes(8, "big"))]
    path = log(tmp_path, "orders", (avro(ORDER, VALUE), good), (None, bad), (b"", None), headers=headers)
    decoder = PayloadDecoder(PayloadOptions(schemas=(str(tmp_path / "7.avsc"),)))
    columns = "key_schema_id, key_data, key_reason, value_schema_id, value_data, value_reason"
    first, second, third = rows_of(path, f"SELECT {columns} FROM records", decoder)
    text = '{"id":7,"customer":"anna","prices":[1.5,2.25]}'
    assert first == {
        "key_schema_id": "7", "key_data": text, "key_reason": None,
        "value_schema_id": "7", "value_data": text, "value_reason": None,
    }  # fmt: skip
    assert second["value_reason"] == "not of this schema: it ends too early" and second["key_data"] is None
    assert third["value_schema_id"] is None and third["key_schema_id"] == "7"
    plain = rows_of(path, f"SELECT {columns} FROM records", None)
    assert {value for row in plain for value in row.values()} == {None}


def test_secrets_and_kafkas_own_topics(tmp_path: Path) -> None:
    configs = b'{"properties": {"password": "s3cret"}}'
    path = log(tmp_path, "connect-configs", (b"connector-a", configs), (b"connector-b", b'{"properties": {}}'))
    first, second = rows_of(path, "SELECT value, value_data FROM records", PayloadDecoder(PayloadOptions(on=True)))
    assert first == {
        "value": '{"redacted":38}', "value_data": '{"properties":{"password":{"redacted":6}}}',
    }  # fmt: skip
    assert second["value"] == '{"properties": {}}'
    shown = PayloadDecoder(PayloadOptions(on=True, secrets=True))
    assert rows_of(path, "SELECT value FROM records", shown)[0]["value"] == configs.decode()
    key = b"\0\1" + b"\0\1g" + b"\0\6orders" + b"\0\0\0\3"
    offsets = log(tmp_path, "__consumer_offsets", (key, None))
    (row,) = rows_of(
        offsets, "SELECT value_data->>'$.type' AS type FROM records", PayloadDecoder(PayloadOptions(on=True))
    )
    assert row == {"type": "OFFSET_COMMIT"}


def test_offsets_of_produce_are_those_of_its_answer() -> None:
    """As `kcli records` has them."""
    shop = Path(__file__).parent / "data" / "shop.pcap"
    seen = [json.loads(line) for line in kcli("records", str(shop), "--format", "jsonl").stdout.splitlines()]
    rows = rows_of(shop, 'SELECT topic, "partition", "offset", timestamp_ms AS "timestamp", api FROM records', None)
    assert rows == [{name: each[name] for name in rows[0]} for each in seen]
    assert {row["offset"] for row in rows if row["api"] == "PRODUCE" and row["topic"] == "orders"} == {*range(12, 24)}
