"""IP fragments joined: the exchanges of a capture whose packets were cut into fragments are those of the whole ones."""

import itertools
import random
import struct
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from kcli.capture.kafka.exchange import Exchange
from kcli.capture.other_packets import fragment_phrases
from tests.capture.decoding import as_values, pieces
from tests.capture.fragmenting import fragment4, fragment6, fragmented, pieces_of
from tests.capture.messages import metadata, produce
from tests.capture.tunnels import TUNNELS
from tests.capture.wires import ACK, DATA, SAMPLES, START, Packet, Wire, ethernet, ip4, ip6, packets_of, pcap, segment

HERE, THERE = bytes(15) + b"\1", bytes(15) + b"\2"


def as_ip6(packet: Packet) -> Packet:
    """The packet with IPv6 in place of IPv4."""
    ip = packet.data[14:]
    source, target = bytes(12) + ip[12:16], bytes(12) + ip[16:20]
    return packet._replace(data=ethernet(ip6(source, target, ip[20 : struct.unpack_from(">H", ip, 2)[0]]), 0x86DD))


def wire(seq: int = 1000) -> list[Packet]:
    made = Wire(seq=(seq, seq + 4000)).open()
    for number in range(8):
        asked, answer = (produce if number % 2 else metadata)(number)
        made.client(asked).server(answer)
    return made.close().packets


def read(path: Path, packets: list[Packet], **options: Any) -> tuple[list[bytes], Any]:
    """The frames of a capture's exchanges, and its engine. Every byte is accounted for."""
    path.write_bytes(pcap(packets, **options))
    source = as_values([str(path)])
    found = [item for items in pieces(source) for item in items]
    assert source.tally.unaccounted(source.engine) == 0
    return [
        bytes(each.request_frame) + bytes(each.response_frame or b"") for each in found if isinstance(each, Exchange)
    ], source.engine


@pytest.mark.parametrize("most", [8, 16, 40, 64])
@pytest.mark.parametrize("order", ["as sent", "backwards", "by chance", "each twice", "twice"])
@pytest.mark.parametrize("version", [4, 6])
def test_exchanges_are_those_of_whole_packets(tmp_path: Path, most: int, order: str, version: int) -> None:
    chance = random.Random(f"{most} {order}")
    mixes = {
        "as sent": lambda row: row,
        "backwards": lambda row: row[::-1],
        "by chance": lambda row: chance.sample(row, len(row)),
        "each twice": lambda row: [piece for piece in row for _ in range(2)],
        "twice": lambda row: row * 2,
    }
    packets = wire() if version == 4 else [*map(as_ip6, wire())]
    truth, _ = read(tmp_path / "whole", packets)
    cut = fragmented(packets, most, mixes[order])
    assert len(cut) > 1.4 * len(packets)
    found, engine = read(tmp_path / "cut", cut)
    assert found == truth and len(truth) == 8
    assert (engine.unjoined, engine.others, fragment_phrases(engine)) == (0, 0, [])
    assert engine.packets == engine.segments + engine.fragments == len(cut)


ROUTED = [name for name, tunnel in TUNNELS.items() if tunnel(wire()[0].data)[12:14] == b"\x08\x00"]


@pytest.mark.parametrize(
    ("where", "tunnel"),
    [*(("inside", name) for name in TUNNELS), *((where, name) for where in ("outside", "both") for name in ROUTED)],
)
def test_fragments_of_tunnels_and_in_tunnels(tmp_path: Path, where: str, tunnel: str) -> None:
    packets = wire()
    truth, _ = read(tmp_path / "whole", [each._replace(data=TUNNELS[tunnel](each.data)) for each in packets])
    assert len(truth) == 8
    if where != "outside":
        packets = fragmented(packets, 32)
    packets = [each._replace(data=TUNNELS[tunnel](each.data)) for each in packets]
    if where != "inside":
        packets = fragmented(packets, 48, lambda row: row[::-1])
    found, engine = read(tmp_path / "cut", packets)
    assert found == truth
    assert engine.unjoined == 0


def test_fragments_of_a_real_kernel() -> None:
    """TCP cut by a router, VXLAN in fragments of IPv4 and of IPv6: the same client did the same on each way."""
    source = as_values([str(DATA / "fragments.pcap.zst")])
    ways = defaultdict(list)
    for items in pieces(source):
        for each in items:
            if isinstance(each, Exchange):
                ways[each.link.client.rsplit(":", 1)[0]].append(
                    (bytes(each.request_frame), bytes(each.response_frame or b""))
                )
    assert len(ways) == 3 and len({tuple(way) for way in ways.values()}) == 1
    assert [len(way) for way in ways.values()] == [36] * 3
    assert source.engine.fragments > 200
    assert source.engine.unjoined == source.tally.events["gap"] == source.tally.events["undecodable"] == 0


def test_a_missing_fragment_is_counted_and_said(tmp_path: Path) -> None:
    packets = wire()
    cut = fragment4(packets[5].data, pieces_of(60, 24), 9)
    found, engine = read(
        tmp_path / "cut", [*packets[:5], *(Packet(packets[5].ns, each) for each in cut[:-1]), *packets[6:]]
    )
    assert len(found) < 8
    assert fragment_phrases(engine) == ["2 IP fragments not joined (the rest is missing)"]


@pytest.mark.parametrize("version", [4, 6])
def test_half_a_minute_is_waited_and_in_ipv6_a_minute(tmp_path: Path, version: int) -> None:
    packet = Packet(START, ethernet(ip4("10.0.0.1", "10.0.0.2", segment(1, 9092, 7, 9, ACK, bytes(100)))))
    packet = packet if version == 4 else as_ip6(packet)
    first, last = fragmented([packet], 80)
    for seconds, joined in ((29, True), (31, version == 6), (61, False)):
        _, engine = read(tmp_path / "cut", [first, last._replace(ns=START + seconds * 10**9)])
        assert engine.unjoined == (0 if joined else 2), seconds
        assert engine.segments == joined


def cut_of(*cuts: tuple[int, int], size: int = 96) -> list[bytes]:
    return fragment4(
        ethernet(ip4("10.0.0.1", "10.0.0.2", segment(1, 9092, 7, 9, ACK, bytes(range(size - 20))))), cuts, 5
    )


@pytest.mark.parametrize(
    "cuts",
    [
        [(0, 48), (40, 96)],  # one over the other
        [(0, 64), (24, 72), (72, 96)],
        [(48, 96), (0, 56)],
        [(0, 96), (0, 48), (48, 104)],
        [(0, 32), (64, 96), (24, 72)],  # over two
    ],
)
def test_overlapping_fragments_are_refused_as_a_host_does(tmp_path: Path, cuts: list[tuple[int, int]]) -> None:
    made = cut_of(*cuts, size=104 if cuts[-1][1] == 104 else 96)
    _, engine = read(tmp_path / "cut", [Packet(START, each) for each in made])
    assert engine.segments == 0 and engine.unjoined == len(cuts)
    assert "they contradict each other" in fragment_phrases(engine)[0]


def test_what_lies_within_others_is_a_repetition(tmp_path: Path) -> None:
    made = cut_of((0, 48), (8, 24), (0, 48), (48, 96), (48, 96))
    _, engine = read(tmp_path / "cut", [Packet(START, each) for each in made])
    assert (engine.segments, engine.fragments, engine.unjoined) == (1, 4, 0)


@pytest.mark.parametrize("what", ["beyond the largest", "another end", "not of eight bytes", "empty"])
def test_impossible_fragments(tmp_path: Path, what: str) -> None:
    first, last = cut_of((0, 48), (48, 96))
    if what == "beyond the largest":
        rows = [first, last[:20] + struct.pack(">H", 0x1FFF) + last[22:]]
    elif what == "another end":
        rows = [*cut_of((48, 72), size=72), last, first]
    elif what == "not of eight bytes":
        rows = [first[:16] + struct.pack(">H", 20 + 44) + first[18:-4], last]
    else:
        rows = [first, last[:16] + struct.pack(">H", 20) + last[18:34]]
    _, engine = read(tmp_path / "cut", [Packet(START, each) for each in rows])
    assert engine.segments == 0 and engine.unjoined == len(rows)


def test_fragments_cut_by_the_snapshot_length(tmp_path: Path) -> None:
    """As of a whole packet, what was captured up to the first missing byte is read, and its length is known."""
    first, last = cut_of((0, 48), (48, 96))
    rows = [Packet(START, first[:-8], len(first)), Packet(START, last, len(last))]
    _, engine = read(tmp_path / "cut", rows)
    assert (engine.segments, engine.payload, engine.unjoined) == (1, 20, 0)


def checked(frame: bytes) -> bytes:
    """The frame with TCP's checksum."""
    tcp = frame[34:]
    words = frame[26:34] + struct.pack(">HH", 6, len(tcp)) + tcp + bytes(len(tcp) % 2)
    total = sum(struct.unpack(f">{len(words) // 2}H", words))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return frame[:50] + struct.pack(">H", total ^ 0xFFFF) + frame[52:]


def test_identifications_that_come_again(tmp_path: Path) -> None:
    """Where checksums are right, the halves of two datagrams with one identification are not put together."""
    frames = [
        checked(ethernet(ip4("10.0.0.1", "10.0.0.2", segment(1, 9092, 7 + 76 * number, 9, ACK, bytes([number]) * 76))))
        for number in range(4)
    ]
    cut = [fragment4(frame, [(0, 48), (48, 96)], 5) for frame in frames]
    rows = [*cut[0], cut[1][1], *cut[2], *cut[3]]  # the first half of the second is lost
    _, engine = read(tmp_path / "cut", [Packet(START, each) for each in rows])
    assert (engine.segments, engine.unjoined, engine.joiner.refused) == (3, 1, 1)


def test_memory_is_bounded_and_the_oldest_give_way(tmp_path: Path) -> None:
    """100,000 first fragments of nothing do not keep a datagram that comes behind them from being joined."""
    first, last = cut_of((0, 48), (48, 96))
    rows = [
        first[:18] + struct.pack(">H", number % 65536) + first[20:26] + bytes([10, number >> 16, 0, 9]) + first[30:]
        for number in range(100_000)
    ]
    _, engine = read(
        tmp_path / "cut", [Packet(START + number, each) for number, each in enumerate([*rows, first, last])]
    )
    assert engine.segments == 1 and engine.unjoined == 100_000 and engine.joiner.crowded == 100_000 - 4096 + 1
    far = last[:20] + struct.pack(">H", 0x2000 | 8000) + last[22:]
    rows = [far[:18] + struct.pack(">H", number) + far[20:] for number in range(20_000)]
    _, engine = read(
        tmp_path / "cut", [Packet(START + number, each) for number, each in enumerate([*rows, first, last])]
    )
    assert engine.segments == 1 and engine.joiner.crowded > 19_000


def test_any_cuts_of_a_datagram(tmp_path: Path) -> None:
    """Cuts by chance, some of them twice, some lost, in any order: whole or not, and the same bytes."""
    chance = random.Random(7)
    size = 20 + 1480
    frame = ethernet(ip4("10.0.0.1", "10.0.0.2", segment(1, 9092, 7, 9, ACK, chance.randbytes(size - 20))))
    six = as_ip6(Packet(START, frame)).data
    for round_ in range(200):
        places = [0, *sorted(8 * place for place in chance.sample(range(1, size // 8), chance.randrange(1, 60))), size]
        cuts = [*itertools.pairwise(places)]
        rows = cuts + chance.sample(cuts, chance.randrange(len(cuts)))
        lost = chance.choice(cuts) if round_ % 3 == 0 else None
        rows = [each for each in chance.sample(rows, len(rows)) if each != lost]
        made = (fragment4(frame, rows, 5) if round_ % 2 else fragment6(six, rows, 5)) + [b""]
        _, engine = read(tmp_path / "cut", [Packet(START, each) for each in made[:-1]])
        assert (engine.segments, engine.payload) == ((1, size - 20) if lost is None else (0, 0)), (round_, rows)
        assert engine.unjoined == (0 if lost is None else len(rows))


def test_udp_in_fragments_is_not_tcps(tmp_path: Path) -> None:
    frame = ethernet(ip4("10.0.0.1", "10.0.0.2", struct.pack(">HHHH", 53, 5353, 96, 0) + bytes(88)))
    made = [each[:23] + b"\x11" + each[24:] for each in fragment4(frame, [(0, 48), (48, 96)], 5)]
    _, engine = read(tmp_path / "cut", [Packet(START, each) for each in [*made, *made[::-1]]])
    assert (engine.others, engine.fragments, engine.unjoined) == (4, 0, 0)


def test_a_real_capture_in_fragments(tmp_path: Path) -> None:
    packets = packets_of(SAMPLES / "java44-txn.pcap")
    truth, _ = read(tmp_path / "whole", packets)
    found, engine = read(tmp_path / "cut", fragmented(packets, 128, lambda row: row[1:] + row[:1]))
    assert found == truth and truth and engine.unjoined == 0
