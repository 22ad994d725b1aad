"""Values, counts and lists as short text."""

from collections.abc import Iterable

from kcli.counting import few_of

SHOWN = 3  # names of a list; the rest is counted
LONG = 40  # characters of one value


def cut(text: str, size: int = LONG) -> str:
    """Return the text, or its first characters and how many there are."""
    return text if len(text) <= size else f"{text[:size]}… ({len(text)} characters)"


def listed(names: Iterable[str], size: int = LONG) -> str:
    """Format "orders, refunds, audit and 4 more", each cut to a size."""
    return few_of([cut(name, size) for name in names], SHOWN)
