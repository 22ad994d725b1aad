"""What `decode request|response` takes for one message, and for several."""

import base64
import json
import textwrap
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.grammar import frames
from tests.cli.decode.test_message import FETCH, HEADER, PRODUCE

METADATA = frames.encode_request(HEADER | {"requestApiKey": 3}, {"topics": None})
FIVE = [FETCH, PRODUCE, METADATA, FETCH, METADATA]


def names(printed: str) -> list[str]:
    return [json.loads(line)["requestHeader"]["requestApiKeyName"] for line in printed.splitlines()]


@pytest.mark.parametrize("framed", [False, True])
@pytest.mark.parametrize("form", ["hex", "base64"])
def test_each_line_is_a_message(tmp_path: Path, form: str, framed: bool, capsys: pytest.CaptureFixture[str]) -> None:
    messages = [len(each).to_bytes(4, "big") + each if framed else each for each in FIVE]
    texts = [each.hex() if form == "hex" else base64.b64encode(each).decode() for each in messages]
    file = tmp_path / "five"
    file.write_text("\n".join(texts) + "\n\n")
    assert main(["decode", "request", f"--{form}", str(file)]) == 0
    assert names(capsys.readouterr().out) == ["FETCH", "PRODUCE", "METADATA", "FETCH", "METADATA"]


def test_what_encode_writes_decode_reads(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    (tmp_path / "five").write_text("\n".join(each.hex() for each in FIVE))
    assert main(["decode", "request", "--hex", "--records", "raw", str(tmp_path / "five")]) == 0
    (tmp_path / "five.jsonl").write_bytes(capsysbinary.readouterr().out)
    assert main(["encode", "request", "--to", "hex", str(tmp_path / "five.jsonl")]) == 0
    assert capsysbinary.readouterr().out.decode().split() == [each.hex() for each in FIVE]


@pytest.mark.parametrize("width", [4, 10, 60])
@pytest.mark.parametrize("form", ["hex", "base64"])
def test_one_message_may_stand_on_several_lines(
    tmp_path: Path, form: str, width: int, capsys: pytest.CaptureFixture[str]
) -> None:
    text = FETCH.hex() if form == "hex" else base64.b64encode(FETCH).decode()
    (tmp_path / "one").write_text("\n".join(textwrap.wrap(text, width)))
    assert main(["decode", "request", f"--{form}", str(tmp_path / "one")]) == 0
    assert names(capsys.readouterr().out) == ["FETCH"]


def test_a_bad_line_leaves_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [FETCH.hex(), "zz", METADATA[:-1].hex(), PRODUCE.hex()]
    file = tmp_path / "lines"
    file.write_text("\n".join(lines))
    assert main(["decode", "request", "--hex", str(file)]) == 3
    printed = capsys.readouterr()
    assert names(printed.out) == ["FETCH", "METADATA", "PRODUCE"]
    assert f"{file}: line 2: not hex" in printed.err
    assert f"{file}: line 3: MetadataRequest v12: " in printed.err


def test_lines_of_requests_that_are_all_damaged_are_lines_still(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lines").write_text("\n".join(each[:-1].hex() for each in FIVE))
    assert main(["decode", "request", "--hex", str(tmp_path / "lines")]) == 3
    assert len(capsys.readouterr().out.splitlines()) == 5


def test_responses_are_lines_where_the_first_is_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = frames.encode_response({"correlationId": 7}, 12, 0, {"errorCode": 0}).hex()
    (tmp_path / "lines").write_text(f"{answer}\n{answer}\n")
    assert main(["decode", "response", "--hex", str(tmp_path / "lines"), "--api", "12", "--api-version", "0"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    ("order", "extra", "said"),
    [
        ("big", 4, "counts its own 4 bytes: it says {more}, {size} expected"),
        ("little", 0, "is little endian: big endian expected"),
        ("little", 4, "counts its own 4 bytes, and is little endian"),
    ],
)
@pytest.mark.parametrize("options", [[], ["--framed"]])
def test_a_length_written_wrongly_is_named(
    tmp_path: Path,
    count: int,
    order: str,
    extra: int,
    said: str,
    options: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    prefix = (len(METADATA) + extra).to_bytes(4, "little" if order == "little" else "big")
    (tmp_path / "framed").write_bytes((prefix + METADATA) * count)
    assert main(["decode", "request", str(tmp_path / "framed"), *options]) == 3
    printed = capsys.readouterr()
    assert names(printed.out) == ["METADATA"] * count
    assert "the length at 0x0 " + said.format(more=len(METADATA) + 4, size=len(METADATA)) in printed.err


def test_a_right_message_has_no_wrong_length(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first four bytes of a response are its correlation id, which may be any number."""
    answer = frames.encode_response({"correlationId": 6}, 12, 0, {"errorCode": 0})
    assert len(answer) == 6
    (tmp_path / "answer").write_bytes(answer)
    assert main(["decode", "response", str(tmp_path / "answer"), "--api", "12", "--api-version", "0"]) == 0
    assert capsys.readouterr().err == ""


REQUEST = bytes.fromhex("0003 0001 00000002 0003 617070 00000001 0006 6f7264657273")
CASES = [
    (REQUEST[:-3], 0, "3 bytes missing"),
    (REQUEST + b"??", 0, "2 bytes left after the frame"),
    (REQUEST, 1, "says 26, 25 expected"),
    (REQUEST, 9, "9 bytes missing"),
]


@pytest.mark.parametrize(("made", "more", "said"), CASES)
def test_a_frame_that_is_cut_or_has_bytes_behind_it(
    made: bytes, more: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "frame"
    path.write_bytes((len(REQUEST) + more).to_bytes(4, "big") + made)
    assert main(["decode", "request", str(path)]) == 3
    out, err = capsys.readouterr()
    assert json.loads(out)["requestHeader"]["requestApiKeyName"] == "METADATA" and said in err


def test_the_last_of_several_frames_may_be_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, frame = tmp_path / "frames", len(REQUEST).to_bytes(4, "big") + REQUEST
    path.write_bytes(frame * 2 + frame[:-1])
    assert main(["decode", "request", str(path)]) == 3
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 3 and "1 byte missing" in err


def test_a_response_that_is_cut_is_read_behind_its_length(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    response = bytes.fromhex("00000405 00000001 00000001 0008 62726f6b65722d31 00002384 ffff 00000001 00000000")
    path = tmp_path / "frame"
    path.write_bytes((len(response) + 5).to_bytes(4, "big") + response)
    assert main(["decode", "response", "--api", "Metadata", "--api-version", "1", str(path)]) == 3
    out, err = capsys.readouterr()
    assert json.loads(out)["responseHeader"]["correlationId"] == 0x405 and "5 bytes missing" in err


SMALL: dict[str, tuple[int, int, dict[str, object], str | None]] = {
    "no body": (18, 0, {}, "tester"),
    "no client": (3, 1, {"topics": None}, None),
    "a short body": (10, 0, {"key": "g"}, "tester"),
    "a null array": (3, 1, {"topics": None}, None),
    "a long client id": (3, 1, {"topics": None}, "c" * 200),
    "tags": (18, 3, {"clientSoftwareName": "hand", "clientSoftwareVersion": "1"}, "tester"),
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("change", [-2, -1, 1, 2, 40])
def test_a_length_is_not_taken_for_an_api_where_little_of_the_message_is_there(
    name: str, change: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key, version, body, client = SMALL[name]
    header = {"requestApiKey": key, "requestApiVersion": version, "correlationId": 77, "clientId": client}
    message = frames.encode_request(header, body)
    whole = len(message).to_bytes(4, "big") + message
    (tmp_path / "message").write_bytes(whole + b"\0" * change if change > 0 else whole[:change])
    assert main(["decode", "request", str(tmp_path / "message")]) == 3
    out, err = capsys.readouterr()
    row = json.loads(out.splitlines()[0])["requestHeader"]
    assert (row["requestApiKey"], row["requestApiVersion"], row["correlationId"]) == (key, version, 77)
    assert f"{abs(change)} byte" in err and ("missing" if change < 0 else "after") in err


@pytest.mark.parametrize(
    ("key", "version", "said"),
    [(200, 12, "unknown API key 200"), (3, 99, "Metadata has no version 99"), (0x0301, 12, "unknown API key 769")],
)
def test_an_api_that_there_is_not_is_not_taken_for_a_length(
    key: int, version: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its first bytes as a length, zeros make a request of what follows, with bytes behind it."""
    header = {"requestApiKey": 3, "requestApiVersion": 12, "correlationId": 0, "clientId": ""}
    message = frames.encode_request(header, {"topics": [{"name": "orders"}]})
    damaged = key.to_bytes(2, "big") + version.to_bytes(2, "big") + message[4:]
    (tmp_path / "message").write_bytes(damaged)
    assert main(["decode", "request", str(tmp_path / "message")]) == 3
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("key", "newest"), [(1, 18), (3, 13), (11, 9)])
def test_a_version_above_the_newest_is_no_length(
    key: int, newest: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With correlation id 0, as of a template, what stands behind key and version reads as Produce v0."""
    message = frames.encode_request(
        {"requestApiKey": key, "requestApiVersion": newest, "correlationId": 0, "clientId": ""}, {}
    )
    (tmp_path / "message").write_bytes(message[:2] + (newest + 1).to_bytes(2, "big") + message[4:])
    assert main(["decode", "request", str(tmp_path / "message")]) == 3
    assert f"has no version {newest + 1} (known: " in capsys.readouterr().err


@pytest.mark.parametrize("number", range(14))
def test_the_number_of_a_damaged_request_is_no_api(
    number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Key and version are no length, though what stands behind them reads as Produce, of a version that there is."""
    header = {"requestApiKey": 40, "requestApiVersion": 0, "correlationId": number, "clientId": "cl"}
    message = frames.encode_request(header, {"hmac": b"h" * 18, "expiryTimePeriodMs": 1})
    (tmp_path / "message").write_bytes(message[:-1])
    assert main(["decode", "request", str(tmp_path / "message")]) == 3
    out, err = capsys.readouterr()
    assert json.loads(out)["requestHeader"]["requestApiKey"] == 40 and "expiryTimePeriodMs" in err
