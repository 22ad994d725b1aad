"""Lines that several processes make are those that one makes, whatever happens on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcli.capture.decoder import CaptureDecoder
from kcli.capture.parallel.pcap_jobs import SharedLines
from kcli.capture.sinks import LineSink
from tests.capture.decoding import as_lines, write_lines
from tests.capture.wires import DATA, SAMPLES
from tests.processes import ended

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="one process makes all lines here")
TXN, CODECS, BOOT = (
    str(path) for path in (SAMPLES / "java44-txn.pcap", SAMPLES / "kcat-codecs.pcap", DATA / "kraft-boot.pcap.zst")
)
# kcli with pieces of so few bytes that a small capture has some.
SMALL = """
import sys
from kcli.capture.io import capture_file
from kcli.cli import main
capture_file.PIECE = 8192
sys.exit(main.main())
"""
KCLI = [sys.executable, "-c", SMALL, "decode", "pcap", "--format", "jsonl"]


def run(*words: str) -> tuple[int, bytes, bytes]:
    done = subprocess.run([*KCLI, *words], capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "words",
    [
        [TXN],
        [BOOT, "--records", "full"],
        [str(DATA / "fragments.pcap.zst")],
        [CODECS, TXN, "--records", "batches", "--errors"],
        [TXN, "--topic", "pay-*"],
        [str(SAMPLES / "ipv6.pcapng"), "--port", "21300"],
        [str(SAMPLES / "tls.pcap"), "--key-log", str(SAMPLES / "tls.keys")],
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
        with ended(
            subprocess.Popen([*KCLI, CODECS, "--jobs", "3", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
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
        with ended(subprocess.Popen(slow, stderr=subprocess.PIPE)) as kcli, fifo.open("rb") as reader:
            assert kcli.stderr is not None
            assert reader.read(1) == b"{"
            time.sleep(0.1)
            kcli.send_signal(number)
            assert kcli.wait(60) in (130, -signal.SIGKILL)
            kcli.stderr.read()
    assert not out.exists()


def test_standard_input_and_other_formats_take_one_process() -> None:
    data = Path(TXN).read_bytes()
    done = subprocess.run([*KCLI, "-", "--jobs", "4", "-q"], input=data, capture_output=True, check=True)
    assert done.stdout == run(TXN, "-q")[1]
    assert run(TXN, "--format", "table", "--jobs", "4") == run(TXN, "--format", "table")
    assert run(TXN, "--jobs", "0")[0] == 2


def shared(paths: list[str], jobs: int, **options: Any) -> tuple[bytes, CaptureDecoder[LineSink]]:
    """What all write, in stretches of some packets."""
    lines = bytearray()
    source = as_lines(paths, lines.extend, **options)
    for _ in SharedLines(source, jobs).read():
        pass
    return bytes(lines), source


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Filled where one process makes the lines; stretches are small."""
    monkeypatch.setattr("kcli.capture.io.capture_file.PIECE", 4096)
    seen: list[bool] = []
    before = CaptureDecoder.read

    def read(self: CaptureDecoder[Any], *arguments: Any) -> Any:
        seen.append(True)
        return before(self, *arguments)

    monkeypatch.setattr(CaptureDecoder, "read", read)
    return seen


@pytest.mark.parametrize(("memory", "too_much"), [(1 << 28, False), (3000, True)])
def test_one_process_goes_on_where_too_much_is_shared(memory: int, too_much: bool, alone: list[bool]) -> None:
    lines = bytearray()
    one = write_lines([TXN], lines.extend, memory=memory)
    alone.clear()
    made, source = shared([TXN], 3, memory=memory)
    assert made == lines and bool(alone) is too_much
    assert source.tally == one.tally and source.passed == one.passed
    assert source.tally.unaccounted(source.engine) == 0


def test_nothing_is_written_twice_by_who_goes_on_alone(alone: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = bytearray()
    write_lines([TXN], lines.extend)
    alone.clear()
    merges = iter(range(99))
    before = SharedLines.merge

    def merge(self: SharedLines) -> None:
        self.capture.engine.order.exceeded |= next(merges) == 5
        before(self)

    monkeypatch.setattr(SharedLines, "merge", merge)
    assert shared([TXN], 2)[0] == lines and alone
