"""Named pipes are read as files are: `<(zcat x)`, /dev/stdin, mkfifo."""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.capture.wires import SAMPLES

CAPTURE = sorted(SAMPLES.glob("*.pcap"))[0]
SEGMENT = SAMPLES / "orders-0" / "00000000000000000000.log"
COMMANDS = [
    ["decode", "pcap"], ["records"], ["stats"], ["audit"], ["fetch-session", "lint"],
    ["sql", "SELECT count(*) FROM exchanges"], ["report", "-o", "page.html"], ["redact", "-o", "out.pcapng"],
]  # fmt: skip


def kcli(*argv: str, folder: Path, data: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    words = [sys.executable, "-m", "kcli.cli", *argv]
    return subprocess.run(words, cwd=folder, capture_output=True, timeout=60, input=data, check=False)


@pytest.fixture
def pipes(tmp_path: Path) -> Iterator[list[Path]]:
    """Three named pipes with a capture, written when somebody reads."""
    made, writers = [tmp_path / f"pipe-{number}" for number in range(3)], []
    for path in made:
        os.mkfifo(path)
        writers.append(threading.Thread(target=write, args=(path, CAPTURE), daemon=True))
        writers[-1].start()
    yield made
    for path in made:  # one that nobody read
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))


def write(path: Path, source: Path) -> None:
    with contextlib.suppress(BrokenPipeError):
        path.write_bytes(source.read_bytes())


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_pipe_is_read_as_a_file_is(command: list[str], pipes: list[Path], tmp_path: Path) -> None:
    of_file = kcli(*command, str(CAPTURE), folder=tmp_path)
    of_pipe = kcli(*command, str(pipes[0]), folder=tmp_path)
    assert (of_pipe.returncode, b"seek" in of_pipe.stderr) == (of_file.returncode, False)
    if command[0] not in ("audit", "records"):  # which name the file
        assert of_pipe.stdout == of_file.stdout


def test_several_pipes_and_the_standard_input(pipes: list[Path], tmp_path: Path) -> None:
    three = kcli("stats", *map(str, pipes), folder=tmp_path)
    assert three.returncode == 0 and b"312 packets" in three.stderr.replace(b",", b"")
    assert kcli("records", "/dev/stdin", folder=tmp_path, data=CAPTURE.read_bytes()).returncode == 0


def test_a_segment_in_a_pipe(tmp_path: Path) -> None:
    for command in (["records"], ["decode", "segment", "--verify"], ["sql", "SELECT count(*) FROM records"]):
        found = kcli(*command, "/dev/stdin", folder=tmp_path, data=SEGMENT.read_bytes())
        assert found.returncode == 0 and b"seek" not in found.stderr


def test_a_snapshot_in_a_pipe(tmp_path: Path) -> None:
    path = next((SAMPLES / "__cluster_metadata-0").glob("*.checkpoint"))
    for command in ("inspect", "image"):
        of_file = kcli("snapshot", command, str(path), "--format", "jsonl", folder=tmp_path)
        of_pipe = kcli("snapshot", command, "/dev/stdin", "--format", "jsonl", folder=tmp_path, data=path.read_bytes())
        assert of_pipe.returncode == of_file.returncode == 0, of_pipe.stderr
        assert of_pipe.stdout.count(b"\n") == of_file.stdout.count(b"\n")
