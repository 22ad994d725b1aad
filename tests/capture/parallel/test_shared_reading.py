"""A capture that several processes read, where it goes wrong."""

import os
import signal
from typing import Any

import pytest

from kcli.capture.decoder import CaptureDecoder
from kcli.capture.parallel import shared_reading
from kcli.capture.parallel.pcap_jobs import SharedLines
from kcli.capture.parallel.shared_reading import SharedReading, TooMuchSharedError
from kcli.capture.parallel.stats_jobs import SharedStatistics
from kcli.capture.parallel.worker_process import Desk
from kcli.capture.statistics import StatisticsSink
from kcli.errors import InputError
from tests.capture.decoding import as_lines
from tests.capture.wires import SAMPLES

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="one process does all here")
TXN = str(SAMPLES / "java44-txn.pcap")


def together(**options: Any) -> SharedReading:
    """What is to be read by three processes."""
    return SharedReading(as_lines([TXN], **options), 3)


def read(source: SharedReading) -> bytes:
    lines = bytearray()
    for _ in source.read_together(lines.extend, lambda count: None):
        pass
    return bytes(lines)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small capture has several stretches."""
    monkeypatch.setattr("kcli.capture.io.capture_file.PIECE", 4096)


def test_every_process_has_a_share() -> None:
    source = together()
    assert read(source).count(b"\n") == source.capture.passed + sum(source.capture.tally.events.values())
    alone = source.capture.engine
    assert 0 < alone.exchanges < source.capture.tally.exchanges and alone.connections > 0
    assert source.capture.tally.unaccounted(alone) == 0


def kill(self: SharedReading, desk: Desk) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_is_killed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SharedReading, "help_out", kill)
    with pytest.raises(InputError, match="a process ended before its work was done"):
        list(SharedLines(as_lines([TXN]), 2).read())
    with pytest.raises(InputError, match="a process ended before its work was done"):
        list(SharedStatistics(CaptureDecoder([TXN], StatisticsSink(["api"])), 2).read())


@pytest.mark.parametrize("where", ["segments", "names"])
def test_where_a_stretch_has_no_room_one_goes_on_alone(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_reading, "MOST_ROOM", 2000 if where == "segments" else 200_000)
    source = together()
    source.learnt = b"" if where == "segments" else bytes(200_000)
    with pytest.raises(TooMuchSharedError):
        read(source)


def test_what_is_counted_when_it_is_left_early() -> None:
    source = SharedStatistics(CaptureDecoder([TXN], StatisticsSink(["client"])), 3)
    pieces = source.read()
    for _ in range(6):
        next(pieces)
    pieces.close()
    whole = CaptureDecoder([TXN], StatisticsSink(["client"]))
    list(whole.read())
    counted = sum(row.figures.exchanges for row in source.capture.sink.rows())
    assert 0 < source.capture.engine.exchanges < counted < whole.tally.exchanges
    assert counted == source.capture.tally.exchanges


def test_lines_that_are_large_lie_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = read(together())
    monkeypatch.setattr("kcli.capture.parallel.worker_process.LARGE", 5000)
    monkeypatch.setattr(shared_reading, "LARGE", 5000)
    assert read(together()) == expected
