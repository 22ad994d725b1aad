"""The compiled packet reader against the grammar: the same packets, times and problems from any bytes."""

import random
import struct
from itertools import dropwhile
from typing import Any

import pytest

from kcli.capture.kafka.clock import LAST_NS
from kcli.core.capture.packets import PacketReader
from tests.capture.wires import Packet, pcap, pcapng
from tests.grammar.files.test_network import OTHERS, PACKETS
from tests.oracle.tcp.packets import ReferenceReader

START = 1_700_000_000_123_456_789
SOME = [Packet(START + number * 1_500_000, bytes([number]) * (60 + number)) for number in range(5)]
FILES = {
    "pcap": pcap(SOME),
    "pcap, big-endian": pcap(SOME, big=True),
    "pcap, nanoseconds": pcap(SOME, nano=True),
    "pcap, nanoseconds, big-endian": pcap(SOME, nano=True, big=True),
    "pcap, cut": pcap(SOME, snaplen=40),
    "pcapng": pcapng(SOME),
    "pcapng, big-endian": pcapng(SOME, big=True),
    "pcapng, nanoseconds": pcapng(SOME, resolution=9),
    "pcapng, tenths of nanoseconds": pcapng(SOME, resolution=10),
    "pcapng, milliseconds": pcapng(SOME, resolution=3),
    "pcapng, 2^-20": pcapng(SOME, resolution=0x94),
    "pcapng, offset": pcapng(SOME, offset=1_600_000_000),
    "pcapng, offset, big-endian": pcapng(SOME, offset=1_600_000_000, big=True),
    "pcapng, offset before 1970": pcapng(SOME, offset=-1_600_000_000, resolution=9),
    "pcapng, third interface": pcapng(SOME, interface=2, resolution=9),
    "pcapng, obsolete blocks": pcapng(SOME, form="obsolete"),
    "pcapng, simple blocks": pcapng(SOME) + pcapng(SOME, form="simple"),
    "pcapng, sections": pcapng(SOME, resolution=9) + pcapng(SOME, big=True) + pcapng(SOME, link=101),
}


def everything(reader: Any, data: bytes) -> list[Any]:
    """All that a reader gets out of bytes, damage passed over."""
    out: list[Any] = []
    view = memoryview(data)
    while True:
        used, rows = reader.rows(view)
        out += [(at, ns, link, length, packet) for at, ns, link, length, _, packet in rows]
        view = view[used:]
        if reader.problem is None:
            return [*out, len(view)]
        step = reader.resume(view)
        out.append((reader.problem, step))
        view = view[step:]
        assert len(out) < 1000


def test_times_are_nanoseconds() -> None:
    coarse = {
        "pcap": 1000,
        "pcapng": 1000,
        "pcapng, milliseconds": 10**6,
        "pcapng, nanoseconds": 1,
        "pcap, nanoseconds": 1,
    }
    for name, unit in coarse.items():
        _, rows = PacketReader().rows(FILES[name])
        assert [row[1] for row in rows] == [packet.ns // unit * unit for packet in SOME], name


@pytest.mark.parametrize("offset", [-3_000_000_000, 8_000_000_000, 20_000_000_000, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("resolution", [0, 6, 9, 0x94, 0x9E])
def test_damaged_times_fit_int64(offset: int, resolution: int) -> None:
    """The packets of an interface whose if_tsoffset is damaged: all there, at the end of time or at its beginning."""
    change = struct.pack("<q", offset)
    data = pcapng(SOME, offset=77, resolution=resolution).replace(struct.pack("<q", 77), change)
    found = everything(PacketReader(), data)
    assert found == everything(ReferenceReader(), data)
    assert [row[1] for row in found[:-1]] == [LAST_NS if offset > 0 else 0] * len(SOME)


def test_the_last_time_is_the_end_of_2261() -> None:
    late = [Packet(2**63 - 1, bytes(60)), Packet(2**63, bytes(60)), Packet(2**64 - 2, bytes(60))]
    data = pcapng(late, resolution=9)
    assert [row[1] for row in PacketReader().rows(data)[1]] == [LAST_NS] * 3
    assert everything(PacketReader(), data) == everything(ReferenceReader(), data)


@pytest.mark.parametrize("name", FILES)
def test_the_same_packets_as_the_grammar(name: str) -> None:
    found = everything(PacketReader(), FILES[name])
    assert found == everything(ReferenceReader(), FILES[name])
    assert len(found) >= 5 and found[-1] == 0


@pytest.mark.parametrize("name", FILES)
def test_the_first_time_of_a_file(name: str) -> None:
    data = FILES[name]
    assert (
        PacketReader().peek(data) == ReferenceReader().peek(memoryview(data)) == everything(PacketReader(), data)[0][1]
    )
    assert PacketReader().peek(data[:20]) is None


@pytest.mark.parametrize("name", ["pcap", "pcapng", "pcap, nanoseconds, big-endian", "pcapng, sections"])
def test_the_same_of_damaged_files(name: str) -> None:
    chance = random.Random(name)
    for _ in range(150):
        data = bytearray(FILES[name])
        for _ in range(chance.randrange(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        if chance.random() < 0.3:
            del data[chance.randrange(len(data)) :]
        first, second = PacketReader(), ReferenceReader()
        used, rows = first.rows(bytes(data))
        again, others = second.rows(memoryview(data))
        assert (used, first.problem) == (again, second.problem)
        assert [row[:4] + row[5:] for row in rows] == [row[:4] + row[5:] for row in others]


def test_damage_is_passed_over() -> None:
    data = bytearray(pcap(SOME))
    data[24 + 16 + 60 + 8 + 3] = 0xFF  # the second packet's captured length
    found = everything(PacketReader(), bytes(data))
    kept = [row[4] for row in found[:-1] if len(row) == 5]
    assert kept[0] == SOME[0].data and kept[-1] == SOME[4].data and len(kept) >= 3
    problems = [row for row in found[:-1] if len(row) == 2]
    assert problems and problems[0][0] == "a packet's header makes no sense"


@pytest.mark.parametrize("name", [*PACKETS, *OTHERS])
def test_links_and_layers_as_the_grammar_has_them(name: str) -> None:
    """By the connection's key: there is one where there is a segment, the same for every way to carry it."""
    link, data = (PACKETS.get(name) or OTHERS[name])[:2]
    (row,) = PacketReader().rows(pcap([Packet(START, data)], link=link))[1]
    assert bool(row[4]) == (name in PACKETS)


def test_both_directions_have_one_key() -> None:
    from tests.capture.wires import Wire

    rows = PacketReader().rows(pcap(Wire().open().packets))[1]
    assert len({row[4] for row in rows}) == 1
    other = PacketReader().rows(pcap(Wire(client=("10.0.0.1", 40001)).open().packets))[1]
    assert rows[0][4] != other[0][4]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("number", [0, 2, 4])
def test_packets_up_to_a_moment_are_skipped(name: str, number: int) -> None:
    reader, data = PacketReader(), FILES[name]
    times = [row[1] for row in PacketReader().rows(data)[1]]
    rest = list(dropwhile(lambda ns: ns <= times[number], times))
    used, following = reader.skip(data, times[number])
    assert following == (rest[0] if rest else None)
    assert [row[1] for row in reader.rows(data[used:])[1]] == rest
