"""Comparisons as text: a line for each change, and a summary at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kcli.cli.diagnose.text import clients_text, servers_texts
from kcli.cli.terminal.cells import broken, hanging
from kcli.cli.terminal.lines import joined, paint
from kcli.counting import counted, span_text

if TYPE_CHECKING:
    from kcli.compare import Change, Comparison, Difference

COLOURS = {"worse": "red", "better": "green", "changed": "cyan", "not comparable": "yellow"}
WIDTH = len("not comparable")
LIMITS = 3  # APIs of which it is said when an answer is slow
NAMES = 8  # names of a kind that are listed as new or gone; the rest is counted


def text_lines(found: Comparison, names: tuple[str, str], room: int | None, *, colour: bool) -> Iterator[str]:
    """Yield the lines of a comparison. names: of the files. room: cells of a line; None: as long as it is."""
    for word, name, side in zip(("before", "after"), names, (found.before, found.after), strict=True):
        size = side.overview
        counts = [counted(size.exchanges, "exchange"), *servers_texts(size), clients_text(size)]
        text = f"{' '.join([name, side.scope.times]).strip()}: {', '.join([span_text(size.time.seconds()), *counts])}"
        yield from entry(word, text, room, colour=colour)
    for each in found.changes:
        if each.verdict != "same":
            yield from entry(each.verdict, change_text(each), room, colour=colour)
    for verdict in ("new", "gone"):
        for kind in dict.fromkeys(each.kind for each in found.differences):
            mine = [each for each in found.differences if (each.verdict, each.kind) == (verdict, kind)]
            if mine:
                word = "worse" if any(each.grave for each in mine) else verdict
                yield from entry(word, f"{KINDS[kind]}: {names_text(mine)}", room, colour=colour)
    for text in found.unlike:
        yield from entry("not comparable", text, room, colour=colour)
    for kind, sides, when in (
        ("offer", found.unoffered, "the clients had asked"),
        ("software", found.unnamed, "some of them had named it"),
    ):
        if sides and found.changes:
            begun = f"{' and '.join(sides)} {'begin' if len(sides) > 1 else 'begins'}"
            yield from entry("not seen", f"{KINDS[kind]}: {begun} after {when}", room, colour=colour)
    yield from broken(closing_text(found), room)


KINDS = {
    "broker": "brokers with requests", "error": "errors", "version": "versions of requests", "client": "clients",
    "software": "software of clients",
    "topic": "topics", "compression": "compression", "offer": "newest versions that brokers offer",
    "finding": "findings of kcli diagnose",
}  # fmt: skip


def entry(word: str, text: str, room: int | None, *, colour: bool) -> Iterator[str]:
    """Yield a verdict and its measure, which may take several lines."""
    shown = word.upper() if word == "worse" else word
    head = f"{shown:{WIDTH}}  "
    first, *rest = hanging(head, text, room)
    style = COLOURS.get(word)
    yield joined(paint(head, colour, fg=style, bold=word == "worse") if style else head, first[len(head) :])
    yield from rest


def change_text(each: Change) -> str:
    """Describe a measure's values before and after, and the difference relative to noise."""
    unit = f" {each.measure.unit}" if each.measure.unit else ""
    times = f"{each.times:,.1f} times, " if each.times else ""
    text = (
        f"{each.title}: {figure(each.before)} -> {figure(each.after)}{unit} "
        f"({times}noise {' -> '.join(map(figure, each.noises))}{unit}, p {each.chance:.0e})"
    )
    if each.limits:
        text += f"; slow: {', '.join(f'{api} over {figure(ms)} ms' for api, ms in [*each.limits.items()][:LIMITS])}"
    return f"{text}: {each.reason}" if each.reason else text


def figure(value: float) -> str:
    """Format a number with its significant digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.1f}" if abs(value) >= 10 else f"{value:,.2f}"


def names_text(found: list[Difference]) -> str:
    """List new or gone names, the most frequent first."""
    shown = [f"{each.name} ({each.count:,})" if each.kind == "error" else each.name for each in found[:NAMES]]
    more = [f"{len(found) - NAMES:,} more"] if len(found) > NAMES else []
    return ("; " if found[0].kind == "finding" else ", ").join([*shown, *more])


def closing_text(found: Comparison) -> str:
    """Describe the number of comparisons, and the method."""
    counts = Counter(each.verdict for each in found.changes)
    counts["worse"] += sum(each.grave for each in found.differences)
    words = [f"{counts[word]:,} {word}" for word in ("worse", "better", "changed", "not comparable") if counts[word]]
    if not found.changes:
        return "No measure could be compared: both captures need the same kinds of requests for some seconds."
    size = f"{counted(len(found.changes), 'measure')} in blocks of {found.block_seconds:.1f} s"
    return f"{size}: " + (f"{', '.join(words)}; the rest within noise." if words else "no change beyond noise.")
