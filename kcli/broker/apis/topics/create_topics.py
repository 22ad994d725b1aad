"""CreateTopics v0-v7 (KIP-4, KIP-464 defaults by -1, KIP-525 configs in the response from v5 on, ids from v7 on).

The rules are in `metadata.new_topics`. Errors: TOPIC_AUTHORIZATION_FAILED for the name of the metadata log, as in
Kafka's ControllerApis; INVALID_REQUEST for a topic that is named twice; POLICY_VIOLATION for each topic of a request
for more than 10,000 partitions. With validateOnly the request is only checked.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from kcli.broker.apis.configs.describe_configs import topic_rows
from kcli.broker.metadata.new_topics import BY_DEFAULT, NewTopic, NewTopics, refuse_excess
from kcli.broker.metadata.topics import new_topic_id
from kcli.broker.partition import Topic
from kcli.broker.request import Request
from kcli.records.acceptance import RefusedError
from kcli.schemas.acl_codes import Operation, Resource
from kcli.schemas.errors import error_code

FIELDS = ("name", "value", "readOnly", "configSource", "isSensitive")


class Described:
    """The rows of topics' configs, made once for all topics of a request that set the same configs."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.made: dict[frozenset[tuple[str, str]], list[dict[str, Any]]] = {}

    def rows(self, own: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the rows of all configs of a topic. own: the configs that it sets itself."""
        key = frozenset(own.items())
        if key not in self.made:
            rows = topic_rows(self.request, self.request.configs.of_topic(own))
            self.made[key] = [{name: each[name] for name in FIELDS} for each in rows]
        return self.made[key]


def handle(request: Request) -> dict[str, Any]:
    topics = request.body["topics"]
    try:
        refuse_excess(sum(partitions(request, each) for each in topics))
    except RefusedError as error:
        return {"topics": [refused(name, error) for name in dict.fromkeys(each["name"] for each in topics)]}
    names = Counter(each["name"] for each in topics)
    rules, described = NewTopics(request.controller), Described(request)
    rows: dict[str, dict[str, Any]] = {}
    for wanted in topics:
        name = wanted["name"]
        try:
            if not request.may(Operation.CREATE) and not request.may(Operation.CREATE, Resource.TOPIC, name):
                raise RefusedError("TOPIC_AUTHORIZATION_FAILED", "Authorization failed.")
            if names[name] > 1:
                raise RefusedError("INVALID_REQUEST", "the request names this topic twice")
            rows[name] = create(request, wanted, rules, described)
        except RefusedError as error:
            rows[name] = refused(name, error)
    return {"topics": list(rows.values())}


def partitions(request: Request, wanted: Mapping[str, Any]) -> int:
    """Return how many partitions a row of the request asks for."""
    count: int = wanted["numPartitions"]
    assigned = len(wanted["assignments"])
    return assigned or (request.configs.int("num.partitions") if count == BY_DEFAULT else max(count, 0))


def refused(name: str, error: RefusedError) -> dict[str, Any]:
    row = {"name": name, "errorCode": error_code(error.error), "errorMessage": str(error)}
    return row | {"numPartitions": -1, "replicationFactor": -1, "configs": []}


def create(request: Request, wanted: Mapping[str, Any], rules: NewTopics, described: Described) -> dict[str, Any]:
    name = wanted["name"]
    if code := request.fault(name):
        return {"name": name, "errorCode": code, "errorMessage": None, "configs": []}
    assignments = wanted["assignments"]
    indexes = {each["partitionIndex"]: each["brokerIds"] for each in assignments}
    if len(indexes) < len(assignments):
        raise RefusedError("INVALID_REPLICA_ASSIGNMENT", "a partition is assigned twice")
    configs = {each["name"]: each["value"] for each in wanted["configs"]}
    if missing := [key for key, value in configs.items() if value is None]:
        raise RefusedError("INVALID_CONFIG", f"Null value not supported for topic configs: {', '.join(missing)}")
    new = NewTopic(name, wanted["numPartitions"], wanted["replicationFactor"], configs, indexes)
    assignment = rules.check(new)
    row = {"name": name, "errorCode": 0, "errorMessage": None, "numPartitions": len(assignment)}
    row |= {"replicationFactor": len(assignment[0])}
    if request.may(Operation.DESCRIBE_CONFIGS, Resource.TOPIC, name):
        row |= {"configs": described.rows(configs)}
    else:
        denied = {"configs": None, "topicConfigErrorCode": error_code("TOPIC_AUTHORIZATION_FAILED")}
        row |= denied | {"numPartitions": -1, "replicationFactor": -1}
    if request.body.get("validateOnly"):
        return row | {"topicId": new_topic_id()}  # Kafka makes one, too.
    made: Topic = request.controller.create_topic(name, assignment, configs)
    return row | {"topicId": made.id}
