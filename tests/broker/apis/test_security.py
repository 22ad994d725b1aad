"""Odd requests about ACLs, quotas and credentials: the codes that a real broker of 4.4.0 gave."""

from typing import Any

import pytest

from kcli.broker import Broker
from kcli.broker.apis.topics.metadata import MAKING_SECONDS
from kcli.broker.security.acls import CLASS
from kcli.errors import NetworkError
from kcli.schemas import apikeys as keys
from kcli.schemas.errors import error_name
from tests.broker.apis.asking import codes
from tests.broker.talk import run, talking

CONFIG = {"authorizer.class.name": CLASS, "super.users": "User:ANONYMOUS"}
ACL = {"resourceType": 2, "resourceName": "t", "resourcePatternType": 3, "principal": "User:a", "host": "*"}
ACL |= {"operation": 3, "permissionType": 3}
FILTER = {"resourceTypeFilter": 1, "resourceNameFilter": None, "patternTypeFilter": 1, "principalFilter": None}
FILTER |= {"hostFilter": None, "operation": 1, "permissionType": 1}
QUORUM = {"topicName": "__cluster_metadata", "partitions": [{"partitionIndex": 0}]}
RATE = "producer_byte_rate"
Request = tuple[int, int, dict[str, Any]]


def acls(*changes: dict[str, Any]) -> Request:
    return keys.CREATE_ACLS, 3, {"creations": [ACL | each for each in changes]}


def described(**changes: int) -> Request:
    return keys.DESCRIBE_ACLS, 3, FILTER | changes


def deleted(**changes: int) -> Request:
    return keys.DELETE_ACLS, 3, {"filters": [FILTER | changes]}


def quotas(
    *entities: list[tuple[str, str | None]], key: str = RATE, value: float = 1.0, remove: bool = False
) -> Request:
    ops = [{"key": RATE, "value": value, "remove": remove}]
    rows = [{"entity": [{"entityType": a, "entityName": b} for a, b in each], "ops": ops} for each in entities]
    return keys.ALTER_CLIENT_QUOTAS, 1, {"entries": rows, "validateOnly": False}


def credentials(upserted: list[tuple[str, int, int]], deleted: list[tuple[str, int]] = []) -> Request:  # noqa: B006
    gone = [{"name": name, "mechanism": mechanism} for name, mechanism in deleted]
    made = [
        {"name": name, "mechanism": mechanism, "iterations": count, "salt": b"s", "saltedPassword": b"p"}
        for name, mechanism, count in upserted
    ]
    return keys.ALTER_USER_SCRAM_CREDENTIALS, 0, {"deletions": gone, "upsertions": made}


@pytest.mark.parametrize(
    ("request_", "codes"),
    [
        (acls({}, {"principal": "a"}), ["NONE", "INVALID_REQUEST"]),
        (acls({"principal": ""}), ["INVALID_REQUEST"]),
        (acls({"resourceName": ""}), ["INVALID_REQUEST"]),
        (acls({"host": ""}), ["INVALID_REQUEST"]),
        (acls({"resourceType": 4}), ["INVALID_REQUEST"]),
        (acls({"resourceType": 99}), ["INVALID_REQUEST"]),
        (acls({"operation": 99}), ["INVALID_REQUEST"]),
        (acls({}, {"operation": 1}), ["UNKNOWN_SERVER_ERROR"] * 2),
        (acls({"resourcePatternType": 2}), ["UNKNOWN_SERVER_ERROR"]),
        (acls({"permissionType": 1}), ["UNKNOWN_SERVER_ERROR"]),
        (acls({"operation": 0}), ["closed"]),
        (acls({"resourceType": 0}), ["closed"]),
        (described(operation=77), ["NONE"]),
        (described(patternTypeFilter=0), ["closed"]),
        (deleted(permissionType=0), ["closed"]),
        (deleted(operation=99), ["INVALID_REQUEST"]),
        (deleted(), ["NONE"]),
        (quotas([("user", "u"), ("user", "v")]), ["NONE"]),
        (quotas([("user", "u")], [("user", "u")]), ["INVALID_REQUEST"]),
        (quotas([("user", "u")], value=0.0), ["INVALID_REQUEST"]),
        (quotas([("user", "w")], remove=True), ["NONE"]),
        (quotas([("ip", "1.2.3.4")]), ["INVALID_REQUEST"]),
        (credentials([("", 1, 4096)]), ["UNACCEPTABLE_CREDENTIAL"]),
        (credentials([("d", 9, 4096)]), ["UNSUPPORTED_SASL_MECHANISM"]),
        (credentials([("u", 1, 4096)], [("u", 1)]), ["RESOURCE_NOT_FOUND"]),
        (credentials([("u", 1, 4096), ("u", 1, 4096)]), ["DUPLICATE_RESOURCE"]),
    ],
)
def test_codes(request_: Request, codes: list[str]) -> None:
    async def work() -> None:
        async with talking(Broker(config=CONFIG)) as talk:
            try:
                answer = await talk(*request_)
            except NetworkError:
                assert codes == ["closed"]
                return
            rows = next((each for each in answer.values() if isinstance(each, list) and each), [answer])
            assert [error_name(each.get("errorCode", 0)) for each in rows] == codes

    run(work())


def test_who_may_create_the_topics_that_metadata_asks_for() -> None:
    """Whoever may create topics of the cluster, or the topic itself."""
    cluster = {"resourceType": 4, "resourceName": "kafka-cluster"}
    mine = {"principal": "User:ANONYMOUS"}
    rights = [cluster | {"operation": 7}, {"resourceName": "mine", "operation": 5}]
    rights += [{"resourceName": name, "operation": 8} for name in ("mine", "other")]
    config = {"authorizer.class.name": CLASS, "allow.everyone.if.no.acl.found": "true"}

    async def work() -> None:
        async with talking(config=config) as talk:
            assert await codes(talk, *acls(*(each | mine for each in rights))) == ["NONE"] * 4
            body = {"topics": [{"name": "mine"}, {"name": "other"}], "allowAutoTopicCreation": True}
            refused = ["UNKNOWN_TOPIC_OR_PARTITION", "TOPIC_AUTHORIZATION_FAILED"]
            assert await codes(talk, keys.METADATA, 7, body) == refused
            talk.broker.clock.advance(MAKING_SECONDS)
            assert set(talk.broker.topics.by_name) == {"mine"}
            assert await codes(talk, keys.METADATA, 7, body) == ["NONE", "NONE", "TOPIC_AUTHORIZATION_FAILED"]
            assert await codes(talk, *acls(cluster | mine | {"operation": 5})) == ["NONE"]
            assert await codes(talk, keys.METADATA, 7, body) == ["NONE", "NONE", "UNKNOWN_TOPIC_OR_PARTITION"]
            talk.broker.clock.advance(MAKING_SECONDS)
            assert set(talk.broker.topics.by_name) == {"mine", "other"}

    run(work())


@pytest.mark.parametrize(
    ("api", "version", "body"),
    [
        (keys.LIST_GROUPS, 5, {"statesFilter": [], "typesFilter": []}),
        (keys.DESCRIBE_QUORUM, 2, {"topics": [QUORUM]}),
        (keys.DESCRIBE_CLUSTER, 1, {}),
        (keys.DESCRIBE_LOG_DIRS, 4, {"topics": None}),
        (keys.LIST_TRANSACTIONS, 1, {}),
    ],
)  # fmt: skip
def test_what_is_allowed_has_no_error_code(api: int, version: int, body: dict[str, Any]) -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            assert {*await codes(talk, api, version, body)} == {"NONE"}

    run(work())
