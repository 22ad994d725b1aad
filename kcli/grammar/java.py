"""The rules by which Kafka's Java client writes a message's values, from the generated code of each message.

A tagged field is sent only if it is not at its default. A field that the version lacks is left out if it is ignorable
or at its default; else the client fails (MessageDataGenerator: UnsupportedVersionException). Strings have at most
32,767 bytes. Data that only a decoder knows is not written: unknown tags, odd encodings, trailing bytes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from kcli.core.codec.values import bytes_of
from kcli.errors import EncodeError
from kcli.grammar.codec import MessageCodec
from kcli.grammar.words.trace import child
from kcli.schemas.catalog import catalog
from kcli.schemas.model import Field
from kcli.schemas.vectors.notes import Notes

LONGEST_STRING = 0x7FFF  # bytes


def java_value(codec: MessageCodec, value: Mapping[str, Any], dialect: str | None = None) -> dict[str, Any]:
    """Return a value that `codec.write` encodes to the bytes of Kafka's Java client.

    The given value may have fields of other versions. Raises EncodeError with the field if the client would fail.
    """
    tables = catalog(dialect)
    message = tables.message(codec.name)
    try:
        return Writer(codec.version, tables.notes(message)).struct(message.fields, value, "", "")
    except EncodeError as error:
        raise EncodeError(error.path, codec.reason_shown(error.reason), what=codec.what) from None


class Writer:
    """Applies the rules to one version of a message. notes: the notes on its fields."""

    def __init__(self, version: int, notes: Notes) -> None:
        self.version, self.notes = version, notes

    def struct(self, fields: Sequence[Field], value: Any, path: str, noted: str) -> dict[str, Any]:
        """Return the value of a struct to write. noted: the struct's path in the notes, with a dot. Raises
        EncodeError.
        """
        if not isinstance(value, Mapping):
            raise EncodeError(path, f"needs an object with fields, not {value!r}")
        named = {field.name for field in fields}
        if unknown := [name for name in value if name not in named and not name.startswith("_")]:
            raise EncodeError(path, f"has no field {unknown[0]!r} in any version")
        made = {}
        for field in fields:
            if field.name not in value:
                continue
            item, place = value[field.name], child(path, field.name)
            try:
                if self.version not in field.versions:
                    self.check_lacking(field, item, place, noted)
                elif self.version not in field.tagged or not is_default(field, item):
                    made[field.name] = self.field(field, item, place, noted)
            except ValueError as error:
                raise EncodeError(place, str(error)) from None
        return made

    def check_lacking(self, field: Field, item: Any, path: str, noted: str) -> None:
        """Raise EncodeError for a value without a field in this version, unless it is ignorable or the default."""
        if not self.notes.get(f"{noted}{field.name}", {}).get("ignorable") and not is_default(field, item):
            raise EncodeError(
                path,
                f"not in version {self.version}, and not ignorable: Kafka's Java client fails here "
                f"(UnsupportedVersionException: Attempted to write a non-default {field.name})",
            )

    def field(self, field: Field, item: Any, path: str, noted: str) -> Any:
        if field.is_array and isinstance(item, Sequence) and not isinstance(item, str | bytes):
            return [self.element(field, each, f"{path}[{index}]", noted) for index, each in enumerate(item)]
        return item if field.is_array or item is None else self.element(field, item, path, noted)

    def element(self, field: Field, item: Any, path: str, noted: str) -> Any:
        if field.is_struct:
            return self.struct(field.fields, item, path, f"{noted}{field.name}.")
        if field.element == "string" and isinstance(item, str) and len(item.encode(errors="replace")) > LONGEST_STRING:
            raise EncodeError(path, f"longer than {LONGEST_STRING:,} bytes: Kafka's Java client fails here")
        return item


def is_default(field: Field, item: Any) -> bool:
    """Return whether a field has its value in a new object of Kafka's class."""
    if item is None or field.default is None:
        return item is field.default
    if field.is_array:
        return item in ([], ())
    if field.is_struct:
        if not isinstance(item, Mapping):
            return False
        members = {member.name: member for member in field.fields}
        return all(is_default(members[name], each) for name, each in item.items() if name in members)
    if isinstance(field.default, bytes):
        return bytes_of(item) == field.default
    return bool(item == field.default)
