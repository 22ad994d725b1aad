"""Several staged files as one: in order of time, up to a moment and on from there."""

import contextlib
from pathlib import Path
from typing import Any

import pytest

from kcli.capture.io.files import FOREVER
from kcli.core.capture.packets import PacketReader
from kcli.errors import InputError
from kcli.pipeline.packets.reading import Reading
from kcli.pipeline.packets.shuffle_files import Slice
from tests.capture.wires import Packet, Wire, pcap
from tests.pipeline.packets.test_windows import Order


def files(folder: Path, stamps: list[list[int]]) -> list[Slice]:
    """Captures with packets of these times."""
    sample = Wire().open().packets[0]
    made = []
    for number, each in enumerate(stamps):
        path = folder / f"{number}.pcap"
        path.write_bytes(pcap([sample._replace(ns=ns) for ns in each], nano=True))
        made.append(Slice(str(path)))
    return made


def test_up_to_a_moment_and_on_from_there(tmp_path: Path) -> None:
    order: Any = Order()
    with contextlib.closing(Reading(order, PacketReader, files(tmp_path, [[1, 5, 6, 9], [2, 3, 7], []]))) as reading:
        assert reading.next_ns == 1
        reading.run(5)
        assert [ns for ns, _ in order.seen] == [1, 2, 3, 5]
        assert reading.next_ns == 6
        reading.run(FOREVER)
        assert [ns for ns, _ in order.seen] == [1, 2, 3, 5, 6, 7, 9]
        assert reading.next_ns == FOREVER


def test_behind_a_moment(tmp_path: Path) -> None:
    order: Any = Order()
    with contextlib.closing(Reading(order, PacketReader, files(tmp_path, [[1, 5, 6], [2, 3], [5, 8]]), 5)) as reading:
        reading.run(FOREVER)
    assert [ns for ns, _ in order.seen] == [6, 8]


def test_many_files_are_not_open_at_once(tmp_path: Path) -> None:
    def opened() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = opened()
    slices = files(tmp_path, [[number, number + 1] for number in range(0, 100, 2)])
    order: Any = Order()
    with contextlib.closing(Reading(order, PacketReader, slices)) as reading:
        for _ in reading.pieces():
            assert opened() <= before + 3
    assert [ns for ns, _ in order.seen] == list(range(100))


def test_what_is_damaged_is_no_packet(tmp_path: Path) -> None:
    packets: list[Packet] = Wire().open().packets
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(packets)[:24] + b"\xff" * 100)
    with pytest.raises(InputError, match="a packet's header makes no sense"):
        Reading(Order(), PacketReader, [Slice(str(path))])
