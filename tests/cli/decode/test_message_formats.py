"""How `decode request|response` shows a message that is damaged, and its records."""

import json
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.grammar import frames
from kcli.records import build_batch
from tests.cli.decode.test_message import FETCH, HEADER

BATCH = build_batch([(5, b"k", b"v", ())])
WRONG = BATCH[:-1] + b"w"


def produce(records: bytes) -> bytes:
    topics = [{"name": "t", "partitionData": [{"index": 3, "records": records}]}]
    return frames.encode_request(HEADER | {"requestApiKey": 0, "requestApiVersion": 9}, {"topicData": topics})


def test_what_could_be_read_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cut"
    file.write_bytes(FETCH[:118])
    assert main(["decode", "request", str(file)]) == 3
    row = json.loads(capsys.readouterr().out)
    assert row["requestHeader"]["clientId"] == "c"
    assert [sorted(each) for each in row["request"]["topics"][0]["partitions"][2:]] == [
        ["currentLeaderEpoch", "partition"]
    ]
    assert row["_error"] == {
        "path": "topics[0].partitions[2].fetchOffset",
        "offset": 0x73,
        "reason": "needs 8 bytes at 0x73, 3 left (the array says 4 entries, 2 are here)",
    }


def test_an_unknown_version_has_a_header(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "new"
    file.write_bytes(b"\0\1\0\x63\0\0\0\7\0\1c\0what?")
    assert main(["decode", "request", str(file)]) == 3
    row = json.loads(capsys.readouterr().out)
    assert row["requestHeader"]["clientId"] == "c" and row["request"] is None
    assert row["_error"]["path"] == "requestApiVersion"


@pytest.mark.parametrize("form", ["json", "tree", "hexdump", "table"])
@pytest.mark.parametrize("records", ["batches", "full"])
def test_records_are_shown_in_every_format(
    tmp_path: Path, form: str, records: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "produce").write_bytes(produce(BATCH))
    assert main(["decode", "request", str(tmp_path / "produce"), "--format", form, "--records", records]) == 0
    out = capsys.readouterr().out
    assert ("batchLength" if form in ("tree", "hexdump") else "partitionLeaderEpoch") in out
    assert (".value" in out or '"value":"v"' in out) == (records == "full")
    if form == "hexdump":
        shown = "".join(line[10:57] for line in out.splitlines()[1:]).replace(" ", "")
        assert shown == produce(BATCH).hex()


def test_raw_records_are_no_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "produce").write_bytes(produce(BATCH))
    assert main(["decode", "request", str(tmp_path / "produce"), "--format", "tree", "--records", "raw"]) == 2
    assert "a tree shows records as batches or full" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["json", "table"])
@pytest.mark.parametrize("records", ["batches", "full"])
def test_a_wrong_checksum_in_a_message_is_an_error(
    tmp_path: Path, form: str, records: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "produce").write_bytes(produce(WRONG))
    assert main(["decode", "request", str(tmp_path / "produce"), "--format", form, "--records", records]) == 3
    printed = capsys.readouterr()
    assert "crcValid" in printed.out
    assert "ProduceRequest v9: records: 1 batch has a wrong checksum" in printed.err


@pytest.mark.parametrize("records", ["batches", "full"])
def test_a_tree_marks_the_wrong_field_of_a_batch(
    tmp_path: Path, records: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "produce").write_bytes(produce(WRONG))
    assert main(["decode", "request", str(tmp_path / "produce"), "--format", "tree", "--records", records]) == 3
    lines = [line for line in capsys.readouterr().out.splitlines() if ".crc " in line]
    assert len(lines) == 2 and lines[0].endswith("(uint32)") and lines[1].endswith(" is wrong")
    assert lines[0][:4] == lines[1][:4] and not lines[1][4:34].strip()


def test_a_likely_slip_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = HEADER | {"requestApiKey": 3, "requestApiVersion": 9}
    frame = bytearray(frames.encode_request(header, {"topics": [{"name": "orders"}]}))
    frame[3] = 8
    (tmp_path / "in").write_bytes(frame)
    assert main(["decode", "request", str(tmp_path / "in")]) == 3
    assert capsys.readouterr().err.endswith("; it reads to its end as v9: was that meant?\n")
