"""The known name that is most like a wrong one, for errors."""

from __future__ import annotations

from collections.abc import Iterable

LIKE = 0.6  # how alike two names are at least, of 1


def nearest(name: str, known: Iterable[str], like: float = LIKE) -> str | None:
    """Return the known name that is most like another one; None: none is like it."""
    import difflib  # errors alone need it

    return next(iter(difflib.get_close_matches(name, list(known), 1, like)), None)


def suggestion(name: str, known: Iterable[str], like: float = LIKE) -> str:
    """Return the end of an error about a name that is not known: "; did you mean acks?"; "" where none is like it."""
    return did_you_mean(nearest(name, known, like))


def did_you_mean(known: object) -> str:
    """Return the end of an error that suggests what is known; "" for None."""
    return "" if known is None else f"; did you mean {known}?"
