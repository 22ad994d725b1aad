"""A capture's bytes, through the engine, the kernel and the tracker."""

import contextlib
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.fetch_capture import write_capture
from kcli.capture.decoder import CaptureDecoder
from kcli.capture.filters import Filter
from kcli.capture.sinks import Sink
from kcli.errors import InputError
from kcli.schemas.apikeys import FETCH
from kcli.sessions.explain import session_dict
from kcli.sessions.feeder import Feeder
from kcli.sessions.fetch_paths import new_kernel
from kcli.sessions.session import ObservedSession
from kcli.sessions.session_sink import follow as follow_files
from kcli.sessions.tracker import Tracker
from tests.capture.messages import request, response
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


@pytest.mark.parametrize(("pause_s", "silent_s", "end"), [(3600, 60, "capture end"), (0, 130, "not used any more")])
def test_nobody_is_silent_between_rotated_captures(pause_s: int, silent_s: int, end: str, tmp_path: Path) -> None:
    """A session of the first file alone: what counts is for how long the second one does not show it."""
    first, second = tmp_path / "1.pcap", tmp_path / "2.pcap"
    write_capture(first, sessions=1, partitions=6, fetches=40)
    capture = CaptureDecoder([str(first)], Sink())
    for _ in capture.read():
        pass
    last_ns = capture.time.last_ns
    asked: dict[str, Any] = {
        "replicaId": -1,
        "maxWaitMs": 1,
        "minBytes": 1,
        "maxBytes": 1,
        "isolationLevel": 0,
        "topics": [],
    }
    answered: dict[str, Any] = {"throttleTimeMs": 0, "responses": []}
    later = Wire(("10.0.0.9", 40000), ("10.0.0.2", 9092), last_ns + pause_s * 10**9).open()
    for number, at in enumerate((0, silent_s)):
        later.now = last_ns + (pause_s + at) * 10**9
        later.client(request(FETCH, 4, number, asked)).server(response(FETCH, 4, number, answered))
    second.write_bytes(pcap(later.packets))
    ended: list[ObservedSession] = []
    tracker = Tracker(on_end=ended.append)
    follow_files([str(first), str(second)], Feeder(tracker))
    tracker.close()
    assert [session.end for session in ended] == [end]
