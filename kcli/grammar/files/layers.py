"""A packet on its way through its layers, which kcli.grammar.files.network reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kcli.grammar.files import tunnels

Grammar = Any  # a Construct; its stubs are generic in two ways that mean nothing here


class NoSegmentError(Exception):
    """A packet is no TCP segment; see NoSegment of kcli.grammar.files.network."""

    def __init__(self, why: str, registry: int = tunnels.NAMELESS, number: int = 0) -> None:
        super().__init__(why)
        self.why, self.registry, self.number = why, registry, number


class Layers:
    """A packet on its way through its layers: the next one reads from `at` on. end: of the packet on the wire;
    captured: of its captured bytes. tunnel: the innermost one.
    """

    def __init__(self, data: bytes, length: int) -> None:
        self.data, self.at, self.end, self.captured = data, 0, length, len(data)
        self.tunnel = ""
        self.path: tuple[Any, ...] = ()
        self.wrapped = False
        self.ip = 0
        self.segment: Any = None  # a TcpSegment of kcli.grammar.files.network, in the end, or a Fragment

    @property
    def left(self) -> int:
        """Return how many bytes are here."""
        return self.captured - self.at

    @property
    def length(self) -> int:
        """Return how many bytes were on the wire."""
        return self.end - self.at

    def need(self, count: int) -> None:
        """Raise NoSegmentError where fewer bytes are left. Bytes too short for a tunnel's content were never whole."""
        if self.length < count and self.tunnel:
            raise NoSegmentError("other")
        if self.left < count or self.length < count:
            raise NoSegmentError("cut")

    def peek(self, grammar: Grammar, behind: int = 0) -> Any:
        """Return a header of fixed size, so many bytes from here."""
        size = grammar.sizeof()
        self.need(behind + size)
        return grammar.parse(self.data[self.at + behind : self.at + behind + size])

    def take(self, grammar: Grammar, whole: int | None = None) -> Any:
        """Return a header, and pass over it, or over so many bytes as are its `whole`."""
        header = self.peek(grammar)
        self.skip(grammar.sizeof() if whole is None else whole)
        return header

    def skip(self, count: int) -> None:
        """Pass over so many bytes."""
        self.need(count)
        self.at += count

    def limit(self, count: int) -> None:
        """Limit the packet to `count` bytes from here, as IP says; the rest is the link's padding."""
        self.end = self.at + count
        self.captured = min(self.captured, self.end)

    def enter(self, tunnel: str, number: int = 0) -> None:
        """Enter a tunnel with the next bytes."""
        self.tunnel, self.wrapped = tunnel, True
        self.path = *self.path, tunnel, number

    def between(self, name: str, one: Any, other: Any) -> None:
        """Add a tag's or a tunnel's two ends to the path, in an order that is one for both directions."""
        self.path = *self.path, name, min(one, other), max(one, other)


Layer = Callable[[Layers], "Layer | None"]
