"""The core and its oracle write the same redacted packets."""

import io
import random
from pathlib import Path
from typing import Any

import pytest

from kcli.redact import redacting
from tests.capture import messages
from tests.capture.tls.traffic import Talk
from tests.capture.wires import ACK, FIN, MILLISECOND, RST, SAMPLES, Packet, Wire, frame, pcap, split
from tests.oracle.captures import redacting_by_oracle
from tests.oracle.redact.test_headers import EVERY_KIND, TCP
from tests.redact.judge import differences
from tests.redact.test_redacting import (
    CAPTURES,
    KEY,
    backwards,
    key_logs_of,
    overlapping,
    redact,
    repeated,
    talk,
    tiny,
    written,
)


def check(path: Path, **options: Any) -> None:
    """The same bytes and counts from both."""
    fast, first = redact(path, **options)
    with redacting_by_oracle():
        slow, second = redact(path, **options)
    assert fast == slow
    for name in ("written", "omitted", "left_out", "tls_left_out", "others_left_out"):
        assert getattr(first, name) == getattr(second, name), name
    assert first.frames.blanked == second.frames.blanked
    assert first.tally.exchanges == second.tally.exchanges and first.tally.events == second.tally.events
    for name in ("packets", "wire_bytes", "others", "cuts", "fragments"):
        assert getattr(first.engine, name) == getattr(second.engine, name), name
    assert first.engine.drafting.number == second.engine.drafting.number


@pytest.mark.parametrize("path", [path for path in CAPTURES if not key_logs_of(path)], ids=lambda path: path.name)
def test_samples(path: Path) -> None:
    check(path)
    check(path, keep=frozenset({"addresses", "topics"}))
    check(path, memory=1 << 16)


def test_tls(tmp_path: Path) -> None:
    """Records that come together may stand in one packet or in several."""
    path = SAMPLES / "tls.pcap"
    check(path)
    with redacting_by_oracle():
        data, _ = redact(path, key_logs=key_logs_of(path))
    made = tmp_path / "made.pcapng"
    made.write_bytes(data)
    assert differences([path], made, KEY, key_logs_of(path)) == []


@pytest.mark.parametrize("change", [repeated, tiny, overlapping, backwards])
def test_packets_of_every_cut(change: object, tmp_path: Path) -> None:
    wire = talk(Wire(seq=(2**32 - 300, 2**32 - 500)).open()).close()
    check(written(tmp_path, split(wire.packets, change)))  # type: ignore[arg-type]


@pytest.mark.parametrize(("link", "packet"), EVERY_KIND)
def test_headers(link: int, packet: bytes, tmp_path: Path) -> None:
    """Of every kind, with options of every kind, whole, damaged and cut."""
    rng, packets = random.Random(link), [Packet(10**18, packet)]
    for number in range(300):
        data, at = bytearray(packet), packet.index(TCP[:8])
        if number % 2:
            data[at + 12] = rng.randrange(5, 16) << 4
            data[at + 20 : at + 20] = rng.choice((b"\1\1\5\x0a", b"\2\4ab\3\3c\0", b"\x08\x0a", rng.randbytes(4)))
        for _ in range(rng.choice((0, 1, 4))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        if link == 276 or packet[12:14] in (b"\x88\xa8", b"\x81\0"):
            data[:24] = packet[:24]  # the oracle does not tell connections apart by their tags
        length = rng.choice((len(data), len(data), rng.randrange(at, len(data))))
        packets.append(Packet(10**18 + number * 1000, bytes(data[:length]), len(data)))
    path = tmp_path / "kinds.pcap"
    path.write_bytes(pcap(packets, link=link))
    check(path)
    check(path, keep=frozenset({"addresses"}))


@pytest.mark.parametrize("flags", [RST, FIN | ACK])
def test_ends(flags: int, tmp_path: Path) -> None:
    wire = talk(Wire().open())
    wire.add(0, ACK, messages.metadata(99)[0][:20])
    wire.add(1, flags)
    check(written(tmp_path, wire.packets))


def test_messages_that_can_not_be_decoded(tmp_path: Path) -> None:
    wire = talk(Wire().open())
    wire.client(frame(b"\x00\x03\x00\x7f\0\0\0\x63\0\5alicecustomer")).server(frame(b"\0\0\0\x63customer"))
    wire.client(frame(b"\x00\x03\x00\x0c\0\0\0\x64\0\5alice\0\x09customer")).server(frame(b"\0\0\0\x64customer"))
    known, unknown = b"\0\x03\0\x04\0\0\0", b"\0\x03\x80\x04\0\0\0"  # versions that differ in their highest bit
    for number, head in enumerate((known, unknown, known)):
        answer = b"\0\0\0" + bytes([number]) + bytes(8) + b"\xff\xff" + bytes(8)
        wire.client(frame(head + bytes([number]) + b"\0\2me" + bytes(5))).server(frame(answer))
    check(written(tmp_path, talk(wire).close().packets))


@pytest.mark.parametrize("seed", range(40))
def test_packets_in_any_disorder(seed: int, tmp_path: Path) -> None:
    """Lost, cut, doubled, swapped and with other bytes in them."""
    rng = random.Random(seed)
    packets = talk(Wire().open(), 6).close().packets
    other = Wire(("10.0.0.9", 40001), ("10.0.0.2", 9092), start=packets[3].ns, seq=(5, 9)).open()
    packets = sorted(packets + talk(other, 3).packets, key=lambda packet: packet.ns)[rng.choice((0, 0, 7)) :]
    for _ in range(rng.choice((1, 3, 9))):
        at = rng.randrange(1, len(packets))
        packets[at : at + 1] = rng.choice((lose, double, cut, change))(packets[at], rng)
        packets[at - 1 : at + 1] = packets[at - 1 : at + 1][:: rng.choice((1, 1, -1))]
    check(written(tmp_path, packets), ports=rng.choice(((), (), (9092,), (9999,))))


def lose(_packet: Packet, _rng: random.Random) -> list[Packet]:
    return []


def double(packet: Packet, _rng: random.Random) -> list[Packet]:
    return [packet, packet]


def cut(packet: Packet, rng: random.Random) -> list[Packet]:
    return [packet._replace(data=packet.data[: rng.randrange(len(packet.data))], length=len(packet.data))]


def change(packet: Packet, rng: random.Random) -> list[Packet]:
    data = bytearray(packet.data)
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return [packet._replace(data=bytes(data))]


def test_memory_is_bounded_by_what_is_open(tmp_path: Path) -> None:
    """Of a connection with many exchanges the places of a few packets are known at the end."""
    path = written(tmp_path, talk(Wire().open(), 400).packets)
    source = redacting.Redaction([str(path)], KEY)
    known = [source.engine.drafting.current.entries() for _ in source.read()]
    assert 0 < max(known) < 600
    source.write(io.BytesIO())
    source.close()


def test_a_decrypted_connection_of_both(tmp_path: Path) -> None:
    made = Talk(tmp_path)
    made.shake_hands()
    for number in range(4):
        made.exchange(messages.metadata(number))
    path = tmp_path / "talk.pcap"
    written(tmp_path, made.wire.packets, path.name)
    data, source = redact(path, key_logs=(str(made.key_log),))
    out = tmp_path / "made.pcapng"
    out.write_bytes(data)
    assert source.made_clear and differences([path], out, KEY, (str(made.key_log),)) == []


def test_a_reset_behind_what_is_missing_ends_at_its_own_time(tmp_path: Path) -> None:
    """Whatever other connections say later: it is only believed when the capture ends."""
    made = Talk(tmp_path)
    made.shake_hands()
    made.exchange(messages.metadata(1)).exchange(messages.metadata(2))
    made.wire.packets.pop()  # the last answer
    made.wire.add(1, RST)
    other = talk(Wire(client=("10.0.1.1", 20000), start=made.wire.now + 300 * MILLISECOND).open(), 1)
    path = written(tmp_path, [*made.wire.packets, *other.packets])
    check(path, key_logs=(str(made.key_log),))
