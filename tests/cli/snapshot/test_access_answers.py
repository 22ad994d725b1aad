"""Answers of nodes about access and limits, held to an image; real nodes: tests/real/test_drift.py."""

from __future__ import annotations

from typing import Any

from kcli.cli.snapshot.access_answers import acl_changes, feature_changes, quota_changes, scram_changes
from kcli.snapshots.image.change_text import contrast
from kcli.snapshots.image.diff import Change
from tests.snapshots.made import image

ACL = {"principal": "User:ann", "host": "*", "operation": 3, "permissionType": 3}
PLACE = {"resourceType": 2, "resourceName": "orders", "patternType": 3}


def texts(found: list[Change]) -> list[str]:
    return [contrast(each, "there", "by the log") for each in found]


def acls(*found: dict[str, Any]) -> dict[str, Any]:
    return {"errorCode": 0, "resources": [PLACE | {"acls": list(found)}]}


def test_acls_that_a_node_has_otherwise() -> None:
    """The same, whatever their ids, and however often; another permission is a change."""
    made = image()
    made.acls = {"a": ACL | PLACE, "b": ACL | PLACE}
    assert acl_changes(acls(ACL), made) == []
    name = "ACL User:ann from *: READ on TOPIC orders (LITERAL)"
    assert texts(acl_changes(acls(ACL | {"permissionType": 2}), made)) == [
        f"{name}: permissionType ALLOW by the log, DENY there"
    ]
    assert texts(acl_changes(acls(ACL | {"permissionType": 2}, ACL), made)) == [
        f"{name}: permissionType ALLOW by the log, ALLOW and DENY there"
    ]
    assert texts(acl_changes(acls(), made)) == [f"{name}: permissionType ALLOW by the log, none there"]
    others = acl_changes(acls(ACL, ACL | {"operation": 4}, ACL | {"host": "h"}), made)
    assert texts(others) == [
        "ACL User:ann from *: WRITE on TOPIC orders (LITERAL): none by the log, permissionType ALLOW there",
        "ACL User:ann from h: READ on TOPIC orders (LITERAL): none by the log, permissionType ALLOW there",
    ]
    assert len({each.key for each in others}) == 2


def test_quotas_that_a_node_has_otherwise() -> None:
    made = image()
    made.quotas = {(("client-id", "app"), ("user", None)): {"producer_byte_rate": 1000.0}}
    entity = [{"entityType": "user", "entityName": None}, {"entityType": "client-id", "entityName": "app"}]

    def answer(**values: float) -> dict[str, Any]:
        rows = [{"key": key, "value": value} for key, value in values.items()]
        return {"errorCode": 0, "entries": [{"entity": entity, "values": rows}]}

    assert quota_changes(answer(producer_byte_rate=1000.0), made) == []
    assert texts(quota_changes(answer(producer_byte_rate=5.0, request_percentage=1.0), made)) == [
        "quota client-id=app,user=<default> producer_byte_rate: value 1000.0 by the log, 5.0 there",
        "quota client-id=app,user=<default> request_percentage: none by the log, value 1.0 there",
    ]
    assert texts(quota_changes({"errorCode": 0, "entries": None}, made)) == [
        "quota client-id=app,user=<default> producer_byte_rate: value 1000.0 by the log, none there"
    ]


def test_credentials_that_a_node_has_otherwise() -> None:
    """Users and iterations; no secret is asked for, none is shown."""
    made = image()
    record = {"iterations": 4096, "salt": "c2VjcmV0", "storedKey": "c2VjcmV0", "serverKey": "c2VjcmV0"}
    made.scram = {1: {"ann": record}}

    def answer(*users: tuple[str, int, int]) -> dict[str, Any]:
        rows = [{"user": user, "credentialInfos": [{"mechanism": m, "iterations": i}]} for user, m, i in users]
        return {"errorCode": 0, "results": rows}

    assert scram_changes(answer(("ann", 1, 4096)), made) == []
    found = texts(scram_changes(answer(("ann", 1, 8192), ("bob", 2, 4096)), made))
    assert found == [
        "SCRAM credential SCRAM-SHA-256 ann: iterations 4096 by the log, 8192 there",
        "SCRAM credential SCRAM-SHA-512 bob: none by the log, iterations 4096 there",
    ]
    assert texts(scram_changes(answer(), made)) == [
        "SCRAM credential SCRAM-SHA-256 ann: iterations 4096 by the log, none there"
    ]


def test_features_that_a_node_has_otherwise() -> None:
    made = image()
    made.features = {"metadata.version": 25, "group.version": 1}

    def answer(**levels: int) -> dict[str, Any]:
        rows = [{"name": name.replace("_", "."), "maxVersionLevel": level} for name, level in levels.items()]
        return {"errorCode": 0, "finalizedFeaturesEpoch": 7, "finalizedFeatures": rows}

    assert feature_changes(answer(metadata_version=25, group_version=1, share_version=0, kraft_version=1), made) == []
    assert texts(feature_changes(answer(metadata_version=24), made)) == [
        "feature group.version: level 1 by the log, none there",
        "feature metadata.version: level 25 by the log, 24 there",
    ]
    made.kraft_version = 1
    assert texts(feature_changes(answer(metadata_version=25, group_version=1), made)) == [
        "feature kraft.version: level 1 by the log, none there"
    ]
    for unknown in ({"errorCode": 0}, answer() | {"finalizedFeaturesEpoch": -1}):
        assert feature_changes(unknown, made) == []
