"""Refuses devices without an end, as reading one to its end would fill the memory."""

import os
from pathlib import Path

from kcli.errors import InputError

ENDLESS = ("full", "random", "urandom", "zero")


def refuse_endless(file: str | os.PathLike[str]) -> None:
    """Raise InputError if the path, or the target of its links, is a device without an end."""
    path = Path(file)
    if path.is_char_device() and path.resolve().name in ENDLESS:
        raise InputError("a device without an end (a file or a pipe expected)", file=os.fspath(file))
