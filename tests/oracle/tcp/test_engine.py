"""The oracle's engine. What it says is tested beside the core's; here, what it counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.connection import CapturedConnection
from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from tests.capture.decoding import as_lines, as_values
from tests.capture.messages import metadata, produce
from tests.capture.wires import SAMPLES, START, Packet, Wire, ethernet, ip4, pcap, segment
from tests.oracle.captures import each_reader
from tests.oracle.tcp.engine import ReferenceEngine
from tests.oracle.tcp.packets import ReferenceReader


class Owner:
    connection_ended: Callable[[str, int, int], None] | None = None

    def __init__(self) -> None:
        self.items: list[Exchange | Event] = []

    def connect(self, ends: tuple[str, str], client: int | None, started: tuple[bool, bool]) -> CapturedConnection:
        return CapturedConnection(ends, client, started, Bodies(), self.items.append)


def test_packets_that_are_no_tcp_are_counted() -> None:
    tcp = segment(1, 2, 3, 4, 16)
    whole = ip4("10.0.0.1", "10.0.0.2", tcp)
    packets = [
        ethernet(bytes(28), 0x0806),
        ethernet(whole[:24]),
        ethernet(ip4("10.0.0.1", "10.0.0.2", tcp, place=5)),
        ethernet(whole),
    ]
    engine = ReferenceEngine(Owner())
    used = engine.run(ReferenceReader(), memoryview(pcap([Packet(START, data) for data in packets])), 2**63)
    assert used[1] == "end"
    assert (engine.packets, engine.others, engine.cuts, engine.fragments, engine.segments) == (4, 1, 1, 1, 1)


def test_it_stops_at_a_time_and_goes_on() -> None:
    wire = Wire().open().client(metadata(1)[0]).server(metadata(1)[1])
    data, owner, reader = memoryview(pcap(wire.packets)), Owner(), ReferenceReader()
    engine = ReferenceEngine(owner)
    used, why = engine.run(reader, data, wire.packets[2].ns)
    assert why == "limit" and engine.next_ns == wire.packets[3].ns and engine.packets == 3
    assert engine.run(reader, data[used:], 2**63)[1] == "end"
    engine.finish()
    assert len(owner.items) == 1 and engine.first_ns == START


def test_lines_are_kept_until_they_are_taken() -> None:
    engine, out = ReferenceEngine(Owner()), []
    engine.write(b"a\n")
    engine.write(b"b\n")
    engine.drain_text(lambda text: out.append(bytes(text)))
    engine.drain_text(lambda text: out.append(bytes(text)))
    assert out == [b"a\nb\n"] and engine.counts() == {}


# What connections hold is bounded; both engines give up the same.


def mixed(*wires: Wire) -> list[Packet]:
    return sorted((packet for wire in wires for packet in wire.packets), key=lambda packet: packet.ns)


def clients(count: int) -> list[Wire]:
    return [Wire(client=(f"10.0.1.{number}", 40000), start=START + number).open() for number in range(count)]


def lines(path: Path, memory: int) -> tuple[list[bytes], int]:
    source = as_values([str(path)], memory=memory)
    most, found = 0, []
    reader = source.new_reader()
    data = memoryview(path.read_bytes())
    at, step = 0, 2000
    while at < len(data):
        used = source.engine.run(reader, data[at : at + step], 2**63)[0]
        at, step = at + used, 2000 if used else 2 * step
        most = max(most, source.engine.held)
        found += [item.line() for item in source.sink.taken()]
    source.engine.finish()
    found += [item.line() for item in source.sink.taken()]
    assert source.tally.unaccounted(source.engine) == 0
    return found, most


def out_of_order() -> list[Wire]:
    made = clients(8)
    for number, wire in enumerate(made):
        wire.client(metadata(0)[0]).server(metadata(0)[1])
        for place in range(40 + number):
            wire.add(0, 16, bytes(100), seq=2000 + 200 * place)
    return made


def unanswered() -> list[Wire]:
    made = clients(4)
    for wire in made:
        wire.client(metadata(0)[0]).server(metadata(0)[1])
        for number in range(1, 100):
            wire.client(produce(number, records=bytes(300))[0])
    return made


def parts_of_frames() -> list[Wire]:
    made = clients(6)
    for wire in made:
        wire.client(metadata(0)[0]).server(metadata(0)[1]).client(metadata(1)[0])
        wire.server(b"\0\1\0\0\0\0\0\1")
        for _ in range(50):
            wire.server(bytes(500))
        wire.client(metadata(2)[0])
    return made


@pytest.mark.parametrize(
    ("wires", "said"),
    [
        (out_of_order, b"given up, as more is held than --memory allows"),
        (unanswered, b"no response to 1, 2, 3, 4, 5, 6, 7, 8, ...: given up, as more is held than --memory allows"),
        (parts_of_frames, b"in the response of 65536 bytes to Metadata v12 request 1: given up, as more is held"),
        (lambda: clients(100), None),
    ],
)
def test_what_is_held_is_bounded(wires: Callable[[], list[Wire]], said: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "many.pcap"
    path.write_bytes(pcap(mixed(*wires())))
    answer = []
    for _ in each_reader():
        found, most = lines(path, 40_000)
        assert most < 45_000
        assert said is None or any(said in line for line in found)
        free, more = lines(path, 1 << 28)
        assert more > 45_000 and not any(b"given up" in line for line in free)
        answer.append(found)
    assert answer[0] == answer[-1]


@pytest.mark.parametrize("memory", [0, 1000, 2000, 8000])
@pytest.mark.parametrize("name", ["java44-txn", "java44-consume-classic", "sasl-plain-scram"])
def test_little_memory_loses_nothing_in_silence(name: str, memory: int) -> None:
    def read(memory: int) -> tuple[list[bytes], int]:
        source = as_lines([str(SAMPLES / f"{name}.pcap")], memory=memory)
        said = bytearray()
        source.sink.write = said.extend
        for _ in source.read():
            pass
        assert source.tally.unaccounted(source.engine) == 0
        return bytes(said).splitlines(), source.engine.duplicate + source.engine.stray

    whole, again = read(1 << 28)
    answer = []
    for _ in each_reader():
        answer.append(read(memory))
    assert answer[0] == answer[-1]
    assert len(answer[0][0]) >= len(whole) and answer[0][1] == again  # what is passed over had come before


def test_a_connection_goes_on_after_it_was_given_up(tmp_path: Path) -> None:
    made = parts_of_frames()[:1]
    made[0].server(bytes(65536 + 4 - 8 - 50 * 500)).server(metadata(2)[1])
    path = tmp_path / "one.pcap"
    path.write_bytes(pcap(mixed(*made)))
    found, _ = lines(path, 20_000)
    assert found[-1].startswith(b'{"timestamp"') and b'"correlationId":2' in found[-1]
