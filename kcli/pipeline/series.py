"""Finds complete captures among those of a rotation."""

import re
from collections.abc import Sequence

from kcli.errors import UsageError
from kcli.filelike import CAPTURE_SUFFIXES, PACKED_SUFFIXES
from kcli.pipeline.storage import StoredFile, split_query

SETTLE = 60.0  # seconds without a change after which the newest capture of a series counts as complete
# The end of the name that differs between the files of one rotation: what dumpcap writes, a date and time, a number of
# three digits or more (a_00003.pcap), the end of a time (a_10:15.pcap). A number after the suffix (a.pcap3) differs,
# too. The number of broker-1.pcap is part of the series, because it names a broker.
NUMBERS = (
    re.compile(r"_\d{5}_\d{14}$"),
    re.compile(r"\d{4}([-_.]?\d\d){2}[T_-]?(\d\d[-_:.]?){0,3}$"),
    re.compile(r"(?<![^\W_])\d{3,}$"),
    re.compile(r"(?<=\d[-_:.T])\d{2}$"),
)
SUFFIX = re.compile("(" + "|".join(re.escape(each) for each in CAPTURE_SUFFIXES) + r")(\d*)$", re.IGNORECASE)


def series_pattern(text: str | None) -> re.Pattern[str] | None:
    """Compile a user's pattern. Raises UsageError if it is no regular expression."""
    try:
        return None if text is None else re.compile(text)
    except re.error as error:
        raise UsageError(f"--series {text}: {error} (a regular expression expected)") from None


def settled(
    files: Sequence[StoredFile], now: float, settle: float = SETTLE, pattern: re.Pattern[str] | None = None
) -> list[StoredFile]:
    """Return the complete captures: those with a newer one in their series, or without a change for `settle`
    seconds.
    """
    series = [series_of(file.uri, pattern) for file in files]
    newest: dict[str, float] = {}
    for name, file in zip(series, files, strict=True):
        newest[name] = max(newest.get(name, 0.0), file.changed)
    return [
        file
        for name, file in zip(series, files, strict=True)
        if file.changed < newest[name] or now - file.changed >= settle
    ]


def series_of(uri: str, pattern: re.Pattern[str] | None = None) -> str:
    """Return the common part of the files of one rotation: folder and name, without the number or time that differs.

    pattern: matches the common part of the name (its first group, if it has one)
    """
    folder, _, name = split_query(uri)[0].rpartition("/")
    if pattern is not None:
        found = pattern.search(name)
        return f"{folder}/{name if found is None else found[1] if pattern.groups else found[0]}"
    for packed in PACKED_SUFFIXES:
        name = name.removesuffix(packed)
    head, suffix = name, ""
    if (found := SUFFIX.search(name)) is not None:
        if found[2]:
            return f"{folder}/{name[: found.start(2)]}"
        head, suffix = name[: found.start()], found[1]
    found = next((made for each in NUMBERS if (made := each.search(head)) is not None), None)
    return f"{folder}/{head if found is None else head[: found.start()]}{suffix}"
