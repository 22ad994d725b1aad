"""TCP connections, counted: against what tshark says of the same packets."""

import struct
from operator import itemgetter
from pathlib import Path

import pytest
import zstandard

from kcli.capture.decoder import CaptureDecoder
from kcli.capture.sinks import Sink
from kcli.core.capture.tcp_facts import NAMED, SENDER, TALK, TcpFacts
from tests.capture.wires import ACK, MILLISECOND, RST, SYN, Packet, Wire, pcap

LOSSY = Path(__file__).parent / "data" / "lossy-line.pcap.zst"  # 3 of 100 packets were dropped between two hosts
RAW = 101  # link type: IP alone


def counted(path: Path, most: int = 1 << 14) -> list[dict[str, int]]:
    """The sums over both ends of each row."""
    source, facts = CaptureDecoder([str(path)], Sink()), TcpFacts(most)
    source.engine.count_tcp(facts)
    for _ in source.read():
        pass
    ends, data = facts.take(True)
    numbers = memoryview(data).cast("q").tolist()
    width = len(TALK) + 2 * len(SENDER)
    assert len(numbers) * NAMED == len(ends) * width
    rows = [numbers[at : at + width] for at in range(0, len(numbers), width)]
    first, second = len(TALK), len(TALK) + len(SENDER)
    return [
        {name: row[first + at] + row[second + at] for at, name in enumerate(SENDER)}
        | dict(zip(TALK, row, strict=False))
        for row in rows
    ]


def test_a_line_that_loses_packets() -> None:
    """tshark: 46 acknowledgements with SACK, 4 of them D-SACK; 16 retransmissions, and 7 segments out of order: these
    came soon, but their identifications are new, so that they were sent again, too.
    """
    [row] = counted(LOSSY)
    assert 1195 <= row["segments"] <= 1200 and row["syns"] == 1 and row["answered"] == 1
    assert abs(row["resent"] - 23) <= 2 and row["out_of_order"] == 0
    assert row["repeats"] == 4 and row["sacks"] == 42


def test_all_connections_become_rows_however_few_are_counted_at_a_time(samples: Path) -> None:
    path = samples / "kcat-codecs.pcap"
    whole, bounded = counted(path), counted(path, most=2)
    for name in ("segments", "bytes", "data_segments"):
        assert sum(row[name] for row in bounded) == sum(row[name] for row in whole)
    assert len(bounded) >= len(whole) > 2


def test_loopback_that_repeats_without_losing_is_told_apart(samples: Path) -> None:
    rows = counted(samples / "kcat-codecs.pcap")
    assert not sum(row["resent"] + row["holes"] + row["sacks"] for row in rows)


def packets_of(path: Path) -> list[Packet]:
    data = zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).readall()
    at, found = 24, []
    while at < len(data):
        seconds, part, kept, length = struct.unpack_from("<IIII", data, at)
        found.append(Packet(seconds * 10**9 + part * 1000, data[at + 16 : at + 16 + kept], length))
        at += 16 + kept
    return found


@pytest.mark.parametrize("apart", [300_000, 4 * MILLISECOND, 3000 * MILLISECOND])
def test_two_taps_count_what_one_does(apart: int, tmp_path: Path) -> None:
    """What is sent again has another identification in its IP header, what is captured again has the same."""
    [once] = counted(LOSSY)
    packets = packets_of(LOSSY)
    again = [Packet(ns + apart, data, length) for ns, data, length in packets]
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(sorted(packets + again, key=itemgetter(0)), link=RAW))
    [twice] = counted(path)
    names = ("syns", "segments", "bytes", "data_segments", "resent", "holes", "sacks", "repeats", "duplicate_acks")
    assert {name: twice[name] for name in names} == {name: once[name] for name in names}


def crossed(*, ids: bool, late: bool) -> list[Packet]:
    """Packets of a client whose segments come in pairs. In every fifth pair the first one comes 8 ms after the second.
    late: it was overtaken, and has the identification of its turn; else it was lost, and sent again with a new one.
    ids: packets have identifications.
    """
    wire = Wire().open()
    packets, number = [*wire.packets], 100
    for turn in range(60):
        first, second = (wire.add(0, ACK, bytes(100)) for _ in range(2))
        wire.now += 20 * MILLISECOND
        own = number + 1 if late or turn % 5 < 4 else number + 3
        pair = [(first, own), (second, number + 2)]
        if turn % 5 == 4:
            pair = [(second, number + 2), (first._replace(ns=second.ns + 8 * MILLISECOND), own)]
        packets += [Packet(each.ns, numbered(each.data, at if ids else 0)) for each, at in pair]
        number += 3
    return packets


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("ids", [True, False])
def test_a_segment_that_is_overtaken_was_not_sent_again(ids: bool, late: bool, tmp_path: Path) -> None:
    """Identifications tell it; without them only the time does: 8 ms are as long as a retransmission takes."""
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(crossed(ids=ids, late=late)))
    [row] = counted(path)
    assert row["holes"] == 12
    assert (row["out_of_order"], row["resent"]) == ((12, 0) if ids and late else (0, 12))


def test_a_reset_right_behind_an_acknowledgement_is_another_packet(tmp_path: Path) -> None:
    """It has the same numbers and the same window: only the flag is new."""
    wire = Wire().open().client(b"asked")
    for flags in (ACK, RST | ACK):
        wire.add(1, flags)
        wire.now -= MILLISECOND * 9 // 10
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(wire.packets))
    [row] = counted(path)
    assert (row["segments"], row["rst_ns"]) == (6, wire.packets[-1].ns)
    path.write_bytes(pcap([*wire.packets, wire.packets[-1]]))
    assert counted(path) == [row], "captured again"


def test_a_slow_tap_does_not_make_a_connection_longer(tmp_path: Path) -> None:
    """An accepted SYN and a reset have no identification, as Linux sends them."""
    wire = Wire().open().client(b"asked").server(b"answer").client(b"again").server(b"answered")
    wire.add(1, RST | ACK)
    named = [
        Packet(ns, numbered(data, 0 if data[47] in (SYN | ACK, RST | ACK) else 1 + at))
        for at, (ns, data, _) in enumerate(wire.packets)
    ]
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(named))
    [once] = counted(path)
    path.write_bytes(pcap([*named, *(Packet(ns + 3000 * MILLISECOND, data) for ns, data, _ in named)]))
    [twice] = counted(path)
    assert (twice["last_ns"], twice["syns"], twice["rst_ns"]) == (once["last_ns"], 1, once["rst_ns"])


def numbered(data: bytes, number: int) -> bytes:
    """An Ethernet packet with another identification in its IP header."""
    return data[:18] + number.to_bytes(2, "big") + data[20:]


def test_identifications_that_are_all_alike_tell_nothing(tmp_path: Path) -> None:
    [usual] = counted(LOSSY)
    path = tmp_path / "a.pcap"
    path.write_bytes(
        pcap([Packet(ns, data[:4] + b"\0\7" + data[6:], length) for ns, data, length in packets_of(LOSSY)], link=RAW)
    )
    [alike] = counted(path)
    for name in ("segments", "bytes", "sacks"):
        assert alike[name] == usual[name]
    assert alike["resent"] + alike["out_of_order"] == usual["resent"], "only the time tells these apart"
