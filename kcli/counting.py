"""Numbers of things in text, "1 exchange", "2 exchanges", and the first names of many."""

from __future__ import annotations

from collections.abc import Sequence

NAMED = 5  # names that are shown where nothing fits


def counted(number: int, one: str, many: str | None = None) -> str:
    """Format "1 partition" or "1,200 partitions". many: the plural where an s is not enough."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def span_text(seconds: float) -> str:
    """Format seconds as "0.012 s", "28.8 s", "2.4 min", "35.5 h" or "3.2 d"."""
    for unit, name, least in ((86_400, "d", 2 * 86_400), (3600, "h", 6000), (60, "min", 100)):
        if seconds >= least:
            return f"{seconds / unit:,.1f} {name}"
    return f"{seconds:.1f} s" if seconds >= 0.1 or not seconds else f"{seconds:.2g} s"


def singular(name: str) -> str:
    """Return the singular: "topic" of "topics", "entry" of "entries", "batch" of "batches"; another word as it is."""
    if name.endswith("ies"):
        return f"{name[:-3]}y"
    if name.endswith(("ches", "shes", "sses", "xes")):
        return name[:-2]
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


def here_text(kind: str, names: Sequence[str]) -> str:
    """Say which names of a kind there are: "topics here: a, b"."""
    plural = {"api": "APIs"}.get(kind, f"{kind}s")
    return f"{plural} here: {few_of(names)}" if names else f"no {plural} here"


def few_of(names: Sequence[str]) -> str:
    """Return the first names of many."""
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"
