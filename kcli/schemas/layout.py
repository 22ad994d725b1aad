"""The byte layout of one version of a message, as a value for comparison."""

from __future__ import annotations

from dataclasses import dataclass

from kcli.schemas.model import Field, Message

# Both are a length, then bytes; Kafka 2.4 used the type bytes for records.
ALIKE = {"records": "bytes"}


@dataclass(frozen=True, slots=True)
class MessageLayout:
    """The order of a message's values, and its tags; names and defaults are left out."""

    flexible: bool
    plain: tuple[Slot, ...]
    tagged: tuple[tuple[int, Slot], ...]


@dataclass(frozen=True, slots=True)
class Slot:
    """One field: a scalar type or a struct's layout. prefixed: a byte in front tells whether a struct is null.

    Whether a text, array or bytes may be null is left out, as null has a length of its own.
    """

    array: bool
    shape: str | MessageLayout
    prefixed: bool
    classic: bool


def layout(message: Message, version: int) -> MessageLayout:
    """Return a layout; messages with equal layouts in a version read and write the same bytes."""
    return struct(message.fields, version, version in message.flexible)


def struct(fields: tuple[Field, ...], version: int, flexible: bool) -> MessageLayout:
    present = [field for field in fields if version in field.versions]
    plain = tuple(slot(field, version, flexible) for field in present if version not in field.tagged)
    tagged = [(field.tag or 0, slot(field, version, flexible)) for field in present if version in field.tagged]
    return MessageLayout(flexible, plain, tuple(sorted(tagged, key=lambda pair: pair[0])))


def slot(field: Field, version: int, flexible: bool) -> Slot:
    element = field.element
    shape = struct(field.fields, version, flexible) if field.is_struct else ALIKE.get(element, element)
    prefixed = field.is_struct and not field.is_array and version in field.nullable
    classic = field.flexible is not None and version not in field.flexible
    return Slot(field.is_array, shape, prefixed, classic)


def reads(one: MessageLayout, other: MessageLayout) -> bool:
    """Return whether a reader of `one` can read bytes that a writer of `other` wrote; tags that only one has do not
    count.
    """
    if one.flexible != other.flexible or len(one.plain) != len(other.plain):
        return False
    mine = dict(one.tagged)
    shared = [(mine[tag], theirs) for tag, theirs in other.tagged if tag in mine]
    return all(slots_agree(a, b) for a, b in [*zip(one.plain, other.plain, strict=True), *shared])


def slots_agree(one: Slot, other: Slot) -> bool:
    if (one.array, one.prefixed, one.classic) != (other.array, other.prefixed, other.classic):
        return False
    if isinstance(one.shape, MessageLayout) and isinstance(other.shape, MessageLayout):
        return reads(one.shape, other.shape)
    return one.shape == other.shape


def holds(one: MessageLayout, other: MessageLayout) -> bool:
    """Return whether `one` reads `other`, and has all of its tags."""
    mine = dict(one.tagged)
    if not reads(one, other) or any(tag not in mine for tag, _ in other.tagged):
        return False
    pairs = [*zip(one.plain, other.plain, strict=True), *((mine[tag], theirs) for tag, theirs in other.tagged)]
    return all(
        holds(a.shape, b.shape)
        for a, b in pairs
        if isinstance(a.shape, MessageLayout) and isinstance(b.shape, MessageLayout)
    )
