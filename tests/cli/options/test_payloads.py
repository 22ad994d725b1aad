"""Payloads as `kcli records` and `kcli decode pcap` show them."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.main import main
from kcli.records import build_batch
from tests.payloads.values import ORDER, VALUE, avro, framed, log

Capture = pytest.CaptureFixture[str]
GOOD, BAD = framed(7, avro(ORDER, VALUE)), framed(7, b"\x80")
REASON = "not of this schema: it ends too early"


@pytest.fixture
def segment(tmp_path: Path) -> str:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas/7.avsc").write_text(json.dumps(ORDER))
    return str(log(tmp_path, "orders", (b"\0\0\0\0\0\0\0\1", GOOD), (b"x", None), (None, BAD), (b"k", b"text")))


def lines(capsys: Capture, *words: str) -> list[dict[str, Any]]:
    assert main([*words, "-q"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_records_have_more_and_stay_as_they_are(segment: str, tmp_path: Path, capsys: Capture) -> None:
    plain = lines(capsys, "records", segment, "--format", "jsonl")
    found = lines(
        capsys, "records", segment, "--format", "jsonl", "--schemas", str(tmp_path / "schemas"), "--key-format", "long"
    )
    assert [{name: row[name] for name in plain[0]} for row in found] == plain
    assert [row.get("_value") for row in found] == [
        {"schemaId": 7, "format": "avro", "data": VALUE}, None,
        {"schemaId": 7, "format": "avro", "reason": REASON}, None,
    ]  # fmt: skip
    assert [row.get("_key", {}).get("data") for row in found] == [1, None, None, None]
    assert found[1]["_key"]["reason"] == "8 bytes expected, 1 there"


def test_other_formats_show_what_was_decoded(segment: str, tmp_path: Path, capsys: Capture) -> None:
    import pyarrow.parquet

    schemas = ("--schemas", str(tmp_path / "schemas"), "-q")
    text = '{"id":7,"customer":"anna","prices":[1.5,2.25]}'
    assert main(["records", segment, *schemas, "--values"]) == 0
    assert capsys.readouterr().out.splitlines()[::3] == [text, "text"]
    assert main(["records", segment, *schemas]) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[1].endswith(f"{text}  (schema 7)") and table[3].endswith(f"(schema 7: {REASON})")
    assert main(["records", segment, *schemas, "--format", "csv"]) == 0
    assert '"{""id"":7,""customer"":""anna"",""prices"":[1.5,2.25]}"' in capsys.readouterr().out
    out = tmp_path / "out.parquet"
    assert main(["records", segment, *schemas, "--format", "parquet", "-o", str(out)]) == 0
    rows = pyarrow.parquet.read_table(out).to_pylist()
    assert [row["value_data"] for row in rows] == [text, None, None, None]
    assert [row["value"] for row in rows] == [GOOD, None, BAD, b"text"]
    assert rows[0]["value_schema_id"] == "7" and rows[2]["value_reason"] == REASON


def test_lines_of_captures_have_more(capsys: Capture, samples: Path) -> None:
    words = ("decode", "pcap", str(samples / "kcat-codecs.pcap"), "--records", "full")
    plain = lines(capsys, *words, "--format", "jsonl")
    found = lines(capsys, *words, "--format", "jsonl", "--value-format", "kcat-*=utf8", "--jobs", "1")
    seen = 0
    for line in found:
        for record in records_in(line):
            value = record.pop("_value", None)
            if value is not None:
                assert value == {"format": "utf8", "data": record["value"]}
                seen += 1
    assert found == plain and seen == 2000
    assert main([*words, "--value-format", "kcat-none=hex", "-q"]) == 0
    assert f"{b'row-1'.hex()}" in capsys.readouterr().out
    for wrong in (("--records", "batches", "--format", "jsonl"), ("--records", "full", "--format", "tree")):
        assert main(["decode", "pcap", words[2], *wrong, "--payloads"]) == 2
    assert "--records full and --format jsonl or table" in capsys.readouterr().err


def records_in(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        inner = value.get("records") if "baseOffset" in value else None
        return inner or [each for item in value.values() for each in records_in(item)]
    return [each for item in value for each in records_in(item)] if isinstance(value, list) else []


def test_offsets_of_groups_are_read(tmp_path: Path, capsys: Capture) -> None:
    key = b"\0\1" + b"\0\1g" + b"\0\6orders" + b"\0\0\0\3"
    value = b"\0\3" + (41).to_bytes(8, "big") + b"\xff" * 4 + b"\0\0" + bytes(8)
    path = log(tmp_path, "__consumer_offsets", (key, value))
    (row,) = lines(capsys, "records", str(path), "--payloads", "--format", "jsonl")
    assert row["_record"]["type"] == "OFFSET_COMMIT" and row["_record"]["value"]["data"]["offset"] == 41


def test_what_can_not_be_asked_for(segment: str, tmp_path: Path, capsys: Capture, monkeypatch: Any) -> None:
    schema = str(tmp_path / "schemas/7.avsc")
    assert main(["records", segment, "--value-schema", f"orders={schema}", "-o", schema]) == 2
    assert json.loads(Path(schema).read_text()) == ORDER
    assert main(["records", segment, "--value-schema", "orders=nowhere.avsc"]) == 3
    assert main(["records", segment, "--schema-registry", "nowhere"]) == 2
    assert main(["records", segment, "--schema-registry", "http://127.0.0.1:1", "--format", "jsonl"]) == 4
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 4 and said.err.count("can't be reached") == 1
    monkeypatch.setitem(sys.modules, "fastavro", None)
    assert main(["records", segment, "--payloads"]) == 2
    assert "decoding payloads needs fastavro (pip install 'kcli-kafka[payloads]')" in capsys.readouterr().err


def test_texts_in_payloads_do_not_steer_a_terminal(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "s.avsc").write_text(json.dumps({"type": "map", "values": "string"}))
    evil = avro({"type": "map", "values": "string"}, {"a\x1b[31m": "b\u202e\x07\ud7ff"})
    path = log(tmp_path, "t", (None, evil), (None, b"\x01\x1b"))
    for form in ("table", "jsonl", "csv"):
        assert main(["records", str(path), "--value-schema", f"{tmp_path}/s.avsc", "--format", form]) == 0
        out = capsys.readouterr().out
        assert not {*out} & {*"\x1b\x07\u202e"} and "b" in out


def test_standard_input_is_read_too(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    class Piped(io.BytesIO):
        def fileno(self) -> int:
            raise OSError

    data = build_batch([(0, None, b"1", ())])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(Piped(data))))
    (row,) = lines(capsys, "records", "-", "--value-format", "json", "--format", "jsonl")
    assert row["_value"]["data"] == 1 and row["topic"] is None
