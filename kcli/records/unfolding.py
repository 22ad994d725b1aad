"""Decompresses the payloads of one message within one budget, because small batches that decompress to much add up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcli.errors import InputError
from kcli.records.codecs import MOST_BYTES, decompress

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Unfolding:
    """A decompressor of payloads.

    shared: all payloads together may decompress to MOST_BYTES, until `begin` is called; else each may. tolerated: texts
    on faults of decompressed payloads that Kafka ignores.
    """

    __slots__ = ("shared", "tolerated", "used")

    def __init__(self, shared: bool = False) -> None:
        self.shared, self.used = shared, 0
        self.tolerated = list[str]()

    def begin(self) -> None:
        """Begin another message with a new budget."""
        self.used = 0

    def __call__(self, codec: int, data: Buffer, magic: int = 2) -> Buffer:
        """Decompress as `codecs.decompress`. Raises InputError also if the budget does not suffice."""
        if not codec:
            return data
        left = MOST_BYTES - self.used
        try:
            made = decompress(codec, data, magic, left, self.tolerated)
        except InputError as error:
            if self.used:
                raise InputError(f"{error} ({self.used} were taken by batches before it in the message)") from None
            raise
        if self.shared:
            self.used += memoryview(made).nbytes
        return made
