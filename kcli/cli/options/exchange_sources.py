"""Sources of exchanges: captures, or the lines of `kcli decode pcap --format jsonl` (edited or not)."""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, cast

from kcli.capture.io.capture_files import GZIP
from kcli.cli.terminal.streams import standard_input
from kcli.errors import InputError, UsageError
from kcli.input_names import name_of
from kcli.jsontext import loads

PEEK = 1 << 12
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error)  # cut; a wrong checksum; nothing that deflate makes


def holds_rows(file: str) -> bool:
    """Return whether a file ("-": standard input) holds JSON lines, plain or in gzip, and not a capture.

    No byte of standard input is consumed.
    """
    if file == "-":
        return standard_input().peek(PEEK).lstrip()[:1] == b"{"
    with Path(file).open("rb") as opened:
        start = opened.read(PEEK)
    if start.startswith(GZIP):
        try:
            with gzip.open(file) as unpacked:
                start = unpacked.read(PEEK)
        except DAMAGED:
            return False
    return start.lstrip()[:1] == b"{"


def need_captures(files: Iterable[str], message: str) -> None:
    """Raise UsageError with these words where one of the files is standard input or has lines of JSON."""
    if any(file == "-" or holds_rows(file) for file in files):
        raise UsageError(message)


def rows(file: str) -> Iterator[tuple[int, dict[str, Any] | InputError]]:
    """Yield (line number, object) of each line; for one that is no JSON object the error, without stopping."""
    number = 0
    with open_lines(file) as lines:
        try:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield number, row_of(line, number, file)
        except DAMAGED as error:
            yield number, InputError(f"after line {number}: {error}", file=name_of(file))


def row_of(line: bytes, number: int, file: str) -> dict[str, Any] | InputError:
    try:
        row = loads(line, what="a line of JSON")
    except InputError as error:
        return InputError(f"line {number}: {error.text}", file=name_of(file))
    if not isinstance(row, dict):
        return InputError(f"line {number}: not a JSON object", file=name_of(file))
    return row


def open_lines(file: str) -> IO[bytes]:
    if file == "-":
        return standard_input()
    with Path(file).open("rb") as opened:
        packed = opened.read(2) == GZIP
    return cast(IO[bytes], gzip.open(file)) if packed else Path(file).open("rb")
