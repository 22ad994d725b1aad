"""Replaces names and addresses by others of the same length, consistently, by a key.

Equal values stay equal, and different ones stay different. The replacement can't be reversed without the key, and
one known pair does not reveal another:

- Addresses: a prefix-preserving permutation as in Crypto-PAn (Xu, Fan, Ammar, Moon: Prefix-Preserving IP Address
  Anonymization, ICNP 2002), but by octets and groups instead of bits, so that a written address keeps its length. Each
  octet or group is replaced by one with as many digits, by a permutation chosen by the key and the octets or groups
  before it. An address may stay as it is by chance: if it never did, many redactions of the same host with different
  keys would reveal it as the one address that never appears.
- Names of printable ASCII keep their shape: letters become letters, and digits become digits. Other names only keep
  their length, and whether they are UTF-8: their scripts would make them easy to find in a dictionary.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import struct
from collections.abc import Iterable
from functools import lru_cache
from math import isqrt
from typing import Literal

# A unit: its value, the first value of its range, and the number of values in the range.
Unit = tuple[int, int, int]

LETTERS = ((0x61, 26), (0x41, 26), (0x30, 10))  # a-z, A-Z, 0-9
RANGES: dict[int, tuple[int, int]] = {low + at: (low, size) for low, size in LETTERS for at in range(size)}
FIRST_OCTET = ((0, 1), (1, 9), (10, 90), (100, 124), (224, 32))  # ranges with as many digits; unicast stays unicast
OCTET = ((0, 10), (10, 90), (100, 156))
GROUP = ((0, 1), (1, 0xF), (0x10, 0xF0), (0x100, 0xF00), (0x1000, 0xF000))  # ranges with as many hexadecimal digits
RESERVED_IDS = 100  # ids below this are Kafka's own, not random ones (Uuid.RESERVED)
CACHED = 1 << 14
ORDERS = 1 << 8  # ... of which one may take 80 kB
ROUNDS = 8  # rounds of a Feistel network over the values of an octet or a group
PASSES = 3  # passes over a few units: each is changed by those before it, those after it, and those before it again
LONG = 16  # units that can change: so many are not mapped to the same result by chance
SHORT = 4  # bytes of a text that is not ASCII: up to here there are so few texts that a permutation of all is used
# Printable characters, by their number of bytes in UTF-8: letters; Latin and marks; ideographs; rare ones.
SCRIPTS = ((0x61, 0x7B), (0xC0, 0x378), (0x4E00, 0x9FA6), (0x20000, 0x2A6D7))
SPELLED = re.compile(r"(/?\[?)(.*?)(\]?)", re.DOTALL)  # an address as Java writes it: /127.0.0.1


class Pseudonyms:
    """Replaces names and addresses by a key. key: any bytes; without them, a replacement can't be guessed."""

    def __init__(self, key: bytes) -> None:
        self.key = hashlib.blake2b(key).digest()
        self.order = lru_cache(ORDERS)(self.make_order)
        self.name = lru_cache(CACHED)(self.make_name)
        self.address = lru_cache(CACHED)(self.make_address)
        self.mac = lru_cache(CACHED)(self.make_mac)
        self.uuid = lru_cache(CACHED)(self.make_uuid)
        self.host = lru_cache(CACHED)(self.make_host)

    def keyed(self, purpose: bytes, data: bytes, size: int) -> bytes:
        """Return `size` bytes that depend only on the key, the purpose (shorter than 16 bytes) and the data."""
        return hashlib.shake_256(self.key + purpose.ljust(16, b"\0") + data).digest(size)

    def make_order(self, size: int, purpose: bytes, before: bytes) -> Permutation:
        """Return a permutation of the numbers below `size` that depends on the key, the purpose, and the units
        before.
        """
        side = isqrt(size - 1) + 1
        drawn = struct.unpack(f">{ROUNDS * side}H", self.keyed(purpose, before, 2 * ROUNDS * side))
        return Permutation(size, [drawn[at : at + side] for at in range(0, len(drawn), side)])

    def neighbour(self, unit: Unit, purpose: bytes, before: bytes) -> int:
        """Return the value after the unit's in the key's permutation of its range: never the same value."""
        value, low, size = unit
        if size == 1:
            return value
        order = self.order(size, purpose, struct.pack(">H", low) + before)
        return low + order.at((order.place(value - low) + 1) % size)

    def prefixed(self, units: Iterable[Unit], purpose: bytes) -> list[int]:
        """Return a replacement for each unit that depends on its value and the units before it: equal beginnings stay
        equal.
        """
        made, before = [], b""
        for value, low, size in units:
            order = self.order(size, purpose, struct.pack(">H", low) + before)
            made.append(low + order.place(value - low) if size > 1 else value)
            before += struct.pack(">H", value)
        return made

    def moved(self, units: Iterable[Unit], purpose: bytes) -> list[int]:
        """Return the units moved within their ranges; how far depends on the range, the units before, and the
        purpose.
        """
        hashed = hashlib.blake2b(key=self.key, person=purpose, digest_size=8)
        made = []
        for value, low, size in units:
            by = 1 + int.from_bytes(hashed.digest(), "big") % (size - 1) if size > 1 else 0
            made.append(low + (value - low + by) % size)
            hashed.update(value.to_bytes(2, "big"))
        return made

    def stirred(self, units: list[Unit], purpose: bytes) -> list[int]:
        """Return a replacement for each unit that depends on all the other units."""
        moving = [at for at, (_, _, size) in enumerate(units) if size > 1]
        values = [value for value, _, _ in units]
        if len(moving) >= LONG:
            drawn = self.keyed(purpose, struct.pack(f">{len(values)}H", *values), 4 * len(units))
            numbers = struct.unpack(f">{len(units)}I", drawn)
            return [low + number % size for number, (_, low, size) in zip(numbers, units, strict=True)]
        if len(moving) == 1:
            others = [value if size == 1 else 0 for value, _, size in units]
            values[moving[0]] = self.neighbour(units[moving[0]], purpose, struct.pack(f">{len(others)}H", *others))
            return values
        for turn in range(PASSES):
            row = [(value, low, size) for value, (_, low, size) in zip(values, units, strict=True)]
            values = self.moved(row[:: -1 if turn % 2 else 1], purpose + b"-%d" % turn)[:: -1 if turn % 2 else 1]
        return values

    def make_name(self, text: bytes) -> bytes:
        """Return another name: in ASCII, letters become letters, digits become digits, and other characters stay."""
        if form_of(text) != "ASCII":
            return self.foreign_name(text)
        return bytes(self.stirred([(byte, *RANGES.get(byte, (byte, 1))) for byte in text], b"name"))

    def foreign_name(self, text: bytes) -> bytes:
        """Return another name of the same length for one that is not printable ASCII; the new name is UTF-8 if the old
        one is.
        """
        form = form_of(text)
        if len(text) <= SHORT:  # apply a permutation of all texts until the result has the same form
            made = self.short(text)
            while form_of(made) != form:
                made = self.short(made)
            return made
        turn = 0
        while True:
            drawn = self.keyed(b"foreign", struct.pack(">I", turn) + text, 8 * len(text))
            made = drawn[: len(text)] if form == "bytes" else characters(drawn, len(text))
            if (form_of(made) == "bytes") is (form == "bytes"):
                return made
            turn += 1

    def short(self, data: bytes) -> bytes:
        """Return other bytes, any that are possible."""
        return bytes(self.stirred([(byte, 0, 256) for byte in data], b"short"))

    def make_uuid(self, data: bytes) -> bytes:
        """Replace the 16 bytes of an id. Kafka's own ids stay, for example the id for no topic."""
        if int.from_bytes(data, "big") < RESERVED_IDS:
            return data
        return bytes(self.stirred([(byte, 0, 256) for byte in data], b"uuid"))

    def make_mac(self, data: bytes) -> bytes:
        """Replace a hardware address; the zero and broadcast addresses and the group bit stay."""
        if data in (bytes(len(data)), b"\xff" * len(data)):
            return data
        first, *rest = data
        made = self.stirred([(first >> 2, 0, 64), *((byte, 0, 256) for byte in rest)], b"mac")
        return bytes([made[0] << 2 | first & 3, *made[1:]])

    def make_address(self, data: bytes) -> bytes:
        """Replace an IPv4 address (4 bytes) or IPv6 address (16 bytes) by one whose text has the same length. The
        unspecified address stays.
        """
        if not any(data):
            return data
        if len(data) == 4:
            ranges = (FIRST_OCTET, OCTET, OCTET, OCTET)
            return bytes(self.prefixed([unit(*each) for each in zip(data, ranges, strict=True)], b"ipv4"))
        if data[:12] == ipaddress.IPv6Address("::ffff:0:0").packed[:12]:
            return data[:12] + self.make_address(data[12:])
        groups = [int.from_bytes(data[at : at + 2], "big") for at in range(0, 16, 2)]
        made = self.prefixed([unit(group, GROUP) for group in groups], b"ipv6")
        return b"".join(group.to_bytes(2, "big") for group in made)

    def make_host(self, text: bytes) -> bytes:
        """Replace a host: an address in text form like the same address elsewhere, anything else like a name."""
        try:
            before, found, after = spelled_parts(text)
            spelled, at, zone = found.partition("%")
            made = self.spelled(spelled)
        except ValueError:
            return self.name(text)
        return f"{before}{made}{at}".encode() + self.name(zone.encode()) + after.encode()

    def spelled(self, text: str) -> str:
        """Replace the text of an address, in the same form. Raises ValueError if it is not an address."""
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


class Permutation:
    """A permutation of the numbers below `size`: a Feistel network over two digits, repeated until the result is below
    `size`.
    """

    def __init__(self, size: int, rounds: list[tuple[int, ...]]) -> None:
        """Prepare the permutation. rounds: for each round, the number added to one digit for each value of the other;
        there are as many as the base.
        """
        self.size, self.rounds, self.base = size, rounds, len(rounds[0])

    def place(self, number: int) -> int:
        """Return the position of a number."""
        while True:
            a, b = divmod(number, self.base)
            for each in self.rounds:
                a, b = b, (a + each[b]) % self.base
            number = a * self.base + b
            if number < self.size:
                return number

    def at(self, place: int) -> int:
        """Return the number at a position."""
        while True:
            a, b = divmod(place, self.base)
            for each in reversed(self.rounds):
                a, b = (b - each[a]) % self.base, a
            place = a * self.base + b
            if place < self.size:
                return place


def form_of(text: bytes) -> Literal["ASCII", "bytes", "text", "unprintable"]:
    """Return the form of a name: the properties that its replacement keeps."""
    try:
        shown = text.decode()
    except ValueError:
        return "bytes"
    if not shown.isprintable():
        return "unprintable"
    return "ASCII" if shown.isascii() else "text"


def characters(drawn: bytes, size: int) -> bytes:
    """Return a text of `size` bytes from random numbers: for each character one for its width, and one for the
    character.
    """
    made = b""
    for width, number in struct.iter_unpack(">II", drawn):
        low, high = SCRIPTS[width % min(len(SCRIPTS), size - len(made))]
        made += chr(low + number % (high - low)).encode()
        if len(made) == size:
            break
    return made


def spelled_parts(text: bytes) -> tuple[str, str, str]:
    """Return the text before an address, the address, and the text after it. Raises ValueError if the text is not
    ASCII.
    """
    found = SPELLED.fullmatch(text.decode("ascii"))
    assert found is not None  # any text matches
    return found[1], found[2], found[3]


def is_address(text: bytes) -> bool:
    """Return whether a host is an address in text form."""
    try:
        ipaddress.ip_address(spelled_parts(text)[1].partition("%")[0])
    except ValueError:
        return False
    return True


def unit(value: int, ranges: tuple[tuple[int, int], ...]) -> Unit:
    """Return the value with its range."""
    low, size = next((low, size) for low, size in ranges if low <= value < low + size)
    return value, low, size


def same_form(text: str, groups: list[str]) -> str:
    """Return the groups with the leading zeros and capitals that the groups of a text have."""
    if not text:
        return ""
    made = ":".join(group.zfill(len(old)) for old, group in zip(text.split(":"), groups, strict=False))
    return made.upper() if text != text.lower() else made
