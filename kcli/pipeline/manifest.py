"""Manifests: files that name captures, one in each line, as a path, a URI, or JSON with path, size and time of
change.
"""

import math
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import IO, Any

from kcli.errors import InputError, UsageError
from kcli.jsontext import loads
from kcli.pipeline.storage import StoragePath, StoredFile, open_filesystem, split_query

NO_TIME = "mtime: seconds since 1970 or a time as of ISO 8601 expected"
LONGEST = 1 << 16  # bytes of a line
SIZES = 1 << 63  # bytes; a capture has fewer


def listed_in(manifest: str) -> list[StoredFile]:
    """Return the captures that a manifest names. Raises InputError, OSError, UsageError."""
    with StoragePath(manifest).open() as file:
        return captures_of(file, manifest)


def captures_of(file: IO[bytes], name: str) -> list[StoredFile]:
    """Return the captures that the lines of a manifest name, each once. Raises InputError with the line's number."""
    found: dict[str, StoredFile] = {}
    known: set[tuple[str, str]] = set()  # file systems
    for number, line in enumerate(lines_of(file), start=1):
        try:
            for made in named_by(line, known):
                found.setdefault(made.uri, made)
        except (InputError, UsageError) as error:
            raise InputError(f"line {number}: {error}", file=name) from None
    return list(found.values())


def lines_of(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file. The first line longer than LONGEST is cut to more than LONGEST bytes and ends the
    reading.
    """
    rest = b""
    while piece := file.read(LONGEST):
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
        if len(rest) > LONGEST:
            yield rest
            return
    yield rest


def named_by(line: bytes, known: set[tuple[str, str]]) -> Iterable[StoredFile]:
    """Return the capture that a line names; () for a blank line. known: file systems that were opened successfully.
    Raises InputError.
    """
    if len(line) > LONGEST:
        raise InputError(f"longer than {LONGEST:,} bytes")
    if not (line := line.strip()):
        return ()
    entry = loads(line, what="JSON of a capture") if line.startswith(b"{") else {"path": text_of(line)}
    path, size, changed = path_of(entry), size_of(entry), time_of(entry)
    head, query = split_query(path)
    scheme, found, _ = head.partition("://")
    if found and scheme != "file" and size is not None and changed is not None:
        if (scheme, query) not in known:
            open_filesystem(path)
            known.add((scheme, query))
        return [StoredFile(path, size, changed, vouched=True)]
    return [stored(StoragePath(path), vouched=size is not None and changed is not None)]


def stored(place: StoragePath, *, vouched: bool) -> StoredFile:
    """Return a capture with its current size and time. Raises InputError if it is not a file."""
    info = place.info()
    if not info.is_file:
        raise InputError("No such file" if info.type.name == "NotFound" else "not a file", file=place.uri)
    made = place.stored(info)
    return StoredFile(made.uri, made.size, made.changed, vouched)


def text_of(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start} is not UTF-8") from None


def path_of(entry: dict[str, Any]) -> str:
    path = entry.get("path")
    if not isinstance(path, str) or not path or "\0" in path:
        raise InputError("no path (a text expected)")
    return path


def size_of(entry: dict[str, Any]) -> int | None:
    size = entry.get("size")
    if size is not None and (type(size) is not int or not 0 <= size < SIZES):
        raise InputError("size: a number of bytes expected")
    return size


def time_of(entry: dict[str, Any]) -> float | None:
    """Return the time of change in seconds since 1970, from a number or ISO 8601 text (UTC without an offset); None
    without one. Raises InputError.
    """
    mtime = entry.get("mtime")
    if isinstance(mtime, str):
        try:
            moment = datetime.fromisoformat(mtime)
        except ValueError:
            raise InputError(NO_TIME) from None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if mtime is not None and (type(mtime) not in (int, float) or not math.isfinite(mtime)):
        raise InputError(NO_TIME)
    return None if mtime is None else float(mtime)
