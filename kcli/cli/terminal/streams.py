"""The process's own streams, as commands may rely on them whatever the shell has made of them."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import Any, BinaryIO, cast

from kcli.named_file import NamedFile

STDIN, STDOUT, STDERR = 0, 1, 2
STANDARD_OUTPUT = "standard output"  # its name in errors


def write_all(out: BinaryIO, pieces: Sequence[memoryview]) -> None:
    """Write pieces of bytes after earlier writes to `out`."""
    raw = getattr(out, "raw", None)
    if isinstance(raw, NamedFile):
        out.flush()
        raw.write_all(pieces)
    else:
        out.writelines(pieces)


class Notes(io.FileIO):
    """Standard error. A failed write has no effect on the command."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def mend_streams() -> None:
    """Replace missing standard streams: errors in writing standard output name it, those of standard error are
    ignored.

    A closed one would be None, and the next opened file would get its number and the stream's output. Closed input is
    empty; closed output refuses writes, so that no data is lost silently.
    """
    stand_in(STDIN, os.O_RDONLY)
    stand_in(STDOUT, os.O_RDONLY)
    stand_in(STDERR, os.O_WRONLY)
    sys.stdin = sys.stdin or io.TextIOWrapper(io.BufferedReader(io.FileIO(STDIN, closefd=False)))
    out = NamedFile(STDOUT, STANDARD_OUTPUT, closefd=False)
    sys.stdout = text(io.BufferedWriter(out), sys.stdout, line_buffering=out.isatty())
    notes = Notes(STDERR, "wb", closefd=False)
    sys.stderr = text(io.BufferedWriter(notes), sys.stderr, line_buffering=True)


def stand_in(number: int, flags: int) -> None:
    """Open /dev/null under this descriptor number, unless the number is in use."""
    try:
        os.fstat(number)
    except OSError:
        handle = os.open(os.devnull, flags)
        if handle != number:
            os.dup2(handle, number)
            os.close(handle)


def text(stream: io.BufferedWriter[Any], before: Any, *, line_buffering: bool) -> io.TextIOWrapper[Any]:
    """Return text as the interpreter made it, in UTF-8 where it made none; characters that an encoding lacks are
    escaped.
    """
    encoding, errors = (before.encoding, before.errors) if before is not None else ("utf-8", "backslashreplace")
    errors = "backslashreplace" if errors == "strict" else errors
    return io.TextIOWrapper(stream, encoding, errors, line_buffering=line_buffering)


def standard_input() -> io.BufferedReader:
    """Return standard input's bytes, which `peek` shows before they are read."""
    return cast(io.BufferedReader, sys.stdin.buffer)


def drop_output() -> None:
    """Drop standard output after its reader has closed the pipe, so that the last flush raises nothing."""
    handle = os.open(os.devnull, os.O_WRONLY)
    os.dup2(handle, STDOUT)
    os.close(handle)
