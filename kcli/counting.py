"""Formats counts ("1 exchange", "2 exchanges"), seconds, bytes, and the first names of many."""

from collections.abc import Sequence

NAMED = 5  # names to list when no name matches
BYTE_UNITS = ("kB", "MB", "GB", "TB")


def counted(number: int, one: str, many: str | None = None) -> str:
    """Format "1 partition" or "1,200 partitions". many: the plural if it is not `one` with an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def span_text(seconds: float) -> str:
    """Format seconds as "0.012 s", "28.8 s", "2.4 min", "35.5 h" or "3.2 d"."""
    for unit, name, least in ((86_400, "d", 2 * 86_400), (3600, "h", 6000), (60, "min", 100)):
        if seconds >= least:
            return f"{seconds / unit:,.1f} {name}"
    return f"{seconds:.1f} s" if seconds >= 0.1 or not seconds else f"{seconds:.2g} s"


def bytes_text(count: int) -> str:
    """Format a size for a column: "812 B", "1.0 kB", "12.4 MB", with at most four characters of number."""
    if count < 1000:
        return f"{count} B"
    size, unit = scaled(count)
    return f"{size:.1f} {unit}" if size < 99.95 else f"{size:.0f} {unit}"


def rounded_bytes(count: float, digits: int = 3) -> str:
    """Format a size for a sentence, without needless zeros: "812 B", "1 kB", "2.84 MB"."""
    if count < 999.5:
        return f"{count:.0f} B"
    size, unit = scaled(count)
    return f"{size:.0f} {unit}" if size >= 10 ** (digits - 1) else f"{size:.{digits}g} {unit}"


def scaled(count: float) -> tuple[float, str]:
    """Return a size (bytes) in the unit in which it is shown, with that unit."""
    size, unit = count / 1000, 0
    while size >= 999.5 and unit < len(BYTE_UNITS) - 1:
        size /= 1000
        unit += 1
    return size, BYTE_UNITS[unit]


def singular(name: str) -> str:
    """Return the singular: "topic" of "topics", "entry" of "entries", "batch" of "batches"; another word as it is."""
    if name.endswith("ies"):
        return f"{name[:-3]}y"
    if name.endswith(("ches", "shes", "sses", "xes")):
        return name[:-2]
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


def here_text(kind: str, names: Sequence[str]) -> str:
    """List the known names of a kind: "topics here: a, b"."""
    plural = {"api": "APIs"}.get(kind, f"{kind}s")
    return f"{plural} here: {few_of(names)}" if names else f"no {plural} here"


def few_of(names: Sequence[str], most: int = NAMED) -> str:
    """List the first names, and the number of the others."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"
