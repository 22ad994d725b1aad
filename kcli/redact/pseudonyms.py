"""Names and addresses replaced by others of the same shape and length, consistently, by a key.

A text is a row of units (letters, digits, octets of an address), each of a small range: each is moved within its range
by a number that a keyed hash (BLAKE2b, RFC 7693) makes of the units before it. So two texts never become one, what is
the same stays the same, and nobody finds the way back without the key. In addresses what begins alike begins alike
afterwards (the prefix of a network stays one); a name goes through once more from behind, so that nothing of it shows.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
from collections.abc import Iterable
from functools import lru_cache

# A unit: its value, the first value of its range, and how many the range has.
Unit = tuple[int, int, int]

LETTERS = ((0x61, 26), (0x41, 26), (0x30, 10))  # a-z, A-Z, 0-9
RANGES: dict[int, tuple[int, int]] = {low + at: (low, size) for low, size in LETTERS for at in range(size)}
FIRST_OCTET = ((0, 1), (1, 9), (10, 90), (100, 124), (224, 32))  # as many digits, and a unicast address stays one
OCTET = ((0, 10), (10, 90), (100, 156))
GROUP = ((0, 1), (1, 0xF), (0x10, 0xF0), (0x100, 0xF00), (0x1000, 0xF000))  # as many hexadecimal digits
RESERVED_IDS = 100  # Kafka's own: ids below this are no random ones (Uuid.RESERVED)
CACHED = 1 << 14
SPELLED = re.compile(r"(/?\[?)(.*?)(\]?)", re.DOTALL)  # as Java writes an address: /127.0.0.1


class Pseudonyms:
    """Replaces names and addresses by a key: any bytes, of which those without it can't guess a single one."""

    def __init__(self, key: bytes) -> None:
        self.key = hashlib.blake2b(key).digest()
        self.name = lru_cache(CACHED)(self.make_name)
        self.address = lru_cache(CACHED)(self.make_address)
        self.mac = lru_cache(CACHED)(self.make_mac)
        self.uuid = lru_cache(CACHED)(self.make_uuid)
        self.host = lru_cache(CACHED)(self.make_host)

    def moved(self, units: Iterable[Unit], purpose: bytes) -> list[int]:
        """The units' new values: each by its range, those before it, and the purpose (up to 16 bytes)."""
        hashed = hashlib.blake2b(key=self.key, person=purpose, digest_size=8)
        made = []
        for value, low, size in units:
            by = 1 + int.from_bytes(hashed.digest(), "big") % (size - 1) if size > 1 else 0
            made.append(low + (value - low + by) % size)
            hashed.update(value.to_bytes(2, "big"))
        return made

    def stirred(self, units: list[Unit], purpose: bytes) -> list[int]:
        """As `moved`, each by all the others: once from the front, once from behind."""
        made = self.moved(units, purpose)
        if len(units) < 2:
            return made
        behind = [(value, low, size) for value, (_, low, size) in zip(made, units, strict=True)]
        return self.moved(reversed(behind), purpose + b"-back")[::-1]

    def make_name(self, text: bytes) -> bytes:
        """A name (UTF-8): letters for letters, digits for digits; other characters of ASCII stay."""
        units = []
        for at, byte in enumerate(text):
            low, size = RANGES.get(byte, (byte, 1))
            if 0x80 <= byte < 0xC0 and not 0x80 <= (text[at + 1] if at + 1 < len(text) else 0) < 0xC0:
                low, size = 0x80, 64  # the end of a character: another of the same script, as a rule
            units.append((byte, low, size))
        return bytes(self.stirred(units, b"name"))

    def make_uuid(self, data: bytes) -> bytes:
        """The 16 bytes of an id; Kafka's own ids, as that of no topic, stay."""
        if int.from_bytes(data, "big") < RESERVED_IDS:
            return data
        return bytes(self.stirred([(byte, 0, 256) for byte in data], b"uuid"))

    def make_mac(self, data: bytes) -> bytes:
        """A hardware address; none, broadcast, and whether it is one of a group stay."""
        if data in (bytes(len(data)), b"\xff" * len(data)):
            return data
        first, *rest = data
        made = self.stirred([(first >> 2, 0, 64), *((byte, 0, 256) for byte in rest)], b"mac")
        return bytes([made[0] << 2 | first & 3, *made[1:]])

    def make_address(self, data: bytes) -> bytes:
        """An IPv4 (4 bytes) or IPv6 address (16); its text takes as many characters. The unspecified one stays."""
        if not any(data):
            return data
        if len(data) == 4:
            ranges = (FIRST_OCTET, OCTET, OCTET, OCTET)
            return bytes(self.moved([unit(*each) for each in zip(data, ranges, strict=True)], b"ipv4"))
        if data[:12] == ipaddress.IPv6Address("::ffff:0:0").packed[:12]:
            return data[:12] + self.make_address(data[12:])
        groups = [int.from_bytes(data[at : at + 2], "big") for at in range(0, 16, 2)]
        made = self.moved([unit(group, GROUP) for group in groups], b"ipv6")
        return b"".join(group.to_bytes(2, "big") for group in made)

    def make_host(self, text: bytes) -> bytes:
        """A host: an address, as text, as that address is replaced anywhere; else a name."""
        try:
            before, found, after = SPELLED.fullmatch(text.decode("ascii")).groups()  # type: ignore[union-attr]
            spelled, at, zone = found.partition("%")
            made = self.spelled(spelled)
        except ValueError:
            return self.name(text)
        return f"{before}{made}{at}".encode() + self.name(zone.encode()) + after.encode()

    def spelled(self, text: str) -> str:
        """The text of an address, in the form that it had. ValueError: it is none."""
        made = self.address(ipaddress.ip_address(text).packed)
        if len(made) == 4:
            return ".".join(map(str, made))
        head, dots, tail = text.rpartition(":")
        if "." in tail:
            return f"{head}{dots}{'.'.join(map(str, made[12:]))}"
        groups = [f"{int.from_bytes(made[at : at + 2], 'big'):x}" for at in range(0, 16, 2)]
        front, both, back = text.partition("::")
        shown = same_form(front, groups)
        return shown + both + same_form(back, groups[8 - len(back.split(":")) :]) if both else shown


def is_address(text: bytes) -> bool:
    """Whether a host is an address as text."""
    try:
        spelled = SPELLED.fullmatch(text.decode("ascii")).group(2)  # type: ignore[union-attr]
        ipaddress.ip_address(spelled.partition("%")[0])
    except ValueError:
        return False
    return True


def unit(value: int, ranges: tuple[tuple[int, int], ...]) -> Unit:
    """The value with its range."""
    low, size = next((low, size) for low, size in ranges if low <= value < low + size)
    return value, low, size


def same_form(text: str, groups: list[str]) -> str:
    """The groups in place of those of a text, with its zeros in front and its capitals."""
    if not text:
        return ""
    made = ":".join(group.zfill(len(old)) for old, group in zip(text.split(":"), groups, strict=False))
    return made.upper() if text != text.lower() else made
