"""IncrementalAlterConfigs v0-v1 (KIP-339): set (0) or delete (1) a config, append to (2) or subtract from (3) a list.

It also changes the levels of a broker's loggers (KIP-412), which have no effect here.
"""

from collections.abc import Mapping
from typing import Any

from kcli.broker.apis.configs import alter_configs
from kcli.broker.apis.configs.alter_configs import APPEND, DELETE, SET, SUBTRACT
from kcli.broker.apis.configs.describe_configs import check_permission
from kcli.broker.configs import BROKER, TOPIC
from kcli.broker.request import Request
from kcli.broker.resource_configs import check_logger
from kcli.records.acceptance import RefusedError
from kcli.schemas.acl_codes import Operation
from kcli.schemas.errors import error_code
from kcli.schemas.field_codes import ConfigResource

OPERATIONS = (SET, DELETE, APPEND, SUBTRACT)


def handle(request: Request) -> dict[str, Any]:
    if any(each["configOperation"] not in OPERATIONS for row in request.body["resources"] for each in row["configs"]):
        return failed(request)
    repeated = alter_configs.repeated_in(request)
    return {"responses": [result(request, each, repeated) for each in request.body["resources"]]}


def failed(request: Request) -> dict[str, Any]:
    """Return the response of a request with an unknown operation, which Kafka fails as a whole."""
    row = {"errorCode": error_code("UNKNOWN_SERVER_ERROR"), "errorMessage": None}
    named = ("resourceType", "resourceName")
    return {"responses": [row | {name: each[name] for name in named} for each in request.body["resources"]]}


def result(request: Request, wanted: Mapping[str, Any], repeated: set[tuple[int, str]]) -> dict[str, Any]:
    if wanted["resourceType"] != ConfigResource.BROKER_LOGGER:
        return alter_configs.result(request, wanted, change, repeated)
    row = {"resourceType": ConfigResource.BROKER_LOGGER, "resourceName": wanted["resourceName"]}
    try:
        check_permission(request, wanted, Operation.ALTER_CONFIGS)
        alter_loggers(request, wanted)
    except RefusedError as refused:
        return row | refused.row()
    return row | {"errorCode": request.fault(), "errorMessage": None}


def change(own: Mapping[str, str], wanted: Mapping[str, Any]) -> dict[str, str | None]:
    return {each["name"]: value_of(own, wanted["resourceType"], each) for each in wanted["configs"]}


def value_of(own: Mapping[str, str], kind: int, each: Mapping[str, Any]) -> str | None:
    name, operation, value = each["name"], each["configOperation"], each["value"]
    if operation == DELETE:
        return None
    if operation == SET:
        return str(value)
    # As of Kafka's controller those of groups and client metrics are no lists.
    config = {ConfigResource.TOPIC: TOPIC, ConfigResource.BROKER: BROKER}.get(kind, {}).get(name)
    if config is None or config.kind.name != "list":
        verb = "append" if operation == APPEND else "subtract"
        raise RefusedError("INVALID_CONFIG", f"Config value {verb} is not allowed for config key: {name}")
    have = [one for one in own.get(name, config.default or "").split(",") if one]
    entries = value.split(",")
    if operation == APPEND:
        return ",".join(have + [one for one in entries if one not in have])
    return ",".join(one for one in have if one not in entries)


def alter_loggers(request: Request, wanted: Mapping[str, Any]) -> None:
    """Set the levels of loggers, or reset them to the root's. Raises RefusedError."""
    if wanted["resourceName"] != str(request.node.id):
        reason = f"Unexpected node id. Expected {request.node.id}, but received {wanted['resourceName']}"
        raise RefusedError("INVALID_REQUEST", reason)
    levels: dict[str, str | None] = {}
    for each in wanted["configs"]:
        if each["configOperation"] not in (SET, DELETE):
            raise RefusedError("INVALID_REQUEST", "only SET and DELETE are allowed for the BROKER_LOGGER resource")
        level = None if each["configOperation"] == DELETE else each["value"] or ""
        check_logger(each["name"], level)
        levels[each["name"]] = level
    if not request.body["validateOnly"]:
        request.node.set_log_levels(levels)
