"""Schemas of registries and files, and the error of an invalid one."""

from dataclasses import dataclass, field

from kcli.errors import InputError

AVRO, PROTOBUF, JSON = "AVRO", "PROTOBUF", "JSON"
TYPES = (AVRO, PROTOBUF, JSON)
LONGEST = 1 << 20  # characters of a schema's text and its references
FAILURES = (ArithmeticError, AttributeError, EOFError, LookupError, RecursionError, TypeError, ValueError)


class PayloadError(InputError):
    """A payload that its schema can't read, or a schema that can't be used."""


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema.

    references: (name, text) of the schemas that it refers to, each after those that it refers to itself; descriptors:
    for Protobuf, a compiled FileDescriptorSet instead of text, whose last file has the messages; local: it is the
    user's own; message: for Protobuf, the name of the message
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
