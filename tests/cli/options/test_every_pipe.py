"""Every command that takes a file reads it out of `<(...)` and /dev/stdin: same exit code and output, but for names.

The pipe is filled and its end closed before the command begins, in this process: no command can wait for it.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from kcli.cli.main import main
from tests.capture.messages import metadata
from tests.capture.wires import SAMPLES, Wire, pcap
from tests.commands import commands

ASKED, ANSWER = metadata(7)
NO_OFFSET = f"{0:020}-{0:010}.checkpoint"  # as a pipe's name tells none
SEGMENT = (SAMPLES / "orders-0" / "00000000000000000000.log").read_bytes()
CHECKPOINT = next((SAMPLES / "__cluster_metadata-0").glob("*.checkpoint"))
REQUEST_JSON = (
    b'{"requestHeader":{"requestApiKey":18,"requestApiVersion":0,"correlationId":1,"clientId":"c"},"request":{}}\n'
)
RESPONSE_JSON = b'{"responseHeader":{"correlationId":1},"response":{"errorCode":0,"apiKeys":[]}}\n'
BATCH_JSON = b'{"baseOffset":0,"magic":2,"records":[{"offset":0,"timestamp":1,"key":"a","value":"b","headers":[]}]}\n'
SUBSCRIPTION = bytes.fromhex("0000000000010006") + b"orders" + b"\xff" * 4


def capture() -> bytes:
    wire = Wire().open()
    for number in range(4):
        wire.client(metadata(number)[0]).server(metadata(number)[1])
    return pcap(wire.close().packets)


CAPTURE = capture()
BATCH = SEGMENT[: 12 + int.from_bytes(SEGMENT[8:12], "big")]
# The command's words, with {} for the file; what the file holds.
ROWS: dict[str, tuple[str, bytes]] = {
    "audit": ("{}", CAPTURE),
    "check batch": ("{}", BATCH),
    "check request": ("{}", ASKED),
    "compare": ("{} {copy}", CAPTURE),
    "decode batch": ("{}", BATCH),
    "decode data": ("ConsumerProtocolSubscription {}", SUBSCRIPTION),
    "decode pcap": ("--format jsonl {}", CAPTURE),
    "decode request": ("{}", ASKED),
    "decode response": ("--api Metadata --api-version 12 {}", ANSWER),
    "decode segment": ("--records full --format jsonl {}", SEGMENT),
    "diagnose": ("{}", CAPTURE),
    "diff batch": ("{} {}", BATCH),
    "diff message": ("--api Metadata --api-version 12 {} {}", ASKED),
    "down-convert": ("--to-magic 1 -o {out} {}", BATCH),
    "encode batch": ("{}", BATCH_JSON),
    "encode request": ("{}", REQUEST_JSON),
    "encode response": ("--api ApiVersions --api-version 0 {}", RESPONSE_JSON),
    "fetch-session explain": ("{}", CAPTURE),
    "fetch-session lint": ("{}", CAPTURE),
    "records": ("--format jsonl {}", SEGMENT),
    "redact": ("--key {key} -o {out} {}", CAPTURE),
    "report": ("-o {out} {}", CAPTURE),
    "snapshot diff": ("{} {}", CHECKPOINT.read_bytes()),
    "snapshot extract": ("-o {out} {}", CAPTURE),
    "snapshot image": ("{}", CHECKPOINT.read_bytes()),
    "snapshot inspect": ("--format jsonl {}", CHECKPOINT.read_bytes()),
    "snapshot verify": ("{}", CHECKPOINT.read_bytes()),
    "sql": ("--format jsonl SELECT\xa0count(*)\xa0FROM\xa0exchanges {}", CAPTURE),
    "stats": ("{}", CAPTURE),
    "replay": ("--speed max -q --format jsonl {}", CAPTURE),
}
FOLDERS_AND_CLUSTERS = {
    "fetch-session replay": "as replay, with a broker",
    "produce": "needs a broker",
    "send": "needs a broker",
    "schema check": "definitions are a folder's files, which are read more than once",
    "schema doc": "its file is a folder",
    "schema import": "jars, which have to be sought in",
    "schema vectors": "its file is a folder",
    "snapshot check": "needs a cluster",
    "snapshot restore": "offset and epoch stand in a snapshot's name alone",
    "top": "for a terminal",
}
ARE_FILES = re.compile(r"FILE|SNAPSHOT|BEFORE|EXPECTED|JAR|MESSAGE\|DIR|^A$")
NAMES = re.compile(
    r"[^\s\"]*(?:/dev/fd/\d+|/dev/stdin|kcli-pipe-\w+/\w+|the-file\.\w+|\d+-\d+\.checkpoint)|standard input|\bstdin\b"
    r"|(?<= )-(?=[ )\n])"
)
NAMED = {"snapshot verify": CHECKPOINT.name, "snapshot diff": NO_OFFSET, "snapshot image": NO_OFFSET}
UNLIKE = "report", "replay", "snapshot inspect"  # their output has own times, or what a snapshot's name says


@pytest.fixture
def own_input() -> Iterator[None]:
    """Commands may make a pipe the process's standard input."""
    kept, stream = os.dup(0), sys.stdin
    yield
    sys.stdin = stream
    os.dup2(kept, 0)
    os.close(kept)


def filled(data: bytes) -> int:
    """A pipe with all of what it will ever hold; small enough for it."""
    assert len(data) < 1 << 16
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    return reading


def outcome(words: list[str], capsysbinary: pytest.CaptureFixture[bytes]) -> tuple[int, str, str]:
    """Exit code, output and errors, without names."""
    with contextlib.suppress(OSError):
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
    code = main(words)
    out, err = capsysbinary.readouterr()
    return code, nameless(out), nameless(err)


def nameless(text: bytes) -> str:
    return NAMES.sub("FILE", text.decode("utf-8", "replace"))


@pytest.mark.parametrize("command", ROWS)
@pytest.mark.usefixtures("own_input")
def test_a_pipe_is_read_as_the_file_is(
    command: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    form, data = ROWS[command]
    path, key, copy = tmp_path / NAMED.get(command, "the-file.bin"), tmp_path / "key", tmp_path / "copy.bin"
    path.write_bytes(data)
    copy.write_bytes(data)
    key.write_bytes(bytes(range(32)))
    monkeypatch.setenv("COLUMNS", "200")

    def run(file: Callable[[], str]) -> tuple[int, str, str, bytes]:
        target = tmp_path / f"out{len(list(tmp_path.iterdir()))}"
        fixed = {"{out}": str(target), "{key}": str(key), "{copy}": str(copy)}
        words = [fixed.get(word) or (file() if word == "{}" else word) for word in form.split(" ")]
        code, out, err = outcome([*command.split(), *(word.replace("\xa0", " ") for word in words)], capsysbinary)
        if command in UNLIKE:
            return code, "", "", b""
        made = target.read_bytes() if target.is_file() else b""
        return code, out.replace(str(target), "OUT"), err.replace(str(target), "OUT"), made

    of_file = run(lambda: str(path))
    assert of_file[0] != 2, of_file[2]
    opened: list[int] = []

    def pipe() -> str:
        opened.append(filled(data))
        return f"/dev/fd/{opened[-1]}"

    assert run(pipe) == of_file
    if form.count("{}") == 1:
        os.dup2(filled(data), 0)
        assert run(lambda: "/dev/stdin") == of_file
    for each in opened:
        os.close(each)


def test_no_command_is_left_out() -> None:
    takes = {
        words
        for words, command in commands()
        if any(
            isinstance(each, click.Argument) and ARE_FILES.search(each.make_metavar(click.Context(command)))
            for each in command.params
        )
    }
    assert takes == ROWS.keys() | FOLDERS_AND_CLUSTERS.keys()
