"""Forks, and what goes through their pipes."""

import os
from pathlib import Path

import pytest

from kcli.capture.filters import Filter
from kcli.capture.parallel.processes import can_share, fork_to, read_packed, stop, write_packed
from tests.capture.wires import SAMPLES

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="one process does all here")
TXN, CODECS = str(SAMPLES / "java44-txn.pcap"), str(SAMPLES / "kcat-codecs.pcap")


def test_which_files_can_be_shared(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    everything = Filter()
    assert can_share([TXN, CODECS], everything, [])
    assert not can_share([TXN, "-"], everything, [])
    assert not can_share([str(tmp_path / "fifo")], everything, [])
    assert not can_share([TXN], Filter(topic="pay-in"), [])
    assert not can_share([TXN], everything, ["keys.log"])


def test_a_fork_does_its_work_and_nothing_else(capfd: pytest.CaptureFixture[str]) -> None:
    read, write = os.pipe()
    data = bytes(200_000)
    pid = fork_to(lambda: write_packed(write, data), [read])
    os.close(write)
    assert read_packed(read) == data
    assert os.waitpid(pid, 0)[1] == 0
    with pytest.raises(BrokenPipeError):
        read_packed(read)
    os.close(read)
    assert capfd.readouterr() == ("", "")


def test_a_fork_without_a_reader_is_silent_and_another_fault_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    assert os.waitpid(fork_to(lambda: write_packed(write, b"x"), []), 0)[1] != 0
    os.close(write)
    assert capfd.readouterr().err == ""
    assert os.waitpid(fork_to(lambda: print(1 // 0), []), 0)[1] != 0
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_stop_ends_what_would_not_end() -> None:
    read, write = os.pipe()
    pid = fork_to(lambda: print(os.read(read, 1)), [write])
    stop(pid)
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, 0)
    for file in (read, write):
        os.close(file)
