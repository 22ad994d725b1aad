"""`kcli check request|batch` as a script sees it."""

import json
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.records import build_batch
from tests.cli.decode.test_message import FETCH
from tests.cli.decode.test_message_formats import WRONG, produce

BATCH = build_batch([(5, b"k", b"v", ())])


def write(tmp_path: Path, *data: bytes) -> str:
    (tmp_path / "in").write_text("\n".join(each.hex() for each in data))
    return str(tmp_path / "in")


def test_a_line_for_each_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    last = len(WRONG) - 1
    request = produce(WRONG)
    file = write(tmp_path, FETCH, request, FETCH[:-3])
    assert main(["check", "request", "--hex", file]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "line 1: taken",
        "line 2: t-3: CORRUPT_MESSAGE (2): wrong checksum " + WRONG[17:21].hex() + " in the batch; "
        f"the batch is right with the byte 00 at {last:#x} of the batches ({request.index(WRONG) + last:#x} of the "
        f"input): it is {WRONG[-1]:02x}",
        "line 3: the connection is closed: FetchRequest v12: forgottenTopicsData: needs 1 byte at 0xae, 0 left",
    ]
    assert main(["check", "request", "--hex", "-q", file]) == 1
    assert capsys.readouterr().out == ""


def test_json_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "request", "--hex", "--format", "jsonl", write(tmp_path, FETCH, produce(WRONG))]) == 1
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == {"place": "line 1", "taken": True, "error": "NONE", "errorCode": 0}
    assert (second["error"], second["errorCode"], second["place"]) == ("CORRUPT_MESSAGE", 2, "line 2: t-3")


def test_a_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, FETCH)
    assert main(["check", "request", "--hex", file, "--release", "2.8"]) == 0
    assert main(["check", "request", "--hex", file, "--release", "2.4"]) == 1
    assert "2.4 has no Fetch v12" in capsys.readouterr().out
    assert main(["check", "request", "--hex", file, "--release", "9.9"]) == 2


def test_offsets_are_those_of_the_input_also_behind_a_length(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `kcli decode request` counts them: the reason and the slip in one sentence by the same zero."""
    damaged = FETCH[:-3]
    file = tmp_path / "framed"
    file.write_bytes(len(damaged).to_bytes(4, "big") + damaged)
    assert main(["check", "request", str(file)]) == 1
    said = capsys.readouterr().out
    assert f"forgottenTopicsData: needs 1 byte at {len(damaged) + 4:#x}, 0 left" in said
    main(["decode", "request", "--format", "tree", str(file)])
    assert said.partition("closed: ")[2].partition(";")[0].strip() in capsys.readouterr().err


def test_a_byte_too_few_or_too_many_behind_a_length(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It was judged as a message without a length: "4.4 has no Produce v175"."""
    framed = len(FETCH).to_bytes(4, "big") + FETCH
    file = tmp_path / "framed"
    file.write_bytes(framed[:-1])
    assert main(["check", "request", str(file)]) == 1
    assert f"the length at 0x0 says {len(FETCH)} bytes, {len(FETCH) - 1} are left: 1 byte missing" in (
        capsys.readouterr().out
    )
    file.write_bytes(framed + b"x")
    assert main(["check", "request", str(file)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "message 1: taken",
        f"the connection is closed: 1 byte left after the frame at {len(framed):#x}",
    ]


def test_frames_and_wrong_lengths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "frames"
    file.write_bytes((len(FETCH).to_bytes(4, "big") + FETCH) * 2)
    assert main(["check", "request", str(file)]) == 0
    assert capsys.readouterr().out.splitlines() == ["message 1: taken", "message 2: taken"]
    file.write_bytes(len(FETCH).to_bytes(4, "little") + FETCH)
    assert main(["check", "request", str(file)]) == 1
    assert "the connection is closed: the length at 0x0 is little endian" in capsys.readouterr().out


def test_batches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "batch", "--hex", write(tmp_path, BATCH)]) == 0
    assert capsys.readouterr().out == "taken\n"
    assert main(["check", "batch", "--hex", write(tmp_path, BATCH, WRONG)]) == 1
    assert capsys.readouterr().out.splitlines()[0] == "line 1: taken"
    zstd = write(tmp_path, build_batch([(5, b"k", b"v", ())], codec="zstd"))
    assert main(["check", "batch", "--hex", zstd, "--api-version", "6"]) == 1
    assert "UNSUPPORTED_COMPRESSION_TYPE (76)" in capsys.readouterr().out
    assert main(["check", "batch", "--hex", zstd, "--api-version", "2"]) == 1
    assert "has no Produce v2" in capsys.readouterr().out


def test_a_line_that_is_no_hex_is_an_error_behind_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").write_text(f"{FETCH.hex()}\nzz\n{FETCH.hex()}\n")
    assert main(["check", "request", "--hex", str(tmp_path / "in")]) == 3
    printed = capsys.readouterr()
    assert printed.out.splitlines() == ["line 1: taken", "line 3: taken"]
    assert "line 2: not hex" in printed.err
