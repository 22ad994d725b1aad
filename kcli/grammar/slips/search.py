"""Tries repairs at the fields of a message one by one, keeps those with which it reads to its end, and rates them."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from kcli.grammar.slips.edits import Repair
from kcli.grammar.slips.places import Layout, Place, Walk
from kcli.grammar.slips.plausibility import NONSENSE, oddness
from kcli.grammar.slips.repairs import REPAIRS

HINTS = 3
BESIDE = 6.0  # the most oddness of a hint beyond that of the best one
PLACES = 3000  # fields to try, backwards from where reading stopped
LARGEST = 1 << 17  # bytes of a message whose fields are tried
TRIES, TRIED = 20_000, 1 << 28  # most repairs to try, and most bytes to read for them
JUDGED, JUDGED_FIELDS = 400, 100_000  # most repairs whose values are rated, and most fields for that
VALUES = 5000  # the last fields of a message, whose values are rated


class Hint(NamedTuple):
    """A slip that explains why a message does not decode.

    slip: its kind. at: its offset in the frame. words, question: as in `Edit`. frame: the repaired message; oddness:
    the oddness of its values.
    """

    slip: str
    at: int
    words: str
    question: str
    frame: bytes
    oddness: float

    def text(self, start: int = 0, inside: tuple[str, str] | None = None) -> str:
        """Format the hint. start: the offset of the frame in the input. inside: the names of the frame and of its
        container, if offsets in both are shown.
        """
        place = "" if self.slip == "version" else f" at {self.at + start:#x}"
        if place and inside:
            place = f" at {self.at:#x} of {inside[0]} ({self.at + start:#x} of {inside[1]})"
        return f"{self.words}{place}: {self.question}"


def field_hints(layout: Layout, frame: bytes) -> list[Hint]:
    """Return a hint for each repair at one field with which the frame reads to its end."""
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
    """Yield the repairs of possible slips at a field."""
    for slip, edits in REPAIRS.items():
        for edit in edits(frame, place):
            yield Repair(slip, place.start, edit)


def tried(layout: Layout, frame: bytes, repair: Repair) -> Iterator[Hint]:
    """Yield the hint, if the frame reads to its end with the repair."""
    mended = repair.mend(frame)
    if layout.reads(mended):
        score = oddness_of(layout, mended) + repair.edit.cost
        yield Hint(repair.slip, repair.at, repair.edit.words, repair.edit.question, mended, score)


def oddness_of(layout: Layout, frame: bytes) -> float:
    """Return the oddness of a message's values; 0 for a large message, whose values are not rated."""
    if len(frame) > LARGEST:
        return 0.0
    walk = layout.walk(frame, VALUES)
    return oddness(walk.spans) + NONSENSE * walk.noncanonical


def likeliest(found: list[Hint]) -> list[Hint]:
    """Return the likeliest hints, at most three, without any that is much less likely than the first."""
    kept, seen = list[Hint](), set[tuple[object, bytes]]()
    for hint in sorted(found, key=lambda hint: hint.oddness):
        if seen.isdisjoint(same := {(hint.slip, hint.frame), (hint.at, hint.frame)}):
            kept.append(hint)
        seen |= same
    return [hint for hint in kept[:HINTS] if hint.oddness <= kept[0].oddness + BESIDE]


def joined(hints: list[Hint], start: int, lead: str, inside: tuple[str, str] | None = None) -> str:
    """Join all hints to one text, "" without any. lead: its first words. start, inside: as in `Hint.text`."""
    texts = [hint.text(start, inside) for hint in hints]
    several = f"{len(texts)} slips explain it: " if len(texts) > 1 else ""
    others = "".join(f"{'' if before.endswith('?') else '.'} Or {text}" for before, text in pairwise(texts))
    return f"{several}{lead} {texts[0]}{others}" if texts else ""
