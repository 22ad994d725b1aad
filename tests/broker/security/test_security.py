"""A protected broker: TLS listeners, certificates as names, ACLs that every API asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import pbkdf2_hmac
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from kcli.broker import Broker
from kcli.broker.security.acls import CLASS
from kcli.broker.security.java_stores import pem_of
from kcli.broker.security.listener_tls import made_authority, named, started
from kcli.broker.security.protection import Protection
from kcli.errors import InputError, KcliError, UsageError
from kcli.schemas.acl_codes import Operation, Pattern, Permission, Resource
from kcli.schemas.apikeys import (
    ALTER_USER_SCRAM_CREDENTIALS,
    CREATE_ACLS,
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DELETE_ACLS,
    DELETE_GROUPS,
    DELETE_RECORDS,
    DELETE_TOPICS,
    DESCRIBE_ACLS,
    DESCRIBE_CLUSTER,
    DESCRIBE_CONFIGS,
    DESCRIBE_GROUPS,
    DESCRIBE_USER_SCRAM_CREDENTIALS,
    FIND_COORDINATOR,
    HEARTBEAT,
    INCREMENTAL_ALTER_CONFIGS,
    INIT_PRODUCER_ID,
    JOIN_GROUP,
    LEAVE_GROUP,
    LIST_GROUPS,
    LIST_OFFSETS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_DELETE,
    OFFSET_FETCH,
)
from kcli.schemas.errors import error_name
from tests.broker.apis.asking import altered, codes
from tests.broker.security.logging_in import logged_in, ready
from tests.broker.talk import Talk, batch, parts, run, talking

USERS = {"root": "r", "alice": "a"}
GUARDED = {
    "authorizer.class.name": CLASS,
    "super.users": "User:root",
    "sasl.enabled.mechanisms": "PLAIN",
    "connection.failed.authentication.delay.ms": "0",
}


def guarded(data: Path | None = None, **config: str) -> Broker:
    return Broker(data, config=GUARDED | config, protection=Protection(USERS))


@asynccontextmanager
async def two_clients() -> AsyncIterator[tuple[Broker, Talk, Talk]]:
    """A broker with a superuser, and somebody who may do what ACLs allow."""
    async with guarded() as broker, logged_in(broker, "root", "r") as root, logged_in(broker, "alice", "a") as alice:
        yield broker, root, alice


def creation(operation: Operation, kind: Resource, name: str, **more: Any) -> dict[str, Any]:
    row = {"resourceType": kind, "resourceName": name, "resourcePatternType": Pattern.LITERAL, "host": "*"}
    return row | {"principal": "User:alice", "operation": operation, "permissionType": Permission.ALLOW} | more


async def allow(root: Talk, *rows: dict[str, Any]) -> list[str]:
    answer = await root(CREATE_ACLS, 3, {"creations": list(rows)})
    return [error_name(each["errorCode"]) for each in answer["results"]]


def everything(**more: Any) -> dict[str, Any]:
    made = {"resourceTypeFilter": 1, "resourceNameFilter": None, "patternTypeFilter": 1, "principalFilter": None}
    return made | {"hostFilter": None, "operation": 1, "permissionType": 1} | more


def test_acls_are_made_kept_described_and_deleted(tmp_path: Path) -> None:
    async def work() -> None:
        async with guarded(tmp_path) as broker, logged_in(broker, "root", "r") as root:
            rows = [
                creation(Operation.READ, Resource.TOPIC, "t"),
                creation(Operation.READ, Resource.TOPIC, "t"),
                creation(Operation.WRITE, Resource.TOPIC, "p", resourcePatternType=Pattern.PREFIXED),
                creation(Operation.READ, Resource.TOPIC, "t", principal="alice"),
            ]
            assert await allow(root, *rows) == ["NONE", "NONE", "NONE", "INVALID_REQUEST"]
        async with guarded(tmp_path) as broker, logged_in(broker, "root", "r") as root:
            answer = await root(DESCRIBE_ACLS, 3, everything())
            assert [(each["resourceName"], each["patternType"]) for each in answer["resources"]] == [("t", 3), ("p", 4)]
            answer = await root(DESCRIBE_ACLS, 3, everything(patternTypeFilter=2, resourceNameFilter="p1"))
            assert [each["resourceName"] for each in answer["resources"]] == ["p"]
            assert (await root(DESCRIBE_ACLS, 3, everything(operation=77)))["resources"] == []
            (row,) = (await root(DELETE_ACLS, 3, {"filters": [everything(resourceNameFilter="p")]}))["filterResults"]
            assert [each["resourceName"] for each in row["matchingAcls"]] == ["p"]
            assert len(broker.metadata.security.acls) == 1

    run(work())


def test_without_an_authorizer_there_are_no_acls() -> None:
    async def work() -> None:
        async with talking() as talk:
            assert await allow(talk, creation(Operation.READ, Resource.TOPIC, "t")) == ["SECURITY_DISABLED"]
            assert error_name((await talk(DESCRIBE_ACLS, 3, everything()))["errorCode"]) == "SECURITY_DISABLED"

    run(work())


def group_request(**more: Any) -> dict[str, Any]:
    return {"groupId": "g", **more}


def test_what_alice_may_not_do_is_refused_and_what_she_may_is_done() -> None:
    async def work() -> None:
        async with (
            guarded() as broker,
            logged_in(broker, "root", "r") as root,
            logged_in(broker, "alice", "a") as alice,
        ):
            topic = broker.create_topic("t")
            assert (await refusals(alice, topic.id)) == {
                "produce": "TOPIC_AUTHORIZATION_FAILED",
                "produce to none": "TOPIC_AUTHORIZATION_FAILED",
                "fetch": "TOPIC_AUTHORIZATION_FAILED",
                "metadata": "TOPIC_AUTHORIZATION_FAILED",
                "offsets": "TOPIC_AUTHORIZATION_FAILED",
                "configs": "TOPIC_AUTHORIZATION_FAILED",
                "create": "TOPIC_AUTHORIZATION_FAILED",
                "commit": "GROUP_AUTHORIZATION_FAILED",
                "committed": "GROUP_AUTHORIZATION_FAILED",
                "join": "GROUP_AUTHORIZATION_FAILED",
                "describe": "GROUP_AUTHORIZATION_FAILED",
                "coordinator": "GROUP_AUTHORIZATION_FAILED",
                "producer": "CLUSTER_AUTHORIZATION_FAILED",
                "transaction": "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
                "acls": "CLUSTER_AUTHORIZATION_FAILED",
                "scram": "CLUSTER_AUTHORIZATION_FAILED",
                "heartbeat": "GROUP_AUTHORIZATION_FAILED",
                "leave": "GROUP_AUTHORIZATION_FAILED",
                "delete offsets": "GROUP_AUTHORIZATION_FAILED",
                "delete group": "GROUP_AUTHORIZATION_FAILED",
                "delete records": "TOPIC_AUTHORIZATION_FAILED",
                "add partitions": "TOPIC_AUTHORIZATION_FAILED",
                "delete": "TOPIC_AUTHORIZATION_FAILED",
            }
            assert (await alice(METADATA, 12, {"topics": None}))["topics"] == []
            given = [
                creation(Operation.ALL, kind, "*")
                for kind in (Resource.TOPIC, Resource.GROUP, Resource.TRANSACTIONAL_ID)
            ]
            await allow(root, *given, creation(Operation.ALL, Resource.CLUSTER, "kafka-cluster"))
            after = await refusals(alice, topic.id)
            assert not [each for each in after.values() if "AUTHORIZATION" in each], after

    run(work())


async def refusals(alice: Talk, topic_id: str) -> dict[str, str]:
    topics = [{"name": "t", "partitions": [{"partitionIndex": 0, "timestamp": -1, "currentLeaderEpoch": -1}]}]
    offsets = [{"partitionIndex": 0, "committedOffset": 1, "committedMetadata": "", "committedLeaderEpoch": -1}]
    join = group_request(sessionTimeoutMs=10_000, rebalanceTimeoutMs=1000, memberId="", protocolType="consumer")
    new = {"name": "n", "numPartitions": 1, "replicationFactor": 1, "assignments": [], "configs": []}
    listed = await alice(LIST_OFFSETS, 7, {"replicaId": -1, "isolationLevel": 0, "topics": topics})
    described = await alice(DESCRIBE_CONFIGS, 4, {"resources": [{"resourceType": 2, "resourceName": "t"}]})
    committed = await alice(OFFSET_COMMIT, 8, group_request(topics=[{"name": "t", "partitions": offsets}]))
    fetched = await alice(OFFSET_FETCH, 8, {"groups": [{"groupId": "g", "topics": None}], "requireStable": False})
    found = await alice(FIND_COORDINATOR, 4, {"keyType": 0, "coordinatorKeys": ["g"]})
    kept = [{"name": "t", "partitions": [{"partitionIndex": 0, "offset": 0}]}]
    answers = {
        "produce": await alice.produce("t", batch("v")),
        "produce to none": await alice.produce("none", batch("v")),
        "fetch": parts(await alice.fetch(13, (topic_id, 0, 0)))[topic_id, 0],
        "metadata": (await alice(METADATA, 12, {"topics": [{"name": "t"}]}))["topics"][0],
        "offsets": listed["topics"][0]["partitions"][0],
        "configs": described["results"][0],
        "create": (await alice(CREATE_TOPICS, 5, {"topics": [new], "timeoutMs": 1000}))["topics"][0],
        "commit": committed["topics"][0]["partitions"][0],
        "committed": fetched["groups"][0],
        "join": await alice(JOIN_GROUP, 7, join | {"protocols": [{"name": "p", "metadata": b""}]}),
        "describe": (await alice(DESCRIBE_GROUPS, 5, {"groups": ["g"]}))["groups"][0],
        "coordinator": found["coordinators"][0],
        "producer": await alice(INIT_PRODUCER_ID, 4, {"transactionalId": None, "transactionTimeoutMs": 1}),
        "transaction": await alice(INIT_PRODUCER_ID, 4, {"transactionalId": "x", "transactionTimeoutMs": 1000}),
        "acls": await alice(DESCRIBE_ACLS, 3, everything()),
        "scram": await alice(DESCRIBE_USER_SCRAM_CREDENTIALS, 0, {"users": []}),
        "heartbeat": await alice(HEARTBEAT, 4, group_request(generationId=1, memberId="m")),
        "leave": await alice(LEAVE_GROUP, 4, group_request(members=[{"memberId": "m", "groupInstanceId": None}])),
        "delete offsets": await alice(OFFSET_DELETE, 0, group_request(topics=[])),
        "delete group": (await alice(DELETE_GROUPS, 2, {"groupsNames": ["g"]}))["results"][0],
    }
    deleted = await alice(DELETE_RECORDS, 2, {"topics": kept, "timeoutMs": 1000})
    more = {"topics": [{"name": "t", "count": 2, "assignments": None}], "timeoutMs": 1000, "validateOnly": False}
    answers |= {
        "delete records": deleted["topics"][0]["partitions"][0],
        "add partitions": (await alice(CREATE_PARTITIONS, 3, more))["results"][0],
        "delete": (await alice(DELETE_TOPICS, 5, {"topicNames": ["t"], "timeoutMs": 1000}))["responses"][0],
    }
    return {name: error_name(answer["errorCode"]) for name, answer in answers.items()}


def test_operations_are_those_that_are_allowed() -> None:
    async def work() -> None:
        async with (
            guarded() as broker,
            logged_in(broker, "root", "r") as root,
            logged_in(broker, "alice", "a") as alice,
        ):
            broker.create_topic("t")
            await allow(root, creation(Operation.READ, Resource.TOPIC, "t"))
            asked = {"topics": [{"name": "t"}], "includeTopicAuthorizedOperations": True}
            (row,) = (await alice(METADATA, 12, asked))["topics"]
            assert row["topicAuthorizedOperations"] == 1 << Operation.READ | 1 << Operation.DESCRIBE
            cluster = await alice(DESCRIBE_CLUSTER, 0, {"includeClusterAuthorizedOperations": True})
            assert cluster["clusterAuthorizedOperations"] == 0
            assert (await alice(LIST_GROUPS, 4, {"statesFilter": []}))["groups"] == []
            # As a real 4.4.0: what makes no sense is said before what is not allowed.
            for change, code in (
                (altered(2, "t", "retention.ms", 0, None), "INVALID_REQUEST"),
                (altered(2, "t", "retention.ms", 1, None), "TOPIC_AUTHORIZATION_FAILED"),
            ):
                assert await codes(alice, INCREMENTAL_ALTER_CONFIGS, 1, change) == [code]

    run(work())


def test_scram_credentials_are_made_used_kept_and_deleted(tmp_path: Path) -> None:
    def change(user: str, iterations: int = 4096, mechanism: int = 1) -> dict[str, Any]:
        made = {"name": user, "mechanism": mechanism, "iterations": iterations, "salt": b"salt"}
        return made | {"saltedPassword": pbkdf2_hmac("sha256", b"new", b"salt", max(iterations, 1))}

    async def alter(root: Talk, *upserted: dict[str, Any], deleted: list[dict[str, Any]] | None = None) -> list[str]:
        body = {"deletions": deleted or [], "upsertions": list(upserted)}
        answer = await root(ALTER_USER_SCRAM_CREDENTIALS, 0, body)
        return [error_name(each["errorCode"]) for each in answer["results"]]

    options = {"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256"}

    async def work() -> None:
        async with guarded(tmp_path, **options) as broker, logged_in(broker, "root", "r") as root:
            found = await alter(root, change("carol"), change("few", 1), change("many", 20_000), change("odd", 4096, 9))
            assert found == ["NONE", "UNACCEPTABLE_CREDENTIAL", "UNACCEPTABLE_CREDENTIAL", "UNSUPPORTED_SASL_MECHANISM"]
            assert await alter(root, change("dave"), change("dave")) == ["DUPLICATE_RESOURCE"]
            named = [{"name": "carol"}, {"name": "nobody"}]
            rows = (await root(DESCRIBE_USER_SCRAM_CREDENTIALS, 0, {"users": named}))["results"]
            assert [error_name(each["errorCode"]) for each in rows] == ["NONE", "RESOURCE_NOT_FOUND"]
            assert rows[0]["credentialInfos"] == [{"mechanism": 1, "iterations": 4096}]
        async with guarded(tmp_path, **options) as broker, logged_in(broker, "root", "r") as root:
            async with logged_in(broker, "carol", "new", "SCRAM-SHA-256"):
                pass
            gone = {"name": "carol", "mechanism": 1}
            assert await alter(root, deleted=[gone]) == ["NONE"]
            assert await alter(root, deleted=[gone]) == ["RESOURCE_NOT_FOUND"]

    run(work())


def test_tls_with_certificates_of_clients(tmp_path: Path) -> None:
    authority, key = made_authority(["127.0.0.1"]), ec.generate_private_key(ec.SECP256R1())
    shown = started(named("alice"), named("alice"), key).sign(key, hashes.SHA256())
    pair, ca = tmp_path / "pair.pem", tmp_path / "ca.pem"
    pair.write_text(authority.pair)
    ca.write_text(pem_of(shown))
    certificate = tmp_path / "client.pem"
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    certificate.write_text(secret.decode() + pem_of(shown))
    trusting = {"security.protocol": "SSL", "ssl.truststore.certificates": authority.certificate}

    async def work() -> None:
        protection = Protection(tls_cert=str(pair), tls_client_ca=str(ca))
        config = {"authorizer.class.name": CLASS, "super.users": "User:CN=alice"}
        async with Broker(config=config, protection=protection) as broker:
            broker.create_topic("t")
            async with ready(broker, trusting | {"ssl.keystore.location": str(certificate)}) as client:
                assert (await client.produce("t", batch("v" * 200_000)))["errorCode"] == 0
                got = await client.fetch(12, ("t", 0, 0))
                assert len(got["responses"][0]["partitions"][0]["records"]) > 200_000
            with pytest.raises(KcliError):
                async with ready(broker, trusting) as client:
                    await client(METADATA, 12, {"topics": None})

    run(work())


@pytest.mark.parametrize(
    ("protection", "error", "said"),
    [
        (Protection(tls_key="x"), UsageError, "tls_cert is missing"),
        (Protection(tls_client_ca="x"), UsageError, "tls_cert is missing"),
        (Protection(tls_cert=__file__), InputError, "PEM"),
    ],
)
def test_what_protects_nothing(protection: Protection, error: type[Exception], said: str) -> None:
    async def work() -> None:
        async with Broker(protection=protection):
            pass

    with pytest.raises(error, match=said):
        asyncio.run(work())
