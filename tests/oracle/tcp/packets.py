"""Packets out of pcap and pcapng bytes by the grammar, where the core is not built."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from kcli.grammar.files import capture_formats
from kcli.legible import start_text
from tests.oracle.tcp.dissection import dissect

LARGEST = 1 << 26
NANO = 1_000_000_000
LAST_NS = 9_214_646_399_999_999_999  # the end of 2261
OTHER = None


class Packet(NamedTuple):
    """ns: nanoseconds since 1970; length: on the wire; link: LINKTYPE_ number."""

    ns: int
    data: bytes
    length: int
    link: int


class DamagedError(Exception):
    """Bytes that are no packet, and why."""


class ShortError(Exception):
    """The bytes end before the packet does."""


@dataclass(slots=True)
class Interface:
    link: int
    snaplen: int
    divisor: int = 1_000_000
    offset: int = 0


class ReferenceReader:
    """Where one capture file stands: its byte order, interfaces and time resolutions."""

    def __init__(self, found_secrets: Callable[[bytes], None] | None = None) -> None:
        """found_secrets(block): takes parts of TLS key logs that stand in a pcapng file."""
        self.found_secrets = found_secrets
        self.problem: str | None = None
        self.started = self.blocks = False
        self.order = capture_formats.order(False)
        self.big = False
        self.head = 16  # bytes of a pcap record's header
        self.interfaces: list[Interface] = []
        self.last = 0

    def take(self, data: memoryview) -> tuple[int, Packet | None]:
        """(bytes used, the packet at the start of `data` or None for something else). ShortError, DamagedError."""
        if not self.started:
            return self.take_header(data), OTHER
        return self.take_block(data) if self.blocks else self.take_record(data)

    def take_header(self, data: memoryview) -> int:
        """Read the file's header at the start of `data`: bytes used. DamagedError: it is no capture."""
        start = bytes(data[:24])
        if len(start) >= 4 and start[:4] == b"\x0a\x0d\x0d\x0a":
            self.started = self.blocks = True
            return 0
        if len(start) < 24:
            raise ShortError
        found = capture_formats.pcap_magic.get(start[:4])
        if found is None:
            raise self.damage(f"starts with {start_text(start[:8])}")
        big, units, self.head = found
        self.turn(big)
        header = self.order.file.parse(start)
        self.interfaces = [Interface(header.link & 0xFFFF, header.snaplen, units)]
        self.started = True
        return 24

    def turn(self, big: bool) -> None:
        """Read on in this byte order."""
        self.big, self.order = big, capture_formats.order(big)

    def damage(self, text: str) -> DamagedError:
        """The error for what is wrong here; the reason stays in `problem`."""
        self.problem = text
        return DamagedError(text)

    def take_record(self, data: memoryview) -> tuple[int, Packet]:
        """(bytes used, packet) of the pcap record at the start of `data`. ShortError, DamagedError."""
        interface = self.interfaces[0]
        if len(data) < self.head:
            raise ShortError
        start = bytes(data[:16])
        header = self.order.record.parse(start)
        # A fraction of a second or more is a sloppy writer's, where all else fits.
        odd = header.fraction >= interface.divisor and not self.makes_sense(start, 0)
        if header.captured > LARGEST or odd:
            raise self.damage("a packet's header makes no sense")
        end = self.head + header.captured
        if len(data) < end:
            raise ShortError
        self.last = header.seconds * NANO + header.fraction * (NANO // interface.divisor)
        return end, Packet(self.last, bytes(data[self.head : end]), header.length, interface.link)

    def take_block(self, data: memoryview) -> tuple[int, Packet | None]:
        """(bytes used, packet or OTHER) of the pcapng block at the start of `data`. ShortError, DamagedError."""
        if len(data) < 12:
            raise ShortError
        if bytes(data[:4]) == b"\x0a\x0d\x0d\x0a":
            self.start_section(int.from_bytes(data[8:12], "big"))
        size = self.order.u32.parse(bytes(data[4:8]))
        if size < 12 or size > LARGEST or size % 4:
            raise self.damage(f"a block of {size} bytes")
        if len(data) < size:
            raise ShortError
        block = self.order.block.parse(bytes(data[:size]))
        if block.again != size:
            raise self.damage(f"a block that begins with a length of {size} and ends with {block.again}")
        return size, self.read_block(block.kind, block.body)

    def start_section(self, magic: int) -> None:
        """Turn to the byte order of a pcapng section. magic: read as big-endian. DamagedError."""
        if magic not in (capture_formats.BYTE_ORDER, 0x4D3C2B1A):
            raise self.damage("a section header without its byte-order magic")
        self.turn(magic == capture_formats.BYTE_ORDER)

    def read_block(self, kind: int, body: bytes) -> Packet | None:
        """The packet in a pcapng block, or OTHER. DamagedError."""
        if kind == capture_formats.SECTION:
            self.interfaces = []
        elif kind == 1 and len(body) >= 8:
            self.interfaces.append(self.read_interface(body))
        elif kind == 6:
            if len(body) < 20:
                raise self.damage("a packet block without its header")
            return self.stamped(self.order.enhanced.parse(body))
        elif kind == 2 and len(body) >= 20:
            return self.stamped(self.order.obsolete.parse(body))
        elif kind == 3 and len(body) >= 4:
            return self.simple(body)
        elif kind == 10 and len(body) >= 8 and self.found_secrets is not None:
            block = self.order.secrets.parse(body)
            if block.kind == capture_formats.TLS_KEY_LOG:
                self.found_secrets(block.rest[: block.length])
        return OTHER

    def read_interface(self, body: bytes) -> Interface:
        """Add the interface that an Interface Description Block describes."""
        block = self.order.interface.parse(body)
        made = Interface(block.link, block.snaplen)
        rest = block.options
        while len(rest) >= 4:
            size = self.order.u16.parse(rest[2:4])
            if rest[:2] == b"\0\0" or 4 + size > len(rest):
                break
            option = self.order.option.parse(rest + bytes(4))
            if option.code == 9 and size == 1:
                power = option.value[0] & 0x7F
                made.divisor = 1 << min(power, 63) if option.value[0] & 0x80 else 10 ** min(power, 19)
            elif option.code == 14 and size == 8:
                made.offset = self.order.i64.parse(option.value)
            rest = rest[4 + size + -size % 4 :]
        return made

    def stamped(self, block: Any) -> Packet:
        """A packet with its time in ns, bounded to what 64 bits hold."""
        if block.interface >= len(self.interfaces):
            raise self.damage(f"a packet of interface {block.interface}, which no block describes")
        if block.captured > len(block.rest):
            raise self.damage(f"a packet of {block.captured} bytes in a block with room for {len(block.rest)}")
        interface = self.interfaces[block.interface]
        units = block.high << 32 | block.low
        # A damaged time is wrong either way, and its packet may be whole: it is kept, with a time that fits int64.
        self.last = max(0, min(units * NANO // interface.divisor + interface.offset * NANO, LAST_NS))
        return Packet(self.last, block.rest[: block.captured], block.length, interface.link)

    def simple(self, body: bytes) -> Packet:
        """A packet without time or captured length: it has those of the packet before it, and the snapshot length."""
        if not self.interfaces:
            raise self.damage("a packet of interface 0, which no block describes")
        block = self.order.simple.parse(body)
        size = min(block.length, len(block.rest), self.interfaces[0].snaplen or block.length)
        return Packet(self.last, block.rest[:size], block.length, self.interfaces[0].link)

    def rows(self, data: memoryview) -> tuple[int, list[tuple[int, int, int, int, bytes, bytes]]]:
        """(bytes used, [(offset, ns, link type, length on the wire, connection, packet)]) of the packets in `data`.

        connection: bytes that are the same for both directions of one and for no other; empty where there is no TCP. It
        stops before damage: `problem` says what.
        """
        at = 0
        self.problem = None
        rows: list[tuple[int, int, int, int, bytes, bytes]] = []
        try:
            while at < len(data):
                used, packet = self.take(data[at:])
                if packet is not None:
                    rows.append((at, packet.ns, packet.link, packet.length, connection_key(packet), packet.data))
                at += used
        except (ShortError, DamagedError):
            pass
        return at, rows

    def peek(self, data: memoryview) -> int | None:
        """Nanoseconds of the first packet, None where these bytes hold none. For a reader that has read nothing."""
        at, packet = 0, None
        try:
            while packet is None and at < len(data):
                used, packet = self.take(data[at:])
                at += used
        except (ShortError, DamagedError):
            return None
        return packet.ns if packet else None

    def resume(self, data: memoryview) -> int:
        """Bytes of damage to pass over: up to the next place where a packet may begin, or all of them."""
        if not self.started:
            return len(data)
        return next(
            (at for at in range(1, len(data)) if self.plausible(bytes(data[at : at + 16]), data[at:])), len(data)
        )

    def plausible(self, start: bytes, data: memoryview) -> bool:
        """Whether a packet or block may begin at `data`; start: its first 16 bytes."""
        u32 = self.order.u32.parse
        if self.blocks:
            if len(data) < 12:
                return False
            size = int.from_bytes(start[4:8], "big" if self.big else "little")
            whole = 12 <= size <= LARGEST and size % 4 == 0 and len(data) >= size
            return bool(whole and u32(bytes(data[size - 4 : size])) == size)
        if len(data) < self.head:
            return False
        if not self.header_fits(start, self.last // NANO):
            return False
        end = self.head + self.order.record.parse(start).captured
        return len(data) == end or (
            len(data) >= end + self.head and self.header_fits(bytes(data[end : end + 16]), u32(start[:4]))
        )

    def header_fits(self, start: bytes, near: int) -> bool:
        """Whether a packet's header may begin here, of a time within a day of `near` seconds (0: any)."""
        fraction = int.from_bytes(start[4:8], "big" if self.big else "little")
        return fraction < self.interfaces[0].divisor and self.makes_sense(start, near)

    def makes_sense(self, start: bytes, near: int) -> bool:
        """As `header_fits`, whatever the fraction of the second."""
        if int.from_bytes(start[8:12], "big" if self.big else "little") > 1 << 18:
            return False  # most places: not worth a parse
        header = self.order.record.parse(start)
        if not 20 <= header.captured <= header.length <= 1 << 18:
            return False
        return not near or abs(header.seconds - near) < 86400


def connection_key(packet: Packet) -> bytes:
    found = dissect(packet.link, packet.data, packet.length)
    if isinstance(found, str):
        return b""
    return b"".join(address.rjust(16, b"\0") + port.to_bytes(2, "big") for address, port in sorted(found.ends))
