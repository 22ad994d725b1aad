"""Numbers of things in text: "1 exchange", "2 exchanges"."""

from __future__ import annotations


def counted(number: int, one: str, many: str | None = None) -> str:
    """Format "1 partition" or "1,200 partitions". many: the plural where an s is not enough."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def singular(name: str) -> str:
    """Return the singular: "topic" of "topics", "entry" of "entries", "batch" of "batches"; another word as it is."""
    if name.endswith("ies"):
        return f"{name[:-3]}y"
    if name.endswith(("ches", "shes", "sses", "xes")):
        return name[:-2]
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name
