"""Which live broker each captured request goes to."""

from typing import Any

import pytest

from kcli.client.address import Address
from kcli.client.cluster import Client
from kcli.client.properties import ClientConfig
from kcli.replay.topic_mapping import LiveTopics, TopicNames
from kcli.replay.traffic.destinations import Destinations
from kcli.replay.traffic.survey import ConnectionPurpose, Survey
from kcli.schemas.apikeys import (
    API_VERSIONS,
    FETCH,
    FIND_COORDINATOR,
    HEARTBEAT,
    METADATA,
    OFFSET_COMMIT,
    PRODUCE,
    SHARE_FETCH,
    TXN_OFFSET_COMMIT,
)
from tests.replay.traffic.made import exchange

NODES = {number: Address("live", number) for number in (1, 2, 3)}
SERVERS = {"10.0.0.8:9092", "10.0.0.9:9092"}


def destinations(leaders: dict[int, int], replicas: dict[str, list[list[int]]] | None = None) -> Destinations:
    """On three brokers, with a topic t."""
    client = Client(ClientConfig({"bootstrap.servers": "live:1"}))
    parts = [{"partitionIndex": index, "leaderId": node, "errorCode": 0} for index, node in leaders.items()]
    brokers = [{"nodeId": node, "host": each.host, "port": each.port} for node, each in NODES.items()]
    client.metadata.update({"brokers": brokers, "topics": [{"errorCode": 0, "name": "t", "partitions": parts}]})
    names = TopicNames()
    survey = Survey(names, servers=set(SERVERS))
    coordinators = {(0, "g-1"): NODES[3], (1, "x-1"): NODES[2]}
    return Destinations(client, LiveTopics(names, {}), survey, coordinators, replicas or {})


def of_partitions(*indexes: int, api: int = PRODUCE) -> dict[str, Any]:
    if api == PRODUCE:
        parts = [{"index": each, "records": None} for each in indexes]
        return {"acks": 1, "topicData": [{"name": "t", "partitionData": parts}]}
    parts = [{"partition": each, "fetchOffset": 0} for each in indexes]
    return {"replicaId": -1, "topics": [{"topic": "t", "partitions": parts}]}


@pytest.mark.parametrize(
    ("api", "version", "request_", "node"),
    [
        (PRODUCE, 7, of_partitions(0), 2),
        (PRODUCE, 7, of_partitions(0, 1, 2), 3),
        (FETCH, 4, of_partitions(1, api=FETCH), 3),
        (HEARTBEAT, 0, {"groupId": "g", "generationId": 1, "memberId": "m"}, 3),
        (OFFSET_COMMIT, 2, {"groupId": "g", "topics": [{"name": "t", "partitions": [{"partitionIndex": 0}]}]}, 3),
        (TXN_OFFSET_COMMIT, 0, {"transactionalId": "x", "groupId": "g", "topics": []}, 3),
        # Of no group that is known, and of none.
        (HEARTBEAT, 0, {"groupId": "other", "generationId": 1, "memberId": "m"}, 2),
        (FIND_COORDINATOR, 0, {"key": "g"}, 2),
        (METADATA, 1, {"topics": [{"name": "t"}]}, 2),
        (API_VERSIONS, 0, {}, 2),
        # The group is what it reads for, and not whom it asks.
        (SHARE_FETCH, 1, {"groupId": "g", "memberId": "m", "topics": []}, 2),
    ],
)
def test_a_request_goes_to_the_broker_of_what_it_names(
    api: int, version: int, request_: dict[str, Any], node: int
) -> None:
    found = destinations({0: 2, 1: 3, 2: 3})
    assert found.address(exchange(api, version, request_), "-1") == NODES[node]


def test_what_names_nothing_goes_where_its_connection_goes() -> None:
    found = destinations({0: 3})
    one = exchange(API_VERSIONS, 0, {})
    found.survey.routes[one.connection] = ConnectionPurpose(-1, "t", 0)
    assert found.address(one, "") == NODES[3]


TOPIC = {"name": "t", "numPartitions": 3, "replicationFactor": 2, "assignments": []}


def test_new_topics_are_led_as_the_captured_ones() -> None:
    found = destinations({}, {"t": [[2], [1]]})
    (made,) = found.placed({"topics": [TOPIC], "timeoutMs": 5})["topics"]
    assert [each["brokerIds"][0] for each in made["assignments"]] == [2, 1, 3]
    assert {len(set(each["brokerIds"])) for each in made["assignments"]} == {2}
    assert (made["numPartitions"], made["replicationFactor"]) == (-1, -1)


@pytest.mark.parametrize(
    "left",
    [
        TOPIC | {"name": "other"},
        TOPIC | {"numPartitions": -1},
        TOPIC | {"replicationFactor": -1},
        TOPIC | {"replicationFactor": 4},
        TOPIC | {"assignments": [{"partitionIndex": 0, "brokerIds": [1]}]},
    ],
)
def test_other_new_topics_are_made_as_they_are(left: dict[str, Any]) -> None:
    assert destinations({}, {"t": [[2], [1]]}).placed({"topics": [left]})["topics"] == [left]
