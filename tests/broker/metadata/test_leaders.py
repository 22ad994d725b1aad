"""Hints to a partition's leader (KIP-951), as the broker gives them."""

from typing import Any

import pytest

from kcli.grammar import messages
from kcli.schemas.errors import error_name
from tests.broker.talk import batch, parts, run, talking

HINTED = ("NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH")
OTHERS = ("UNKNOWN_TOPIC_OR_PARTITION", "NOT_ENOUGH_REPLICAS", "KAFKA_STORAGE_ERROR", "UNKNOWN_LEADER_EPOCH")


@pytest.mark.parametrize("error", [*HINTED, *OTHERS])
def test_only_two_errors_come_with_a_hint(error: str) -> None:
    """KIP-951: CurrentLeader and NodeEndpoints with NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH, with no others."""

    async def work() -> None:
        async with talking(topic="t", faults=[f"api=Produce+Fetch,topic=t,error={error}"]) as talk:
            topic = talk.broker.topics.by_name["t"]
            produced = await talk.produce("t", batch("a"), version=10)
            answer = await talk.fetch(16, (topic.id, 0, 0))
            for row in (produced, parts(answer)[topic.id, 0]):
                assert error_name(row["errorCode"]) == error
                assert ("currentLeader" in row) is (error in HINTED)
            assert ("nodeEndpoints" in answer) is (error in HINTED)

    run(work())


def test_a_broker_that_knows_no_leader_gives_no_hint() -> None:
    """KIP-951: a broker sets CurrentLeader only when it knows it."""

    async def work() -> None:
        async with talking(topic="t") as talk:
            topic = talk.broker.topics.by_name["t"]
            topic.partitions[0].leader = -1
            row = await talk.produce("t", batch("a"), version=10)
            assert error_name(row["errorCode"]) == "NOT_LEADER_OR_FOLLOWER"
            assert "currentLeader" not in row
            assert "nodeEndpoints" not in await talk.fetch(16, (topic.id, 0, 0))

    run(work())


def leader_row(name: str, version: int, leader: dict[str, Any], endpoints: list[dict[str, Any]]) -> bytes:
    """A response with a hint in its one partition, by the message tables."""
    if name == "ProduceResponse":
        part = {"index": 0, "errorCode": 6, "baseOffset": -1, "currentLeader": leader}
        topic = {"name": "t", "partitionResponses": [part]}
    else:
        part = {"partitionIndex": 0, "errorCode": 6, "highWatermark": -1, "records": None, "currentLeader": leader}
        topic = {"topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "partitions": [part]}
    body = {"responses": [topic], "nodeEndpoints": endpoints}
    return bytes(messages.response(0 if name == "ProduceResponse" else 1, version).write(body))


@pytest.mark.parametrize(("name", "version", "tag"), [("ProduceResponse", 10, 0), ("FetchResponse", 16, 1)])
def test_the_bytes_of_a_hint(name: str, version: int, tag: int) -> None:
    """KIP-951: CurrentLeader is tag 0 in a Produce v10 partition, tag 1 in a Fetch v16 one, -1 and -1 by default;
    NodeEndpoints is tag 0 of either response."""
    leader = {"leaderId": 3, "leaderEpoch": 9}
    node = {"nodeId": 3, "host": "h", "port": 9092, "rack": None}
    data = leader_row(name, version, leader, [node])
    assert bytes([1, tag, 9]) + (3).to_bytes(4, "big") + (9).to_bytes(4, "big") + b"\0" in data
    endpoint = (3).to_bytes(4, "big") + b"\x02h" + (9092).to_bytes(4, "big") + b"\0" + b"\0"
    assert data.endswith(bytes([1, 0, 1 + len(endpoint), 2]) + endpoint)
    bare = leader_row(name, version, {}, [])
    assert bytes([1, tag, 9]) + b"\xff" * 8 + b"\0" in bare
