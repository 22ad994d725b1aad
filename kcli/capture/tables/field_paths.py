"""Finds the topics, partitions and groups that a message names: in its value, or by the text before each in its JSON.

Kafka's definitions mark fields that are topic names (`entityType`). The tables lack that mark, so the field's name
decides, and for `name` that of its array.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Any, NamedTuple

from kcli.schemas.catalog import catalog
from kcli.schemas.definition import ZERO_UUID
from kcli.schemas.model import Field, Message
from kcli.topic_names import INDEX_FIELDS, NAME_FIELDS

TOPIC, TOPIC_ID, INDEX, GROUP = "topic", "topic id", "partition", "group"
RESOURCE = "resource"  # a topic or group, depending on the type beside it
COORDINATOR = "coordinator key"  # a group if `keyType` is 0
RESOURCES = {2: TOPIC, 32: GROUP}  # ConfigResource.Type
GROUPS = frozenset({"groups", "groupIds", "groupsNames"})
# Arrays of topics whose names do not tell so.
TOPICS = frozenset(
    {
        ("ProduceResponse", "responses"),
        ("DeleteTopicsResponse", "responses"),
        ("CreatePartitionsResponse", "results"),
        ("AlterPartitionReassignmentsResponse", "responses"),
    }
)
NO_PARTITIONS = "forgottenTopicsData"  # in a Fetch: the partitions to remove from the session

Topic = str | tuple[str]  # a name, or an id in a tuple if there is no name


class Named(NamedTuple):
    """The names in a message, each once. A partition is (topic, index); index None is the topic as a whole."""

    topics: dict[Topic, None]
    partitions: dict[tuple[Topic, int | None], None]
    groups: dict[str, None]


class Scan(NamedTuple):
    """The texts before a topic, a partition's index and a group in a message's JSON; None if it has none.

    is_id: it is the topic's id, not its name. refused: if the JSON contains this text, only the values tell.
    """

    topic: bytes | None
    is_id: bool
    partition: bytes | None
    group: bytes | None
    refused: bytes | None


def role_of(message: str, parent: str, field: Field) -> str | None:
    """Return the kind of name in a field of the array or struct `parent`."""
    name, element = field.name, field.element
    if element == "uuid":
        return TOPIC_ID if name == "topicId" else None
    if element == "int32":
        index = name in INDEX_FIELDS or (field.is_array and name.startswith("partition") and parent != NO_PARTITIONS)
        return INDEX if index else None
    if element != "string":
        return None
    if ("opic" in name and "egex" not in name) or (
        name == "name" and ("opic" in parent or (message, parent) in TOPICS)
    ):
        return TOPIC
    if name == "groupId" or (field.is_array and name in GROUPS):
        return GROUP
    if name == "resourceName":
        return RESOURCE
    return COORDINATOR if message == "FindCoordinatorRequest" and name in ("key", "coordinatorKeys") else None


# In values


class FieldNode(NamedTuple):
    """A field that names something, or has fields below it that do."""

    name: str
    role: str | None
    below: tuple[FieldNode, ...]


class Tree(NamedTuple):
    """The fields of a message's value that can name something. indexes: it names partitions, not only topics."""

    nodes: tuple[FieldNode, ...]
    indexes: bool


@cache
def tree_of(name: str, dialect: str | None) -> Tree:
    message = catalog(dialect).message(name)

    def nodes(parent: str, fields: tuple[Field, ...]) -> Iterator[FieldNode]:
        for field in fields:
            node = FieldNode(field.name, role_of(name, parent, field), tuple(nodes(field.name, field.fields)))
            if node.role or node.below:
                yield node

    return Tree(tuple(nodes("", message.fields)), any(role == INDEX for _, role, _ in all_fields(message, None)))


def names_in(name: str, dialect: str | None, value: dict[str, Any] | None, named: Named) -> None:
    """Add the names in a message's value to `named`."""
    if value is None:
        return
    tree = tree_of(name, dialect)
    found: dict[tuple[Topic, int | None], None] = {}
    walk(tree.nodes, value, None, named, found)
    if tree.indexes:
        found = {place: None for place in found if place[1] is not None}
    named.partitions.update(found)


def walk(
    nodes: tuple[FieldNode, ...],
    value: dict[str, Any],
    topic: Topic | None,
    named: Named,
    found: dict[tuple[Topic, int | None], None],
) -> None:
    """Add the topics, partitions and groups in a value to `named` and `found`. topic: the topic of the enclosing value,
    for members that have partitions without a topic.
    """
    own = topics_of(nodes, value)
    for each in own:
        named.topics[each] = None
        found[each, None] = None
    topic = own[0] if own else topic
    for name, role, below in nodes:
        item = value.get(name)
        items = item if isinstance(item, list) else [item]
        if role == INDEX:
            if topic is not None:
                found.update(dict.fromkeys((topic, index) for index in items if index is not None))
        elif below:
            for member in items:
                if isinstance(member, dict):
                    walk(below, member, topic, named, found)
        elif is_group(role, value):
            named.groups.update(dict.fromkeys(texts(item)))


def topics_of(nodes: tuple[FieldNode, ...], value: dict[str, Any]) -> list[Topic]:
    """Return the topics that a struct names itself; the ids count if there is no name."""
    names: list[Topic] = []
    ids: list[Topic] = []
    for name, role, _ in nodes:
        if role == TOPIC_ID:
            ids += [(text,) for text in texts(value.get(name)) if text != ZERO_UUID]
        elif role is not None and is_topic(role, value):
            names += texts(value.get(name))
    return names or ids


def is_topic(role: str | None, value: dict[str, Any]) -> bool:
    return role == TOPIC or (role == RESOURCE and RESOURCES.get(value.get("resourceType", 0)) == TOPIC)


def is_group(role: str | None, value: dict[str, Any]) -> bool:
    if role == RESOURCE:
        return RESOURCES.get(value.get("resourceType", 0)) == GROUP
    return role == GROUP or (role == COORDINATOR and not value.get("keyType"))


def texts(item: Any) -> list[str]:
    return [each for each in (item if isinstance(item, list) else [item]) if isinstance(each, str)]


# In text


def scans(
    api_key: int, version: int, wanted: AbstractSet[str], dialect: str | None = None
) -> tuple[Scan | None, Scan | None] | None:
    """Return the scans for the names in the JSON of request and response, each None if it has no names. Return None if
    only the values tell.

    wanted: of TOPIC, INDEX and GROUP.
    """
    tables = catalog(dialect)
    made: list[Scan | None] = []
    for name in (tables.apis[api_key].request, tables.apis[api_key].response):
        message = tables.message(name)
        if any(version in variant.versions for variant in message.variants):
            return None
        scan = scan_of(list(all_fields(message, version)), wanted)
        if scan is None:
            return None
        made.append(scan if any((scan.topic, scan.partition, scan.group)) else None)
    return made[0], made[1]


def scan_of(found: list[tuple[Field, str | None, tuple[Field, ...]]], wanted: AbstractSet[str]) -> Scan | None:
    """Return the scan for these roles; None if a field's name does not determine its role."""
    asked = {TOPIC, TOPIC_ID, RESOURCE} if TOPIC in wanted else set()
    asked |= {INDEX} & wanted
    asked |= {GROUP, RESOURCE, COORDINATOR} if GROUP in wanted else set()
    roles: dict[str, str] = {}
    refused = None
    for field, role, beside in found:
        if role not in asked:
            continue
        if role == TOPIC_ID and (names := [each.name for each in beside if each.name in NAME_FIELDS]):
            refused = f'"{names[0]}":null'.encode()  # the id counts if there is no name
            continue
        if field.is_array or role in (RESOURCE, COORDINATOR) or roles.setdefault(role, field.name) != field.name:
            return None
    if TOPIC in roles and TOPIC_ID in roles:
        return None
    if any(field.name in roles.values() and role not in roles for field, role, _ in found):
        return None
    topic, index, group = roles.get(TOPIC) or roles.get(TOPIC_ID), roles.get(INDEX), roles.get(GROUP)
    quoted = [None if name is None else f'"{name}":"'.encode() for name in (topic, group)]
    return Scan(quoted[0], TOPIC_ID in roles, None if index is None else f'"{index}":'.encode(), quoted[1], refused)


def all_fields(message: Message, version: int | None) -> Iterator[tuple[Field, str | None, tuple[Field, ...]]]:
    """Yield (field, its role, the fields beside it) for all fields of a message. version: None for any."""

    def below(parent: str, fields: tuple[Field, ...]) -> Iterator[tuple[Field, str | None, tuple[Field, ...]]]:
        present = tuple(field for field in fields if version is None or version in field.versions)
        for field in present:
            yield field, role_of(message.name, parent, field), present
            yield from below(field.name, field.fields)

    return below("", message.fields)
