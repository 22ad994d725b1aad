"""What `kcli diff ... --lines` answers."""

import json
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.grammar import frames
from tests.cli.decode.test_coprocess import BATCH
from tests.cli.decode.test_lines import answers
from tests.cli.decode.test_message import FETCH, HEADER
from tests.cli.decode.test_message_formats import produce

BODY = {"maxWaitMs": 9, "topics": []}
OTHER = frames.encode_request(HEADER, BODY)


def test_the_rows_are_those_of_jsonl(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one").write_bytes(FETCH)
    (tmp_path / "other").write_bytes(OTHER)
    assert main(["diff", "message", "--format", "jsonl", str(tmp_path / "one"), str(tmp_path / "other")]) == 1
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    lines = [
        f"{FETCH.hex()}\t{OTHER.hex()}",
        json.dumps({"expected": FETCH.hex(), "got": {"requestHeader": HEADER, "request": BODY}}),
        json.dumps({"expected": {"hex": FETCH.hex()}, "got": OTHER.hex()}),
        f"{FETCH.hex()} {(len(FETCH).to_bytes(4, 'big') + FETCH).hex()}",
    ]
    code, found = answers("diff message", lines, tmp_path, capsys)
    assert code == 1
    assert found == [{"same": False, "differences": rows}] * 3 + [{"same": True}]


def test_responses_and_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = (frames.encode_response({"correlationId": 1}, 12, 0, {"errorCode": code}).hex() for code in (0, 25))
    line = json.dumps({"expected": one, "got": other, "requestApiKey": "Heartbeat", "requestApiVersion": 0})
    code, [found] = answers("diff message", [line], tmp_path, capsys)
    assert code == 1 and [row["path"] for row in found["differences"]] == ["errorCode"]
    lines = [f"{FETCH.hex()} {FETCH[:-1].hex()}", f"{FETCH[:-1].hex()} {FETCH[:-1].hex()}"]
    code, [cut, both] = answers("diff message", lines, tmp_path, capsys)
    assert [row["path"] for row in cut["differences"]][-1] == "_error"
    assert [[*row] for row in both["differences"]] == [["path", "expected"], ["path", "got"]]


def test_bad_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [FETCH.hex(), json.dumps({"expected": FETCH.hex()}), '{"expected":{},"got":[]}', f"7fff0000 {FETCH.hex()}"]
    code, found = answers("diff message", lines, tmp_path, capsys)
    assert code == 3
    assert [row["error"].partition(":")[0] for row in found] == [
        "1 words on this line",
        "got",
        "got",
        "requestApiKey",
    ]


def test_batches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"records": [{"timestamp": 5, "key": "k", "value": "v"}]}]
    lines = [json.dumps({"expected": rows, "got": BATCH.hex()}), json.dumps({"expected": rows[0], "got": "00"})]
    code, [same, other] = answers("diff batch", lines, tmp_path, capsys)
    assert code == 1 and same == {"same": True} and other["differences"][-1]["path"] == "_error"
    assert answers("diff message", [f"{produce(BATCH).hex()} {produce(BATCH).hex()}"], tmp_path, capsys)[0] == 0
