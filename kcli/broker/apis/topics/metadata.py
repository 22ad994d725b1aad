"""Metadata v0-v13.

* All topics are requested by an empty list in v0, by null from v1 on. From v10 on topics can be named by id; names are
  ignored if any id is given. Each topic is listed once.
* An unknown topic gets UNKNOWN_TOPIC_OR_PARTITION or UNKNOWN_TOPIC_ID. If the client (before v4 always) and
  auto.create.topics.enable allow it, the topic is created within MAKING_SECONDS, and the client asks again. Releases up
  to 3.2 (with ZooKeeper) have LEADER_NOT_AVAILABLE while a topic is created.
  The metadata log is never created, and no topic of a request whose new topics have more than 10,000 partitions in all.
* Topics that the client may not describe are left out of a list of all topics. TOPIC_AUTHORIZATION_FAILED if the client
  names such a topic, or one that it may not create.
"""

import contextlib
from typing import Any

from kcli.broker.metadata.controller import Controller
from kcli.broker.metadata.new_topics import NewTopics, refuse_excess
from kcli.broker.operations import allowed
from kcli.broker.partition import Partition, Topic
from kcli.broker.request import Request
from kcli.records.acceptance import RefusedError
from kcli.schemas.acl_codes import Operation, Resource
from kcli.schemas.definition import ZERO_UUID
from kcli.schemas.errors import error_code
from kcli.schemas.field_codes import NO_LEADER
from kcli.schemas.model import release_order
from kcli.topic_names import CLUSTER_METADATA, INTERNAL, name_fault

NO_LEADER_NOW = error_code("LEADER_NOT_AVAILABLE")
# Kafka 4.4 with an idle controller takes 16 to 40 ms.
MAKING_SECONDS = 0.025
# The first release with KRaft for production.
KRAFT_SINCE = "3.3"


def handle(request: Request) -> dict[str, Any]:
    wanted = request.body["topics"]
    everything = wanted is None or (not wanted and request.version == 0)
    topics: list[Topic | dict[str, Any]]
    if everything:
        topics = [each for each in request.topics if not request.denial(Resource.TOPIC, each.name)]
    else:
        topics = found(request, wanted)
    auto_create(request, topics)
    return {
        "brokers": request.endpoints(),
        "clusterId": request.services.cluster_id,
        "controllerId": request.controller.id,
        "clusterAuthorizedOperations": allowed(request, "includeClusterAuthorizedOperations", Resource.CLUSTER),
        "topics": [row(request, each) if isinstance(each, Topic) else each for each in topics],
    }


def found(request: Request, wanted: list[dict[str, Any]]) -> list[Topic | dict[str, Any]]:
    """Return for each wanted topic the topic, or its row with an error."""
    ids = dict.fromkeys(each.get("topicId", ZERO_UUID) for each in wanted)
    if ids.keys() - {ZERO_UUID}:
        return [by_id(request, each) for each in ids if each != ZERO_UUID]
    names = dict.fromkeys(each.get("name") for each in wanted)
    return [by_id(request, ZERO_UUID) if name is None else by_name(request, name) for name in names]


def by_id(request: Request, topic_id: str) -> Topic | dict[str, Any]:
    topic = request.topics.by_id.get(topic_id)
    if topic is not None and (code := request.denial(Resource.TOPIC, topic.name)):
        return {"errorCode": code, "name": None, "topicId": topic_id}
    return topic or {"errorCode": error_code("UNKNOWN_TOPIC_ID"), "name": None, "topicId": topic_id}


def by_name(request: Request, name: str) -> Topic | dict[str, Any]:
    if code := request.denial(Resource.TOPIC, name):
        return {"errorCode": code, "name": name, "isInternal": name in INTERNAL}
    topic = request.topics.by_name.get(name)
    if topic is not None:
        return topic
    if name_fault(name):
        return {"errorCode": error_code("INVALID_TOPIC_EXCEPTION"), "name": name}
    return {"errorCode": error_code("UNKNOWN_TOPIC_OR_PARTITION"), "name": name, "isInternal": name in INTERNAL}


def auto_create(request: Request, found: list[Topic | dict[str, Any]]) -> None:
    """Plan the creation of unknown topics whose names Kafka allows beside those of the others."""
    configs, missing = request.configs, error_code("UNKNOWN_TOPIC_OR_PARTITION")
    if not request.body.get("allowAutoTopicCreation", True) or not configs.bool("auto.create.topics.enable"):
        return
    unknown = [each for each in found if isinstance(each, dict) and each["errorCode"] == missing]
    for each in unknown:
        if not request.may(Operation.CREATE) and not request.may(Operation.CREATE, Resource.TOPIC, each["name"]):
            each["errorCode"] = error_code("TOPIC_AUTHORIZATION_FAILED")
    wanted = {each["name"]: each for each in unknown if each["errorCode"] == missing}
    wanted.pop(CLUSTER_METADATA, None)
    if not wanted:
        return
    release = request.services.release
    of_old = release is not None and release_order(release) < release_order(KRAFT_SINCE)
    making = request.controller.making
    rules = NewTopics(request.controller)
    with contextlib.suppress(RefusedError):
        refuse_excess(len(wanted.keys() - making) * configs.int("num.partitions"))
        for name, each in wanted.items():
            with contextlib.suppress(RefusedError):
                rules.check_name(name)
                each["errorCode"] = NO_LEADER_NOW if of_old else missing
                if name not in making:
                    making.add(name)
                    request.services.clock.call_later(MAKING_SECONDS, make, request.controller, name)


def make(controller: Controller, name: str) -> None:
    """Create a topic, unless it or one whose name collides with it was created in the meantime."""
    controller.making.discard(name)
    with contextlib.suppress(RefusedError):
        NewTopics(controller).check_name(name)
        controller.auto_create_topic(name)


def row(request: Request, topic: Topic) -> dict[str, Any]:
    code = request.fault(topic.name)
    return {
        "errorCode": code,
        "name": topic.name,
        "topicId": topic.id,
        "isInternal": topic.internal,
        "topicAuthorizedOperations": allowed(request, "includeTopicAuthorizedOperations", Resource.TOPIC, topic.name),
        "partitions": [] if code else [partition_row(request, each) for each in topic.partitions],
    }


def partition_row(request: Request, each: Partition) -> dict[str, Any]:
    """Return a partition's row of a Metadata response."""
    return {
        "errorCode": NO_LEADER_NOW if each.leader == NO_LEADER else 0,
        "partitionIndex": each.index,
        "leaderId": each.leader,
        "leaderEpoch": each.epoch,
        "replicaNodes": list(each.replicas),
        "isrNodes": list(each.isr),
        "offlineReplicas": [node for node in each.replicas if node not in request.controller.running],
    }
