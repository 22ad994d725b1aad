"""The interpreted packet reader; tests/core/capture holds the compiled one against it, format by format."""

import struct
from collections.abc import Callable
from typing import Any

import pytest

from kcli.core.capture.packets import PacketReader
from tests.capture.wires import START, Packet, Wire, pcap, pcapng
from tests.oracle.tcp.packets import DamagedError, ReferenceReader, ShortError

READERS: list[Callable[[], Any]] = [ReferenceReader, PacketReader]

SOME = [Packet(START + number * 10**9, bytes([number]) * (60 + number)) for number in range(4)]


@pytest.mark.parametrize("data", [pcap(SOME), pcap(SOME, big=True), pcapng(SOME), pcapng(SOME, big=True)])
def test_packets_come_whole_or_not_at_all(data: bytes) -> None:
    reader, view, found = ReferenceReader(), memoryview(data), []
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
    reader = ReferenceReader()
    with pytest.raises(DamagedError, match="starts with"):
        reader.take(memoryview(bytes(24)))
    data = bytearray(pcapng(SOME[:1]))
    data[-4] ^= 1
    assert ReferenceReader().rows(memoryview(data))[1] == []
    reader = ReferenceReader()
    reader.rows(memoryview(data))
    assert reader.problem is not None and "begins with a length of" in reader.problem


def test_a_packet_of_no_interface() -> None:
    reader = ReferenceReader()
    data = pcapng(SOME[:1], interface=3)
    reader.rows(memoryview(data[:28] + data[-4 * 23 :]))
    assert reader.problem is not None


def test_a_connection_has_one_key() -> None:
    rows = ReferenceReader().rows(memoryview(pcap(Wire().open().packets)))[1]
    assert len({row[4] for row in rows}) == 1 and rows[0][4]


def record(reader: ReferenceReader, data: bytes, big: bool) -> list[tuple[int, bytes]]:
    return [(row[1], row[5]) for row in reader.rows(memoryview(data))[1]]


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("new_reader", READERS)
def test_fractions_of_a_second_and_more(new_reader: Callable[[], Any], big: bool) -> None:
    """As tshark reads them: added to the seconds."""
    order, packet = ">" if big else "<", bytes(60)
    for magic, unit in ((0xA1B2C3D4, 1000), (0xA1B23C4D, 1)):
        data = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, 1)
        fractions = [0, 1_000_000, 2_500_000, 4_000_000_000]
        for fraction in fractions:
            data += struct.pack(order + "IIII", 1_700_000_000, fraction, 60, 60) + packet
        reader = new_reader()
        assert [ns for ns, _ in record(reader, data, big)] == [
            1_700_000_000 * 10**9 + fraction * unit for fraction in fractions
        ]
        assert reader.problem is None


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("new_reader", READERS)
def test_the_modified_form_has_longer_headers(new_reader: Callable[[], Any], big: bool) -> None:
    order = ">" if big else "<"
    data = struct.pack(order + "IHHiIII", 0xA1B2CD34, 2, 4, 0, 0, 65535, 1)
    for number in range(3):
        header = struct.pack(order + "IIII", 1_700_000_000 + number, 5, 60 + number, 60 + number)
        data += header + struct.pack(order + "IHBB", 1, 0x800, 0, 0) + bytes([number]) * (60 + number)
    found = record(new_reader(), data, big)
    assert [ns // 10**9 for ns, _ in found] == [1_700_000_000, 1_700_000_001, 1_700_000_002]
    assert [packet for _, packet in found] == [bytes([number]) * (60 + number) for number in range(3)]
    broken = data[:24] + b"\xff" * 40 + data[24:]
    reader = new_reader()
    assert record(reader, broken, big) == [] and reader.problem is not None
    assert reader.resume(memoryview(broken[24:])) == 40


@pytest.mark.parametrize("new_reader", READERS)
def test_a_fraction_is_no_excuse_for_a_header_without_sense(new_reader: Callable[[], Any]) -> None:
    data = pcap(SOME[:1]) + struct.pack("<IIII", 1_700_000_000, 4_000_000_000, 60, 10) + bytes(60)
    reader = new_reader()
    assert len(record(reader, data, False)) == 1 and reader.problem == "a packet's header makes no sense"
