"""Ranges of versions, in the form of Kafka's message definitions: "3", "0-12", "7+", "none"."""

from __future__ import annotations

from collections.abc import Iterator

from kcli.errors import SchemaError

# Versions are int16; "7+" ends at the highest int16.
HIGHEST = 32767


class Range:
    """The versions lo to hi, both included. If hi < lo, the range is empty, and false as a bool."""

    __slots__ = ("hi", "lo")

    def __init__(self, lo: int, hi: int) -> None:
        self.lo, self.hi = lo, hi

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Range) and (self.lo, self.hi) == (other.lo, other.hi)

    def __hash__(self) -> int:
        return hash((self.lo, self.hi))

    def __repr__(self) -> str:
        return f"Range({self.lo}, {self.hi})"

    @classmethod
    def parse(cls, text: str) -> Range:
        """Return the range in a definition's text. Raises SchemaError for an invalid text."""
        known = parsed.get(text)
        if known is None:
            known = parsed[text] = parse(text)
        return known

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.lo <= version <= self.hi

    def __bool__(self) -> bool:
        return self.lo <= self.hi

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.lo, self.hi + 1))

    def __and__(self, other: Range) -> Range:
        both = Range(max(self.lo, other.lo), min(self.hi, other.hi))
        return both if both else NONE

    def __str__(self) -> str:
        if not self:
            return "none"
        if self.hi == HIGHEST:
            return f"{self.lo}+"
        return str(self.lo) if self.lo == self.hi else f"{self.lo}-{self.hi}"

    def holds(self, other: Range) -> bool:
        """Return whether this range has every version of `other`."""
        return not other or (self.lo <= other.lo and other.hi <= self.hi)


NONE = Range(0, -1)
ALL = Range(0, HIGHEST)
parsed: dict[str, Range] = {"none": NONE, "": NONE}


def parse(text: str) -> Range:
    try:
        if text.endswith("+"):
            return Range(number(text[:-1]), HIGHEST)
        lo, dash, hi = text.partition("-")
        found = Range(number(lo), number(hi) if dash else number(lo))
    except ValueError:
        found = NONE
    if not found:
        raise SchemaError(f'"{text}" is no range of versions ("3", "0-12", "7+" or "none" expected)')
    return found


def number(text: str) -> int:
    value = int(text) if text.isascii() and text.isdigit() else -1
    if not 0 <= value <= HIGHEST:
        raise ValueError(text)
    return value


def covering(versions: Iterator[int] | set[int] | list[int]) -> Range:
    """Return the smallest range that has all of these versions."""
    several = list(versions)
    return Range(min(several), max(several)) if several else NONE
