"""`kcli decode batch` and `kcli decode segment` as a script sees them."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.decode_records import time_text
from kcli.cli.main import main
from kcli.grammar import messages
from kcli.records import build_batch
from kcli.records.encoding import encode_batches
from tests.records.vectors import mixed_batches, named


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(mixed_batches())
    return path


@pytest.fixture
def orders(samples: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(samples / "orders-0", tmp_path / "orders-0"))


def rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_batches_a_line_each_that_encode_to_the_same_bytes(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "batch", str(file)]) == 0
    found = rows(capsys.readouterr().out)
    assert len(found) == 20 and encode_batches(found) == file.read_bytes()
    assert main(["decode", "batch", str(file), "--records", "batches"]) == 0
    assert "records" not in rows(capsys.readouterr().out)[0]


def test_text_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").write_text(named("one-record").hex(" "))
    assert main(["decode", "batch", str(tmp_path / "x"), "--hex"]) == 0
    assert rows(capsys.readouterr().out)[0]["count"] == 1


@pytest.mark.parametrize("form", ["tree", "hexdump"])
def test_each_field_with_its_bytes(form: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "batch", str(file), "--format", form]) == 0
    out = capsys.readouterr().out
    assert "batches[0].records[4].headers[1].value" in out and "batches[19].records[0].value.coordinatorEpoch" in out
    file.write_bytes(named("value-length-long"))
    assert main(["decode", "batch", str(file), "--format", form]) == 3
    printed = capsys.readouterr()
    assert "_rest" in printed.out and "needs 63 bytes" in printed.err


def test_a_wrong_checksum_is_shown_and_ends_with_3(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = bytearray(mixed_batches())
    data[70] ^= 1
    file.write_bytes(data)
    for command in (["batch"], ["segment", "--format", "jsonl"]):
        assert main(["decode", *command, str(file)]) == 3
        printed = capsys.readouterr()
        found = rows(printed.out)
        assert found[0]["crcValid"] is False and len(found) == 20
        assert "1 batch has a wrong checksum" in printed.err and printed.err.count("\n") == 1


def test_damage_is_told_and_passed_over(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = named("one-record")
    file.write_bytes(one + b"\1" * 50 + one + named("key-length-long") + one[:40])
    assert main(["decode", "segment", str(file), "--format", "jsonl", "--records", "full"]) == 3
    printed = capsys.readouterr()
    found = rows(printed.out)
    assert [row.get("event") for row in found] == [None, "undecodable", None, None, None, "truncated"]
    assert found[1]["offset"] == len(one) and found[1]["bytes"] == 50
    assert found[3]["_error"]["path"] == "records[0].key"
    assert "50 bytes passed over" in printed.err and "a cut batch" in printed.err and "Traceback" not in printed.err


def test_no_bytes_are_no_batches(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(b"")
    assert main(["decode", "batch", str(file)]) == 3
    assert main(["decode", "segment", str(file), "--format", "jsonl"]) == 0
    assert "no bytes" in capsys.readouterr().err


def test_a_table(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(mixed_batches() + b"\xff" * 30)
    assert main(["decode", "segment", str(file)]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 22 and "producer 7:1 seq 0" in lines[1] and "txn, control" in lines[20]
    assert "undecodable: 30 bytes" in lines[21]
    assert main(["decode", "batch", str(file), "--format", "table"]) == 3


def test_a_folder_with_all_its_files(orders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (orders / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    assert main(["decode", "segment", str(orders), "--format", "jsonl"]) == 0
    found = rows(capsys.readouterr().out)
    assert [Path(row["file"]).name for row in found if row.get("event") == "file"] == [
        "00000000000000000000.log",
        "00000000000000000000.index",
        "00000000000000000000.timeindex",
        "leader-epoch-checkpoint",
    ]
    assert {"offset": 299, "position": 4805} in found and {"epoch": 0, "startOffset": 0} in found
    assert main(["decode", "segment", str(orders)]) == 0
    assert "startOffset" in capsys.readouterr().out


def test_verify(orders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "segment", str(orders), "--verify"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "" and "482 records" in printed.err
    index = orders / "00000000000000000000.index"
    index.write_bytes(struct.pack(">ii", 299, 4806))
    assert main(["decode", "segment", str(orders), "--verify", "--format", "jsonl"]) == 1
    (finding,) = rows(capsys.readouterr().out)
    assert finding["severity"] == "error" and finding["rule"] == "index-astray" and finding["file"] == str(index)
    assert main(["decode", "segment", str(index), "--verify"]) == 1
    assert "no batch begins" in capsys.readouterr().out


def test_internal_topics_are_decoded_by_the_folders_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    topic = b"\1\2\0" + messages.data("TopicRecord", 0).write({"name": "t", "topicId": "A" * 22})
    (folder / "00000000000000000000.log").write_bytes(build_batch([(0, None, topic, ())]))
    assert main(["decode", "segment", str(folder), "--records", "full", "--format", "jsonl"]) == 0
    (row,) = rows(capsys.readouterr().out)
    assert row["records"][0]["_record"]["type"] == "TOPIC_RECORD"
    log = str(folder / "00000000000000000000.log")
    assert main(["decode", "batch", log, "--topic", "__cluster_metadata"]) == 0
    assert rows(capsys.readouterr().out)[0]["records"][0]["_record"]["data"]["name"] == "t"
    assert main(["decode", "batch", log, "--topic", "orders"]) == 2


def test_positions_and_payloads_are_there_when_asked_for(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "segment", str(file), "--records", "full", "--format", "jsonl"]) == 0
    assert not any("_position" in row or "_payload" in row for row in rows(capsys.readouterr().out))
    extra = ["--position", "--exact"]
    assert main(["decode", "segment", str(file), "--records", "full", "--format", "jsonl", *extra]) == 0
    found = rows(capsys.readouterr().out)
    assert [row["_position"] for row in found[:2]] == [0, found[0]["sizeInBytes"]]
    assert encode_batches(found) == file.read_bytes()


def test_parquet(orders: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow.parquet

    out = tmp_path / "x.parquet"
    assert main(["decode", "segment", str(orders), "--format", "parquet", "-o", str(out)]) == 0
    assert pyarrow.parquet.read_table(out).num_rows == 482
    assert main(["decode", "segment", str(orders), "--format", "parquet"]) == 2
    log = orders / "00000000000000000000.log"
    log.write_bytes(named("key-length-long") + log.read_bytes())
    assert main(["decode", "segment", str(log), "--format", "parquet", "-o", str(out)]) == 3
    assert pyarrow.parquet.read_table(out).num_rows >= 482


def test_what_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "segment", str(tmp_path / "none.log")]) == 3
    assert main(["decode", "segment", str(tmp_path)]) == 3
    assert "no log segment in this folder" in capsys.readouterr().err


def test_a_pipe(file: Path) -> None:
    command = [sys.executable, "-m", "kcli.cli", "decode", "segment", "-", "--format", "jsonl", "--records", "full"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(command, input=file.read_bytes(), capture_output=True, check=True, env=environment, timeout=60)
    assert len(run.stdout.splitlines()) == 20 and run.stderr == b""


def test_times() -> None:
    assert time_text(1700000000123) == "2023-11-14T22:13:20.123Z"
    assert time_text(-1) == "-" and time_text((1 << 63) - 1) == str((1 << 63) - 1)
