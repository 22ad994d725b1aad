"""Damaged connections with TLS and the right keys: both engines say the same, and every byte is accounted for."""

import atexit
import functools
import io
import random
import re
import tempfile
from pathlib import Path

from tests.capture import messages
from tests.capture.decoding import as_lines
from tests.capture.tls.traffic import Talk, sealed
from tests.capture.wires import Packet, pcap
from tests.fuzz.damage import damaged
from tests.oracle.captures import each_reader

__all__ = ["tls"]

SUITES = (None, None, "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-SHA", "AES256-SHA256")
HEADERS = 54  # bytes of Ethernet, IP and TCP
# How many first bytes the reason shows depends on the records that came together, which the core hands on as one.
FIRST_BYTES = re.compile(rb"begins with b'[^\"]*'")
KINDS = (21, 22, 22, 22, 23, 23, 23, 0, 20, 255)  # of records
HANDSHAKES = (1, 2, 4, 11, 20, 24, 0, 255)


@functools.cache
def folder() -> Path:
    made = tempfile.TemporaryDirectory(prefix="kcli-fuzz-")
    atexit.register(made.cleanup)
    return Path(made.name)


@functools.cache
def talk(number: int) -> Talk:
    """A connection of one of the suites, as far as its handshake, and some exchanges behind it."""
    place = folder() / str(number)
    place.mkdir()
    made = Talk(place, suite=SUITES[number % len(SUITES)], port=40_000 + number, mtu=(700, 60_000)[number % 2])
    made.shake_hands()
    for correlation in range(number % 3 * 4):
        big = messages.produce(correlation, records=bytes(20_000))
        made.exchange(big if correlation % 4 == 1 else messages.metadata(correlation))
    return made


def tls(rng: random.Random) -> bytes:
    """Packets lost, cut, doubled, out of order and with other bytes in them; records that nobody should send."""
    made = talk(rng.randrange(3 * len(SUITES)))
    packets = list(made.wire.packets)
    if rng.random() < 0.5 and "CLIENT_TRAFFIC_SECRET_0" in made.key_log.read_text():
        packets += odd_records(made, rng)
    for _ in range(rng.choice((0, 1, 2, 8))):
        at = rng.randrange(len(packets))
        rng.choice((lose, double, swap, change, change, cut))(packets, at, rng)
    data = pcap(packets[rng.choice((0, 0, 0, rng.randrange(len(packets)))) :])
    path = folder() / "damaged.pcap"
    path.write_bytes(data)
    written = [decoded(path, made.key_log) for _ in each_reader()]
    assert FIRST_BYTES.sub(b"", written[0]) == FIRST_BYTES.sub(b"", written[-1])
    return data


def odd_records(made: Talk, rng: random.Random) -> list[Packet]:
    """Behind a handshake without anything else: what a client may say under its keys."""
    before, (sent, now) = len(made.wire.packets), (list(made.wire.seq), made.wire.now)
    secret, texts = made.secret("CLIENT_TRAFFIC_SECRET_0"), b""
    for number in range(rng.randint(1, 6)):
        kind = rng.choice(KINDS)
        text = {21: alert, 22: handshake}.get(kind, frames)(rng)
        texts += sealed(secret, number, text + bytes(rng.choice((0, 0, 9))), kind)
    made.wire.client(texts)
    packets = made.wire.packets[before:]
    del made.wire.packets[before:]
    made.wire.seq, made.wire.now = sent, now
    return packets


def alert(rng: random.Random) -> bytes:
    return bytes((rng.choice((1, 2)), rng.choice((0, 0, 40, 255))))[: rng.choice((2, 2, 1))]


def handshake(rng: random.Random) -> bytes:
    body = rng.randbytes(rng.choice((0, 1, 40, 300)))
    return bytes((rng.choice(HANDSHAKES),)) + (len(body) + rng.choice((0, 0, 0, 1, 1 << 20))).to_bytes(3, "big") + body


def frames(rng: random.Random) -> bytes:
    asked = b"".join(messages.metadata(number)[0] for number in range(rng.randint(0, 3)))
    return damaged(asked, rng) if rng.random() < 0.3 else asked


def lose(packets: list[Packet], at: int, rng: random.Random) -> None:
    if len(packets) > 1:
        del packets[at : at + rng.choice((1, 1, 3))]
        packets[:] = packets or [Packet(0, bytes(HEADERS))]


def double(packets: list[Packet], at: int, _rng: random.Random) -> None:
    packets.insert(at, packets[at])


def swap(packets: list[Packet], at: int, _rng: random.Random) -> None:
    packets[at - 1], packets[at] = packets[at], packets[at - 1]


def change(packets: list[Packet], at: int, rng: random.Random) -> None:
    head, data = packets[at].data[:HEADERS], packets[at].data[HEADERS:]
    if data:
        made = damaged(data, rng)[: len(data)]
        packets[at] = packets[at]._replace(data=head + made + bytes(len(data) - len(made)))


def cut(packets: list[Packet], at: int, rng: random.Random) -> None:
    data = packets[at].data
    packets[at] = packets[at]._replace(data=data[: rng.randint(HEADERS, len(data))], length=len(data))


def decoded(path: Path, key_log: Path) -> bytes:
    """Return the lines of JSON."""
    out = io.BytesIO()
    source = as_lines([str(path)], key_logs=[str(key_log)])
    source.sink.write = out.write
    for _ in source.read():
        pass
    assert source.tally.unaccounted(source.engine) == 0, "bytes are not accounted for"
    return out.getvalue()
