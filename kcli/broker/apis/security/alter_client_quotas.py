"""AlterClientQuotas v0-v1 (KIP-546): an entity with an invalid change keeps its quotas; the others change."""

from collections.abc import Mapping
from typing import Any

from kcli.broker.request import Request
from kcli.broker.security.quotas import entity_fault, value_fault
from kcli.broker.security.security_state import Entity, entity_of, entity_rows
from kcli.schemas.errors import error_code


def handle(request: Request) -> dict[str, Any]:
    rows: dict[Entity, dict[str, Any]] = {}
    for each in request.body["entries"]:
        entity = entity_of(each["entity"])
        if entity in rows:
            message = f"Duplicate alter request for client quota entity {dict(entity)}"
            rows[entity] |= {"errorCode": error_code("INVALID_REQUEST"), "errorMessage": message}
        else:
            rows[entity] = result(request, entity, each["ops"])
    return {"entries": list(rows.values())}


def result(request: Request, entity: Entity, changes: list[Mapping[str, Any]]) -> dict[str, Any]:
    rows = entity_rows(entity)
    made = {"entity": rows, "errorCode": request.fault(), "errorMessage": None}
    if made["errorCode"]:
        return made
    if fault := entity_fault(entity) or changes_fault(list(dict(entity)), changes):
        return made | {"errorCode": error_code("INVALID_REQUEST"), "errorMessage": fault}
    known = request.metadata.security.quotas.get(entity, {})
    if not request.body["validateOnly"]:
        request.metadata.secure(
            ("ClientQuotaRecord", 0, {"entity": rows} | {name: each[name] for name in ("key", "value", "remove")})
            for each in changes
            if not each["remove"] or each["key"] in known
        )
    return made


def changes_fault(kinds: list[str], changes: list[Mapping[str, Any]]) -> str:
    """Return the first fault in an entity's changes, "" for none."""
    keys = [each["key"] for each in changes]
    if len(set(keys)) < len(keys):
        return "Duplicate quota key"
    faults = (value_fault(kinds, each["key"], 1 if each["remove"] else each["value"]) for each in changes)
    return next(filter(None, faults), "")
