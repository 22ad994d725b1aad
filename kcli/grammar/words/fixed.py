"""Structs of fixed width for the module `struct`, which is faster for loops over many, and for single fields in
place.
"""

import struct
from collections.abc import Iterator
from functools import cache
from typing import Any

from kcli.core.codec.varints import Buffer
from kcli.grammar.words.scalars import FORMATS, Primitive
from kcli.grammar.words.structs import Struct


class FixedLayout:
    """Names, offsets and the `struct.Struct` of a grammar of fixed-width numbers.

    offsets: each field's first byte; size: bytes of the whole; single: each field's own `struct.Struct`.
    """

    def __init__(self, grammar: Struct) -> None:
        form, self.offsets, at = ">", dict[str, int](), 0
        for field in grammar.fields:
            if not isinstance(field.subcon, Primitive) or field.subcon.type not in FORMATS:
                raise TypeError(f"{field.name} is no number of fixed width")
            form += FORMATS[field.subcon.type]
            self.offsets[field.name] = at
            at += field.subcon.least
        self.names = tuple(self.offsets)
        self.single = {name: struct.Struct(">" + mark) for name, mark in zip(self.names, form[1:], strict=True)}
        self.struct = struct.Struct(form)
        self.size = self.struct.size
        self.unpack_from, self.iter_unpack, self.pack = (
            self.struct.unpack_from,
            self.struct.iter_unpack,
            self.struct.pack,
        )

    def rows(self, data: Buffer) -> Iterator[dict[str, Any]]:
        """Yield each whole entry of `data` as a dict; bytes after the last whole entry are ignored."""
        with memoryview(data) as view:
            for values in self.iter_unpack(view[: len(view) // self.size * self.size]):
                yield dict(zip(self.names, values, strict=True))

    def row(self, data: Buffer, at: int = 0) -> dict[str, Any]:
        """Return the entry at `at` as a dict. Raises struct.error if there are too few bytes."""
        return dict(zip(self.names, self.unpack_from(data, at), strict=True))

    def put(self, data: bytearray, **fields: int) -> None:
        """Write single fields of an entry at the start of `data`."""
        for name, value in fields.items():
            self.single[name].pack_into(data, self.offsets[name], value)

    def part(self, first: str, last: str) -> struct.Struct:
        """Return a `struct.Struct` of the fields from `first` to `last` only."""
        chosen = self.names[self.names.index(first) : self.names.index(last) + 1]
        return struct.Struct(">" + "".join(self.single[name].format.removeprefix(">") for name in chosen))


@cache
def fixed_layout(grammar: Struct) -> FixedLayout:
    """Return the layout of a grammar; it is made only once. Raises TypeError if a field has no fixed width."""
    return FixedLayout(grammar)
