"""The state of a packet while `tests.oracle.tcp.dissection` reads its layers."""

from collections.abc import Callable
from typing import Any

from kcli.grammar.files import tunnels

Grammar = Any  # a Construct, whose type parameters do not matter here


class NoSegmentError(Exception):
    """A packet has no TCP segment; see NoSegment of tests.oracle.tcp.packet_outcomes."""

    def __init__(self, why: str, registry: int = tunnels.NAMELESS, number: int = 0) -> None:
        super().__init__(why)
        self.why, self.registry, self.number = why, registry, number


class Layers:
    """A packet whose layers are being read. at: the start of the next one; end: the packet's end on the wire; captured:
    the end of its captured bytes. tunnel: the innermost tunnel.
    """

    def __init__(self, data: bytes, length: int) -> None:
        self.data, self.at, self.end, self.captured = data, 0, length, len(data)
        self.tunnel = ""
        self.path: tuple[Any, ...] = ()
        self.wrapped = False
        self.ip = 0
        self.segment: Any = None  # a TcpSegment or Fragment of tests.oracle.tcp.packet_outcomes, when found

    @property
    def left(self) -> int:
        """The number of captured bytes from here."""
        return self.captured - self.at

    @property
    def length(self) -> int:
        """The number of bytes on the wire from here."""
        return self.end - self.at

    def need(self, count: int) -> None:
        """Raise NoSegmentError if fewer bytes are left: "other" if a tunnel has too few on the wire, else "cut"."""
        if self.length < count and self.tunnel:
            raise NoSegmentError("other")
        if self.left < count or self.length < count:
            raise NoSegmentError("cut")

    def peek(self, grammar: Grammar, behind: int = 0) -> Any:
        """Return a header of fixed size. behind: its distance from here in bytes. Raises NoSegmentError."""
        size = grammar.sizeof()
        self.need(behind + size)
        return grammar.parse(self.data[self.at + behind : self.at + behind + size])

    def take(self, grammar: Grammar, whole: int | None = None) -> Any:
        """Return a header, and skip it. whole: the bytes to skip, if not its size. Raises NoSegmentError."""
        header = self.peek(grammar)
        self.skip(grammar.sizeof() if whole is None else whole)
        return header

    def skip(self, count: int) -> None:
        """Skip this many bytes. Raises NoSegmentError."""
        self.need(count)
        self.at += count

    def limit(self, count: int) -> None:
        """End the packet after `count` bytes, the length in an IP header; the rest is padding of the link layer."""
        self.end = self.at + count
        self.captured = min(self.captured, self.end)

    def enter(self, tunnel: str, number: int = 0) -> None:
        """Enter the tunnel that begins here."""
        self.tunnel, self.wrapped = tunnel, True
        self.path = *self.path, tunnel, number

    def between(self, name: str, one: Any, other: Any) -> None:
        """Add both ends of a tag or tunnel to the path, sorted, so that both directions have the same path."""
        self.path = *self.path, name, min(one, other), max(one, other)


Layer = Callable[[Layers], "Layer | None"]
