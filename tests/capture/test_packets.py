"""The interpreted packet reader; tests/core/test_packets.py holds the compiled one against it, format by format."""

from __future__ import annotations

import pytest

from kcli.capture.packets import DamagedError, Reader, ShortError
from tests.capture.wires import START, Packet, Wire, pcap, pcapng

SOME = [Packet(START + number * 10**9, bytes([number]) * (60 + number)) for number in range(4)]


@pytest.mark.parametrize("data", [pcap(SOME), pcap(SOME, big=True), pcapng(SOME), pcapng(SOME, big=True)])
def test_packets_come_whole_or_not_at_all(data: bytes) -> None:
    reader, view, found = Reader(), memoryview(data), []
    end = 0
    while True:
        try:
            used, packet = reader.take(view[:end])
        except ShortError:
            end += 1
            if end > len(view):
                break
            continue
        view, end = view[used:], 0
        found += [packet] if packet else []
    assert [(packet.ns, packet.data) for packet in found] == [(each.ns, each.data) for each in SOME]


def test_problems_are_named() -> None:
    reader = Reader()
    with pytest.raises(DamagedError, match="starts with"):
        reader.take(memoryview(bytes(24)))
    data = bytearray(pcapng(SOME[:1]))
    data[-4] ^= 1
    assert Reader().rows(memoryview(data))[1] == []
    reader = Reader()
    reader.rows(memoryview(data))
    assert reader.problem is not None and "begins with a length of" in reader.problem


def test_a_packet_of_no_interface() -> None:
    reader = Reader()
    data = pcapng(SOME[:1], interface=3)
    reader.rows(memoryview(data[:28] + data[-4 * 23 :]))
    assert reader.problem is not None


def test_a_connection_has_one_key() -> None:
    rows = Reader().rows(memoryview(pcap(Wire().open().packets)))[1]
    assert len({row[4] for row in rows}) == 1 and rows[0][4]
