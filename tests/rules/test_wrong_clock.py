"""The clock of the capture jumps, beside brokers that wait for the same time."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcli.diagnose import Diagnosis, diagnose
from tests.capture.wires import MILLISECOND, pcap
from tests.rules.test_by_hand import SECOND
from tests.rules.test_slow_cluster import clients


def jumping(folder: Path, by: int, brokers: tuple[int, ...] = (2, 2, 2)) -> Diagnosis:
    """Diagnose heartbeats of two clients of each broker; the clock jumps while one of each is in flight."""
    packets = sorted(packet for wire in clients(*brokers) for packet in wire.packets)
    step = packets[0][0] + 5 * (SECOND // 2 + 2 * MILLISECOND)  # about the sixth heartbeat
    at = next(ns for ns, *_ in packets if ns >= step) + MILLISECOND
    path = folder / "a.pcap"
    path.write_bytes(pcap(each._replace(ns=each.ns + by * (each.ns >= at)) for each in packets))
    return diagnose([str(path)])


def test_a_clock_that_was_set_forward_is_no_silent_broker(tmp_path: Path) -> None:
    found = jumping(tmp_path, 10 * SECOND)
    assert not found.findings
    [jump, *_] = [part.what for part in found.unjudged if "clock" in part.what]
    assert jump.startswith("9.") and "was set forward, or its machine paused" in jump


def test_a_clock_that_was_set_back_is_named(tmp_path: Path) -> None:
    found = jumping(tmp_path, -3600 * SECOND)
    assert "silent-broker" not in {each.finding for each in found.findings}
    assert "the capture's clock was set back by 59.8 min or more" in " ".join(p.what for p in found.unjudged)


@pytest.mark.parametrize("by", [0, SECOND // 4])
def test_a_steady_clock_is_not_told(tmp_path: Path, by: int) -> None:
    assert not [part.what for part in jumping(tmp_path, by).unjudged if "clock" in part.what]
