"""A capture's bytes, through the engine, the kernel and the tracker."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.fetch_capture import write_capture
from kcli.capture.filters import Filter
from kcli.errors import InputError
from kcli.sessions.columns import new_kernel
from kcli.sessions.explain import session_dict
from kcli.sessions.feeder import Feeder
from kcli.sessions.session import ObservedSession
from kcli.sessions.source import follow as follow_files
from kcli.sessions.tracker import Tracker
from tests.capture.wires import Wire, frame, pcap
from tests.oracle.captures import by_core, by_oracle
from tests.oracle.sessions.kernel import InterpretedKernel


def reading(kernel: Any) -> contextlib.AbstractContextManager[Any]:
    """Read packets with the oracle where the sessions are followed by it."""
    return by_oracle() if isinstance(kernel, InterpretedKernel) else by_core()


def follow(path: Path, kernel: Any) -> tuple[list[Any], int]:
    ended: list[Any] = []
    found: list[Any] = []
    tracker = Tracker(found.append, ended.append, kernel)
    with reading(kernel):
        follow_files([str(path)], Feeder(tracker))
    tracker.close()
    assert found == []
    return [session_dict(session, {}) for session in ended], tracker.fetches


def test_with_and_without_the_kernel(tmp_path: Path) -> None:
    path = tmp_path / "made.pcap"
    write_capture(path, sessions=5, partitions=60, fetches=400, changes=4)
    kernel = new_kernel()
    fast, slow = follow(path, kernel), follow(path, InterpretedKernel())
    assert fast == slow and fast[1] == 400 and len(fast[0]) == 5
    assert all(made["fetches"] == 80 and made["full"] == 1 and made["saved"] > 5 for made in fast[0])
    assert kernel.fetches == 400


@pytest.mark.parametrize("new_kernel", [new_kernel, InterpretedKernel])
def test_all_fetches_are_followed_whatever_is_chosen(new_kernel: Callable[[], Any], tmp_path: Path) -> None:
    path = tmp_path / "made.pcap"
    write_capture(path, sessions=5, partitions=60, fetches=400, changes=4)
    whole = follow(path, InterpretedKernel())
    every = [made["connection"] for made in whole[0]]
    for chosen, shown in (
        (Filter(connection=every[0]), every[:1]),
        (Filter(apis=frozenset({1})), every),
        (Filter(errors=True), []),
    ):
        ended: list[ObservedSession] = []
        tracker = Tracker(on_end=ended.append, kernel=new_kernel())
        feeder = Feeder(tracker, chosen)
        with reading(tracker.kernel):
            follow_files([str(path)], feeder)
        tracker.close()
        assert ([session_dict(session, {}) for session in ended], tracker.fetches) == whole
        assert feeder.chosen_fetches == 80 * len(shown)
        assert [session.connection for session in ended if session.chosen] == shown


def test_a_file_that_ends_too_early_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "cut.pcap"
    write_capture(path, sessions=2, partitions=10, fetches=40, changes=2)
    path.write_bytes(path.read_bytes()[:-100])
    tracker = Tracker(kernel=new_kernel())
    with pytest.raises(InputError, match="ends in the middle"):
        follow_files([str(path)], Feeder(tracker))
    assert tracker.fetches >= 38


def test_exchanges_of_a_key_that_no_table_has_are_passed_over(tmp_path: Path) -> None:
    """The core counts exchanges by key: one beyond its counters comes back from the slower way, and is not counted."""
    path = tmp_path / "keys.pcap"
    wire = Wire().open()
    for number, key in enumerate((18, 129, 130, 32767, 0x8000, 18)):
        wire.client(frame(struct.pack(">HHiH1s", key, 0, number, 1, b"c")))
        wire.server(frame(struct.pack(">i", number) + bytes(6)))
    path.write_bytes(pcap(wire.packets))
    source = follow_files([str(path)], Feeder(Tracker(kernel=new_kernel())))
    assert source.engine.packets == len(wire.packets)
    assert source.engine.wire_bytes == sum(len(packet.data) for packet in wire.packets)
