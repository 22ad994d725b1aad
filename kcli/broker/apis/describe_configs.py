"""DescribeConfigs v0-v4 (KIP-133, KIP-226 sources, KIP-569 types and documentation): topics and brokers.

Only the configs that this broker reads (and what else a topic was given) are described. Those of the metadata log are
read-only: its cleanup.policy is `snapshot` (KIP-630).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kcli.broker.codes import error_code
from kcli.broker.configs import BROKER, TOPIC, Config, Kind
from kcli.broker.request import Request
from kcli.records.acceptance import RefusedError

TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4
OWN_TOPIC, STATIC_BROKER, DEFAULT = 1, 4, 5
TEXT = Kind(2, "string", str)


def handle(request: Request) -> dict[str, Any]:
    return {"results": [result(request, each) for each in request.body["resources"]]}


def result(request: Request, wanted: dict[str, Any]) -> dict[str, Any]:
    row = {"resourceType": wanted["resourceType"], "resourceName": wanted["resourceName"], "errorMessage": None}
    if code := request.fault():
        return row | {"errorCode": code, "configs": []}
    try:
        rows = list(configs(request, wanted))
    except RefusedError as refused:
        return row | {"errorCode": error_code(refused.error), "errorMessage": str(refused), "configs": []}
    keys = wanted["configurationKeys"]
    return row | {"errorCode": 0, "configs": [each for each in rows if keys is None or each["name"] in keys]}


def configs(request: Request, wanted: dict[str, Any]) -> Iterator[dict[str, Any]]:
    kind, name = wanted["resourceType"], wanted["resourceName"]
    if kind == TOPIC_RESOURCE:
        hidden = request.topics.hidden.get(name)
        topic = request.topics.by_name.get(name) or hidden
        if topic is None:
            raise RefusedError("UNKNOWN_TOPIC_OR_PARTITION", f"no topic {name}")
        given = request.configs.given
        texts = topic.configs.texts | topic.configs.own
        for key, text in texts.items():
            config = TOPIC.get(key, Config(key, "", TEXT))
            source = (
                OWN_TOPIC if key in topic.configs.own else STATIC_BROKER if config.broker_name in given else DEFAULT
            )
            yield row(config, text, source, fixed=hidden is not None)
    elif kind == BROKER_RESOURCE:
        if name not in ("", *map(str, request.controller.node_ids)):
            raise RefusedError("INVALID_REQUEST", f"no broker {name}; there are {request.controller.node_ids}")
        for key, config in BROKER.items():
            source = STATIC_BROKER if key in request.configs.given else DEFAULT
            yield row(config, request.configs.text(key), source)
    else:
        raise RefusedError("INVALID_REQUEST", f"resource type {kind}: 2 (topic) or 4 (broker) expected")


def row(config: Config, text: str, source: int, *, fixed: bool = False) -> dict[str, Any]:
    return {
        "name": config.name,
        "value": text,
        "readOnly": fixed,
        "isDefault": source == DEFAULT,
        "configSource": source,
        "isSensitive": False,
        "synonyms": [{"name": config.name, "value": text, "source": source}],
        "configType": config.kind.number,
        "documentation": None,
    }
