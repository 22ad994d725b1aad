"""Devices that never end: what reads a file to its end would fill the memory with them."""

from __future__ import annotations

import os
from pathlib import Path

from kcli.errors import InputError

ENDLESS = ("full", "random", "urandom", "zero")


def refuse_endless(file: str | os.PathLike[str]) -> None:
    """Raise InputError for a device without an end, by whatever link."""
    path = Path(file)
    if path.is_char_device() and path.resolve().name in ENDLESS:
        raise InputError("a device without an end (a file or a pipe expected)", file=os.fspath(file))
