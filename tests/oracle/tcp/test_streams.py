"""TCP streams: whatever order, repetition or cut a capture has, the bytes come once and in order. Both engines."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcli.capture.decoder import decode
from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.sinks import Sink
from tests.capture.messages import metadata, produce
from tests.capture.wires import ACK, MILLISECOND, RST, SAMPLES, SYN, Packet, Wire, packets_of, pcap, rebuilt, split
from tests.oracle.tcp.reassembly import ahead

Read = Callable[[Any], list[Exchange | Event]]

KCAT = packets_of(SAMPLES / "kcat-codecs.pcap")
TXN = packets_of(SAMPLES / "java44-txn.pcap")


def said(items: list[Exchange | Event]) -> list[tuple[Any, ...]]:
    """What was exchanged, without times and order."""
    assert not [item for item in items if isinstance(item, Event) and item.kind != "unanswered-at-end"]
    return sorted(
        (i.connection, i.correlation_id, i.request_frame, i.response_frame) for i in items if isinstance(i, Exchange)
    )


@pytest.mark.parametrize(("a", "b", "distance"), [(5, 3, 2), (3, 5, -2), (2, 2**32 - 3, 5), (2**32 - 3, 2, -5)])
def test_sequence_numbers_wrap(a: int, b: int, distance: int) -> None:
    assert ahead(a, b) == distance


@pytest.mark.parametrize("seed", range(4))
def test_packets_out_of_order(read: Read, seed: int) -> None:
    chance = random.Random(seed)
    shuffled: list[Packet] = []
    for start in range(0, len(KCAT), 6):
        window = KCAT[start : start + 6]
        times = [packet.ns for packet in window]
        chance.shuffle(window)
        shuffled += [packet._replace(ns=ns) for packet, ns in zip(window, times, strict=True)]
    assert said(read(shuffled)) == said(read(KCAT))


def test_segments_again_later_and_over_each_other(read: Read) -> None:
    made: list[Packet] = []
    held: list[Packet] = []

    def repeat(packet: Packet, headers: bytes, seq: int, flags: int, payload: bytes) -> list[Packet]:
        held.append(rebuilt(packet, headers, seq - 3, payload[:1] * 3 + payload) if len(held) % 2 else packet)
        return [packet, *([held[-4]] if len(held) > 4 and len(held) % 3 == 0 else [])]

    made = split(TXN, repeat)
    assert len(made) > len(TXN)
    assert said(read(made)) == said(read(TXN))


@pytest.mark.parametrize("most", [1, 7, 40])
def test_tiny_segments(read: Read, most: int) -> None:
    def cut(packet: Packet, headers: bytes, seq: int, flags: int, payload: bytes) -> list[Packet]:
        return [rebuilt(packet, headers, seq + at, payload[at : at + most]) for at in range(0, len(payload), most)]

    assert said(read(split(TXN[:50], cut))) == said(read(TXN[:50]))


def test_sequence_numbers_that_wrap_in_mid_stream(read: Read) -> None:
    start = 2**32 - 150
    wire = Wire(seq=(start, start - 100)).open()
    for number in range(1, 30):
        wire.client(metadata(number)[0]).server(metadata(number)[1])
    assert len(said(read(wire.close()))) == 29


def test_no_syn_and_the_first_packets_out_of_order(read: Read) -> None:
    wire = Wire().open()
    for number in range(1, 20):
        wire.client(metadata(number)[0]).server(metadata(number)[1])
    packets = wire.packets[3:]
    packets[0], packets[2], packets[4] = packets[4], packets[0], packets[2]
    assert len(said(read(packets))) == 19


def test_a_syn_that_comes_late(read: Read) -> None:
    wire = Wire().open().client(metadata(1)[0]).server(metadata(1)[1])
    order = [3, 4, 1, 2, 0]
    assert len(said(read([wire.packets[at] for at in order]))) == 1


def test_a_response_before_its_request_waits_for_it(read: Read) -> None:
    wire = Wire().open().client(metadata(1)[0]).server(metadata(1)[1]).client(metadata(2)[0]).server(metadata(2)[1])
    order = [0, 1, 2, 4, 3, 6, 5]
    items = read([wire.packets[at] for at in order])
    assert [item.correlation_id for item in items if isinstance(item, Exchange)] == [1, 2]


def test_one_damaged_acknowledgement_stops_nothing(read: Read) -> None:
    wire = Wire().open()
    for number in range(1, 60):
        wire.client(metadata(number)[0])
        if number == 9:
            wire.add(1, ACK, b"", ack=wire.seq[0] + 5_000_000)
        wire.server(metadata(number)[1])
    assert len(said(read(wire))) == 59


def test_a_window_probe_is_no_news(read: Read) -> None:
    wire = Wire().open().client(metadata(1)[0]).server(metadata(1)[1])
    wire.add(0, ACK, b"x", seq=wire.seq[0] - 1)
    assert len(said(read(wire.client(metadata(2)[0]).server(metadata(2)[1])))) == 2


def test_a_refused_connection_says_nothing(read: Read) -> None:
    wire = Wire()
    wire.add(0, SYN, ack=0)
    wire.add(1, RST | ACK, seq=0)
    assert read(wire) == []


def test_what_was_never_acknowledged_is_waited_for(read: Read) -> None:
    """A segment lost on its way, and sent again: no gap, however much comes in between."""
    asked, answer = produce(1, records=bytes(100_000))
    wire = Wire().open()
    start = wire.seq[0]
    for at in range(0, len(asked), 1000):
        wire.add(0, ACK, asked[at : at + 1000])
    lost = wire.packets.pop(3 + 5)
    for _ in range(80):
        wire.add(1, ACK, ack=start + 5000)
    wire.packets.append(lost._replace(ns=wire.now))
    wire.now += 1
    wire.add(1, ACK, ack=start + len(asked))
    assert len(said(read(wire.server(answer)))) == 1


def test_a_reset_from_nowhere_may_carry_bytes(read: Read) -> None:
    """They are counted (`read` sums up), and end the connection."""
    wire = Wire().open().client(metadata(1)[0])
    wire.add(1, RST, b"out of line", seq=77)
    assert [item.kind for item in read(wire) if isinstance(item, Event)] == ["unanswered-at-end"]


def test_many_connections_at_once(read: Read) -> None:
    wires = [Wire(client=("10.0.1.1", 20000 + number)).open() for number in range(300)]
    for wire in wires:
        wire.client(metadata(1)[0]).server(metadata(1)[1])
    packets = [packet for step in zip(*(wire.packets for wire in wires), strict=True) for packet in step]
    assert len(said(read(packets))) == 300


def test_a_leap_of_the_clock_is_not_believed_at_once(read: Read) -> None:
    wire = Wire().open().client(metadata(1)[0])
    wire.packets.append(wire.packets[-1]._replace(ns=wire.now + 10**18))
    assert len(said(read(wire.server(metadata(1)[1])))) == 1


def test_silent_connections_are_let_go(read: Read) -> None:
    idle = Wire(client=("10.0.0.9", 1234)).open().client(metadata(7)[0])
    busy = Wire(start=idle.now).open()
    for number in range(1, 40):
        busy.now += 60 * 10**9
        busy.client(metadata(number)[0]).server(metadata(number)[1])
    items = read(idle.packets + busy.packets)
    place = [index for index, item in enumerate(items) if isinstance(item, Event)]
    assert len(place) == 1 and place[0] < len(items) - 5  # said long before the end


def test_a_connection_that_was_let_go_speaks_again(read: Read) -> None:
    idle = Wire(client=("10.0.0.9", 1234)).open().client(metadata(7)[0]).server(metadata(7)[1])
    busy = Wire(start=idle.now).open()
    for number in range(1, 16):
        busy.now += 60 * 10**9
        busy.client(metadata(number)[0]).server(metadata(number)[1])
    idle.now = busy.now
    idle.client(metadata(8)[0]).server(metadata(8)[1]).server(b"").client(b"")
    found = said(read(sorted(idle.packets + busy.packets, key=lambda packet: packet.ns)))
    assert [exchange[1] for exchange in found if ":1234" in exchange[0]] == [7, 8]


# What TCP says of connections that have ended

Ends = dict[str, tuple[int, int]]  # connection -> round trip (ns, -1: not known), segments that came again


def ends_of(path: Path) -> Ends:
    """Of a capture whose connections have one handshake each."""
    found: Ends = {}

    class Ended(Sink):
        def connection_end(self, connection: str, round_trip: int, retransmissions: int) -> None:
            assert connection not in found
            found[connection] = round_trip, retransmissions

    decode([str(path)], Ended())
    return found


@pytest.fixture
def end(engine: str, tmp_path: Path) -> Callable[[Wire], tuple[int, int]]:
    """What either engine says of a wire's connection."""

    def end(wire: Wire) -> tuple[int, int]:
        path = tmp_path / "made.pcap"
        path.write_bytes(pcap(wire.packets))
        [(connection, said)] = ends_of(path).items()
        assert connection == "10.0.0.2:9092-10.0.0.1:40000"
        return said

    return end


def again(wire: Wire, *packets: int) -> Wire:
    """The same, with packets that come once more."""
    for packet in packets:
        wire.packets.append(wire.packets[packet]._replace(ns=wire.now))
        wire.now += MILLISECOND
    return wire


def exchanged() -> Wire:
    return Wire().open().client(metadata(1)[0]).server(metadata(1)[1])


def test_a_round_trip_is_from_the_syn_to_the_third_packet(end: Callable[[Wire], tuple[int, int]]) -> None:
    assert end(exchanged()) == (2 * MILLISECOND, 0)
    later = Wire()
    later.add(0, SYN, ack=0)
    later.now += 1000 * MILLISECOND  # it got lost, and is sent again
    later.seq[0] -= 1
    later.open()
    assert end(later.client(metadata(1)[0]).server(metadata(1)[1])) == (2 * MILLISECOND, 0)


def test_a_handshake_that_was_not_seen_has_no_round_trip(end: Callable[[Wire], tuple[int, int]]) -> None:
    without_syn = exchanged()
    del without_syn.packets[0]
    assert end(without_syn)[0] == -1
    without_answer = exchanged()  # which its acknowledgement shows
    del without_answer.packets[1]
    assert end(without_answer) == (2 * MILLISECOND, 0)
    under_way = exchanged()
    del under_way.packets[:3]
    assert end(under_way) == (-1, 0)


def test_segments_that_come_again_are_counted(end: Callable[[Wire], tuple[int, int]]) -> None:
    asked, answer = metadata(1)
    assert end(again(exchanged(), 3, 4, 3)) == (2 * MILLISECOND, 3)
    wider = Wire().open()
    wider.add(0, ACK, asked[:9])
    wider.seq[0] -= 9
    assert end(wider.client(asked).server(answer)) == (2 * MILLISECOND, 1)
    waiting = Wire().open().client(asked[:10]).client(asked[10:20]).client(asked[20:]).server(answer)
    first = waiting.packets.pop(3)
    waiting.packets.insert(4, waiting.packets[3])
    waiting.packets.insert(6, first)
    assert end(waiting) == (2 * MILLISECOND, 1)


def test_what_brings_no_bytes_is_no_retransmission(end: Callable[[Wire], tuple[int, int]]) -> None:
    wire = again(exchanged(), 1, 2)
    asked = metadata(1)[0]
    wire.add(0, ACK, asked[-1:], seq=wire.seq[0] - 1)  # keeps the connection alive
    assert end(wire.close())[1] == 0


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.parametrize("name", ["java44-txn.pcap", "kcat-codecs.pcap", "sasl-plain-scram.pcap", "tls.pcap", "lossy"])
def test_tshark_says_the_same(name: str, engine: str, tmp_path: Path) -> None:
    path = SAMPLES / name
    if name == "lossy":
        path = tmp_path / "lossy.pcap"
        chance = random.Random(7)
        twice = [each._replace(ns=each.ns + 1000) for each in TXN if chance.random() < 0.3]
        path.write_bytes(pcap(sorted([*TXN, *twice])))
    trips, resent = tshark_of(path)
    ours = ends_of(path)
    assert ours and (name != "lossy" or resent.total() > 10)
    for connection, (trip, count) in ours.items():
        assert abs(trips.get(connection, -1e-9) * 1e9 - trip) <= 1500, connection
        assert count == resent[connection], connection


def tshark_of(path: Path) -> tuple[dict[str, float], Counter[str]]:
    """The round trip (s) of each connection, and how many of its segments with bytes tshark knows from before."""
    fields = ["srcport", "dstport", "analysis.initial_rtt", "len", "analysis.retransmission", "analysis.out_of_order"]
    wanted = ["-e", "ip.src", "-e", "ip.dst", *(word for field in fields for word in ("-e", f"tcp.{field}"))]
    done = subprocess.run(["tshark", "-r", path, "-Y", "tcp", "-T", "fields", *wanted], capture_output=True, check=True)
    trips: dict[str, float] = {}
    resent: Counter[str] = Counter()
    for line in done.stdout.decode().splitlines():
        source, target, source_port, target_port, trip, size, *seen = line.split("\t")
        ends = f"{source}:{source_port}", f"{target}:{target_port}"
        for connection in ("-".join(ends), "-".join(reversed(ends))):
            trips |= {connection: float(trip)} if trip else {}
            resent[connection] += int(size) > 0 and any(seen)
    return trips, resent
