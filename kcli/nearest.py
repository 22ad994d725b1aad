"""Suggests a known name for a wrong one, in errors."""

from collections.abc import Iterable

LIKE = 0.6  # the least similarity of two names, 0 to 1


def nearest(name: str, known: Iterable[str], like: float = LIKE) -> str | None:
    """Return the most similar known name, or None if none is similar enough."""
    import difflib  # needed for errors alone

    return next(iter(difflib.get_close_matches(name, list(known), 1, like)), None)


def suggestion(name: str, known: Iterable[str], like: float = LIKE) -> str:
    """Return the end of an error about an unknown name: "; did you mean acks?", or "" if no known name is similar."""
    return did_you_mean(nearest(name, known, like))


def did_you_mean(known: object) -> str:
    """Return the end of an error that suggests a known name; "" for None."""
    return "" if known is None else f"; did you mean {known}?"
