"""How good new figures of a bench are beside the old ones: 1.05 is 5 % more a second, or 5 % less time or memory.

A figure is known by its line and by the words before it; its unit stands behind it, or in brackets in the line above.
Figures of another program say how much of a ratio is the machine's.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

__all__ = ["NUMBER", "Ratio", "ratios", "shape", "summary", "value"]

NUMBER = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?")
UNIT = re.compile(r"\w*/s|[mun]?s|[KMG]iB")
UNIT_BEHIND = re.compile(rf" ?({UNIT.pattern})(?!\w)")
HEADING = re.compile(r"\(([^()]+)\)$")
PEER = re.compile(r"aiokafka|DumpLogSegments|\bJava\b|\bjq\b|\bKafka\b|kafka-python|kio|librdkafka|mock|socat|tshark")


class Ratio(NamedTuple):
    """Of one figure. other: it is not kcli's."""

    good: float
    row: str
    other: bool


def shape(line: str) -> str:
    """A line without its figures."""
    return " ".join(NUMBER.sub("#", line).split())


def value(number: str) -> float:
    return float(number.replace(",", ""))


def ratios(bench: str, new: Sequence[str], old: Sequence[str]) -> Iterator[Ratio]:
    """Of the figures with a unit that tells what is better, in lines that both have."""
    known: Mapping[str, list[str]] = defaultdict(list)
    for line in old:
        known[shape(line)].append(line)
    heading = unit = ""
    for line in new:
        if line.endswith(":") or HEADING.search(line):
            heading = line.strip().rstrip(":")
            unit = "".join(HEADING.findall(line))
        if known[shape(line)]:
            for good, words in figures(line, known[shape(line)].pop(0), unit):
                other = bool(PEER.search(words)) and "kcli" not in words
                head = NUMBER.split(line, maxsplit=1)[0]
                named = f"{bench} {heading} {head} {words if words != head else ''}"
                yield Ratio(good, " ".join(named.split()), other)


def figures(new: str, old: str, unit: str) -> Iterator[tuple[float, str]]:
    """How good each figure is, and the words before it."""
    start = 0
    for mine, other in zip(NUMBER.finditer(new), NUMBER.finditer(old), strict=True):
        words = new[start : mine.start()]
        behind = UNIT_BEHIND.match(new, mine.end())
        start = behind.end() if behind else mine.end()
        found = behind[1] if behind else unit
        now, before = value(mine[0]), value(other[0])
        if UNIT.fullmatch(found) and now and before:
            yield (now / before if found.endswith("/s") else before / now), words


def summary(found: Iterable[Ratio]) -> Iterator[str]:
    """Lines: kcli's figures, the lowest first, and what those of other programs came to in the same run."""
    listed = sorted(found)
    ours = [each for each in listed if not each.other]
    others = [each.good for each in listed if each.other]
    for each in ours:
        yield f"{each.good:5.2f}  {each.row}"
    if ours:
        yield f"{len(ours)} rows, lowest {ours[0].good:.2f}"
    if others:
        yield f"other programs, the same on both sides: {others[0]:.2f} to {others[-1]:.2f}"
