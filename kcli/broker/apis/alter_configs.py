"""AlterConfigs v0-v2 (KIP-133) and what it shares with IncrementalAlterConfigs: configs of topics and of the broker.

Here all of a resource's configs are replaced by those given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kcli.broker.apis.create_topics import check_config
from kcli.broker.codes import error_code
from kcli.broker.configs import BROKER, parse
from kcli.broker.request import Request
from kcli.errors import UsageError
from kcli.records.acceptance import RefusedError

TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4

# What a resource's configs become: from those it has, and what the request says of it. None takes one back.
Change = Callable[[Mapping[str, str], Mapping[str, Any]], dict[str, str | None]]


def handle(request: Request) -> dict[str, Any]:
    return alter(request, replace_all)


def replace_all(own: Mapping[str, str], wanted: Mapping[str, Any]) -> dict[str, str | None]:
    gone: dict[str, str | None] = dict.fromkeys(own)
    return gone | {each["name"]: each["value"] for each in wanted["configs"]}


def alter(request: Request, change: Change) -> dict[str, Any]:
    """Apply a change to each resource of the request; return the response's body."""
    return {"responses": [result(request, each, change) for each in request.body["resources"]]}


def result(request: Request, wanted: Mapping[str, Any], change: Change) -> dict[str, Any]:
    row = {"resourceType": wanted["resourceType"], "resourceName": wanted["resourceName"], "errorMessage": None}
    if code := request.fault():
        return row | {"errorCode": code}
    try:
        apply(request, wanted, change)
    except RefusedError as refused:
        return row | {"errorCode": error_code(refused.error), "errorMessage": str(refused)}
    return row | {"errorCode": 0}


def apply(request: Request, wanted: Mapping[str, Any], change: Change) -> None:
    kind, name = wanted["resourceType"], wanted["resourceName"]
    if kind == TOPIC_RESOURCE:
        alter_topic(request, name, wanted, change)
    elif kind == BROKER_RESOURCE and name in ("", *map(str, request.controller.node_ids)):
        alter_broker(request, wanted, change)
    else:
        raise RefusedError("INVALID_REQUEST", f"resource {name!r} of type {kind}: a topic or this broker expected")


def alter_topic(request: Request, name: str, wanted: Mapping[str, Any], change: Change) -> None:
    topic = request.topics.by_name.get(name)
    if name in request.topics.hidden:
        raise RefusedError("INVALID_CONFIG", f"the configs of {name} can't be changed: its cleanup.policy is snapshot")
    if topic is None:
        raise RefusedError("UNKNOWN_TOPIC_OR_PARTITION", f"no topic {name}")
    changes = change(topic.configs.own, wanted)
    for key, value in changes.items():
        if value is not None:
            check_config(key, value)
    if not request.body["validateOnly"]:
        request.controller.configure_topic(topic, changes)


def alter_broker(request: Request, wanted: Mapping[str, Any], change: Change) -> None:
    changes = change(request.configs.given, wanted)
    for key, value in changes.items():
        try:
            if value is not None:
                parse(BROKER, key, value)
        except UsageError as error:
            raise RefusedError("INVALID_CONFIG", str(error)) from None
    if not request.body["validateOnly"]:
        request.controller.configure_broker(changes)
