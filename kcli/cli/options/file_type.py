"""Checks the kind of a file: a command refuses other kinds than its own, and names them."""

from collections.abc import Iterable
from pathlib import Path

from kcli.cli.terminal.streams import standard_input
from kcli.errors import InputError
from kcli.input_names import STDIN, name_of

LOOKED_AT = 1 << 12  # bytes of a file to recognize its kind, as in kcli.records.recognition


def refuse_others(data: bytes, name: str, why: str = "neither a message nor record batches") -> None:
    """Raise InputError where a message or record batches are expected, and the data is a capture, JSON, or text without
    --hex.

    why: the kinds that were expected.
    """
    if data[:1] == b"\0":
        return  # as most messages and batches begin: they are spared the import
    from kcli.file_kinds import recognized

    if kind := recognized(data, certain=True):
        raise InputError(f"{why} ({kind})", file=name)


def refuse_other_files(files: Iterable[str], why: str) -> None:
    """Call `refuse_others` for the first bytes of files and of standard input, which lose none; pipes are not read.

    An empty file is a log segment by its name alone.
    """
    for file in files:
        start = start_of(file)
        if start:
            refuse_others(start, name_of(file), why)
        elif start == b"" and file != STDIN and not file.endswith(".log"):
            raise InputError(f"{why} (empty)", file=name_of(file))


def start_of(file: str) -> bytes | None:
    """Return the first bytes of a file, or of standard input without consuming them; None for a pipe or a directory."""
    if file == "-":
        return standard_input().peek(LOOKED_AT)[:LOOKED_AT]
    if not Path(file).is_file():
        return None
    with Path(file).open("rb") as opened:
        return opened.read(LOOKED_AT)


def refuse_batches(data: bytes, name: str) -> None:
    """Raise InputError if bytes where a message is expected begin with a record batch."""
    if is_batch(data):
        raise InputError("no message (record batches: kcli decode segment reads that)", file=name)


def is_batch(data: bytes) -> bool:
    """Return whether bytes begin with a record batch, by its checksum. Most begin as a Produce request does."""
    if data[:2] != b"\0\0" or data[16:17] != b"\2":
        return False
    from kcli.records.recognition import first_batch

    return first_batch(data) is not None
