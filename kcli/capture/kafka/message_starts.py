"""Reads fields at the beginning of messages whose rest is not in the capture."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from kcli.core.codec.values import MISSING
from kcli.errors import DecodeError, UsageError
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec

if TYPE_CHECKING:
    from kcli.core.codec.messages import Selection

NUMBER = Struct("=q")  # the core's form of a number in a column


class FieldReader(NamedTuple):
    """Reads a message of one version up to one field. slot: the field's place in a row of `head`; a text has two: its
    place and size.
    """

    header: MessageCodec
    head: Selection
    slot: int
    is_text: bool

    def read(self, frame: bytes) -> int | str | None:
        """Return the field's value; None if the frame ends before it does, or the message lacks it."""
        try:
            found = self.head.read(frame, self.header.skip(frame))
        except DecodeError:
            return None
        if found is None:
            return None
        row = found[0][0]
        value, size = (NUMBER.unpack_from(row, 8 * at)[0] for at in (self.slot, self.slot + self.is_text))
        if self.is_text:
            return frame[value : value + size].decode("utf-8", "replace") if size >= 0 else None
        return None if value == MISSING else int(value)


class MessageStarts:
    """The readers of fields, made when they are first needed."""

    def __init__(self, dialect: str | None) -> None:
        self.dialect = dialect
        self.readers: dict[tuple[int, int, str, bool], FieldReader | None] = {}

    def value(self, frame: bytes, api: tuple[int, int], path: str, *, response: bool) -> int | str | None:
        """Return a field that the first bytes of a message have whole; None if they don't, or the message lacks it.

        api: key and version, which the tables have. path: as for `select`, of a field in no array.
        """
        key = (*api, path, response)
        if key not in self.readers:
            self.readers[key] = self.reader(*key)
        reader = self.readers[key]
        return None if reader is None else reader.read(frame)

    def reader(self, api_key: int, version: int, path: str, response: bool) -> FieldReader | None:
        """Return the reader of a field; None if the version lacks it, or the core can't read it."""
        given = api_key, version, self.dialect
        header = messages.response_header(*given) if response else messages.request_header(*given)
        message = messages.response(*given) if response else messages.request(*given)
        try:
            selection = message.select([path])
        except UsageError:
            return None  # the message has it in no version
        place = selection.place(path)
        is_text = place.type != "missing" and selection.slices_only({path})
        if place.type == "missing" or selection.head is None or len(selection.levels) > 1:
            return None
        return FieldReader(header, selection.head, place.slot, is_text)
