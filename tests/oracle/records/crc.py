"""Checksums by libraries: CRC-32 of zlib, CRC-32C of the crc32c package."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import crc32c as castagnoli

if TYPE_CHECKING:
    from typing_extensions import Buffer


def crc32(data: Buffer, value: int = 0) -> int:
    """The checksum of magic 0 and 1 (zlib's), going on from `start`."""
    return zlib.crc32(data, value)


def crc32c(data: Buffer, value: int = 0) -> int:
    """The checksum of magic 2 (Castagnoli), going on from `start`."""
    return int(castagnoli.crc32c(data, value))
