"""Regular expressions in requests. As in Kafka they are RE2's, which take linear time (google-re2)."""

from collections.abc import Callable

from kcli.errors import InputError, UsageError

# Bytes that a compiled pattern may take.
MOST_MEMORY = 8 << 20


def regular(pattern: str | None) -> Callable[[str], bool]:
    """Return a function that returns whether a whole text matches a pattern; without a pattern every text does.

    Raises InputError if the pattern is no regular expression of RE2, and UsageError if google-re2 is not installed.
    """
    if not pattern:
        return lambda text: True
    try:
        import re2
    except ImportError:
        raise UsageError("a pattern in a request needs google-re2 (pip install 'kcli-kafka[broker]')") from None
    options = re2.Options()
    options.log_errors, options.max_mem = False, MOST_MEMORY
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        raise InputError(f"{pattern}: no regular expression of RE2's: {error}") from None
    return lambda text: compiled.fullmatch(text) is not None
