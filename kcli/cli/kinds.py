"""Whether files are of the kind that a command reads: one of another kind is refused by what it is."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from kcli.cli.streams import standard_input
from kcli.errors import InputError

__all__ = ["is_batch", "name_of", "refuse_other_files", "refuse_others"]

LOOKED_AT = 1 << 12  # bytes of a file, to say what it is
HEADER = 61  # bytes, of a record batch


def name_of(file: str) -> str:
    """What an input is called in messages; "-" is standard input."""
    return "standard input" if file == "-" else file


def refuse_others(data: bytes, name: str, why: str = "neither a message nor record batches") -> None:
    """InputError: what should be a message or record batches is a capture, JSON, or text without --hex.

    why: what it is not.
    """
    if data[:1] == b"\0":
        return  # as most messages and batches begin: they are spared the import
    from kcli.capture.recognition import recognized

    if kind := recognized(data, certain=True):
        raise InputError(f"{why} ({kind})", file=name)


def refuse_other_files(files: Iterable[str], why: str) -> None:
    """`refuse_others` of the first bytes of files and of standard input, which lose none; pipes are not looked at."""
    for file in files:
        if file == "-":
            refuse_others(standard_input().peek(LOOKED_AT)[:LOOKED_AT], name_of(file), why)
        elif Path(file).is_file():
            with Path(file).open("rb") as opened:
                refuse_others(opened.read(LOOKED_AT), name_of(file), why)


def is_batch(data: bytes) -> bool:
    """Whether bytes begin with a record batch, by its checksum. Most begin as a Produce request does."""
    if data[:2] != b"\0\0" or data[16:17] != b"\2" or len(data) < HEADER:
        return False
    from kcli.records.batches import scan

    try:
        return any(batch.crc_valid for batch in islice(scan(data), 1))
    except InputError:
        return False
