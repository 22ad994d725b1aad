"""Packets made of bytes: whole for kcli's two engines, and right to the last checksum."""

import random

import pytest

from kcli.capture.io.packet_writing import MOST_PAYLOAD, PacketStream, checksum, file_start
from kcli.core.capture.checksums import sum_of
from kcli.grammar.files import network
from tests.capture.decoding import as_values, pieces
from tests.oracle.tcp.dissection import dissect
from tests.oracle.tcp.packet_outcomes import TcpSegment
from tests.oracle.tcp.packets import ReferenceReader

ENDS = [
    (("127.0.0.1", 50001), ("10.0.0.2", 9092)),
    (("::1", 50001), ("fe80::1%lo", 9092)),
    (("192.168.0.9", 50001), ("2001:db8::7", 9092)),
]
ASKED = b"\0\0\0\x0a\0\x12\0\0\0\0\0\7\xff\xff"
ANSWERED = b"\0\0\0\x0a\0\0\0\7\0\0\0\0\0\0"
TIME = 1_764_000_000_123_456_789


def words_sum(data: bytes) -> int:
    """The checksum's sum as RFC 1071 describes it: words, and carries added to the end."""
    total = 0
    for at in range(0, len(data), 2):
        total += int.from_bytes(data[at : at + 2].ljust(2, b"\0"), "big")
        total = (total & 0xFFFF) + (total >> 16)
    return total


def packets_of(data: bytes) -> list[tuple[int, bytes]]:
    """(time, packet) of each packet of a file."""
    used, rows = ReferenceReader().rows(memoryview(data))
    assert used == len(data)
    return [(row[1], row[5]) for row in rows]


@pytest.mark.parametrize(("client", "server"), ENDS)
def test_headers_and_checksums(client: tuple[str, int], server: tuple[str, int]) -> None:
    chance = random.Random(5)
    stream = PacketStream(client, server)
    sent = [b"", b"", b""]
    data = file_start("x") + stream.begin(TIME, "a comment")
    for number in range(60):
        direction = chance.choice((0, 1))
        piece = chance.choice((b"\0" * number, b"\xff" * number, chance.randbytes(number)))
        sent[direction] += piece
        data += stream.data(direction, TIME + number, piece)  # type: ignore[arg-type]
    data += stream.end(1, TIME + 61) + stream.end(0, TIME + 62)
    got, expected = [b"", b""], [0, 0]
    for ns, packet in packets_of(data):
        assert TIME <= ns <= TIME + 62
        segment = dissect(101, packet, len(packet))
        assert isinstance(segment, TcpSegment)
        direction = segment.ends[0][1] == 9092
        assert segment.seq == expected[direction]
        assert segment.ack == (expected[1 - direction] if segment.flags & network.ACK else 0)
        expected[direction] += len(segment.data) + bool(segment.flags & (network.SYN | network.FIN))
        got[direction] += segment.data
        size = len(packet) - (20 if segment.version == 4 else 40)
        ends = segment.ends[0][0] + segment.ends[1][0]
        assert words_sum(ends + b"\0\6" + size.to_bytes(4, "big") + packet[-size:]) == 0xFFFF
        if segment.version == 4:
            assert words_sum(packet[:20]) == 0xFFFF
    assert got == sent[:2]


def test_sums_are_those_of_the_words() -> None:
    chance = random.Random(6)
    for size in (0, 1, 2, 3, 20, 999, 65_000):
        data = chance.randbytes(size)
        assert (checksum(sum_of(data)) + words_sum(data)) % 0xFFFF == 0
    assert (checksum(0), checksum(0xFFFF), checksum(1)) == (0, 0, 0xFFFE)


def exchange(client: tuple[str, int], server: tuple[str, int], answer: bytes = ANSWERED) -> bytes:
    stream = PacketStream(client, server)
    made = [stream.begin(TIME), stream.data(0, TIME + 1000, ASKED), stream.data(1, TIME + 2_501_000, answer)]
    return file_start("x") + b"".join(made) + stream.end(0, TIME + 3_000_000) + stream.end(1, TIME + 3_000_000)


@pytest.mark.parametrize(("client", "server"), ENDS)
def test_kcli_reads_them_as_a_capture(client: tuple[str, int], server: tuple[str, int], tmp_path: object) -> None:
    path = f"{tmp_path}/x.pcapng"
    with open(path, "wb") as file:  # noqa: PTH123
        file.write(exchange(client, server))
    source = as_values([path])
    ((item,),) = list(pieces(source))
    assert (item.api_key, item.latency_ms) == (18, 2.5)  # type: ignore[union-attr]
    assert source.tally.unaccounted(source.engine) == 0


def test_long_pieces_are_several_packets() -> None:
    long = (MOST_PAYLOAD * 2).to_bytes(4, "big") + b"\0\0\0\7" + bytes(MOST_PAYLOAD * 2 - 4)
    packets = packets_of(exchange(*ENDS[0], long))
    sizes = [len(packet) - 40 for _, packet in packets]
    assert sizes == [0, 0, 0, len(ASKED), MOST_PAYLOAD, MOST_PAYLOAD, 4, 0, 0]


def test_sequence_numbers_begin_again() -> None:
    stream = PacketStream(*ENDS[0])
    stream.begin(TIME)
    stream.next[1] = (1 << 32) - 3
    data = file_start("x") + stream.data(1, TIME, b"abcdef") + stream.data(1, TIME, b"g") + stream.data(0, TIME, b"h")
    segments = [dissect(101, packet, len(packet)) for _, packet in packets_of(data)]
    assert [each.seq for each in segments] == [(1 << 32) - 3, 3, 1]  # type: ignore[union-attr]
    assert segments[2].ack == 4  # type: ignore[union-attr]


def test_an_end_stands_once() -> None:
    stream = PacketStream(*ENDS[0])
    assert stream.end(0, TIME)
    assert stream.end(0, TIME) == b""
    assert stream.reset(1, TIME)
    assert stream.reset(0, TIME) == stream.end(1, TIME) == b""
