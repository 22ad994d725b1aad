"""DescribeClientQuotas v0-v1 (KIP-546): entities with the parts asked for; strict: only those without other parts."""

from collections.abc import Mapping, Sequence
from typing import Any

from kcli.broker.request import Request
from kcli.broker.security.quotas import IP, KEYS
from kcli.broker.security.security_state import Entity, entity_rows
from kcli.schemas.errors import error_code

EXACT, DEFAULT, ANY = range(3)


def handle(request: Request) -> dict[str, Any]:
    components = request.body["components"]
    if code := request.fault():
        return {"errorCode": code, "errorMessage": None, "entries": None}
    error, message = fault(components)
    if error:
        return {"errorCode": error_code(error), "errorMessage": message, "entries": None}
    rows = [
        {"entity": entity_rows(entity), "values": [{"key": key, "value": value} for key, value in values.items()]}
        for entity, values in request.metadata.security.quotas.items()
        if is_meant(entity, components, strict=request.body["strict"])
    ]
    return {"errorCode": 0, "errorMessage": "", "entries": rows}


def fault(components: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Return an error's name and message, ("", "") for a valid request."""
    kinds = [each["entityType"] for each in components]
    for each in components:
        kind, match = each["entityType"], each["matchType"]
        if not kind:
            return "INVALID_REQUEST", "Unexpected empty entity type."
        if kind not in KEYS:
            return "UNSUPPORTED_VERSION", f"Custom entity type '{kind}' not supported"
        if match not in (EXACT, DEFAULT, ANY):
            return "INVALID_REQUEST", f"Unexpected match type {match}"
        if (each["match"] is None) == (match == EXACT):
            return (
                "INVALID_REQUEST",
                f"Match type {match} and whether there is a match contradict each other",
            )
    if len(set(kinds)) < len(kinds):
        return "INVALID_REQUEST", "Entity type cannot appear more than once in the filter."
    if IP in kinds and len(kinds) > 1:
        return "INVALID_REQUEST", "Invalid entity filter component combination: ip with others"
    return "", ""


def is_meant(entity: Entity, components: Sequence[Mapping[str, Any]], *, strict: bool) -> bool:
    """Return whether an entity has all the parts asked for; strict: and no others."""
    parts = dict(entity)
    if strict and len(parts) != len(components):
        return False
    return all(
        each["entityType"] in parts and (each["matchType"] == ANY or parts[each["entityType"]] == each["match"])
        for each in components
    )
