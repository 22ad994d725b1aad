"""`kcli diff message|batch` as a script sees it."""

import json
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.grammar import frames
from kcli.records import build_batch
from tests.cli.decode.test_message import FETCH, HEADER
from tests.cli.decode.test_message_formats import produce

BATCH = build_batch([(5, b"k", b"v", ())])
OTHER = build_batch([(5, b"k", b"vv", ())])


def write(tmp_path: Path, one: bytes, other: bytes) -> list[str]:
    (tmp_path / "one").write_bytes(one)
    (tmp_path / "other").write_bytes(other)
    return [str(tmp_path / "one"), str(tmp_path / "other")]


def test_the_same_is_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    framed = len(FETCH).to_bytes(4, "big") + FETCH
    assert main(["diff", "message", *write(tmp_path, FETCH, framed)]) == 0
    assert main(["diff", "batch", *write(tmp_path, BATCH, BATCH)]) == 0
    assert capsys.readouterr().out == ""


def test_a_field_that_differs_stands_with_both_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = frames.encode_request(HEADER | {"clientId": "dd"}, frames.decode_request(FETCH).body | {"maxWaitMs": 9})
    assert main(["diff", "message", *write(tmp_path, FETCH, other)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        'header.clientId: 0x0008 00 01 63 = "c" | 0x0008 00 02 64 64 = "dd"',
        "maxWaitMs: 0x0010 00 00 00 00 = 0 | 0x0011 00 00 00 09 = 9",
    ]
    assert main(["diff", "message", "--format", "jsonl", *write(tmp_path, FETCH, other)]) == 1
    assert json.loads(capsys.readouterr().out.splitlines()[1]) == {
        "path": "maxWaitMs",
        "expected": {"offset": 16, "bytes": "00000000"},
        "got": {"offset": 17, "bytes": "00000009"},
    }


def test_a_message_that_ends_early(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "message", *write(tmp_path, FETCH, FETCH[:-1])]) == 1
    assert "got ends early: FetchRequest v12: _tags: needs 1 byte" in capsys.readouterr().out
    assert main(["diff", "message", *write(tmp_path, FETCH, FETCH + b"x")]) == 1
    assert "_trailing: not there | " in capsys.readouterr().out


def test_a_header_that_ends_early(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The byte that is wrong may be the header's: the length of the client id."""
    assert main(["diff", "message", *write(tmp_path, FETCH, FETCH[:8] + b"\x01" + FETCH[9:])]) == 1
    *_, last = lines = capsys.readouterr().out.splitlines()
    assert 'header.clientId: 0x0008 00 01 63 = "c" | not there' in lines
    assert last.startswith("got ends early: RequestHeader v2: clientId: needs 257 bytes at 0xa")


def test_of_long_fields_the_first_byte_that_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def told(got: bytes) -> str:
        assert main(["diff", "message", *write(tmp_path, long, got)]) == 1
        return capsys.readouterr().out.splitlines()[0].partition("; ")[2]

    long = frames.encode_request(HEADER | {"clientId": "c" * 90}, frames.decode_request(FETCH).body)
    assert long[60:62] == b"cc"
    assert told(long[:60] + b"d" + long[61:]) == "1 byte differs: 0x003c 63 | 0x003c 64"
    assert told(long[:60] + b"dd" + long[62:]) == "2 bytes differ, first: 0x003c 63 | 0x003c 64"
    assert told(long[:12] + b"d" + long[13:]) == ""  # it is among those that are shown
    assert main(["diff", "batch", *write(tmp_path, b"x" * 40, b"x" * 30)]) == 1
    assert capsys.readouterr().out.splitlines()[0].endswith("; first: 0x001e 78 | 0x001e its end")
    short = frames.encode_request(HEADER | {"clientId": "c" * 89 + "d"}, frames.decode_request(FETCH).body)
    assert told(short) == "1 byte differs: 0x0063 63 | 0x0063 64"


def test_responses_and_the_batches_inside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = [frames.encode_response({"correlationId": 1}, 12, 0, {"errorCode": code}) for code in (0, 25)]
    more = ["--api", "Heartbeat", "--api-version", "0"]
    assert main(["diff", "message", *more, *write(tmp_path, *answers)]) == 1
    assert capsys.readouterr().out == "errorCode: 0x0004 00 00 = 0 | 0x0004 00 19 = 25\n"
    assert main(["diff", "message", *write(tmp_path, produce(BATCH), produce(OTHER))]) == 1
    out = capsys.readouterr().out
    assert "records.batches[0].records[0].value: " in out and "records.batches[0].crc: " in out
    assert main(["diff", "message", "--api", "Fetch", "a", "b"]) == 2
    assert main(["diff", "message", "-", "-"]) == 2


def test_batches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "batch", *write(tmp_path, BATCH, OTHER)]) == 1
    paths = [line.partition(": ")[0] for line in capsys.readouterr().out.splitlines()]
    assert paths == [f"batches[0].{name}" for name in ("batchLength", "crc", "records[0].length", "records[0].value")]


def test_what_is_no_message_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "message", *write(tmp_path, FETCH, b"\x7f\xff\0\0" + bytes(8))]) == 3
    assert "other: " in capsys.readouterr().err


def test_secrets_are_not_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = HEADER | {"requestApiKey": 36, "requestApiVersion": 2}
    one, other = (frames.encode_request(header, {"authBytes": secret}) for secret in (b"geheim-1", b"geheim-2"))
    for form in ("text", "jsonl"):
        assert main(["diff", "message", "--format", form, *write(tmp_path, one, other)]) == 1
        out = capsys.readouterr().out
        assert "authBytes" in out and b"geheim".hex() not in out.replace(" ", "") and "geheim" not in out
