"""The likely slip behind what a command says of a message that does not decode."""

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.decode import slip_hints
from kcli.cli.decode.slip_hints import SlipNamer
from kcli.cli.main import main
from kcli.errors import DecodeError, InputError
from kcli.grammar import frames
from tests.records.slips.making import batch_bytes

HEADER = {"requestApiKey": 3, "requestApiVersion": 12, "correlationId": 7, "clientId": "c"}
RIGHT = frames.encode_request(HEADER, {"topics": [{"name": "orders"}]})
AT = RIGHT.index(b"orders") - 1
SLIPPED = RIGHT[:AT] + b"\0\6" + RIGHT[AT + 1 :]
NAMED = "; it reads to its end with a compact length of topics[0].name at {:#x}: was it written as int16?\n"
ANSWER = frames.encode_response({"correlationId": 7}, 3, 12, {"clusterId": "c", "controllerId": 1})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "message"


@pytest.mark.parametrize("format_", ["json", "tree", "hexdump", "table"])
def test_decode_request_names_the_slip(file: Path, format_: str, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(SLIPPED)
    assert main(["decode", "request", "--format", format_, str(file)]) == 3
    assert capsys.readouterr().err.endswith(NAMED.format(AT))


def test_the_place_is_that_in_the_file(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(b"".join(len(each).to_bytes(4, "big") + each for each in (RIGHT, SLIPPED)))
    assert main(["decode", "request", str(file)]) == 3
    assert capsys.readouterr().err.endswith(NAMED.format(4 + len(RIGHT) + 4 + AT))


def test_bytes_left_over_have_their_slip(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = {"requestApiKey": 18, "requestApiVersion": 3, "correlationId": 7, "clientId": "c"}
    frame = frames.encode_request(header, {"clientSoftwareName": "n", "clientSoftwareVersion": "1"})
    file.write_bytes(frame[:2] + b"\0\2" + frame[4:])
    assert main(["decode", "request", str(file)]) == 3
    printed = capsys.readouterr().err
    assert "6 bytes left after the message" in printed
    assert printed.endswith("it reads to its end as v3 or v4: was that meant?\n")


def test_a_tag_section_too_many_is_named_and_lawful(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(RIGHT + b"\0")
    assert main(["decode", "request", str(file)]) == 0
    printed = capsys.readouterr().err
    assert f"1 byte after the message at {len(RIGHT):#x}, as some clients send" in printed
    assert printed.endswith("is it a tag section too many?\n")


def test_decode_response_names_the_slip(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(ANSWER[:4] + ANSWER[5:])
    assert main(["decode", "response", "--api", "Metadata", "--api-version", "12", str(file)]) == 3
    assert "it reads to its end with a header v1, which differs at 0x4: was v0 written?" in capsys.readouterr().err


def test_check_request_names_the_slip(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(SLIPPED)
    assert main(["check", "request", str(file)]) == 1
    assert capsys.readouterr().out.endswith(NAMED.format(AT))


@pytest.mark.parametrize("command", [["decode", "request"], ["check", "request"]])
def test_right_messages_have_no_hint(command: list[str], file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(RIGHT + b"")
    assert main([*command, str(file)]) == 0
    assert "reads to its end" not in "".join(capsys.readouterr())


def test_a_version_that_a_release_lacks_is_no_slip(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(RIGHT)
    assert main(["check", "request", "--release", "2.4", str(file)]) == 1
    assert "reads to its end" not in capsys.readouterr().out


@pytest.mark.parametrize("command", [["decode", "request"], ["check", "request"]])
def test_lines_have_their_slips(command: list[str], file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    framed = len(SLIPPED).to_bytes(4, "big") + SLIPPED
    file.write_text(f"{SLIPPED.hex()}\n{framed.hex()}\n{RIGHT.hex()}\n")
    main([*command, "--lines", str(file)])
    first, second, right = capsys.readouterr().out.splitlines()
    assert NAMED.format(AT).strip() in first
    assert NAMED.format(AT + 4).strip() in second
    assert "reads to its end" not in right


def test_responses_on_lines_have_their_slips(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"requestApiKey": "Metadata", "requestApiVersion": 12, "hex": (ANSWER[:4] + ANSWER[5:]).hex()}
    file.write_text(json.dumps(row) + "\n")
    main(["decode", "response", "--lines", str(file)])
    assert "with a header v1, which differs at 0x4: was v0 written?" in capsys.readouterr().out


BATCH = batch_bytes([(None, b"one"), (b"k", b"two")])
WRONG = BATCH[:17] + zlib.crc32(BATCH[21:]).to_bytes(4, "big") + BATCH[21:]
CRC_32 = (
    "; the batch is right with the CRC-32C of all from attributes on at 0x11: is it CRC-32 of all from attributes on?"
)


def crc_32_in(request: bytes) -> str:
    """The hint where the batch is in a request: the place in both."""
    at = request.index(WRONG) + 0x11
    return CRC_32.replace(" at 0x11", f" at 0x11 of the batches ({at:#x} of the input)")


@pytest.mark.parametrize("format_", ["json", "table", "tree", "hexdump"])
def test_decode_batch_names_the_slip(file: Path, format_: str, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(WRONG)
    assert main(["decode", "batch", "--format", format_, str(file)]) == 3
    assert capsys.readouterr().err.endswith(f"{CRC_32}\n")


@pytest.mark.parametrize("extra", [[], ["--lines", "--base64"]])
def test_check_batch_names_the_slip(file: Path, extra: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(base64.b64encode(WRONG) + b"\n" if extra else WRONG)
    main(["check", "batch", *extra, str(file)])
    assert CRC_32 in capsys.readouterr().out


def test_check_request_names_the_slip_of_records(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = {"requestApiKey": 0, "requestApiVersion": 9, "correlationId": 7}
    parts = [{"index": 0, "records": WRONG}, {"index": 1, "records": BATCH}]
    request = frames.encode_request(head, {"acks": 1, "topicData": [{"name": "t", "partitionData": parts}]})
    for data in (request, len(request).to_bytes(4, "big") + request):
        file.write_bytes(data)
        assert main(["check", "request", str(file)]) == 1
        (line,) = capsys.readouterr().out.splitlines()
        assert "t-0: CORRUPT_MESSAGE" in line
        assert line.endswith(crc_32_in(data))


def test_the_same_wrong_batch_in_two_partitions_has_two_places(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = {"requestApiKey": 0, "requestApiVersion": 9, "correlationId": 7}
    parts = [{"index": index, "records": WRONG} for index in (0, 1)]
    data = frames.encode_request(head, {"acks": 1, "topicData": [{"name": "t", "partitionData": parts}]})
    file.write_bytes(data)
    assert main(["check", "request", str(file)]) == 1
    places = [each.start() + 0x11 for each in re.finditer(re.escape(WRONG), data)]
    lines = capsys.readouterr().out.splitlines()
    assert [f"({at:#x} of the input)" in line for line, at in zip(lines, places, strict=True)] == [True, True]


@pytest.mark.parametrize("format_", ["json", "table", "tree"])
@pytest.mark.parametrize("records", ["none", "full"])
def test_decode_request_names_the_slip_of_records(
    file: Path, format_: str, records: str, capsys: pytest.CaptureFixture[str]
) -> None:
    head = {"requestApiKey": 0, "requestApiVersion": 9, "correlationId": 7}
    parts = [{"index": 0, "records": BATCH}, {"index": 1, "records": WRONG}]
    request = frames.encode_request(head, {"acks": 1, "topicData": [{"name": "t", "partitionData": parts}]})
    for data in (request, len(request).to_bytes(4, "big") + request):
        file.write_bytes(data)
        code = main(["decode", "request", "--records", records, "--format", format_, str(file)])
        told = crc_32_in(data) in capsys.readouterr().err
        assert (code, told) == ((3, True) if records == "full" else (0, False))


def test_a_right_request_behind_a_wrong_one_has_no_slip(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = {"requestApiKey": 0, "requestApiVersion": 9, "correlationId": 7}
    wrong, right = (
        frames.encode_request(head, {"topicData": [{"name": "t", "partitionData": [{"records": records}]}]})
        for records in (WRONG, BATCH)
    )
    file.write_bytes(b"".join(len(each).to_bytes(4, "big") + each for each in (wrong, right)))
    assert main(["decode", "request", "--records", "full", str(file)]) == 3
    assert capsys.readouterr().err.count("the batch is right with") == 1


@pytest.mark.parametrize("command", [["decode", "batch"], ["check", "batch"]])
def test_right_batches_have_no_hint(command: list[str], file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(BATCH)
    assert main([*command, str(file)]) == 0
    assert "is right with" not in "".join(capsys.readouterr())


def text_of(frame: bytes, start: int, options: dict[str, Any]) -> str:
    return f"; {options['slip']} at {start + 1}"


def test_hints_are_bounded_in_a_run() -> None:
    namer, options = SlipNamer(text_of, most=3), {"slip": "tags"}
    assert [namer.text(b"x", 0, options) for _ in range(5)] == ["; tags at 1"] * 3 + ["", ""]
    namer = SlipNamer(text_of)
    assert namer.text(bytes(slip_hints.MOST_BYTES), 0, options)
    assert not namer.text(b"x", 0, options)


def test_only_what_does_not_decode_is_looked_at() -> None:
    namer, options = SlipNamer(text_of), {"slip": "tags"}
    other = InputError("records: wrong checksum")
    assert namer.named(other, b"x", 0, options) is other
    assert str(namer.named(DecodeError("f", 3, "cut"), b"x", 8, options)) == "f: cut; tags at 9"
