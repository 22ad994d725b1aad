"""SCRAM credentials, ACLs and client quotas by the records of the metadata log."""

from collections.abc import Mapping
from typing import Any

from kcli.broker.security.acls import Acl
from kcli.broker.security.scram import Credential

Row = tuple[str, int, dict[str, Any]]
# Pairs of a type ("user", "client-id", "ip") and a name (None for the default), ordered by type.
Entity = tuple[tuple[str, str | None], ...]


class SecurityState:
    """The state. scram: credentials by (user, mechanism); acls: by id; quotas: values by entity and key."""

    def __init__(self) -> None:
        self.scram: dict[tuple[str, int], Credential] = {}
        self.acls: dict[str, Acl] = {}
        self.quotas: dict[Entity, dict[str, float]] = {}

    def apply(self, name: str, value: Mapping[str, Any]) -> None:
        """Apply a metadata record; records of other types are ignored."""
        if name == "UserScramCredentialRecord":
            made = Credential(value["salt"], value["storedKey"], value["serverKey"], value["iterations"])
            self.scram[value["name"], value["mechanism"]] = made
        elif name == "RemoveUserScramCredentialRecord":
            self.scram.pop((value["name"], value["mechanism"]), None)
        elif name == "AccessControlEntryRecord":
            self.acls[value["id"]] = acl_of(value)
        elif name == "RemoveAccessControlEntryRecord":
            self.acls.pop(value["id"], None)
        elif name == "ClientQuotaRecord":
            self.set_quota(value)

    def set_quota(self, value: Mapping[str, Any]) -> None:
        """Apply a ClientQuotaRecord."""
        entity = entity_of(value["entity"])
        values = self.quotas.setdefault(entity, {})
        if value["remove"]:
            values.pop(value["key"], None)
        else:
            values[value["key"]] = value["value"]
        if not values:
            del self.quotas[entity]


def acl_of(value: Mapping[str, Any]) -> Acl:
    """Make an ACL from its record."""
    place = value["resourceType"], value["resourceName"], value["patternType"]
    return Acl(*place, value["principal"], value["host"], value["operation"], value["permissionType"])


def acl_record(acl_id: str, acl: Acl) -> Row:
    """Make the record of an ACL."""
    place = resource_row(acl.kind, acl.name, acl.pattern)
    return "AccessControlEntryRecord", 0, {"id": acl_id} | place | rule_row(acl)


def resource_row(kind: int, name: str, pattern: int) -> dict[str, Any]:
    """Make the fields of an ACL's resource."""
    return {"resourceType": kind, "resourceName": name, "patternType": pattern}


def rule_row(acl: Acl) -> dict[str, Any]:
    """Make the fields of an ACL except for those of its resource."""
    owner = {"principal": acl.principal, "host": acl.host}
    return owner | {"operation": acl.operation, "permissionType": acl.permission}


def scram_record(user: str, mechanism: int, made: Credential) -> Row:
    """Make the record of a credential."""
    value = {"name": user, "mechanism": mechanism, "salt": made.salt, "storedKey": made.stored_key}
    return "UserScramCredentialRecord", 0, value | {"serverKey": made.server_key, "iterations": made.iterations}


def entity_of(rows: list[dict[str, Any]]) -> Entity:
    """Make an entity from its rows in a record or a request. If a type is repeated, the last row is used, as in
    Kafka.
    """
    return tuple(sorted({each["entityType"]: each["entityName"] for each in rows}.items(), key=lambda each: each[0]))


def entity_rows(entity: Entity) -> list[dict[str, Any]]:
    """Make the rows of an entity in records and responses."""
    return [{"entityType": kind, "entityName": name} for kind, name in entity]
