"""DescribeConfigs v0-v4 (KIP-133, KIP-226 sources and synonyms, KIP-569 types): every config that Kafka 4.4 names.

Resources are topics, this broker or all brokers (""), groups, subscriptions to client metrics, and a broker's loggers.
The configs of the metadata log are read-only, as its cleanup.policy is `snapshot` (KIP-630).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kcli.broker.config_kinds import ConfigType
from kcli.broker.configs import (
    ALL_BROKERS,
    BROKER,
    DEFAULT,
    OF_KCLI,
    OWN_TOPIC,
    STATIC,
    TOPIC,
    Config,
    TopicConfigs,
    Value,
    broker_config,
)
from kcli.broker.net.protocols import PROTOCOLS, protocol_map
from kcli.broker.request import Request
from kcli.broker.resource_configs import TABLES
from kcli.broker.security.acls import CLUSTER_NAME
from kcli.legible import host_port
from kcli.records.acceptance import RefusedError
from kcli.schemas.acl_codes import Operation, Resource
from kcli.schemas.errors import error_code
from kcli.schemas.field_codes import ConfigResource, names_of
from kcli.topic_names import name_fault

UNKNOWN = ConfigType(0, "unknown", str)
FORMER = ConfigType(2, "string", str)
KINDS = frozenset(names_of(ConfigResource)) - {0}
OF_LOGGER, OF_METRICS, OF_GROUP = 6, 7, 8
NAMES, RACK = {"node.id", "broker.id"}, "broker.rack"
DOCUMENTED: Mapping[int, tuple[str, Mapping[str, Config]]] = {
    ConfigResource.TOPIC: ("topic", TOPIC),
    ConfigResource.BROKER: ("broker", BROKER),
    ConfigResource.GROUP: ("group", TABLES[ConfigResource.GROUP]),
}


def handle(request: Request) -> dict[str, Any]:
    resources = request.body["resources"]
    if all(each["resourceType"] in KINDS for each in resources):
        return {"results": [result(request, each) for each in resources]}
    # As in Kafka, an unknown type fails the whole request.
    code = error_code("INVALID_REQUEST")
    return {"results": [row_of(each) | {"errorCode": code, "configs": []} for each in resources]}


def row_of(wanted: Mapping[str, Any]) -> dict[str, Any]:
    named = {"resourceType": wanted["resourceType"], "resourceName": wanted["resourceName"]}
    return named | {"errorMessage": ""}


def result(request: Request, wanted: dict[str, Any]) -> dict[str, Any]:
    row = row_of(wanted)
    if code := request.fault():
        return row | {"errorCode": code, "configs": []}
    try:
        check_permission(request, wanted, Operation.DESCRIBE_CONFIGS)
        rows = list(configs(request, wanted["resourceType"], wanted["resourceName"]))
    except RefusedError as refused:
        return row | refused.row() | {"configs": []}
    if request.body.get("includeDocumentation") and wanted["resourceType"] != ConfigResource.BROKER_LOGGER:
        rows = [each | {"documentation": documentation(wanted["resourceType"], each["name"])} for each in rows]
    # An empty list of keys means all, too.
    keys = set(wanted["configurationKeys"] or ())
    return row | {"errorCode": 0, "configs": [each for each in rows if not keys or each["name"] in keys]}


def documentation(kind: int, name: str) -> str | None:
    """Return a text that names Kafka's config and whether it has an effect here; None for a config that Kafka lacks."""
    owner, table = DOCUMENTED.get(kind, ("", {}))
    config = table.get(name)
    if config is None or name in OF_KCLI:
        return None
    text = f"As Apache Kafka's {owner} config {name}."
    return text if config.read else f"{text} It is kept, and has no effect in this broker."


def check_permission(request: Request, wanted: Mapping[str, Any], operation: Operation) -> None:
    """Refuse a client without the permission for this operation on a resource. Raises RefusedError."""
    kinds = {ConfigResource.TOPIC: Resource.TOPIC, ConfigResource.GROUP: Resource.GROUP}
    kind = kinds.get(wanted["resourceType"], Resource.CLUSTER)
    name = CLUSTER_NAME if kind == Resource.CLUSTER else wanted["resourceName"]
    if not request.may(operation, kind, name):
        raise RefusedError(f"{kind.name}_AUTHORIZATION_FAILED", f"{operation.name} of {name} is not allowed")


def configs(request: Request, kind: int, name: str) -> Iterator[dict[str, Any]]:
    """Yield the configs of a resource. Raises RefusedError if there is no such resource."""
    if kind == ConfigResource.TOPIC:
        yield from topic_configs(request, name)
    elif kind == ConfigResource.BROKER:
        yield from broker_configs(request, name)
    elif kind == ConfigResource.BROKER_LOGGER:
        check_broker(request, name, empty="Broker id must not be empty")
        for logger, level in sorted(request.node.log_levels.items()):
            shown = row(request, Config(logger, "", UNKNOWN), [Value(logger, level, OF_LOGGER)], level)
            yield shown | {"synonyms": [], "documentation": ""}
    else:
        yield from resource_configs(request, kind, name)


def topic_configs(request: Request, name: str) -> Iterator[dict[str, Any]]:
    hidden = request.topics.hidden.get(name)
    topic = request.topics.by_name.get(name) or hidden
    if fault := name_fault(name):
        raise RefusedError("INVALID_TOPIC_EXCEPTION", fault)
    if topic is None:
        raise RefusedError("UNKNOWN_TOPIC_OR_PARTITION", "")
    yield from topic_rows(request, topic.configs, fixed=hidden is not None)


def topic_rows(request: Request, topic: TopicConfigs, *, fixed: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the rows of a topic's configs."""
    for key in sorted({*TOPIC, *topic.own}):
        config = TOPIC.get(key, Config(key, None, FORMER))
        if key not in OF_KCLI or key in topic.own:
            text = topic.texts.get(key, topic.own.get(key))
            yield row(request, config, topic_values(request, topic, config), text, fixed=fixed)


def topic_values(request: Request, topic: TopicConfigs, config: Config) -> list[Value]:
    """Return the values of a topic's config from all its sources, the effective one first."""
    own = topic.own.get(config.name)
    values = [Value(config.name, own, OWN_TOPIC)] if own is not None else []
    return values + (request.configs.described(config.broker_name) if config.broker_name else [])


def broker_configs(request: Request, name: str) -> Iterator[dict[str, Any]]:
    if not name:
        for key, text in sorted(request.configs.dynamic.get("", {}).items()):
            yield row(request, broker_config(key) or unknown(key), [Value(key, text, ALL_BROKERS)], text)
        return
    check_broker(request, name)
    own, listening = request.configs.dynamic.get(name, {}), listeners(request)
    for key in sorted({*BROKER, *own, *request.configs.static}):
        config = broker_config(key) or unknown(key)
        values = request.configs.described(key, name)
        if key in NAMES:
            values = [Value(key, name, values[0].source if values else DEFAULT)]
        elif key == RACK and values:
            values = [values[0]._replace(text=request.node.rack)]
        elif key in listening and key not in request.configs.static:
            values = [Value(key, listening[key], STATIC)]
        if key not in OF_KCLI or (values and values[0].source != DEFAULT):
            yield row(request, config, values, values[0].text if values else None)


def listeners(request: Request) -> dict[str, str]:
    """Return the configs that hold the addresses of the broker's listeners in Kafka, by name."""
    known = request.node.listeners
    urls = ",".join(url(request, each) for each in known)
    made = {"listeners": urls, "advertised.listeners": urls}
    if not known.keys() <= set(PROTOCOLS):
        made["listener.security.protocol.map"] = protocol_map(known.values())
    return made


def url(request: Request, listener: str) -> str:
    rows = request.services.endpoints(request.client.local_host, listener)
    own = next(each for each in rows if each["nodeId"] == request.node.id)
    return f"{listener}://{host_port(own['host'], own['port'])}"


def unknown(name: str) -> Config:
    return Config(name, None, UNKNOWN, dynamic=False)


def check_broker(request: Request, name: str, empty: str = "") -> None:
    """Refuse the name of a broker other than this node. Raises RefusedError. empty: the message for an empty name."""
    if not name and empty:
        raise RefusedError("INVALID_REQUEST", empty)
    if not (name.isascii() and name.removeprefix("-").isdigit()):
        raise RefusedError("INVALID_REQUEST", f"Broker id must be an integer, but it is: {name}")
    if int(name) != request.node.id:
        raise RefusedError("INVALID_REQUEST", f"Unexpected broker id, expected {request.node.id} but received {name}")


def resource_configs(request: Request, kind: int, name: str) -> Iterator[dict[str, Any]]:
    if not name:
        kind_text = "Group name" if kind == ConfigResource.GROUP else "Client metrics subscription name"
        raise RefusedError("INVALID_REQUEST", f"{kind_text} must not be empty")
    own = request.controller.resources.get((kind, name), {})
    source = OF_GROUP if kind == ConfigResource.GROUP else OF_METRICS
    for key, config in TABLES[kind].items():
        values = [Value(key, own[key], source)] if key in own else []
        values += request.configs.described(config.broker_name) if config.broker_name else []
        if kind == ConfigResource.GROUP and not config.broker_name:
            values.append(Value(key, config.default, DEFAULT))
        yield row(request, config, values, values[0].text if values else config.default)


def row(
    request: Request, config: Config, values: list[Value], text: str | None, *, fixed: bool = False
) -> dict[str, Any]:
    """Make a config's row. values: from all its sources, the effective one first; text: its value."""
    source = values[0].source if values else DEFAULT
    secret = config.is_sensitive or (config.kind is UNKNOWN and source not in (DEFAULT, OF_LOGGER))
    shown = [each for each in values if each.text is not None] if request.body.get("includeSynonyms") else []
    return {
        "name": config.name,
        "value": None if secret else text,
        "readOnly": fixed or not config.dynamic,
        "isDefault": source == DEFAULT,
        "configSource": source,
        "isSensitive": secret,
        "synonyms": [
            {"name": each.name, "value": None if secret else each.text, "source": each.source} for each in shown
        ],
        "configType": config.kind.number,
        "documentation": None,
    }
