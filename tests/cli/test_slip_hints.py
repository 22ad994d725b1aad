"""The likely slip behind what a command says of a message that does not decode."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kcli.cli import slip_hints
from kcli.cli.main import main
from kcli.cli.slip_hints import SlipNamer
from kcli.errors import DecodeError, InputError
from kcli.grammar import frames
from kcli.grammar.slips.search import Hint

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
    file.write_bytes(RIGHT + b"\0")
    assert main(["decode", "request", str(file)]) == 3
    assert f"without the byte 0 at {len(RIGHT):#x}: is it a tag section too many?" in capsys.readouterr().err


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


def hints_of(frame: bytes, options: dict[str, Any]) -> list[Hint]:
    return [Hint("tags", 1, "with it", "was it?", frame, options["odd"])]


def test_hints_are_bounded_in_a_run() -> None:
    namer, options = SlipNamer(hints_of, most=3), {"odd": 0.0}
    assert [namer.text(b"x", 0, options) for _ in range(5)] == ["; it reads to its end with it at 0x1: was it?"] * 3 + [
        "",
        "",
    ]
    namer = SlipNamer(hints_of)
    assert namer.text(bytes(slip_hints.MOST_BYTES), 0, options)
    assert not namer.text(b"x", 0, options)


def test_only_what_does_not_decode_is_looked_at() -> None:
    namer, options = SlipNamer(hints_of), {"odd": 0.0}
    other = InputError("records: wrong checksum")
    assert namer.named(other, b"x", 0, options) is other
    named = namer.named(DecodeError("f", 3, "cut"), b"x", 8, options)
    assert str(named) == "f: cut; it reads to its end with it at 0x9: was it?"
