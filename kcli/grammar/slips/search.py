"""Repairs at the fields of a message, tried one by one: those after which it reads to its last byte, and how likely."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from kcli.grammar.slips.edits import Repair
from kcli.grammar.slips.places import Layout, Place, Walk
from kcli.grammar.slips.plausibility import NONSENSE, oddness
from kcli.grammar.slips.repairs import REPAIRS

HINTS = 3
BESIDE = 6.0  # how much odder than the best a hint may be
PLACES = 3000  # fields that are looked at, from where reading failed backwards
LARGEST = 1 << 17  # bytes of a message in which fields are looked at
TRIES, TRIED = 20_000, 1 << 28  # repairs, and bytes of messages with them, that are read
JUDGED, JUDGED_FIELDS = 400, 100_000  # limits of judged values: repairs that read to the end, and fields of each
VALUES = 5000  # the last fields of a message, with judged values


class Hint(NamedTuple):
    """A slip that explains why a message does not decode.

    slip: its kind. at: its byte in the frame. words, question: as of an `Edit`. frame: the message without it; odd: how
    unlikely that is.
    """

    slip: str
    at: int
    words: str
    question: str
    frame: bytes
    odd: float

    def text(self, start: int = 0, inside: tuple[str, str] | None = None) -> str:
        """Format the hint; start: the offset of the frame in the input. inside: the names of the frame and of its
        container, if positions in both are shown.
        """
        place = "" if self.slip == "version" else f" at {self.at + start:#x}"
        if place and inside:
            place = f" at {self.at:#x} of {inside[0]} ({self.at + start:#x} of {inside[1]})"
        return f"{self.words}{place}: {self.question}"


def field_hints(layout: Layout, frame: bytes) -> list[Hint]:
    """Return a hint for each repair at one field after which the frame reads to its last byte."""
    if len(frame) > LARGEST:
        return []
    found, fields, walk = list[Hint](), 0, layout.walk(frame, PLACES)
    for number, repair in enumerate(repairs(layout, frame, walk), 1):
        if number > TRIES or number * len(frame) > TRIED or len(found) == JUDGED or fields > JUDGED_FIELDS:
            break
        for hint in tried(layout, frame, repair):
            found.append(hint)
            fields += min(VALUES, len(walk.spans))
    return found


def repairs(layout: Layout, frame: bytes, walk: Walk) -> Iterator[Repair]:
    for place in layout.places(walk):
        yield from repairs_at(place, frame)


def repairs_at(place: Place, frame: bytes) -> Iterator[Repair]:
    """Yield what may have been done wrong at a field."""
    for slip, edits in REPAIRS.items():
        for edit in edits(frame, place):
            yield Repair(slip, place.start, edit)


def tried(layout: Layout, frame: bytes, repair: Repair) -> Iterator[Hint]:
    """Yield the hint, if the frame reads to its last byte after the repair."""
    mended = repair.mend(frame)
    if layout.reads(mended):
        odd = oddness_of(layout, mended) + repair.edit.cost
        yield Hint(repair.slip, repair.at, repair.edit.words, repair.edit.question, mended, odd)


def oddness_of(layout: Layout, frame: bytes) -> float:
    """Return how unlikely the message's values are; those of a large message are not looked at."""
    if len(frame) > LARGEST:
        return 0.0
    walk = layout.walk(frame, VALUES)
    return oddness(walk.spans) + NONSENSE * walk.odd


def likeliest(found: list[Hint]) -> list[Hint]:
    """Return the likeliest hints, three at most, and none that is much less likely than the first."""
    kept, seen = list[Hint](), set[tuple[object, bytes]]()
    for hint in sorted(found, key=lambda hint: hint.odd):
        if seen.isdisjoint(same := {(hint.slip, hint.frame), (hint.at, hint.frame)}):
            kept.append(hint)
        seen |= same
    return [hint for hint in kept[:HINTS] if hint.odd <= kept[0].odd + BESIDE]


def joined(hints: list[Hint], start: int, lead: str, inside: tuple[str, str] | None = None) -> str:
    """Join all hints in one sentence, "" without any. lead: first words. start, inside: as `Hint.text` has them."""
    texts = [hint.text(start, inside) for hint in hints]
    several = f"{len(texts)} slips explain it: " if len(texts) > 1 else ""
    others = "".join(f"{'' if before.endswith('?') else '.'} Or {text}" for before, text in pairwise(texts))
    return f"{several}{lead} {texts[0]}{others}" if texts else ""
