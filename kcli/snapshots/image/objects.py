"""The objects of a metadata image, one at a time: those that a record touches, and the row of each.

An object is named by its table (`image_tables.TABLES`) and its key in an image.
"""

from collections.abc import Callable
from typing import Any

from kcli.schemas.field_codes import ConfigResource
from kcli.snapshots.image.image import Image, Topic, quota_entity
from kcli.snapshots.image.image_tables import TABLES
from kcli.snapshots.image.partitions import id_bytes

Row = dict[str, Any]
Value = dict[str, Any]
Object = tuple[str, Any]

SECRET_TABLES = ("configs", "scramCredentials")  # tables with hidden values


def touched(image: Image, name: str, value: Value) -> list[Object]:
    """Return the objects that a record may change, create or remove. image: the one before the record."""
    find = TOUCHES.get(name)
    return find(image, value) if find else []


def object_row(image: Image, found: Object, secrets: bool = False) -> Row | None:
    """Return the row of an object in its table; None if the image does not have the object."""
    table, key = found
    return next(TABLES[table].rows(PARTS[table](image, key), secrets), None)


def pick(items: dict[Any, Any], key: Any) -> dict[Any, Any]:
    return {key: items[key]} if key in items else {}


def nested(items: dict[Any, dict[Any, Any]], key: tuple[Any, Any]) -> dict[Any, Any]:
    outer, inner = key
    found = pick(items.get(outer, {}), inner)
    return {outer: found} if found else {}


def part_of_topic(image: Image, key: tuple[bytes, int]) -> Image:
    identity, number = key
    topic = image.topics.get(identity)
    found = pick(topic.partitions, number) if topic else {}
    return Image(topics={identity: Topic(identity, topic.name, found)} if topic else {}, decode=image.decode)


# Functions that return an image with one object of a table, or with none; the table's `rows` then yields its row.
PARTS: dict[str, Callable[[Image, Any], Image]] = {
    "features": lambda image, key: Image(features=pick(image.features, key)),
    "migration": lambda image, _: Image(zk_migration_state=image.zk_migration_state),
    "voters": lambda image, key: Image(voters=[each for each in image.voters or () if each["voterId"] == key]),
    "brokers": lambda image, key: Image(brokers=pick(image.brokers, key)),
    "controllers": lambda image, key: Image(controllers=pick(image.controllers, key)),
    "topics": lambda image, key: Image(topics=pick(image.topics, key)),
    "partitions": part_of_topic,
    "configs": lambda image, key: Image(configs=nested(image.configs, key)),
    "clientQuotas": lambda image, key: Image(quotas=nested(image.quotas, key)),
    "scramCredentials": lambda image, key: Image(scram=nested(image.scram, key)),
    "acls": lambda image, key: Image(acls=pick(image.acls, key)),
    "delegationTokens": lambda image, key: Image(tokens=pick(image.tokens, key)),
    "producerIds": lambda image, _: Image(next_producer_id=image.next_producer_id),
}


def by(table: str, field: str) -> Callable[[Image, Value], list[Object]]:
    return lambda _, value: [(table, value[field])]


def removed_topic(image: Image, value: Value) -> list[Object]:
    """Return the topic with its partitions and configs."""
    identity = id_bytes(value["topicId"])
    topic = image.topics.get(identity)
    if topic is None:
        return []
    resource = (ConfigResource.TOPIC, topic.name)
    partitions: list[Object] = [("partitions", (identity, number)) for number in sorted(topic.partitions)]
    configs: list[Object] = [("configs", (resource, name)) for name in sorted(image.configs.get(resource, ()))]
    return [("topics", identity), *partitions, *configs]


def partition(_: Image, value: Value) -> list[Object]:
    return [("partitions", (id_bytes(value["topicId"]), value["partitionId"]))]


def cleared(image: Image, value: Value) -> list[Object]:
    """Return the partitions that may have eligible leaders: those of the named topic, or all."""
    topics = image.cleared(value["topicName"])
    return [("partitions", (topic.id, number)) for topic in topics for number in sorted(topic.partitions)]


def quota(_: Image, value: Value) -> list[Object]:
    return [("clientQuotas", (quota_entity(value["entity"]), value["key"]))]


def credentials(_: Image, value: Value) -> list[Object]:
    infos = value.get("credentialInfos", (value,))
    return [("scramCredentials", (info["mechanism"], value["name"])) for info in infos]


def voters(image: Image, value: Value) -> list[Object]:
    return [
        ("voters", each) for each in sorted({each["voterId"] for each in [*(image.voters or ()), *value["voters"]]})
    ]


TOUCHES: dict[str, Callable[[Image, Value], list[Object]]] = {
    "FeatureLevelRecord": by("features", "name"),
    "RemoveFeatureLevelRecord": by("features", "name"),
    "RegisterBrokerRecord": by("brokers", "brokerId"),
    "UnregisterBrokerRecord": by("brokers", "brokerId"),
    "FenceBrokerRecord": by("brokers", "id"),
    "UnfenceBrokerRecord": by("brokers", "id"),
    "BrokerRegistrationChangeRecord": by("brokers", "brokerId"),
    "RegisterControllerRecord": by("controllers", "controllerId"),
    "UnregisterControllerRecord": by("controllers", "controllerId"),
    "TopicRecord": lambda _, value: [("topics", id_bytes(value["topicId"]))],
    "RemoveTopicRecord": removed_topic,
    "PartitionRecord": partition,
    "PartitionChangeRecord": partition,
    "ClearElrRecord": cleared,
    "ConfigRecord": lambda _, value: [("configs", ((value["resourceType"], value["resourceName"]), value["name"]))],
    "ClientQuotaRecord": quota,
    "QuotaRecord": quota,
    "UserScramCredentialRecord": credentials,
    "RemoveUserScramCredentialRecord": credentials,
    "AccessControlEntryRecord": by("acls", "id"),
    "RemoveAccessControlEntryRecord": by("acls", "id"),
    "DelegationTokenRecord": by("delegationTokens", "tokenId"),
    "RemoveDelegationTokenRecord": by("delegationTokens", "tokenId"),
    "ProducerIdsRecord": lambda _, __: [("producerIds", "cluster")],
    "VotersRecord": voters,
    "ZkMigrationStateRecord": lambda _, __: [("migration", "ZooKeeper")],
}
