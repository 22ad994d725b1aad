"""What is wrong with batches, said once."""

import json
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.records import build_batch
from tests.real.batch_cases import changed
from tests.records.slips.making import batch_bytes
from tests.records.vectors import mixed_batches, named


def test_a_wrong_checksum_is_shown_and_ends_with_3(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = bytearray(mixed_batches())
    data[70] ^= 1
    file.write_bytes(data)
    for command in (["batch"], ["segment", "--format", "jsonl"]):
        assert main(["decode", *command, str(file)]) == 3
        printed = capsys.readouterr()
        found = [json.loads(line) for line in printed.out.splitlines()]
        assert found[0]["crcValid"] is False and len(found) == 20
        assert "1 batch has a wrong checksum" in printed.err and printed.err.count("\n") == 1


def test_damage_is_reported_and_passed_over(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = named("one-record")
    file.write_bytes(one + b"\1" * 50 + one + named("key-length-long") + one[:40])
    assert main(["decode", "segment", str(file), "--format", "jsonl", "--records", "full"]) == 3
    printed = capsys.readouterr()
    found = [json.loads(line) for line in printed.out.splitlines()]
    assert [row.get("event") for row in found] == [None, "undecodable", None, None, None, "truncated"]
    assert found[1]["offset"] == len(one) and found[1]["bytes"] == 50
    assert found[3]["_error"]["path"] == "records[0].key"
    assert "50 bytes passed over" in printed.err and "a cut batch" in printed.err and "Traceback" not in printed.err


@pytest.mark.parametrize("command", [["decode", "segment"], ["decode", "batch"], ["records"]])
def test_a_file_without_one_whole_batch_is_no_segment(
    command: list[str], file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_bytes(named("one-record")[:-1])
    assert main([*command, str(file)]) == 3
    assert f"{file}: " in capsys.readouterr().err
    file.write_bytes(named("one-record") + named("one-record")[:-1])
    assert main([*command, str(file)]) == 0


@pytest.mark.parametrize("form", ["table", "jsonl"])
def test_a_capture_is_no_segment(form: str, samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "segment", str(samples / "ipv6.pcapng"), "--format", form]) == 3
    printed = capsys.readouterr()
    assert printed.out == "" and "looks like a capture: kcli decode pcap reads that" in printed.err


def test_a_fault_in_records_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It stood twice, at its place in the records and in the input; `kcli FILE` names the byte, too."""
    whole = batch_bytes([(b"k", b"value")] * 5)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(whole + whole[:80] + bytes([whole[80] ^ 0x40]) + whole[81:])
    assert main(["decode", "batch", str(path)]) == 3
    said = capsys.readouterr().err
    assert said.count("says -54 headers") == 1 and said.endswith(
        "; the batch is right with the byte 0a at 0xce: it is 4a\n"
    )
    assert main([str(path)]) == 1
    assert "\nthe batch is right with the byte 0a at 0xce: it is 4a\n" in capsys.readouterr().out


def test_a_fault_in_compressed_records_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "batch.bin"
    path.write_bytes(changed(build_batch([(5, b"k", b"v", ())] * 3, codec="gzip"), recordCount=4))
    assert main(["decode", "batch", str(path)]) == 3
    assert capsys.readouterr().err.count("the batch says 4 records, 3 are here") == 1
