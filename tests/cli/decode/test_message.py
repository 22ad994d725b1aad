"""`kcli decode request|response` as a script sees them."""

import base64
import json
import subprocess
import sys
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.grammar import frames

HEADER = {"requestApiKey": 1, "requestApiVersion": 12, "correlationId": 7, "clientId": "c"}
FETCH = frames.encode_request(HEADER, {"topics": [{"topic": "t", "partitions": [{"partition": n} for n in range(4)]}]})
PRODUCE = frames.encode_request(
    HEADER | {"requestApiKey": 0, "requestApiVersion": 9},
    {"topicData": [{"name": "t", "partitionData": [{"records": b"abc"}]}]},
)
REFUSED = b"\0\0\0\7" + b"\0\x23" + b"\0\0\0\0"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "message"


def test_a_request_is_one_line_of_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(FETCH)
    assert main(["decode", "request", str(file)]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["requestHeader"] == HEADER | {"requestApiKeyName": "FETCH"}
    assert [each["partition"] for each in row["request"]["topics"][0]["partitions"]] == [0, 1, 2, 3]


@pytest.mark.parametrize("extra", [[], ["--framed"]])
def test_framed_requests_are_decoded_one_by_one(
    file: Path, extra: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_bytes(b"".join(len(frame).to_bytes(4, "big") + frame for frame in (FETCH, PRODUCE)))
    assert main(["decode", "request", str(file), *extra]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["requestHeader"]["requestApiKeyName"] for row in rows] == ["FETCH", "PRODUCE"]


@pytest.mark.parametrize(
    ("form", "shown"), [("none", {"sizeInBytes": 3}), ("raw", {"sizeInBytes": 3, "base64": "YWJj"})]
)
def test_records(file: Path, form: str, shown: object, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(PRODUCE)
    assert main(["decode", "request", str(file), "--records", form]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["request"]["topicData"][0]["partitionData"][0]["records"] == shown


def test_a_response_needs_its_requests_api(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(REFUSED)
    assert main(["decode", "response", str(file)]) == 2
    assert "--api NAME and --api-version N expected" in capsys.readouterr().err
    assert main(["decode", "response", str(file), "--api", "ApiVersions", "--api-version", "9"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "responseHeader": {"correlationId": 7},
        "requestApiKey": 18,
        "requestApiVersion": 9,
        "response": {"errorCode": 35, "apiKeys": []},
    }


def test_the_wrong_byte_is_found_by_eye(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(FETCH[:118])
    for form in ("tree", "hexdump"):
        assert main(["decode", "request", str(file), "--format", form]) == 3
        captured = capsys.readouterr()
        assert captured.out.startswith("FetchRequest v12, 118 bytes\n")
        assert "topics[0].partitions[0].fetchOffset" in captured.out
        reason = "topics[0].partitions[2].fetchOffset: needs 8 bytes at 0x73, 3 left"
        assert reason in captured.err
        assert captured.err.endswith("(the array says 4 entries, 2 are here)\n")
        digits = "0073  00 00 00 " if form == "tree" else "00000073  00 00 00 "
        assert captured.out.splitlines()[-1].startswith(digits)


def test_a_tree_shows_trailing_bytes(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(FETCH + b"\1\2")
    assert main(["decode", "request", str(file), "--format", "tree", "--unframed"]) == 3
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1].split()[1:4] == ["01", "02", "_trailing"]
    assert printed.err.endswith("_trailing: 2 bytes left after the message at 0xb1\n")


def test_a_table_is_paths_and_values(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(FETCH)
    assert main(["decode", "request", str(file), "--format", "table"]) == 0
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert ["requestHeader.requestApiKeyName", '"FETCH"'] in lines
    assert ["request.topics[0].partitions[3].partition", "3"] in lines


@pytest.mark.parametrize("form", ["json", "tree", "hexdump", "table"])
@pytest.mark.parametrize(
    ("key", "version", "why"),
    [
        (1, 99, "requestApiVersion: Fetch has no version 99 (known: 0-18)"),
        (1, -1, "requestApiVersion: Fetch has no version -1 (known: 0-18)"),
        (4711, 0, "requestApiKey: unknown API key 4711 (known: 0-"),
    ],
)
def test_what_the_tables_lack_is_said(
    file: Path, capsys: pytest.CaptureFixture[str], form: str, key: int, version: int, why: str
) -> None:
    file.write_bytes(key.to_bytes(2, "big") + version.to_bytes(2, "big", signed=True) + b"\0\0\0\7\xff\xff\0what?")
    assert main(["decode", "request", str(file), "--format", form]) == 3
    assert why in capsys.readouterr().err
    if version == 99:
        assert main(["decode", "response", str(file), "--api", "Fetch", "--api-version", "99", "--format", form]) == 3
        assert why in capsys.readouterr().err


def test_what_contradicts_the_header_is_refused(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(FETCH)
    assert main(["decode", "request", str(file), "--api", "Metadata"]) == 2
    assert "the request's header has API key 1" in capsys.readouterr().err
    assert main(["decode", "request", str(file), "--api-version", "3"]) == 2
    assert main(["decode", "request", str(file), "--api", "Fetcch"]) == 2
    assert "did you mean Fetch?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no bytes: a message expected"),
        (b"\0\0", "needs a length of 4 bytes"),
        (b"\0\0\0\x09abc", "the length at 0x0 says 9 bytes, 3 are left"),
        (b"\xff\xff\xff\xffabc", "length -1 at 0x0"),
    ],
)
def test_a_broken_length_is_named(file: Path, data: bytes, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(data)
    assert main(["decode", "request", str(file), "--framed"]) == 3
    assert said in capsys.readouterr().err


def test_a_request_of_a_dialect_alone_is_no_length(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Read as a length, API key and version hide a message that begins like Metadata v0 and reads further.
    folder = file.parent / "drafts"
    folder.mkdir()
    both = {"apiKey": 100, "validVersions": "0", "flexibleVersions": "none"}
    fields = [{"name": "Text", "type": "string", "versions": "0+", "about": "A text."}]
    for kind in ("request", "response"):
        name = f"Tell{kind.title()}"
        row = both | {"type": kind, "name": name, "fields": fields}
        (folder / f"{name}.json").write_text(json.dumps(row))
    file.write_bytes(b"\0\x64\0\0" + b"\0\3\0\0" + b"\0\0" + b"\x7f\xff" + b"\0" * 6)
    assert main(["decode", "request", str(file), "--dialect", str(folder)]) == 3
    assert "TellRequest v0: text: " in capsys.readouterr().err
    assert main(["decode", "request", str(file)]) == 3
    assert "the length at 0x0 says 6,553,600 bytes" in capsys.readouterr().err


def test_the_frames_before_and_after_a_broken_one_are_shown(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(b"".join(len(frame).to_bytes(4, "big") + frame for frame in (FETCH, FETCH[:50], PRODUCE)))
    assert main(["decode", "request", str(file)]) == 3
    captured = capsys.readouterr()
    rows = [json.loads(line) for line in captured.out.splitlines()]
    assert ["_error" in row for row in rows] == [False, True, False]
    assert captured.err.startswith(f"kcli: {file}: FetchRequest v12: ")


def test_a_missing_file_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "request", "/nowhere/message"]) == 3
    assert capsys.readouterr().err == "kcli: /nowhere/message: No such file or directory\n"


@pytest.mark.parametrize("command", [["request"], ["response", "--api", "Fetch", "--api-version", "1"], ["batch"]])
@pytest.mark.parametrize(("given", "hint"), [("hex", "hex text"), ("pcap", "a capture: kcli decode pcap")])
def test_what_is_no_message_is_recognised(
    command: list[str], given: str, hint: str, samples: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_bytes(FETCH.hex().encode() if given == "hex" else (samples / "ipv6.pcapng").read_bytes())
    assert main(["decode", *command, str(file)]) == 3
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1
    assert f"{file}: neither a message nor record batches (looks like {hint}" in printed.err


def test_messages_are_read_without_looking_for_anything_else(file: Path) -> None:
    """What recognises other input costs a cold start of `decode request` nothing."""
    file.write_bytes(FETCH)
    script = f"import sys; from kcli.cli.main import main; main(['decode', 'request', {str(file)!r}, '-q'])"
    tail = "print(*[name for name in sys.modules if name.startswith('kcli.capture')])"
    done = subprocess.run([sys.executable, "-c", f"{script}; {tail}"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""


def test_help_says_what_the_api_is_for(capsys: pytest.CaptureFixture[str]) -> None:
    for command, text in (("request", "Refuse requests of another API"), ("response", "The API of the response")):
        assert main(["decode", command, "--help"]) == 0
        assert text in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("rest", "text", "code"), [(b"\1\0\0", "3 bytes", 0), (b"\0", "1 byte", 0), (b"\0\0", "2 bytes", 3)]
)
def test_what_some_clients_send_behind_a_message_is_noted_and_lawful(
    rest: bytes, text: str, code: int, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """librdkafka's and, of any message with tag sections, one of these too many."""
    header = HEADER | {"requestApiKey": 3, "requestApiVersion": 12}
    file.write_bytes(frames.encode_request(header, {"topics": None}) + rest)
    assert main(["decode", "request", str(file)]) == code
    printed = capsys.readouterr()
    assert base64.b64decode(json.loads(printed.out)["request"]["_trailing"]) == rest
    assert text in printed.err and ("after the message at 0x10, as some clients send" in printed.err) == (not code)
    if code:
        return
    assert main(["decode", "request", str(file), "-q"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("form", ["json", "tree", "hexdump", "table"])
def test_bytes_left_over_are_an_error(file: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(PRODUCE + b"\1\2")
    assert main(["decode", "request", str(file), "--format", form]) == 3
    assert "_trailing: 2 bytes left after the message at" in capsys.readouterr().err


def test_the_header_of_an_unknown_api_is_shown(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(bytes.fromhex("2712 0001 00000003 0003 617070 00ff00ff"))
    assert main(["decode", "request", str(file)]) == 3
    out, err = capsys.readouterr()
    head = {"requestApiKey": 10002, "requestApiVersion": 1, "correlationId": 3, "clientId": "app"}
    assert json.loads(out)["requestHeader"].items() >= head.items() and "unknown API key 10002" in err
    file.write_bytes(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(40))  # no header: what else it may be
    assert main(["decode", "request", str(file)]) == 3
    assert capsys.readouterr().out == ""
