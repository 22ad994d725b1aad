"""`kcli encode request|response`: the bytes again, from what decode printed."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.main import main
from kcli.grammar import frames
from kcli.schemas.catalog import catalog
from tests.cli.decode.test_message import FETCH, PRODUCE, REFUSED
from tests.inside import kcli

HEX = "00120000000000010001" + "63"

REQUEST = {"topics": [{"name": "orders"}]}


def decoded(command: list[str], data: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    file = tmp_path / "message"
    file.write_bytes(data)
    assert main(["decode", *command, str(file)]) == 0
    return capsys.readouterr().out


def encoded(command: list[str], text: str, tmp_path: Path) -> bytes:
    (tmp_path / "json").write_text(text)
    assert main(["encode", *command, str(tmp_path / "json"), "-o", str(tmp_path / "out")]) == 0
    return (tmp_path / "out").read_bytes()


@pytest.mark.parametrize("data", [FETCH, PRODUCE], ids=["fetch", "produce"])
def test_a_request_there_and_back(data: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = decoded(["request", "--records", "raw"], data, tmp_path, capsys)
    assert encoded(["request"], text, tmp_path) == data
    assert encoded(["request", "--to", "hex"], text, tmp_path) == data.hex().encode() + b"\n"
    assert base64.b64decode(encoded(["request", "--to", "base64"], text, tmp_path)) == data
    assert encoded(["request", "--framed"], text, tmp_path) == len(data).to_bytes(4, "big") + data


def test_a_response_there_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = decoded(["response", "--api", "18", "--api-version", "9"], REFUSED, tmp_path, capsys)
    assert encoded(["response"], text, tmp_path) == REFUSED


def test_lines_of_a_capture(tmp_path: Path) -> None:
    exchange = {
        "timestamp": "2026-11-21T00:52:34.167123Z",
        "connection": "127.0.0.1:1-127.0.0.1:2",
        "requestHeader": {"requestApiKey": 18, "requestApiVersion": 9, "correlationId": 7, "clientId": None},
        "request": {"_trailing": ""},
        "response": {"errorCode": 35, "apiKeys": []},
    }
    unanswered = exchange | {"response": None}
    text = "\n".join(json.dumps(row) for row in (exchange, {"event": "gap"}, unanswered))
    assert encoded(["response"], text, tmp_path) == REFUSED


@pytest.mark.parametrize(("command", "path"), [("request", "requestHeader."), ("response", "")])
@pytest.mark.parametrize("version", [-1, 99])
def test_versions_that_the_tables_lack(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, path: str, version: int
) -> None:
    header = {"requestApiKey": 1, "requestApiVersion": version, "correlationId": 7, "clientId": None}
    row = {"requestHeader": header, "request": None} if command == "request" else header | {"response": {}}
    (tmp_path / "row.json").write_text(json.dumps(row))
    assert main(["encode", command, str(tmp_path / "row.json")]) == 3
    assert f"{path}requestApiVersion: Fetch has no version {version} (known: 0-18)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "json: a JSON object expected"),
        ("{", "json: not JSON: line 1, column 2"),
        ("{}", "json: requestHeader: is missing"),
        (
            '{"requestHeader": {"requestApiKey": 1, "requestApiVersion": 12}, "request": {"topics": 1}}',
            "FetchRequest v12",
        ),
        ('{}\n{"a": \n', "json: line 1: requestHeader: is missing"),
        ('{"event": "gap"}\n{"a": \n', "json: not JSON: line 2"),
    ],
)
def test_what_can_not_be_encoded_is_named(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "json").write_text(text)
    assert main(["encode", "request", str(tmp_path / "json")]) == 3
    assert said in capsys.readouterr().err


def test_records_by_size_alone_can_not_be_encoded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "json").write_text(decoded(["request"], PRODUCE, tmp_path, capsys))
    assert main(["encode", "request", str(tmp_path / "json")]) == 3
    assert "decode with --records raw keeps them" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"topics": [{"name": "orders"}]}, ["--api", "Metadata", "--api-version", "1"]),
        ({"request": {"topics": [{"name": "orders"}]}}, ["--api", "3", "--api-version", "1"]),
        ({"requestHeader": {"requestApiKeyName": "METADATA", "requestApiVersion": 1}, "request": REQUEST}, []),
        ({"requestHeader": {"requestApiKey": "metadata", "requestApiVersion": 1}, "request": REQUEST}, []),
        ({"requestHeader": {"requestApiKey": 1, "requestApiVersion": 12}, "request": REQUEST}, ["--api", "Metadata"]),
    ],
)
def test_names_instead_of_numbers(row: dict[str, Any], words: list[str], tmp_path: Path) -> None:
    made = encoded(["request", *words], json.dumps(row), tmp_path)
    version = 12 if words == ["--api", "Metadata"] else 1
    wanted = {"requestApiKey": 3, "requestApiVersion": version, "correlationId": 0, "clientId": ""}
    assert made == frames.encode_request(wanted, REQUEST)


def test_a_body_alone_is_written_in_the_newest_version(tmp_path: Path) -> None:
    made = encoded(["request", "--api", "Metadata"], json.dumps(REQUEST), tmp_path)
    assert made[:4] == bytes([0, 3, 0, catalog().known(3).versions.hi])
    answer = encoded(["response", "--api", "Metadata", "--api-version", "0"], '{"topics":[]}', tmp_path)
    assert answer == bytes(12)


def test_wrong_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "json").write_text("{}")
    for words, text in (
        (["--api", "Metadatta"], "Metadatta: no such API; did you mean Metadata?"),
        (["--api", "9999"], "API key 9999: not in the tables"),
    ):
        assert main(["encode", "request", *words, str(tmp_path / "json")]) == 2
        assert text in capsys.readouterr().err
    assert main(["encode", "request", "--api", "Metadata", "--api-version", "99", str(tmp_path / "json")]) == 3
    assert "Metadata has no version 99" in capsys.readouterr().err


def test_what_did_not_decode_is_not_encoded(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "cut").write_bytes(FETCH[:50])
    assert main(["decode", "request", str(tmp_path / "cut")]) == 3
    (tmp_path / "row").write_text(capsys.readouterr().out)
    assert main(["encode", "request", str(tmp_path / "row")]) == 3
    assert "row: _error: this message could not be decoded to its end" in capsys.readouterr().err


@pytest.mark.parametrize("side", ["request", "response"])
@pytest.mark.parametrize(("api", "version"), [("Metadata", None), ("produce", "9"), ("1", "0"), ("JoinGroup", None)])
def test_a_template_has_every_field_and_encodes(
    tmp_path: Path, side: str, api: str, version: str | None, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    words = [side, "--api", api, *(["--api-version", version] if version else [])]
    assert main(["encode", *words, "--template"]) == 0
    text = capsysbinary.readouterr().out
    (tmp_path / "made.json").write_bytes(text)
    assert main(["encode", side, str(tmp_path / "made.json"), "-o", str(tmp_path / "bytes")]) == 0
    made = json.loads(text)
    asked = made.get("requestHeader", made)
    more = ["--api", api, "--api-version", str(asked["requestApiVersion"])] if side == "response" else []
    assert main(["decode", side, str(tmp_path / "bytes"), *more, "--records", "raw"]) == 0
    assert json.loads(capsysbinary.readouterr().out)[side] == made[side]


def test_a_template_needs_an_api(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["encode", "request", "--template"]) == 2
    assert main(["encode", "request", "--template", "--api", "Fetch", "--api-version", "99"]) == 2
    assert "Fetch has 0-18" in capsys.readouterr().err


@pytest.mark.parametrize(("to", "line"), [([], HEX), (["--to", "hex"], HEX), (["--to", "base64"], "ABIAAAAAAAEAAWM=")])
def test_lines_are_answered_in_the_form_that_was_chosen(to: list[str], line: str) -> None:
    head = {"requestApiKey": 18, "requestApiVersion": 0, "correlationId": 1, "clientId": "c"}
    done = kcli("encode", "request", "--lines", *to, stdin=json.dumps({"requestHeader": head, "request": {}}) + "\n")
    assert (done.returncode, done.stdout) == (0, line + "\n")
