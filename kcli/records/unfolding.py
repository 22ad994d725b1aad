"""Decompresses the payloads of one message within one budget: small batches that unfold to much add up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcli.errors import InputError
from kcli.records.codecs import MOST_BYTES, decompress

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Unfolding:
    """A decompressor of payloads.

    shared: all payloads together may unfold to MOST_BYTES, until `begin` is called; else each may.
    odd: what decompressed though something is wrong with it that Kafka does not look at, a text for each.
    """

    __slots__ = ("odd", "shared", "used")

    def __init__(self, shared: bool = False) -> None:
        self.shared, self.used = shared, 0
        self.odd = list[str]()

    def begin(self) -> None:
        """Begin another message, with a budget of its own."""
        self.used = 0

    def __call__(self, codec: int, data: Buffer, magic: int = 2) -> Buffer:
        """Decompress as `codecs.decompress`. InputError also where the budget does not suffice."""
        if not codec:
            return data
        left = MOST_BYTES - self.used
        try:
            made = decompress(codec, data, magic, left, self.odd)
        except InputError as error:
            if self.used:
                raise InputError(f"{error} ({self.used} were taken by batches before it in the message)") from None
            raise
        if self.shared:
            self.used += memoryview(made).nbytes
        return made
