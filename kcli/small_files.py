"""Reads small text files whole: those of a node beside its logs, and properties."""

from pathlib import Path

from kcli.errors import InputError

LARGEST = 16 << 20  # bytes; a leader-epoch-checkpoint of a million epochs fits


def read_small(path: Path, encoding: str = "utf-8") -> str:
    """Read a small text file, with a replacement for what is not in the encoding. Raises OSError, or InputError for a
    large file, which would fill the memory.
    """
    with path.open("rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise InputError(f"more than {LARGEST >> 20} MiB (a small text file expected)")
    return data.decode(encoding, "replace")
