"""Packets out of order around a handshake: no connection is lost by it, and none counts as having been under way."""

import random
from pathlib import Path

import pytest

from kcli.capture.io import ranges
from tests.capture.decoding import as_values, pieces
from tests.capture.messages import metadata
from tests.capture.wires import ACK, DATA, FIN, RST, SYN, Packet, Wire, pcap

TLS = DATA / "tls-1.2-suites.pcap", [str(DATA / "tls-1.2-suites.keys")]
PLAIN = DATA / "java44-admin.pcap.gz", list[str]()
MOVED = {"SYN": (SYN,), "its answer": (SYN | ACK,), "both": (SYN, SYN | ACK), "all": ()}


def counts(path: Path, packets: list[Packet], keys: list[str]) -> tuple[int, int, int, dict[str, int]]:
    path.write_bytes(pcap(packets, nano=True))
    source = as_values([str(path)], key_logs=keys)
    for _ in pieces(source):
        pass
    assert source.tally.unaccounted(source.engine) == 0
    return source.tally.exchanges, source.tally.mid_stream, source.tally.decrypted, dict(source.tally.events)


def moved(packets: list[Packet], flags: tuple[int, ...], chance: random.Random) -> list[Packet]:
    """Packets with these flags up to ten places later; without any, all of them up to five."""
    places = []
    for number, packet in enumerate(packets):
        late = not flags or (packet.data[47] & (SYN | ACK) in flags and packet.data[47] & SYN)
        places.append((number + (chance.uniform(0, 10 if flags else 5) if late else 0), number))
    return [packets[number] for _, number in sorted(places)]


@pytest.mark.parametrize("what", MOVED)
@pytest.mark.parametrize("capture", [TLS, PLAIN], ids=["TLS", "plain"])
def test_a_handshake_out_of_order(what: str, capture: tuple[Path, list[str]], tmp_path: Path) -> None:
    path, keys = capture
    packets = [Packet(row.ns, row.data, row.length) for row in ranges.rows(str(path))]
    expected = counts(tmp_path / "whole.pcap", packets, keys)
    assert expected[1] == 0
    for seed in range(4):
        mixed = moved(packets, MOVED[what], random.Random(seed))
        assert counts(tmp_path / "mixed.pcap", mixed, keys) == expected, seed
        times = sorted(packet.ns for packet in mixed)
        in_time = [packet._replace(ns=ns) for packet, ns in zip(mixed, times, strict=True)]
        assert counts(tmp_path / "mixed.pcap", in_time, keys) == expected, seed


def test_a_beginning_that_was_not_captured_still_counts(tmp_path: Path) -> None:
    wire = Wire().open()
    for number in range(5):
        asked, answer = metadata(number)
        wire.client(asked).server(answer)
    assert counts(tmp_path / "a.pcap", wire.packets[3:], [])[:2] == (5, 1)
    assert counts(tmp_path / "a.pcap", [wire.packets[0], *wire.packets[2:]], [])[:2] == (5, 0)


FAR, NEXT = (3_000_000_000, 2_000_000_000), None


@pytest.mark.parametrize(
    ("end", "start"),
    [("FIN", FAR), ("FIN", NEXT), ("half", FAR), ("half", NEXT), ("RST", FAR)],
    ids=lambda each: str(each).partition(",")[0],
)
def test_data_before_the_syn_of_the_next_connection(end: str, start: tuple[int, int] | None, tmp_path: Path) -> None:
    """On the same ends, right behind the end of the one before, whose numbers it goes on from or not."""
    one = Wire().open()
    asked, answer = metadata(1)
    one.client(asked).server(answer)
    if end == "FIN":
        one.close()
    else:
        one.add(0, (FIN if end == "half" else RST) | ACK)
    other = Wire(start=one.now, seq=start or (one.seq[0] + 15_000, one.seq[1] + 16_000)).open()
    for number in range(4):
        asked, answer = metadata(number + 2)
        other.client(asked).server(answer)
    syn, *rest = other.close().packets
    for place in (3, 4, 5):
        packets = [*one.packets, *rest[:place], syn, *rest[place:]]
        if place == 3:  # the request alone, too
            packets = [*one.packets, rest[2], syn, *rest[:2], *rest[3:]]
        assert counts(tmp_path / "a.pcap", packets, []) == (5, 0, 0, {}), place
