"""Where the core finds, in each version of Fetch and Produce, what the tables say of a partition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kcli.grammar import messages
from kcli.grammar.native import to_native
from kcli.grammar.primitives import Array, LengthPrefixed, Primitive, Struct
from kcli.grammar.word import Word
from kcli.schemas.apikeys import FETCH, PRODUCE

if TYPE_CHECKING:
    from kcli.capture.bodies import Bodies
    from kcli.core.rows import Layout

__all__ = ["layout"]

FIXED, UUID, TEXT, BYTES, NESTED, OTHER, TAGS = range(7)

# Columns of the core, by the fields' names; of a message, a topic and a partition, on both sides.
REQUEST = {"sessionId": 0, "sessionEpoch": 1}
RESPONSE = {"errorCode": 2}
ASKED = {"partition": 0, "fetchOffset": 1, "partitionMaxBytes": 2}
TOLD = {
    "partitionIndex": 0,
    "errorCode": 3,
    "highWatermark": 4,
    "lastStableOffset": 5,
    "logStartOffset": 6,
    "records": 7,
    "currentLeader": 8,
}
PRODUCED = {"index": 0, "records": 7}
ANSWERED = {"index": 0, "errorCode": 3, "currentLeader": 8}
# By API, for the request and the response: the columns of the message, and of a partition.
SIDES: dict[int, tuple[tuple[Mapping[str, int], Mapping[str, int]], ...]] = {
    PRODUCE: (({}, PRODUCED), ({}, ANSWERED)),
    FETCH: ((REQUEST, ASKED), (RESPONSE, TOLD)),
}
ENDPOINT = ["nodeId", "host", "port", "rack"]
NEEDED = {"partition", "fetchOffset", "partitionMaxBytes", "partitionIndex", "errorCode", "highWatermark", "records"}
NEEDED |= {"index"}
TOPICS = ("topics", "topicData", "responses")
PARTITIONS = ("partitions", "partitionData", "partitionResponses")
NAMES = {"topicId": UUID, "topic": TEXT, "name": TEXT}

Entry = tuple[int, int, int, Any]  # what it is, bytes of it or of its length, column or -1, node


class UnreadableError(Exception):
    """A version, of a dialect perhaps, that does not say what the tables need."""


def layout(bodies: Bodies, api_key: int, version: int) -> Layout | None:
    """Of Fetch or Produce; None where the core can't read that version."""
    from kcli.core.rows import Layout

    both = [make(api_key, version, bodies.dialect) for make in (messages.request, messages.response)]
    if any(message.variants for message in both):
        return None
    try:
        sides = [side(message.grammar, *wanted) for message, wanted in zip(both, SIDES[api_key], strict=True)]
    except UnreadableError:
        return None
    return Layout(both[0].grammar.flexible, *sides)


def side(message: Struct, own: Mapping[str, int], columns: Mapping[str, int]) -> list[list[Entry]]:
    """The fields of message, topic and partition."""
    topic = nested(message, TOPICS)
    partition = nested(topic, PARTITIONS)
    missing = (columns.keys() & NEEDED) - {field.name for field in partition.fields}
    if missing or not any(field.name in NAMES for field in topic.fields):
        raise UnreadableError
    return [entries(message, own, TOPICS), entries(topic, {}, PARTITIONS), entries(partition, columns, ())]


def nested(struct: Struct, names: tuple[str, ...]) -> Struct:
    found = [field.subcon for field in struct.fields if field.name in names]
    if len(found) != 1 or not isinstance(found[0], Array) or not isinstance(found[0].subcon, Struct):
        raise UnreadableError
    return found[0].subcon


def entries(struct: Struct, columns: Mapping[str, int], below: tuple[str, ...]) -> list[Entry]:
    """below: the names under which the next level stands; with them a topic's own name and id."""
    made = [entry(field.name, field.subcon, columns, below) for field in struct.fields]
    return [*made, tags(struct, columns)] if struct.flexible else made


def tags(struct: Struct, columns: Mapping[str, int]) -> Entry:
    """With the tag of who leads, and of where nodes are (KIP-951)."""
    for field in struct.tagged:
        word = field.subcon
        if field.name == "currentLeader" and isinstance(word, Struct) and word.fields[0].name == "leaderId":
            return TAGS, field.tag or 0, columns.get(field.name, -1), None
        if field.name == "nodeEndpoints" and isinstance(word, Array) and is_endpoint(word.subcon):
            return TAGS, field.tag or 0, -1, None
    return TAGS, -1, -1, None


def is_endpoint(word: Any) -> bool:
    return isinstance(word, Struct) and [field.name for field in word.fields] == ENDPOINT


def entry(name: str, word: Word, columns: Mapping[str, int], below: tuple[str, ...]) -> Entry:
    column = columns.get(name, -1)
    if name in below and isinstance(word, Array):
        return NESTED, word.width, -1, None
    if isinstance(word, Primitive):
        named = below == PARTITIONS and NAMES.get(name) == UUID
        return UUID if named else FIXED, word.least, column, None
    if isinstance(word, LengthPrefixed):
        named = below == PARTITIONS and NAMES.get(name) == TEXT
        return TEXT if named else BYTES, word.width, column, None
    return OTHER, 0, -1, to_native(word)
