"""`--lines`: each line is answered before the next one is sent, whatever stands on it."""

import io
import json
import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, cast

import click
import pytest

from kcli.cli.decode import coprocess
from kcli.cli.decode.coprocess import InputLine, Reply, answer_lines, message_of, waiting, whole_lines
from kcli.cli.main import main
from kcli.errors import InputError
from kcli.grammar import frames
from kcli.records import build_batch
from tests.cli.decode.test_message import FETCH, HEADER
from tests.commands import commands
from tests.processes import ended

KCLI = [sys.executable, "-m", "kcli.cli"]
BATCH = build_batch([(5, b"k", b"v", ())])
HEARTBEAT = frames.encode_response({"correlationId": 7}, 12, 0, {"errorCode": 25})
FETCH_JSON = json.dumps({"requestHeader": HEADER, "request": frames.decode_request(FETCH).body}).encode()

# Command -> a line, the start of its answer.
EACH: dict[str, tuple[bytes, bytes]] = {
    "decode request": (FETCH.hex().encode(), b'{"requestHeader":{"requestApiKey":1,'),
    "decode response": (
        b'{"hex":"%b","requestApiKey":"Heartbeat","requestApiVersion":0}' % HEARTBEAT.hex().encode(),
        b'{"responseHeader":{"correlationId":7},"requestApiKey":12,"requestApiVersion":0,"response":{"errorCode":25}}',
    ),
    "decode batch": (BATCH.hex().encode(), b'{"baseOffset":0,'),
    "encode request": (FETCH_JSON, FETCH.hex().encode()),
    "encode response": (
        b'{"responseHeader":{"correlationId":7},"requestApiKey":12,"requestApiVersion":0,"response":{"errorCode":25}}',
        HEARTBEAT.hex().encode(),
    ),
    "encode batch": (b'{"records":[{"timestamp":5,"key":"k","value":"v"}]}', BATCH.hex().encode()),
    "check request": (FETCH.hex().encode(), b'{"taken":true,'),
    "check batch": (BATCH.hex().encode(), b'{"taken":true,'),
    "diff message": (b"%b %b" % (FETCH.hex().encode(), FETCH.hex().encode()), b'{"same":true}'),
    "diff batch": (b"%b %b" % (BATCH.hex().encode(), BATCH.hex().encode()), b'{"same":true}'),
}


def test_every_command_that_has_the_option_is_here() -> None:
    having = {name for name, command in commands() if any(param.name == "lines" for param in command.params)}
    assert having == set(EACH)
    for name, command in commands():
        if name in having:
            [option] = [param for param in command.params if param.name == "lines"]
            assert isinstance(option, click.Option) and option.is_flag


@pytest.mark.parametrize("command", EACH)
def test_each_line_is_answered_before_the_next_is_sent(command: str) -> None:
    line, expected = EACH[command]
    with ended(
        subprocess.Popen(
            [*KCLI, *command.split(), "--lines"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    ) as kcli:
        to, out = cast(IO[bytes], kcli.stdin), cast(IO[bytes], kcli.stdout)
        for number in range(1, 8, 2):
            to.write(line + b"\n")
            to.flush()
            assert out.readline().startswith(expected)
            to.write(b"zz\n")
            to.flush()
            answer = json.loads(out.readline())
            assert answer["line"] == number + 1 and answer["error"]
        to.close()
        assert out.read() == b""
        assert kcli.wait() == 3
        assert kcli.stderr is not None
        assert kcli.stderr.read().startswith(b"kcli: standard input: 4 of 8 lines can't be answered: line 2: ")


@pytest.mark.parametrize("command", EACH)
def test_many_lines_at_once_have_as_many_answers(command: str, tmp_path: Path) -> None:
    line, expected = EACH[command]
    (tmp_path / "lines").write_bytes((line + b"\r\n") * 2000 + line)
    assert main([*command.split(), "--lines", str(tmp_path / "lines"), *output(command, tmp_path)]) == 0
    if output(command, tmp_path):
        answers = (tmp_path / "out").read_bytes().splitlines()
        assert len(answers) == 2001 and all(answer.startswith(expected) for answer in answers)


def output(command: str, folder: Path) -> list[str]:
    return ["-o", str(folder / "out")] if command.startswith("encode") or command == "decode batch" else []


def test_a_line_that_is_too_long_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coprocess, "LONGEST", 10)
    monkeypatch.setattr(coprocess, "CHUNK", 4)
    data = b"0123456789\n0123456789a\nab\n" + b"x" * 50 + b"\n\n" + b"y" * 11
    found = [line for lines in whole_lines(reader(data)) for line in lines]
    assert found == [
        InputLine(1, b"0123456789"),
        InputLine(2, None),
        InputLine(3, b"ab"),
        InputLine(4, None),
        InputLine(5, b""),
        InputLine(6, None),
    ]


def reader(data: bytes) -> io.BufferedReader:
    return cast(io.BufferedReader, io.BytesIO(data))


def test_lines_come_as_they_are_read() -> None:
    data = b"".join(b"%d\n" % number for number in range(100_000))
    found = [line for lines in whole_lines(reader(data)) for line in lines]
    assert [line.text for line in found] == data.split()
    assert [line.number for line in found] == [*range(1, 100_001)]


def test_the_next_line_is_waited_for_awake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coprocess, "AWAKE", 60_000_000_000)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    ends, to = os.pipe()
    with os.fdopen(ends, "rb") as source, os.fdopen(to, "wb", 0) as out:
        later = threading.Timer(0.05, out.write, [b"x"])
        later.start()
        waiting(source)()
        assert select.select([source], [], [], 0)[0]
        later.join()
        assert source.read(1) == b"x"
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
        waiting(source)()  # one core: the program that writes needs it
    waiting(reader(b""))()


def test_what_is_wrong_with_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b'\n{\n[]\n{"hex":5}\n{"hex":"00","base64":"AA=="}\n' + b"[" * 50_000 + b"\n{" + b'"a":{' * 50_000)

    def answer(text: bytes, number: int) -> Reply:
        if text[:1] == b"[":
            raise RecursionError
        return Reply(message_of(text, number, False)[0])

    with pytest.raises(InputError, match="7 of 7 lines can't be answered: line 1: no bytes"):
        answer_lines(str(file), answer)
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["line"] for row in rows] == [1, 2, 3, 4, 5, 6, 7]
    assert [row["error"].partition(":")[0] for row in rows] == [
        "no bytes",
        "not JSON",
        "nested too deep",
        'an object needs the message as text, "hex" or "base64"',
        'an object needs the message as text, "hex" or "base64"',
        "nested too deep",
        "not JSON",
    ]


def test_a_batch_that_is_wrong_has_its_likely_slip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    batch = build_batch([(5, b"key", b"value", ())])
    (tmp_path / "lines").write_bytes((batch[:17] + bytes(4) + batch[21:]).hex().encode())
    assert main(["decode", "batch", "--lines", str(tmp_path / "lines")]) == 3
    (answer,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert "a wrong checksum" in answer["error"] and "was it left 0?" in answer["error"]


def test_an_answer_of_no_is_exit_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    produce = {"requestHeader": HEADER | {"requestApiKey": 0, "requestApiVersion": 9}, "request": {"acks": 5}}
    (tmp_path / "lines").write_text(f"{FETCH.hex()}\n{json.dumps(produce)}\n")
    assert main(["check", "request", "--lines", str(tmp_path / "lines")]) == 1
    taken, refused = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert taken == {"taken": True, "error": "NONE", "errorCode": 0}
    assert (refused["taken"], refused["error"], refused["errorCode"]) == (False, "INVALID_REQUIRED_ACKS", 21)


def test_options_that_make_no_sense_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lines").write_text(FETCH.hex() + "\n")
    for words in (
        ["decode", "request", "--format", "tree"],
        ["decode", "request", "--hex", "--base64"],
        ["decode", "batch", "--format", "table"],
        ["encode", "request", "--to", "raw"],
        ["encode", "batch", "--to", "raw"],
        ["diff", "message", "x"],
        ["check", "request", "--quiet"],
        ["check", "batch", "--quiet"],
    ):
        assert main([*words, "--lines", str(tmp_path / "lines")]) == 2, words
    assert capsys.readouterr().out == ""


def test_ctrl_c_and_a_reader_that_has_gone() -> None:
    line = FETCH.hex().encode() + b"\n"
    with ended(
        subprocess.Popen(
            [*KCLI, "decode", "request", "--lines"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
    ) as kcli:
        assert kcli.stdin is not None and kcli.stdout is not None and kcli.stderr is not None
        kcli.stdin.write(line)
        kcli.stdin.flush()
        assert kcli.stdout.readline()
        kcli.send_signal(signal.SIGINT)
        assert kcli.wait() == 130
        assert kcli.stderr.read() == b""
    ends, to = os.pipe()
    os.close(ends)
    with os.fdopen(to, "wb") as gone:
        done = subprocess.run(
            [*KCLI, "decode", "request", "--lines"], input=line * 10, stdout=gone, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (0, b"")
