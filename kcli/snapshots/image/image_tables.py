"""A metadata image as flat tables of plain rows: for JSON, Parquet and comparing.

A table has columns (with Arrow's names for their types) and a key, the columns that name its object.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kcli.grammar.secrets import redacted
from kcli.schemas.secrets import SCRAM_KEYS, is_secret_config
from kcli.snapshots.image.image import Image
from kcli.snapshots.image.texts import (
    ACL_OPERATIONS,
    CONFIG_TYPES,
    PATTERN_TYPES,
    PERMISSIONS,
    RESOURCE_TYPES,
    SCRAM_MECHANISMS,
    SECURITY_PROTOCOLS,
    entity_text,
    migration_state,
    named,
)

Row = dict[str, Any]
Rows = Callable[[Image, bool], Iterator[Row]]


@dataclass(frozen=True, slots=True)
class ImageTable:
    """A table of an image.

    key: the columns that name an object; columns: {name: Arrow type}; rows(image, secrets): yields the rows, sorted by
    key; without secrets `{"redacted": bytes}` stands for each secret
    """

    name: str
    key: tuple[str, ...]
    columns: dict[str, str]
    rows: Rows


TABLES: dict[str, ImageTable] = {}


def table(name: str, key: str, columns: str) -> Callable[[Rows], Rows]:
    """Register a table. columns: "name:type name:type"; a column without a type is a string."""
    typed = {column: kind or "string" for column, _, kind in (each.partition(":") for each in columns.split())}

    def register(rows: Rows) -> Rows:
        TABLES[name] = ImageTable(name, tuple(key.split()), typed, rows)
        return rows

    return register


@table("features", "name", "name level:int16")
def feature_rows(image: Image, _secrets: bool) -> Iterator[Row]:
    for name, level in sorted(image.features.items()):
        yield {"name": name, "level": level}


@table("migration", "name", "name state")
def migration_rows(image: Image, _secrets: bool) -> Iterator[Row]:
    if (state := migration_state(image)) is not None:
        yield {"name": "ZooKeeper", "state": state}


@table("voters", "voterId", "voterId:int32 voterDirectoryId endpoints:list<string>")
def voter_rows(image: Image, _secrets: bool) -> Iterator[Row]:
    for voter in sorted(image.voters or (), key=lambda each: each["voterId"]):
        points = [f"{each['name']}://{each['host']}:{each['port']}" for each in voter["endpoints"]]
        yield {"voterId": voter["voterId"], "voterDirectoryId": voter["voterDirectoryId"], "endpoints": points}


@table(
    "brokers",
    "broker",
    "broker:int32 brokerEpoch:int64 incarnationId rack fenced:bool inControlledShutdown:bool isMigratingZkBroker:bool "
    "endPoints:list<string> features:list<string> logDirs:list<string> cordonedLogDirs:list<string>",
)
def broker_rows(image: Image, _secrets: bool) -> Iterator[Row]:
    for number, broker in sorted(image.brokers.items()):
        yield {
            "broker": number,
            "brokerEpoch": broker["brokerEpoch"],
            "incarnationId": broker["incarnationId"],
            "rack": broker.get("rack"),
            "fenced": bool(broker.get("fenced", True)),
            "inControlledShutdown": bool(broker.get("inControlledShutdown", False)),
            "isMigratingZkBroker": bool(broker.get("isMigratingZkBroker", False)),
            **node_columns(broker),
            "logDirs": sorted(broker.get("logDirs") or ()),
            "cordonedLogDirs": sorted(broker.get("cordonedLogDirs") or ()),
        }


@table(
    "controllers",
    "controller",
    "controller:int32 incarnationId zkMigrationReady:bool endPoints:list<string> features:list<string>",
)
def controller_rows(image: Image, _secrets: bool) -> Iterator[Row]:
    for number, controller in sorted(image.controllers.items()):
        yield {
            "controller": number,
            "incarnationId": controller["incarnationId"],
            "zkMigrationReady": bool(controller["zkMigrationReady"]),
            **node_columns(controller),
        }


def node_columns(node: Row) -> Row:
    return {
        "endPoints": sorted(map(point_text, node["endPoints"])),
        "features": sorted(map(span_text, node["features"])),
    }


def point_text(point: Row) -> str:
    protocol = named(SECURITY_PROTOCOLS, point["securityProtocol"])
    return f"{point['name']}://{point['host']}:{point['port']} ({protocol})"


def span_text(feature: Row) -> str:
    return f"{feature['name']} {feature['minSupportedVersion']}-{feature['maxSupportedVersion']}"


@table("topics", "topicId", "topicId name partitions:int32")
def topic_rows(image: Image, _secrets: bool) -> Iterator[Row]:
    for topic in image.sorted_topics():
        yield {"topicId": topic.id_text, "name": topic.name, "partitions": len(topic.partitions)}


@table(
    "partitions",
    "topicId partition",
    "topicId topic partition:int32 leader:int32 leaderEpoch:int32 partitionEpoch:int32 leaderRecoveryState:int8 "
    "replicas:list<int32> isr:list<int32> removingReplicas:list<int32> addingReplicas:list<int32> "
    "eligibleLeaderReplicas:list<int32> lastKnownElr:list<int32> directories:list<string>",
)
def partition_rows(image: Image, _secrets: bool) -> Iterator[Row]:
    for topic, number, partition in image.every_partition():
        yield {"topicId": topic.id_text, "topic": topic.name, "partition": number, **partition}


@table("configs", "resourceType resourceName name", "resourceType resourceName name value")
def config_rows(image: Image, secrets: bool) -> Iterator[Row]:
    for (kind, resource), values in sorted(image.configs.items()):
        for name, value in sorted(values.items()):
            shown = value if secrets or not is_secret_config(name, kind) else redacted(len(value.encode()))
            yield {"resourceType": named(CONFIG_TYPES, kind), "resourceName": resource, "name": name, "value": shown}


@table("clientQuotas", "entity key", "entity key value:double")
def quota_rows(image: Image, _secrets: bool) -> Iterator[Row]:
    """Yield the client quotas. entity: `client-id=a,user=<default>`."""
    rows = {entity_text(entity): values for entity, values in image.quotas.items()}
    for entity, values in sorted(rows.items()):
        for key, value in sorted(values.items()):
            yield {"entity": entity, "key": key, "value": value}


@table("scramCredentials", "mechanism user", f"mechanism user iterations:int32 {' '.join(SCRAM_KEYS)}")
def scram_rows(image: Image, secrets: bool) -> Iterator[Row]:
    for mechanism, users in sorted(image.scram.items()):
        for user, credential in sorted(users.items()):
            keys = {name: secret(credential.get(name), secrets) for name in SCRAM_KEYS}
            label = named(SCRAM_MECHANISMS, mechanism)
            yield {"mechanism": label, "user": user, "iterations": credential["iterations"], **keys}


def secret(value: bytes | str | None, shown: bool) -> str | dict[str, int]:
    data = b64decode(value) if isinstance(value, str) else bytes(value or b"")
    return b64encode(data).decode() if shown else redacted(len(data))


@table("acls", "id", "id resourceType resourceName patternType principal host operation permissionType")
def acl_rows(image: Image, _secrets: bool) -> Iterator[Row]:
    for identity, acl in sorted(image.acls.items()):
        yield {
            "id": identity,
            "resourceType": named(RESOURCE_TYPES, acl["resourceType"]),
            "resourceName": acl["resourceName"],
            "patternType": named(PATTERN_TYPES, acl["patternType"]),
            "principal": acl["principal"],
            "host": acl["host"],
            "operation": named(ACL_OPERATIONS, acl["operation"]),
            "permissionType": named(PERMISSIONS, acl["permissionType"]),
        }


@table(
    "delegationTokens",
    "tokenId",
    "tokenId owner requester renewers:list<string> issueTimestamp:int64 maxTimestamp:int64 expirationTimestamp:int64",
)
def token_rows(image: Image, _secrets: bool) -> Iterator[Row]:
    for identity, token in sorted(image.tokens.items()):
        yield {
            "tokenId": identity,
            "owner": token["owner"],
            "requester": token.get("requester", token["owner"]),
            "renewers": list(token["renewers"]),
            "issueTimestamp": token["issueTimestamp"],
            "maxTimestamp": token["maxTimestamp"],
            "expirationTimestamp": token["expirationTimestamp"],
        }


@table("producerIds", "name", "name nextProducerId:int64")
def producer_rows(image: Image, _secrets: bool) -> Iterator[Row]:
    if image.next_producer_id >= 0:
        yield {"name": "cluster", "nextProducerId": image.next_producer_id}
