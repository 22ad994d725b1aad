"""AlterConfigs v0-v2 (KIP-133), and the functions that IncrementalAlterConfigs shares.

AlterConfigs replaces all configs of a resource by those of the request. Resources are topics, one broker or all (""),
groups (KIP-848), and subscriptions to client metrics (KIP-714).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kcli.broker.apis.configs.describe_configs import check_permission
from kcli.broker.configs import MIN_IN_SYNC, RELOADED, broker_config, is_of_one_broker, parse
from kcli.broker.metadata.features import ELR
from kcli.broker.metadata.new_topics import check_topic_configs
from kcli.broker.request import Request
from kcli.broker.resource_configs import check_group, check_metrics
from kcli.errors import UsageError
from kcli.records.acceptance import RefusedError
from kcli.schemas.acl_codes import Operation
from kcli.schemas.field_codes import ConfigResource
from kcli.topic_names import name_fault

SET, DELETE, APPEND, SUBTRACT = range(4)  # configOperation of IncrementalAlterConfigs
THREADS = frozenset(
    [
        "background.threads",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
    ]
)
CONTROLLED = (ConfigResource.TOPIC, ConfigResource.GROUP, ConfigResource.CLIENT_METRICS)

# Returns a resource's changed configs, from its present ones and its row in the request; None removes a config.
Change = Callable[[Mapping[str, str], Mapping[str, Any]], dict[str, str | None]]


def handle(request: Request) -> dict[str, Any]:
    return alter(request, replace_all)


def replace_all(own: Mapping[str, str], wanted: Mapping[str, Any]) -> dict[str, str | None]:
    removals: dict[str, str | None] = dict.fromkeys(own)
    return removals | {each["name"]: each["value"] for each in wanted["configs"]}


def alter(request: Request, change: Change) -> dict[str, Any]:
    """Apply a change to each resource of the request; return the response's body."""
    repeated = repeated_in(request)
    return {"responses": [result(request, each, change, repeated) for each in request.body["resources"]]}


def repeated_in(request: Request) -> set[tuple[int, str]]:
    """Return the resources that a request names more than once."""
    named = Counter((each["resourceType"], each["resourceName"]) for each in request.body["resources"])
    return {resource for resource, count in named.items() if count > 1}


def result(
    request: Request, wanted: Mapping[str, Any], change: Change, repeated: set[tuple[int, str]]
) -> dict[str, Any]:
    row = {"resourceType": wanted["resourceType"], "resourceName": wanted["resourceName"], "errorMessage": None}
    if code := request.fault():
        return row | {"errorCode": code}
    try:
        # Invalid configs are reported before forbidden ones, as in Kafka's ConfigAdminManager.
        if (wanted["resourceType"], wanted["resourceName"]) in repeated:
            raise RefusedError("INVALID_REQUEST", "Each resource must appear at most once.")
        if missing := [each["name"] for each in wanted["configs"] if lacks_value(each)]:
            raise RefusedError("INVALID_REQUEST", f"Null value not supported for : {', '.join(missing)}")
        if len({each["name"] for each in wanted["configs"]}) < len(wanted["configs"]):
            raise RefusedError("INVALID_REQUEST", "Error due to duplicate config keys")
        check_permission(request, wanted, Operation.ALTER_CONFIGS)
        apply(request, wanted, change)
    except RefusedError as refused:
        return row | refused.row()
    return row | {"errorCode": 0}


def lacks_value(wanted: Mapping[str, Any]) -> bool:
    """Return whether a change other than a deletion has a null value."""
    return wanted["value"] is None and wanted.get("configOperation") != DELETE


def apply(request: Request, wanted: Mapping[str, Any], change: Change) -> None:
    kind, name = wanted["resourceType"], wanted["resourceName"]
    if kind in CONTROLLED:
        change({}, wanted)  # what can't be appended is refused before the resource's name, as of Kafka's controller
    if kind == ConfigResource.TOPIC:
        alter_topic(request, name, wanted, change)
    elif kind == ConfigResource.BROKER:
        alter_broker(request, name, wanted, change)
    elif kind in CONTROLLED:
        alter_resource(request, wanted, change)
    else:
        raise RefusedError("INVALID_REQUEST", f"Unknown resource type {kind}")


def alter_topic(request: Request, name: str, wanted: Mapping[str, Any], change: Change) -> None:
    if not name:
        raise RefusedError("INVALID_REQUEST", "Default topic resources are not allowed.")
    if fault := name_fault(name):
        raise RefusedError("INVALID_TOPIC_EXCEPTION", fault)
    topic = request.topics.by_name.get(name)
    if name in request.topics.hidden:
        raise RefusedError("INVALID_CONFIG", f"the configs of {name} can't be changed: its cleanup.policy is snapshot")
    former = topic.configs.own if topic is not None else {}
    changes = change(former, wanted)
    kept = {key: text for key, text in former.items() if key not in changes}
    own = kept | {key: text for key, text in changes.items() if text is not None}
    check_topic_configs(request.configs, own)
    if topic is None:
        raise RefusedError("UNKNOWN_TOPIC_OR_PARTITION", f"The topic '{name}' does not exist.")
    if not request.body["validateOnly"]:
        request.controller.configure_topic(topic, changes)


def alter_broker(request: Request, name: str, wanted: Mapping[str, Any], change: Change) -> None:
    check_broker_name(request, name)
    changes = change(request.configs.dynamic.get(name, {}), wanted)
    check_places(name, [key for key, value in changes.items() if value is not None])
    for key, value in changes.items():
        check_min_in_sync(request, name, key, value)
        config = broker_config(key)
        if config is None or value is None:
            continue  # It may be a plugin's, and any may be reset, as in Kafka.
        if not config.dynamic:
            raise RefusedError("INVALID_REQUEST", f"Cannot update these configs dynamically: [{key}]")
        try:
            count = parse({key: config}, key, value)
        except UsageError as error:
            raise RefusedError("INVALID_REQUEST", str(error)) from None
        if key in THREADS:
            check_threads(key, count, request.configs.int(key))
    renewed = request.services.security.tls.renewed(request.configs.with_changes(changes, name), changes)
    if not request.body["validateOnly"]:
        request.controller.configure_broker(name, changes)
        request.services.security.tls.take(renewed)


def check_threads(name: str, count: Any, now: int) -> None:
    """Refuse to more than double or halve a number of threads (Kafka's DynamicThreadPool). Raises RefusedError."""
    problem = f"Dynamic thread count update validation failed for {name}={count}, value should"
    if count < 1:
        raise RefusedError(
            "INVALID_REQUEST", f"Invalid value {count} for configuration {name}: Value must be at least 1"
        )
    if count < now // 2:
        raise RefusedError("INVALID_REQUEST", f"{problem} be at least half the current value {now}")
    if count > now * 2:
        raise RefusedError("INVALID_REQUEST", f"{problem} not be greater than double the current value {now}")


def check_places(broker: str, names: Iterable[str]) -> None:
    """Refuse configs that are for one listener of one broker only, or for one broker only. Raises RefusedError.
    broker: the name in the request, "" for all brokers.
    """
    if stores := [name for name in names if RELOADED.fullmatch(name)]:
        problem = "stores change at run time for one listener, using the listener prefix"
        raise RefusedError("INVALID_REQUEST", f"{problem}: [{', '.join(stores)}]")
    if not broker and (own := [name for name in names if is_of_one_broker(name)]):
        problem = "no change of one broker's configs at default cluster level, broker id must be specified"
        raise RefusedError("INVALID_REQUEST", f"{problem}: [{', '.join(own)}]")


def check_min_in_sync(request: Request, broker: str, key: str, value: str | None) -> None:
    """Refuse to set min.insync.replicas for one broker, or to remove that of all, if eligible leader replicas are on.

    Raises RefusedError.
    """
    if key != MIN_IN_SYNC or not request.metadata.features.get(ELR):
        return
    if broker:
        raise RefusedError("INVALID_CONFIG", f"Broker-level {key} cannot be altered while ELR is enabled.")
    if value is None:
        raise RefusedError("INVALID_CONFIG", f"Cluster-level {key} cannot be removed while ELR is enabled.")


def check_broker_name(request: Request, name: str) -> None:
    """Refuse the name of a broker other than this node. Raises RefusedError."""
    if name and not (name.isascii() and name.removeprefix("-").isdigit()):
        raise RefusedError("INVALID_REQUEST", f"Node id must be an integer, but it is: {name}")
    if name and int(name) != request.node.id:
        raise RefusedError("INVALID_REQUEST", f"Unexpected broker id, expected {request.node.id}, but received {name}")


def alter_resource(request: Request, wanted: Mapping[str, Any], change: Change) -> None:
    kind, name = wanted["resourceType"], wanted["resourceName"]
    if not name:
        group = kind == ConfigResource.GROUP
        message = "Default group resources are not allowed." if group else "Subscription name can't be empty"
        raise RefusedError("INVALID_REQUEST", message)
    changes = change(request.controller.resources.get((kind, name), {}), wanted)
    for key, value in changes.items():
        if value is not None and kind == ConfigResource.GROUP:
            check_group(request.configs, key, value)
        elif value is not None:
            check_metrics(key, value)
    if not request.body["validateOnly"]:
        request.controller.configure_resource(kind, name, changes)
