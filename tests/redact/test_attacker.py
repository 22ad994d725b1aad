"""Whoever has a redacted capture and knows something of the original learns nothing else of it."""

import base64
import ipaddress
import itertools
import random
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kcli.redact.pseudonyms import Pseudonyms
from tests.capture import messages
from tests.capture.tunnels import carried, udp4, vxlan
from tests.capture.wires import ACK, RST, SYN, Wire, block, frame, option, pcapng
from tests.redact.leaks import lines
from tests.redact.test_redacting import redact, written

KEYS = [b"a key for tests, of 32 bytes ...", b"another key, that nobody guesses", bytes(range(32))]
FOUR = 4  # bytes of a secret that do not stand somewhere by chance


# ---- A known pair: the analyst knows one host, or its own name


def relations(size: int) -> dict[str, Callable[[int, int], int]]:
    """What one pair may have in common with another."""
    return {
        "a shift": lambda old, new: (new - old) % size,
        "a shift of the octet": lambda old, new: (new - old) % 256,
        "a mirror": lambda old, new: (new + old) % size,
        "an exclusive or": lambda old, new: new ^ old,
    }


def shared(pairs: list[tuple[int, int]], size: int) -> int:
    """How many pairs have the same relation, at most."""
    return max(Counter(itertools.starmap(tell, pairs)).most_common(1)[0][1] for tell in relations(size).values())


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    ("prefix", "hosts"), [("10.1.2", (10, 99)), ("192.168.7", (100, 255)), ("127.0.0", (100, 250))]
)
def test_a_known_host_tells_no_other_one(prefix: str, hosts: tuple[int, int], key: bytes) -> None:
    names = Pseudonyms(key)
    pairs = [(host, names.make_address(ipaddress.ip_address(f"{prefix}.{host}").packed)[3]) for host in range(*hosts)]
    assert len({new for _, new in pairs}) == len(pairs) and shared(pairs, hosts[1] - hosts[0]) < len(pairs) // 8


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("place", [1, 2])
def test_a_known_network_tells_no_other_one(place: int, key: bytes) -> None:
    names, pairs = Pseudonyms(key), []
    for net in range(100, 256):
        address = bytes([10, *(net if at == place else 1 for at in (1, 2)), 1])
        pairs.append((net, names.make_address(address)[place]))
    assert shared(pairs, 156) < len(pairs) // 8


@pytest.mark.parametrize("key", KEYS)
def test_the_loopback_tells_no_first_octet(key: bytes) -> None:
    """127.0.0.1 is in most captures, and known to be: of what it becomes no other network follows."""
    names = Pseudonyms(key)
    pairs = [(first, names.make_address(bytes([first, 0, 0, 1]))[0]) for first in range(100, 224)]
    assert len({new for _, new in pairs}) == len(pairs) and shared(pairs, 124) < len(pairs) // 8


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("form", ["fd00:1:2:{:x}::1", "fd00:1:2:3::{:x}"])
def test_a_known_host_of_ipv6_tells_no_other_one(form: str, key: bytes) -> None:
    names, group, pairs = Pseudonyms(key), 3 if form.endswith("1") else 7, []
    for host in range(0x1000, 0x10000, 0x101):
        made = names.make_address(ipaddress.ip_address(form.format(host)).packed)
        pairs.append((host, struct.unpack(">8H", made)[group]))
    assert shared(pairs, 0xF000) < len(pairs) // 8


@pytest.mark.parametrize("key", KEYS)
def test_a_known_card_tells_no_other_one(key: bytes) -> None:
    names = Pseudonyms(key)
    cards = [names.make_mac(b"\x52\x54\0\x12\x34" + bytes([last])) for last in range(256)]
    assert shared([(last, made[5]) for last, made in enumerate(cards)], 256) < 32
    assert max(Counter(made[:3] for made in cards).values()) < 8, "nor who made it"


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("form", ["{}", "orders-{}", "{}-orders", "x{}y"])
def test_a_known_name_tells_no_other_one(form: str, key: bytes) -> None:
    names = Pseudonyms(key)
    at, letters = form.index("{"), range(0x61, 0x7B)
    pairs = [(letter, names.make_name(form.format(chr(letter)).encode())[at]) for letter in letters]
    assert shared(pairs, 26) < 12


# ---- Many redactions, each with a key of its own, of captures in which one host can be told by its broker's id


@pytest.mark.parametrize("address", ["10.1.2.3", "127.0.0.1", "192.168.7.200", "::1", "fd00:1:2:30::a"])
def test_what_is_never_there_tells_no_address(address: str) -> None:
    """Were an octet never itself, what it never became in many redactions of one host would tell it."""
    data = ipaddress.ip_address(address).packed
    made = [Pseudonyms(b"key %d" % number).make_address(data) for number in range(200)]
    width, digit = (1, 10) if len(data) == FOUR else (2, 16)
    for at in range(0, len(data), width):
        value, seen = data[at : at + width], {each[at : at + width] for each in made}
        assert int.from_bytes(value, "big") >= digit or value in seen  # of one digit 200 redactions show all


# ---- What stands around the bytes of Kafka: link layers, tunnels, options, packets that belong to nothing

CANARY = b"CANARY"


def with_ip_options(frame: bytes) -> bytes:
    """Record route, which holds addresses."""
    size = struct.pack(">H", len(frame) - 14 + 12)
    return frame[:14] + b"\x48\0" + size + frame[18:34] + b"\7\x0b\4" + CANARY + b"AA\0" + frame[34:]


def with_tcp_option(kind: int) -> Callable[[bytes], bytes]:
    def change(frame: bytes) -> bytes:
        option = bytes([kind, 10]) + CANARY + b"AA\1\1"
        size = struct.pack(">H", len(frame) - 14 + 12)
        return frame[:16] + size + frame[18:46] + b"\x80" + frame[47:54] + option + frame[54:]

    return change


def geneve_options(frame: bytes) -> bytes:
    return udp4(6081, struct.pack(">BBHI", 3, 0, 0x6558, 9 << 8) + b"\1\1\1\2" + CANARY + b"AA" + frame)


AROUND: dict[str, Callable[[bytes], bytes]] = {
    "the receiver's card": lambda frame: CANARY + frame[6:],
    "the sender's card": lambda frame: frame[:6] + CANARY + frame[12:],
    "cards in a tunnel": lambda frame: vxlan(CANARY * 2 + frame[12:]),
    "what fills a frame up": lambda frame: frame + CANARY * 3,
    "what fills a tunnel up": lambda frame: vxlan(frame) + CANARY,
    "options of IP": with_ip_options,
    "a signature of TCP": with_tcp_option(19),
    "multipath TCP": with_tcp_option(30),
    "a cookie of TCP Fast Open": with_tcp_option(34),
    "an experiment": with_tcp_option(253),
    "options of Geneve": geneve_options,
    "metadata of Cisco": lambda frame: frame[:12] + b"\x89\x09\1\2" + CANARY + b"AA" + frame[12:],
    "a tag of 802.1BR": lambda frame: frame[:12] + b"\x89\x3f" + CANARY + frame[12:],
    "a mirror's header": lambda frame: carried(
        47, struct.pack(">HHIHHIHH", 0x1000, 0x22EB, 1, 0x2005, 3, 99, 0, 1) + CANARY + b"AA" + frame
    ),
}


@pytest.mark.parametrize("place", AROUND)
def test_nothing_around_the_messages_stays(place: str, tmp_path: Path) -> None:
    wire = talk(opened(), *(messages.metadata(number) for number in range(3)))
    packets = [packet._replace(data=AROUND[place](packet.data)) for packet in wire.packets]
    data, _ = redact(written(tmp_path, packets))
    assert CANARY[:4] not in data and CANARY[2:] not in data


def strays() -> Iterator[tuple[str, Wire]]:
    """Bytes that no message of a connection has."""
    usual = [messages.metadata(number) for number in range(3)]
    early = Wire()
    early.add(0, SYN, CANARY * 3, ack=0)
    early.add(1, SYN | ACK)
    yield "data of a SYN", talk(early, *usual)
    late = talk(opened(), *usual)
    late.add(1, RST | ACK, CANARY * 3)
    yield "the reason of a RST", late
    closed = talk(opened(), *usual).close().client(CANARY * 3).server(CANARY)
    yield "data behind the end", closed
    old = talk(opened(), *usual)
    for distance in (-5000, 900_000_000):
        old.add(0, ACK, CANARY * 3, seq=old.seq[0] + distance)
    yield "data long before, and far ahead", old
    again = talk(opened(), *usual[:2]).client(usual[2][0])
    again.add(0, ACK, CANARY * 20, seq=again.seq[0] - len(usual[2][0]))
    yield "other bytes sent again", again.server(usual[2][1])


def test_no_stray_byte_stays(tmp_path: Path) -> None:
    for place, wire in strays():
        data, _ = redact(written(tmp_path, wire.packets))
        assert CANARY[:4] not in data and CANARY[2:] not in data, place


def test_no_block_of_pcapng_stays(tmp_path: Path) -> None:
    """Comments, names and addresses of interfaces, name resolution, custom and system's blocks, secrets."""
    order, canaries = "<", b"".join(option("<", code, CANARY * 2) for code in (1, 2, 3, 4, 12, 15, 2988, 2989))
    wire = talk(opened(), *(messages.metadata(number) for number in range(3)))
    plain = pcapng([])
    made = block(order, 0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + canaries)
    made += block(order, 1, struct.pack("<HHI", 1, 0, 0) + canaries)
    made += block(order, 4, struct.pack("<HH", 1, 4 + 8) + b"\x0a\0\0\1" + CANARY + b"A\0" + bytes(4) + canaries)
    for kind in (9, 10, 0xBAD, 0x40000BAD, 0x204, 0x12345):
        made += block(order, kind, struct.pack("<II", 0x544C534B, 12) + CANARY * 2)
    for packet in wire.packets:
        stamp, size = packet.ns // 1000, len(packet.data)
        head = struct.pack("<IIIII", 0, stamp >> 32, stamp & 0xFFFFFFFF, size, size)
        made += block(order, 6, head + packet.data + bytes(-size % 4) + canaries)
    made += block(order, 5, bytes(12) + canaries) + plain
    path = tmp_path / "blocks.pcapng"
    path.write_bytes(made)
    data, source = redact(path)
    assert CANARY[:4] not in data and source.tally.exchanges == 3


# ---- A dictionary: names of people, towns, products


SCRIPTS = {
    "Japanese": ("佐藤 鈴木 高橋 田中 渡辺 さくら ひかり", "太郎 花子 一郎 健太 美咲 のぞみ"),
    "Arabic": ("محمد أحمد علي فاطمة", "الرياض جدة مكة دبي"),
    "Hindi": ("दिल्ली मुंबई चेन्नई पुणे", "राम सीता गीता मोहन"),
    "Cyrillic": ("Анна Борис Вера Глеб", "Иванов Петров Сидоров Кузнецов"),
    "German": ("müller schröder böhm köhler weiß", "-köln -münchen -düsseldorf -fürth"),
    "mixed": ("ж山 é😀 ñ北京 ßオ", "-1 -prod 店 ü"),
}


VIEWS: tuple[Callable[[int], int], ...] = (
    lambda byte: byte < 0x80,
    lambda byte: byte if byte >= 0xC0 else 0,
    lambda byte: 0x80 <= byte < 0xC0,
    lambda byte: byte >> 4,
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_dictionary_finds_no_name(script: str, encoding: str) -> None:
    """By lead bytes, by what is ASCII, by where characters begin, by halves of bytes: no more than by chance."""
    parts = [part.split() for part in SCRIPTS[script]]
    dictionary = [f"{first}{second}".encode(encoding) for first, second in itertools.product(*parts)]
    found, leads, stayed = 0, 0, 0
    for name, names in itertools.product(dictionary, map(Pseudonyms, KEYS)):
        made = names.make_name(name)
        assert len(made) == len(name) and made != name
        alike = [other for other in dictionary if len(other) == len(name)]
        shapes = [(view, [*map(view, made)]) for view in VIEWS]
        hits = [[other for other in alike if [*map(view, other)] == shape] for view, shape in shapes]
        found += [name] in hits and len(alike) > 1
        leads += sum(byte >= 0xC2 for byte in name)
        stayed += sum(old == new for old, new in zip(name, made, strict=True) if old >= 0xC2)
    assert found <= len(dictionary) * len(KEYS) / 20 and stayed <= leads / 4


# ---- Frames that can't be read: a login that was cut, a mechanism that nobody knows


def secret(rng: random.Random, size: int = 24) -> bytes:
    return bytes(rng.choice(b"abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789") for _ in range(size))


def authenticate(number: int, token: bytes, version: int = 2) -> tuple[bytes, bytes]:
    asked = messages.request(36, version, number, {"authBytes": token})
    return asked, messages.response(36, version, number, {"errorCode": 0, "authBytes": token[::-1]})


def handshake(number: int, mechanism: str, version: int = 1) -> tuple[bytes, bytes]:
    asked = messages.request(17, version, number, {"mechanism": mechanism})
    return asked, messages.response(17, version, number, {"mechanisms": [mechanism]})


def talk(wire: Wire, *parts: tuple[bytes, bytes]) -> Wire:
    for asked, answer in parts:
        wire.client(asked).server(answer)
    return wire


def opened() -> Wire:
    return Wire().open()


def logins(rng: random.Random) -> Iterator[tuple[str, list[bytes], Wire]]:
    """(what is odd about it, secrets, a connection with a login)."""
    user, password = secret(rng), secret(rng)
    plain = b"\0" + user + b"\0" + password
    both, usual = [user, password], [messages.metadata(10 + at) for at in range(3)]
    raw = (frame(plain), frame(password[::-1]))
    yield "a raw token that nothing announces", both, talk(opened(), raw, *usual)
    yield "a raw token behind others", both, talk(opened(), usual[0], raw, *usual[1:])
    cut = handshake(2, "PLAIN", 0)
    yield "a raw token behind a cut handshake", both, talk(opened(), (cut[0][:-3], b""), raw, *usual)
    yield "a raw token behind half an answer", both, talk(opened(), (cut[0], cut[1][:-3]), raw, *usual)
    yield "a token of no mechanism", both, talk(opened(), authenticate(3, plain), *usual)
    for mechanism in ("AWS_MSK_IAM", "OAUTHBEARER", "GSSAPI", "X-OWN"):
        for token in (plain, b"n,,n=" + user + b",r=" + password, user + b"\0\1" + password):
            yield f"{mechanism}", both, talk(opened(), handshake(2, mechanism), authenticate(3, token), *usual)
    shown = (b"\0\3\0\1" + user[:4] + b"\0\x09" + password, b"\0\3\0\x7f" + user, b"\x03\x84\0\1" + user + password)
    for content in shown:
        yield (
            "a frame with another body",
            both,
            talk(opened(), usual[0], (frame(content), frame(user + password)), *usual[1:]),
        )
    for size in (4, 8, 12, 40):
        open_end = opened()
        talk(open_end, usual[0]).add(0, ACK, (frame(plain + password) + b"")[:size])
        yield "a frame without an end", both, open_end
    yield "an answer that nobody asked for", both, talk(opened(), usual[0], (b"", frame(user + password)), *usual[1:])


@pytest.mark.parametrize("seed", range(3))
def test_nothing_of_a_login_stays(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    for odd, secrets, wire in logins(rng):
        data, _ = redact(written(tmp_path, wire.packets))
        for each in secrets:
            for at in range(len(each) - FOUR + 1):
                assert each[at : at + FOUR] not in data and each[::-1][at : at + FOUR] not in data, odd


@pytest.mark.parametrize("mechanism", ["X-OWN", "AWS_MSK_IAM", "GSSAPI", "OAUTHBEARER", "PLAIN", "SCRAM-SHA-512"])
def test_of_a_token_not_a_byte_stays(mechanism: str, tmp_path: Path) -> None:
    """Nor where its parts begin, but for the user of PLAIN and SCRAM, who gets another name of as many characters."""
    rng = random.Random(mechanism)
    user, hidden = secret(rng, 9), secret(rng, 65)
    for token in (b"key\0" + user + b"\0" + hidden, b"n,,n=" + user + b",r=" + hidden, hidden):
        wire = talk(Wire().open(), handshake(2, mechanism), authenticate(3, token), messages.metadata(10))
        data, _ = redact(written(tmp_path, wire.packets), key=KEYS[1])
        out = tmp_path / "made.pcapng"
        out.write_bytes(data)
        asked = next(line for line in lines(out) if "authBytes" in (line.get("request") or {}))
        made, answered = (base64.b64decode(asked[side]["authBytes"]) for side in ("request", "response"))
        assert answered == b"x" * len(token) and len(made) == len(token)
        own = {"PLAIN": b"\0", "SCRAM-SHA-512": b"n,,n="}.get(mechanism)
        if own is None or own not in token:
            assert made == b"x" * len(token)
        else:
            assert made.endswith(b"x" * len(hidden)) and user not in made and hidden not in made
