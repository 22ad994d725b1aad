"""AlterClientQuotas v0-v1 (KIP-546): each entity for itself; one with a change that can't be made stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcli.broker.codes import error_code
from kcli.broker.request import Request
from kcli.broker.security.quotas import entity_fault, value_fault
from kcli.broker.security.state import entity_of


def handle(request: Request) -> dict[str, Any]:
    seen: set[Any] = set()
    return {"entries": [result(request, each, seen) for each in request.body["entries"]]}


def result(request: Request, wanted: Mapping[str, Any], seen: set[Any]) -> dict[str, Any]:
    rows = wanted["entity"]
    made = {"entity": rows, "errorCode": request.fault(), "errorMessage": None}
    if made["errorCode"]:
        return made
    fault = entity_fault(rows) or ("Duplicate quota entity" if entity_of(rows) in seen else "")
    fault = fault or changes_fault([each["entityType"] for each in rows], wanted["ops"])
    if fault:
        return made | {"errorCode": error_code("INVALID_REQUEST"), "errorMessage": fault}
    seen.add(entity_of(rows))
    known = request.metadata.security.quotas.get(entity_of(rows), {})
    if not request.body["validateOnly"]:
        request.metadata.secure(
            ("ClientQuotaRecord", 0, {"entity": rows} | {name: each[name] for name in ("key", "value", "remove")})
            for each in wanted["ops"]
            if not each["remove"] or each["key"] in known
        )
    return made


def changes_fault(kinds: list[str], changes: list[Mapping[str, Any]]) -> str:
    """Say what is wrong with an entity's changes, "" where nothing is."""
    keys = [each["key"] for each in changes]
    if len(set(keys)) < len(keys):
        return "Duplicate quota key"
    faults = (value_fault(kinds, each["key"], 1 if each["remove"] else each["value"]) for each in changes)
    return next(filter(None, faults), "")
