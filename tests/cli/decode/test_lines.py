"""What `kcli decode ... --lines` answers: the same JSON as without it, and what is wrong with a line."""

import base64
import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from kcli.capture.api import read_capture
from kcli.capture.kafka.exchange import Exchange
from kcli.cli.decode.lines import DecodedLines, frame_of
from kcli.cli.main import main
from kcli.errors import InputError
from kcli.grammar import frames
from tests.cli.decode.test_coprocess import BATCH
from tests.cli.decode.test_message import FETCH, HEADER
from tests.cli.decode.test_message_formats import WRONG, produce


def answers(words: str, lines: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[Any]]:
    (folder / "lines").write_text("".join(line + "\n" for line in lines))
    code = main([*words.split(), "--lines", str(folder / "lines")])
    return code, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("records", ["none", "raw", "full"])
def test_the_same_json_as_without_lines(
    records: str, samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = islice(read_capture([str(samples / "java44-txn.pcap")]).items(), 300)
    pairs = [each for each in found if isinstance(each, Exchange) and each.response_frame is not None]
    requests = [bytes(each.request_frame).hex() for each in pairs]
    code, rows = answers(f"decode request --records {records}", requests, tmp_path, capsys)
    assert main(["decode", "request", "--hex", "--records", records, str(tmp_path / "lines")]) == code == 0
    assert rows == [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    replies = [
        json.dumps(
            {
                "base64": base64.b64encode(bytes(each.response_frame or b"")).decode(),
                "requestApiKey": each.api_key,
                "requestApiVersion": each.api_version,
            }
        )
        for each in pairs
    ]
    code, rows = answers(f"decode response --records {records}", replies, tmp_path, capsys)
    assert code == 0 and len(rows) == len(pairs)
    for row, each in zip(rows[:40], pairs, strict=False):
        (tmp_path / "one").write_bytes(bytes(each.response_frame or b""))
        api = ["--api", str(each.api_key), "--api-version", str(each.api_version)]
        assert main(["decode", "response", "--records", records, *api, str(tmp_path / "one")]) == 0
        assert json.loads(capsys.readouterr().out) == row


def test_what_could_be_read_of_a_bad_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    framed = len(FETCH).to_bytes(4, "big") + FETCH
    lines = [framed.hex(), FETCH[:-9].hex(), FETCH.hex() + "ff", "0003", (framed + framed).hex(), FETCH.hex()]
    code, rows = answers("decode request", lines, tmp_path, capsys)
    assert code == 3
    whole, cut, more, short, two, again = rows
    assert whole == again and whole["requestHeader"]["clientId"] == "c"
    assert cut["line"] == 2 and cut["path"] == cut["_error"]["path"] and cut["requestHeader"] == whole["requestHeader"]
    assert more["request"]["_trailing"] == "/w==" and "1 byte left after" in more["error"]
    assert short["error"].startswith("requestApiKey: needs 4 bytes") and "requestHeader" not in short
    assert two == {"error": "2 messages on one line: one expected", "line": 5}


def test_padding_of_librdkafka_is_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    padded = frames.encode_request(HEADER | {"requestApiKey": 3, "requestApiVersion": 12}, {}) + b"\1\0\0"
    code, [row] = answers("decode request", [padded.hex()], tmp_path, capsys)
    assert code == 0 and row["request"]["_trailing"] == "AQAA" and "error" not in row


def test_damaged_records_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [produce(BATCH).hex(), produce(WRONG).hex(), produce(BATCH).hex()]
    code, [sound, wrong, again] = answers("decode request --records full", lines, tmp_path, capsys)
    assert code == 3 and "error" not in sound and again == sound and wrong["error"].endswith("(and 1 more)")
    assert wrong["request"]["topicData"][0]["partitionData"][0]["records"]["batches"][0]["crcValid"] is False
    assert answers("decode request", lines, tmp_path, capsys)[0] == 0


def test_batches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [BATCH.hex(), (BATCH + BATCH).hex(), WRONG.hex(), base64.b64encode(BATCH).decode()]
    code, [one, two, wrong, text] = answers("decode batch", lines, tmp_path, capsys)
    assert code == 3 and two == [one, one] and one["records"][0]["value"] == "v"
    assert wrong["batches"][0]["crcValid"] is False and wrong["error"].endswith("(and 1 more)")
    assert "not hex" in text["error"]
    code, [row] = answers("decode batch --base64 --records batches", lines[3:], tmp_path, capsys)
    assert code == 0 and "records" not in row


def test_the_options_count_for_every_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, [row] = answers("decode request --api Produce", [FETCH.hex()], tmp_path, capsys)
    assert code == 3 and row["error"] == "--api Produce: the request's header has API key 1"
    assert answers("decode request --api Fetch --api-version 12", [FETCH.hex()], tmp_path, capsys)[0] == 0
    code, [row] = answers("decode request --framed", [FETCH.hex()], tmp_path, capsys)
    assert code == 3 and "the length at 0x0 says" in row["error"]
    code, [row] = answers("decode response --api Heartbeat", ["00000007"], tmp_path, capsys)
    assert row["error"].startswith("the request is unknown")
    for bad in ('{"hex":"00","requestApiKey":[]}', '{"hex":"00","requestApiKey":3,"requestApiVersion":-1}'):
        assert "needs a" in answers("decode response", [bad], tmp_path, capsys)[1][0]["error"]


def test_an_unknown_message_and_secrets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    login = frames.encode_request(HEADER | {"requestApiKey": 36, "requestApiVersion": 2}, {"authBytes": b"geheim"})
    lines = [login.hex(), "7fff000000000001ffff", "0001006300000001ffff00"]
    code, [row, unknown, newer] = answers("decode request", lines, tmp_path, capsys)
    assert row["request"] == {"authBytes": {"redacted": 6}}
    assert "unknown API key 32767" in unknown["error"] and "Fetch has no version 99" in newer["error"]
    code, [row] = answers("decode request --show-secrets", lines[:1], tmp_path, capsys)
    assert (code, row["request"]["authBytes"]) == (0, "Z2VoZWlt")


def test_plans_are_kept_for_known_messages_alone() -> None:
    options = {"dialect": None, "api": None, "api_version": None, "framed": None, "records": "none"}
    from kcli.cli.decode.message import request_shape

    lines = DecodedLines(
        options | {"base64_": False, "secrets": False, "embedded": False},
        request_shape,
        lambda problem, *_: problem,
        requests=True,
    )
    lines.answer(FETCH.hex().encode(), 1)
    for key in range(1000, 1100):
        lines.answer(b"%04x00000000000000000000" % key, 2)
    assert [*lines.plans] == [FETCH[:4]]


def test_a_line_has_one_message() -> None:
    assert frame_of(FETCH, None) == (0, len(FETCH)) == frame_of(FETCH, False)
    framed = len(FETCH).to_bytes(4, "big") + FETCH
    assert frame_of(framed, True) == (4, len(framed))
    with pytest.raises(InputError, match="2 messages"):
        frame_of(framed * 2, None)
