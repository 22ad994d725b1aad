"""Lines that several processes make are those that one makes, whatever happens on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kcli.cli.pcap_jobs import SUMS, TurnWriter, most_jobs
from kcli.core import COMPILED
from tests.capture.wires import DATA, SAMPLES

pytestmark = pytest.mark.skipif(not COMPILED or not hasattr(os, "fork"), reason="one process makes all lines here")
TXN, CODECS, BOOT = (
    str(path) for path in (SAMPLES / "java44-txn.pcap", SAMPLES / "kcat-codecs.pcap", DATA / "kraft-boot.pcap.zst")
)
# kcli with turns of so many bytes that a small capture has some.
SMALL_TURNS = "import sys; from kcli.cli import main, pcap_jobs; pcap_jobs.TURN = 2000; sys.exit(main.main())"
KCLI = [sys.executable, "-c", SMALL_TURNS, "decode", "pcap", "--format", "jsonl"]


def run(*words: str) -> tuple[int, bytes, bytes]:
    done = subprocess.run([*KCLI, *words], capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "words",
    [
        [TXN],
        [BOOT, "--records", "full"],
        [CODECS, TXN, "--records", "batches", "--errors"],
        [TXN, "--topic", "pay-*"],
        [str(SAMPLES / "ipv6.pcapng"), "--port", "9092"],
    ],
)
def test_the_same_lines_whatever_the_number(words: list[str]) -> None:
    one = run(*words)
    for jobs in ("2", "5"):
        assert run(*words, "--jobs", jobs) == one


def test_what_can_be_read_of_a_damaged_file(cut: Callable[[str], str]) -> None:
    broken = cut(TXN)
    one = run(broken, CODECS)
    assert one[0] == 3 and one[1] and run(broken, CODECS, "--jobs", "3") == one


def test_no_process_is_left_where_nobody_reads() -> None:
    for words in ([], ["-o", "/dev/full"]):
        with subprocess.Popen(
            [*KCLI, CODECS, "--jobs", "3", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as kcli:
            assert kcli.stdout is not None and kcli.stderr is not None
            if not words:
                assert kcli.stdout.read(1) == b"{"
                kcli.stdout.close()
            assert kcli.wait(60) == (3 if words else 0)
            # Only when all have ended, whoever holds standard error, is there nothing more to come.
            assert b"Traceback" not in kcli.stderr.read()


def test_ctrl_c_ends_all(tmp_path: Path) -> None:
    """Those that help end with the first process, also where it is killed."""
    fifo, out = tmp_path / "fifo", tmp_path / "out"
    os.mkfifo(fifo)
    for number in (signal.SIGINT, signal.SIGKILL):
        slow = [*KCLI, CODECS, "--jobs", "3", "-o", str(fifo)]
        with subprocess.Popen(slow, stderr=subprocess.PIPE) as kcli, fifo.open("rb") as reader:
            assert kcli.stderr is not None
            assert reader.read(1) == b"{"
            time.sleep(0.1)
            kcli.send_signal(number)
            assert kcli.wait(60) in (130, -signal.SIGKILL)
            kcli.stderr.read()
    assert not out.exists()


def test_which_files_can_be_shared(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert most_jobs([TXN, CODECS]) > 1
    assert most_jobs([TXN, "-"]) == most_jobs([str(tmp_path / "fifo")]) == 1


def test_standard_input_and_other_formats_take_one_process() -> None:
    data = Path(TXN).read_bytes()
    done = subprocess.run([*KCLI, "-", "--jobs", "4", "-q"], input=data, capture_output=True, check=True)
    assert done.stdout == run(TXN, "-q")[1]
    assert run(TXN, "--format", "table", "--jobs", "4") == run(TXN, "--format", "table")
    assert run(TXN, "--jobs", "0")[0] == 2


def test_two_turns_at_most_are_held(tmp_path: Path) -> None:
    sizes, reads = os.pipe(), os.pipe()
    with (tmp_path / "a").open("w+b") as one, (tmp_path / "b").open("w+b") as two:
        turns = TurnWriter([one.fileno(), two.fileno()], sizes[1], reads[0])
        for text in (b"first", b"second"):
            turns.write(memoryview(text))
            turns.end(1)
        os.write(reads[1], b"\0")  # the first was read: its file is free
        turns.write(memoryview(b"3rd"))
        turns.end(2)
        turns.end(5)  # one without text needs no file
        os.close(reads[1])
        with pytest.raises(BrokenPipeError):
            turns.write(memoryview(b"fifth"))
        assert [file.read_bytes() for file in (tmp_path / "a", tmp_path / "b")] == [b"3rdst", b"second"]
    said = os.read(sizes[0], 99)
    assert [SUMS.unpack_from(said, at) for at in range(0, len(said), SUMS.size)] == [(5, 1), (6, 1), (3, 2), (0, 5)]
    for end in (*sizes, reads[0]):
        os.close(end)
