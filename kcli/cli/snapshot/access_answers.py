"""Compares a live node's answers about ACLs, quotas, SCRAM users and features with the image of the log.

ACLs (DescribeAcls), client quotas (DescribeClientQuotas), SCRAM credentials (DescribeUserScramCredentials: users and
iterations, never a secret) and features (ApiVersions). A node that refuses the question shows nothing: without an
authorizer there are no ACLs to ask for, and not every client may ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from kcli.client.calls import call
from kcli.schemas.apikeys import API_VERSIONS, DESCRIBE_ACLS, DESCRIBE_CLIENT_QUOTAS, DESCRIBE_USER_SCRAM_CREDENTIALS
from kcli.snapshots.image.diff import Change, row_change, row_key
from kcli.snapshots.image.image import Image, quota_entity
from kcli.snapshots.image.image_tables import TABLES
from kcli.snapshots.image.texts import (
    ACL_OPERATIONS,
    PATTERN_TYPES,
    PERMISSIONS,
    RESOURCE_TYPES,
    SCRAM_MECHANISMS,
    entity_text,
    named,
)

if TYPE_CHECKING:
    from kcli.client.handshake import Session

ANY = 1  # of a filter's types
KRAFT_VERSION = "kraft.version"  # from the voters' own records
RESOURCE = ("resourceType", "resourceName", "patternType")

Row = dict[str, Any]
Answer = dict[str, Any]


async def ask_access(api: int, session: Session, image: Image) -> list[Change] | None:
    """Return how a node differs, by one of the QUESTIONS; None if it does not say. Raises NetworkError."""
    body, changes = QUESTIONS[api]
    answer = await call(session.connection, api, session.versions.best(api), body)
    return None if answer["errorCode"] else changes(answer, image)


def differing(table: str, held: Iterable[Row], logged: Iterable[Row]) -> list[Change]:
    """Return the changes from a node's rows to those of the log, by their keys."""
    mine, yours = ({row_key(table, row): row for row in rows} for rows in (held, logged))
    keys = sorted(mine.keys() | yours.keys(), key=repr)
    return [row_change(table, mine.get(key), yours.get(key)) for key in keys if mine.get(key) != yours.get(key)]


def acl_changes(answer: Answer, image: Image) -> list[Change]:
    """Compare ACLs. Only the log has their ids: the key here is all of an ACL but its permission type."""
    held = (
        {name: resource.get(name, 3) for name in RESOURCE} | acl
        for resource in answer["resources"]
        for acl in resource["acls"]
    )
    return differing("acls", acl_rows(held), acl_rows(image.acls.values()))


def acl_rows(acls: Iterable[Row]) -> Iterator[Row]:
    permissions: dict[str, set[str]] = {}
    for acl in acls:
        resource = f"{named(RESOURCE_TYPES, acl['resourceType'])} {acl['resourceName']}"
        pattern, operation = named(PATTERN_TYPES, acl["patternType"]), named(ACL_OPERATIONS, acl["operation"])
        name = f"{acl['principal']} from {acl['host']}: {operation} on {resource} ({pattern})"
        permissions.setdefault(name, set()).add(named(PERMISSIONS, acl["permissionType"]))
    for name, found in permissions.items():
        yield {"id": name, "permissionType": " and ".join(sorted(found))}


def quota_changes(answer: Answer, image: Image) -> list[Change]:
    """Compare quotas by entity and key."""
    held = (
        {"entity": entity_text(quota_entity(entry["entity"])), "key": each["key"], "value": each["value"]}
        for entry in answer["entries"] or ()
        for each in entry["values"]
    )
    return differing("clientQuotas", held, TABLES["clientQuotas"].rows(image, False))


def scram_changes(answer: Answer, image: Image) -> list[Change]:
    """Compare users and iterations of each mechanism."""
    held = (
        {
            "mechanism": named(SCRAM_MECHANISMS, each["mechanism"]),
            "user": user["user"],
            "iterations": each["iterations"],
        }
        for user in answer["results"]
        for each in user["credentialInfos"]
    )
    rows = TABLES["scramCredentials"].rows(image, False)
    logged = ({name: row[name] for name in ("mechanism", "user", "iterations")} for row in rows)
    return differing("scramCredentials", held, logged)


def feature_changes(answer: Answer, image: Image) -> list[Change]:
    """Compare finalized features; kraft.version where the image has it. A node that knows none yet is not compared."""
    if answer.get("finalizedFeaturesEpoch", -1) < 0:
        return []
    logged = {name: level for name, level in image.features.items() if name != KRAFT_VERSION}
    held = {each["name"]: each["maxVersionLevel"] for each in answer["finalizedFeatures"] if each["maxVersionLevel"]}
    if image.kraft_version:
        logged[KRAFT_VERSION] = image.kraft_version
    else:
        held.pop(KRAFT_VERSION, None)
    return differing("features", feature_rows(held), feature_rows(logged))


def feature_rows(levels: dict[str, int]) -> Iterator[Row]:
    for name, level in levels.items():
        yield {"name": name, "level": level}


EVERY_ACL = {
    "resourceTypeFilter": ANY,
    "resourceNameFilter": None,
    "patternTypeFilter": ANY,
    "principalFilter": None,
    "hostFilter": None,
    "operation": ANY,
    "permissionType": ANY,
}
# For each API: its request, and a function that compares the answer with the image.
QUESTIONS: dict[int, tuple[Row, Callable[[Answer, Image], list[Change]]]] = {
    DESCRIBE_ACLS: (EVERY_ACL, acl_changes),
    DESCRIBE_CLIENT_QUOTAS: ({"components": [], "strict": False}, quota_changes),
    DESCRIBE_USER_SCRAM_CREDENTIALS: ({"users": None}, scram_changes),
    API_VERSIONS: ({"clientSoftwareName": "kcli", "clientSoftwareVersion": "1"}, feature_changes),
}
