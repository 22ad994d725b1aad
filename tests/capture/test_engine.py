"""The interpreted engine. What it says is tested beside the compiled one's; here, what it counts."""

from __future__ import annotations

from kcli.capture.bodies import Bodies
from kcli.capture.connection import Connection
from kcli.capture.engine import Engine
from kcli.capture.events import Event, Exchange
from kcli.capture.packets import Reader
from tests.capture.messages import metadata
from tests.capture.wires import START, Packet, Wire, ethernet, ip4, pcap, segment


class Owner:
    def __init__(self) -> None:
        self.items: list[Exchange | Event] = []

    def connect(self, ends: tuple[str, str], client: int | None, started: tuple[bool, bool]) -> Connection:
        return Connection(ends, client, started, Bodies(), self.items.append)


def test_packets_that_are_no_tcp_are_counted() -> None:
    tcp = segment(1, 2, 3, 4, 16)
    whole = ip4("10.0.0.1", "10.0.0.2", tcp)
    packets = [
        ethernet(bytes(28), 0x0806),
        ethernet(whole[:24]),
        ethernet(ip4("10.0.0.1", "10.0.0.2", tcp, place=5)),
        ethernet(whole),
    ]
    engine = Engine(Owner())
    used = engine.run(Reader(), memoryview(pcap([Packet(START, data) for data in packets])), 2**63)
    assert used[1] == "end"
    assert (engine.packets, engine.others, engine.cuts, engine.fragments, engine.segments) == (4, 1, 1, 1, 1)


def test_it_stops_at_a_time_and_goes_on() -> None:
    wire = Wire().open().client(metadata(1)[0]).server(metadata(1)[1])
    data, owner, reader = memoryview(pcap(wire.packets)), Owner(), Reader()
    engine = Engine(owner)
    used, why = engine.run(reader, data, wire.packets[2].ns)
    assert why == "limit" and engine.next_ns == wire.packets[3].ns and engine.packets == 3
    assert engine.run(reader, data[used:], 2**63)[1] == "end"
    engine.finish()
    assert len(owner.items) == 1 and engine.first_ns == START


def test_lines_are_kept_until_they_are_taken() -> None:
    engine, out = Engine(Owner(), text=True), []
    engine.write(b"a\n")
    engine.write(b"b\n")
    engine.drain_text(lambda text: out.append(bytes(text)))
    engine.drain_text(lambda text: out.append(bytes(text)))
    assert out == [b"a\nb\n"] and engine.counts() == {}
