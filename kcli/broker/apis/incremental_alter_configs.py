"""IncrementalAlterConfigs v0-v1 (KIP-339): configs set (0), deleted (1), or lists added to (2) and taken from (3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcli.broker.apis.alter_configs import alter
from kcli.broker.configs import TOPIC
from kcli.broker.request import Request
from kcli.records.acceptance import RefusedError

SET, DELETE, APPEND, SUBTRACT = range(4)


def handle(request: Request) -> dict[str, Any]:
    return alter(request, change)


def change(own: Mapping[str, str], wanted: Mapping[str, Any]) -> dict[str, str | None]:
    return {each["name"]: value_of(own, each) for each in wanted["configs"]}


def value_of(own: Mapping[str, str], each: Mapping[str, Any]) -> str | None:
    name, operation, value = each["name"], each["configOperation"], each["value"]
    if operation == DELETE:
        return None
    if value is None or operation not in (SET, APPEND, SUBTRACT):
        raise RefusedError("INVALID_REQUEST", f"{name}: operation {operation} with value {value!r}")
    if operation == SET:
        return str(value)
    config = TOPIC.get(name)
    if config is None or config.kind.name != "list":
        raise RefusedError("INVALID_CONFIG", f"{name} is not a list")
    have = [one for one in own.get(name, config.default).split(",") if one]
    given = value.split(",")
    kept = have + [one for one in given if one not in have] if operation == APPEND else []
    return ",".join(kept or [one for one in have if one not in given])
