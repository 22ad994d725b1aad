"""Schemas of registries and files, and the error of an invalid one."""

from __future__ import annotations

from dataclasses import dataclass, field

from kcli.errors import InputError

AVRO, PROTOBUF, JSON = "AVRO", "PROTOBUF", "JSON"
TYPES = (AVRO, PROTOBUF, JSON)
LONGEST = 1 << 20  # bytes of a schema's text, with what it refers to
FAILURES = (ArithmeticError, AttributeError, EOFError, LookupError, RecursionError, TypeError, ValueError)


class PayloadError(InputError):
    """A payload that its schema can't read, or a schema that can't be used."""


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema's text. references: (name, text) of what it refers to, each behind what it refers to itself.

    descriptors: of Protobuf, a compiled FileDescriptorSet instead of text; the last file has the messages. local: it is
    the user's own. message: of Protobuf, the message that is meant.
    """

    type: str
    text: str = ""
    references: tuple[tuple[str, str], ...] = ()
    descriptors: bytes | None = field(default=None, repr=False)
    local: bool = False
    message: str | None = None

    def __post_init__(self) -> None:
        if len(self.text) + sum(len(text) for _, text in self.references) > LONGEST:
            raise PayloadError(f"a schema of more than {LONGEST >> 20} MiB")
